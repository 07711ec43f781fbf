"""JAX ports, one file per program; imported only when a port is called."""
