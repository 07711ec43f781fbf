"""What iterations of a loop hand on, and in which other order they may run."""
