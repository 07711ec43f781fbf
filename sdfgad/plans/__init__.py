"""What is stored and what is computed again: what was asked for, the choice, and what is kept of it on disk."""
