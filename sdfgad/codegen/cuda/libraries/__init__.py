"""Library operations on a graphics processor: calls of NVIDIA's libraries, and kernels in their place."""
