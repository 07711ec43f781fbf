"""Libraries that need no Python: a gradient program with a C interface, a header, and what builds against them."""
