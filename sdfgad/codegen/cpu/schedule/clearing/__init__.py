"""Zeros before sums: none where the first sum can assign."""
