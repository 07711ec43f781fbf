"""Functions of single packages of SciPy: `ndimage`, `signal`, `stats`, `linalg`, `integrate`."""
