"""JAX ports of mandelbrot2: arrays cannot shrink, so escaped points are masked."""

import jax.numpy as jnp
from jax import Array, lax


def idiomatic(
    xmin: float, xmax: float, ymin: float, ymax: float, xn: int, yn: int, itermax: int, horizon: float = 2.0
) -> tuple[Array]:
    C = jnp.linspace(xmin, xmax, xn) + 1j * jnp.linspace(ymin, ymax, yn)[:, None]

    # A point that has escaped keeps its value, so its magnitude still tells that it has.
    def iterate(Z: Array, _: None) -> tuple[Array, None]:
        return jnp.where(_escaped(Z, horizon), Z, Z * Z + C), None

    Z, _ = lax.scan(iterate, jnp.zeros_like(C), None, length=itermax)
    return (jnp.where(_escaped(Z, horizon), Z, 0.0),)


def _escaped(Z: Array, horizon: float) -> Array:
    return Z.real**2 + Z.imag**2 > horizon**2


def literal(
    xmin: float, xmax: float, ymin: float, ymax: float, xn: int, yn: int, itermax: int, horizon: float = 2.0
) -> tuple[Array]:
    C = jnp.linspace(xmin, xmax, xn)[:, None] + jnp.linspace(ymin, ymax, yn) * 1j

    def iterate(n: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        Z, active, final, steps = carry
        Z = jnp.where(active, Z * Z + C, Z)
        escaped = active & (jnp.abs(Z) > horizon)
        return Z, active & ~escaped, jnp.where(escaped, Z, final), jnp.where(escaped, n + 1, steps)

    zero = jnp.zeros_like(C)
    start = (zero, jnp.ones(C.shape, bool), zero, jnp.zeros(C.shape, jnp.int64))
    return (lax.fori_loop(0, itermax, iterate, start)[2].T,)
