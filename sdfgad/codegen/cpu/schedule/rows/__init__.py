"""Stretches of statements run row by row, and rows lie in lines."""
