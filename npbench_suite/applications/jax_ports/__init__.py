"""JAX ports of applications, each a function `program`; imported only when a port is called."""
