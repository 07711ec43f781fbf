"""Sums of products become matrix products; factors are shared."""
