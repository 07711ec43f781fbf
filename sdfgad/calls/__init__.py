"""A call: its arguments and what is kept of it, where results go, and what it took."""
