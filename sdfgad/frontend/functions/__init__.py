"""Operators and NumPy's functions of arrays: making, shaping, joining, reducing, finding places."""
