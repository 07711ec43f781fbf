"""One nest of loops: the order of its loops, what stays in registers, what goes past the cache."""
