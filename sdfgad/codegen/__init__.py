"""From a finished graph to a loaded library: compiler, BLAS, cache, generated code."""
