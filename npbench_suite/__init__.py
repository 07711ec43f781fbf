"""The NPBench programs, as plain NumPy, with initial data, samples and JAX ports."""
