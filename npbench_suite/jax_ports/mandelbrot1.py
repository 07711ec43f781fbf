"""JAX ports of mandelbrot1."""

import jax.numpy as jnp
from jax import Array, lax


def idiomatic(
    xmin: float, xmax: float, ymin: float, ymax: float, xn: int, yn: int, maxiter: int, horizon: float = 2.0
) -> tuple[Array]:
    C = jnp.linspace(xmin, xmax, xn) + 1j * jnp.linspace(ymin, ymax, yn)[:, None]

    def iterate(Z: Array, _: None) -> tuple[Array, None]:
        inside = Z.real**2 + Z.imag**2 < horizon**2
        return jnp.where(inside, Z * Z + C, Z), None

    return (lax.scan(iterate, jnp.zeros_like(C), None, length=maxiter)[0],)


def literal(
    xmin: float, xmax: float, ymin: float, ymax: float, xn: int, yn: int, maxiter: int, horizon: float = 2.0
) -> tuple[Array]:
    C = jnp.linspace(xmin, xmax, xn) + jnp.linspace(ymin, ymax, yn)[:, None] * 1j

    def iterate(n: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        Z, N = carry
        inside = jnp.less(jnp.abs(Z), horizon)
        return jnp.where(inside, Z**2 + C, Z), jnp.where(inside, n, N)

    Z, _ = lax.fori_loop(0, maxiter, iterate, (jnp.zeros_like(C), jnp.zeros(C.shape, jnp.int64)))
    return (Z,)
