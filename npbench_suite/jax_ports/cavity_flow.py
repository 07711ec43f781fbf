"""JAX ports of cavity_flow."""

import jax.numpy as jnp
from jax import Array, lax


def idiomatic(
    nx: int, ny: int, nt: int, nit: int, u: Array, v: Array, dt: float, dx: float, dy: float, p: Array,
    rho: float, nu: float,
) -> tuple[Array, Array, Array]:
    both = 2 * (dx**2 + dy**2)
    along_x, along_y, source = dy**2 / both, dx**2 / both, dx**2 * dy**2 / both

    def sweep(p: Array, b: Array) -> Array:
        inside = (p[1:-1, 2:] + p[1:-1, :-2]) * along_x + (p[2:, 1:-1] + p[:-2, 1:-1]) * along_y - b
        # Three sides repeat their neighbours, the last row is 0.
        return jnp.pad(jnp.pad(inside, ((1, 0), (1, 1)), mode="edge"), ((0, 1), (0, 0)))

    def step(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], None]:
        u, v, p = carry
        u_x, u_y = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
        v_x, v_y = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        b = source * rho * ((u_x + v_y) / dt - u_x**2 - 2 * u_y * v_x - v_y**2)
        p, _ = lax.scan(lambda p, _: (sweep(p, b), None), p, None, length=nit)

        def moved(f: Array) -> Array:
            mid, west, south = f[1:-1, 1:-1], f[1:-1, :-2], f[:-2, 1:-1]
            carried = u[1:-1, 1:-1] * (dt / dx) * (mid - west) + v[1:-1, 1:-1] * (dt / dy) * (mid - south)
            spread = dt / dx**2 * (f[1:-1, 2:] - 2 * mid + west) + dt / dy**2 * (f[2:, 1:-1] - 2 * mid + south)
            return mid - carried + nu * spread

        next_u = moved(u) - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        next_v = moved(v) - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
        return (jnp.pad(next_u, 1).at[-1].set(1.0), jnp.pad(next_v, 1), p), None

    (u, v, p), _ = lax.scan(step, (u, v, p), None, length=nt)
    return u, v, p


def literal(
    nx: int, ny: int, nt: int, nit: int, u: Array, v: Array, dt: float, dx: float, dy: float, p: Array,
    rho: float, nu: float,
) -> tuple[Array, Array, Array]:
    def build_up_b(u: Array, v: Array) -> Array:
        u_x, u_y = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
        v_x, v_y = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        inside = rho * ((u_x + v_y) / dt - u_x**2 - 2 * u_y * v_x - v_y**2)
        return jnp.zeros((ny, nx)).at[1:-1, 1:-1].set(inside)

    def pressure(b: Array, p: Array) -> Array:
        inside = ((p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p = p.at[1:-1, 1:-1].set(inside)
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0, :].set(p[1, :])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1, :].set(0.0)

    def momentum(f: Array, un: Array, vn: Array, slope: Array) -> Array:
        mid = f[1:-1, 1:-1]
        inside = (
            mid
            - un[1:-1, 1:-1] * dt / dx * (mid - f[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (mid - f[:-2, 1:-1])
            - dt / (2 * rho) * slope
            + nu * dt / dx**2 * (f[1:-1, 2:] - 2 * mid + f[1:-1, :-2])
            + nu * dt / dy**2 * (f[2:, 1:-1] - 2 * mid + f[:-2, 1:-1])
        )
        f = f.at[1:-1, 1:-1].set(inside)
        return f.at[0, :].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0).at[-1, :].set(0.0)

    def step(n: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        un, vn, p = carry
        b = build_up_b(un, vn)
        p = lax.fori_loop(0, nit, lambda q, p: pressure(b, p), p)
        u = momentum(un, un, vn, (p[1:-1, 2:] - p[1:-1, :-2]) / dx).at[-1, :].set(1.0)
        v = momentum(vn, un, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / dy)
        return u, v, p

    u, v, p = lax.fori_loop(0, nt, step, (u, v, p))
    return u, v, p
