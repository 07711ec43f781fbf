"""The derivative program: linearise each statement, then run it (forward mode) or transpose it (reverse mode)."""
