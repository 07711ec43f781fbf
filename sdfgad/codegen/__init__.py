"""From a scheduled program to a loaded library.

Here: the seam (`target.py`), what targets share of C++ text, compiler, cache, calls. A folder for each target: `cpu/`,
`reference/`. `runtime/`: what generated code calls.
"""
