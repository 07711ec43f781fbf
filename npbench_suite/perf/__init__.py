"""The performance benchmark: gradients against hand-written adjoints, memory bandwidth, scaling and overheads."""
