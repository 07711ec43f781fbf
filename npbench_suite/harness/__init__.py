"""The benchmark: gradients of the NPBench programs, checked and timed against NumPy, JAX and DaCe's own."""
