"""Linear algebra, transforms, interpolants, solvers, and functions with rules of their own."""
