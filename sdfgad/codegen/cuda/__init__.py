"""Programs for NVIDIA graphics processors: groups of maps as kernels, through DaCe's generator of CUDA."""
