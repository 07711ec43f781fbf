"""cholesky2 in JAX: the library factorisation."""

from npbench_suite.jax_ports.cholesky import matrix

literal = matrix
idiomatic = matrix
