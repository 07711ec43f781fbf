"""Zeros before sums: as few as possible, in as few places."""
