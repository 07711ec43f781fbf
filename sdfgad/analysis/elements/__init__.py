"""Which elements of arrays are touched, and whether they can be the same ones."""
