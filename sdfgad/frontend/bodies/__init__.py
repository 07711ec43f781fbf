"""NumPy and SciPy functions that are run as plain NumPy: what stands for them, to be read by the front end."""
