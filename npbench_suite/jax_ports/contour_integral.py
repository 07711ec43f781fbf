"""JAX ports of contour_integral."""

import jax
import jax.numpy as jnp
from jax import Array, lax


def _power(z: Array, exponent: float) -> Array:
    return lax.integer_pow(z, int(exponent)) if exponent == int(exponent) else jnp.power(z, exponent)


def idiomatic(NR: int, NM: int, slab_per_bc: int, Ham: Array, int_pts: Array, Y: Array) -> tuple[Array, Array]:
    powers = jnp.stack([_power(int_pts, slab_per_bc / 2 - n) for n in range(slab_per_bc + 1)], axis=1)
    T = jnp.tensordot(powers, Ham, axes=1)
    sign = jnp.where(jnp.abs(int_pts) < 1.0, -1.0, 1.0)
    right = jnp.eye(NR, dtype=T.dtype) if NR == NM else Y
    X = jax.vmap(jnp.linalg.solve, in_axes=(0, None))(T, right)
    weights = jnp.stack([sign.astype(T.dtype), sign * int_pts])
    P = jnp.tensordot(weights, X, axes=1)
    return P[0], P[1]


def literal(NR: int, NM: int, slab_per_bc: int, Ham: Array, int_pts: Array, Y: Array) -> tuple[Array, Array]:
    def point(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        P0, P1 = carry
        z = int_pts[i]
        T = jnp.zeros((NR, NR), Ham.dtype)
        for n in range(slab_per_bc + 1):
            T = T + _power(z, slab_per_bc / 2 - n) * Ham[n]
        X = jnp.linalg.inv(T) if NR == NM else jnp.linalg.solve(T, Y)
        X = jnp.where(jnp.abs(z) < 1.0, -X, X)
        return P0 + X, P1 + z * X

    zero = jnp.zeros((NR, NM), Ham.dtype)
    P0, P1 = lax.fori_loop(0, int_pts.shape[0], point, (zero, zero))
    return P0, P1
