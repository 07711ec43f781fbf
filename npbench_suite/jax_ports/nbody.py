"""JAX ports of nbody."""

import jax.numpy as jnp
from jax import Array, lax


def idiomatic(
    mass: Array, pos: Array, vel: Array, N: int, Nt: int, dt: float, G: float, softening: float
) -> tuple[Array, Array]:
    def forces(pos: Array, vel: Array) -> tuple[Array, Array, Array]:
        """Accelerations and both energies share the distances."""
        apart = pos[None] - pos[:, None]
        squares = jnp.sum(apart**2, axis=2)
        pull = _inverse_root(squares + softening**2) ** 3 * mass.T
        potential = -0.5 * G * jnp.sum(mass * (_inverse_root(squares) @ mass))
        acc = G * (pull @ pos - pos * jnp.sum(pull, axis=1, keepdims=True))
        return acc, potential, 0.5 * jnp.sum(mass * vel**2)

    def step(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        pos, vel, acc = carry
        half = vel + acc * (dt / 2.0)
        pos = pos + half * dt
        acc, potential, _unused = forces(pos, half)
        vel = half + acc * (dt / 2.0)
        return (pos, vel, acc), (0.5 * jnp.sum(mass * vel**2), potential)

    vel = vel - jnp.mean(mass * vel, axis=0) / jnp.mean(mass)
    acc, potential, kinetic = forces(pos, vel)
    _, (kinetics, potentials) = lax.scan(step, (pos, vel, acc), None, length=Nt)
    return jnp.append(kinetic, kinetics), jnp.append(potential, potentials)


def _inverse_root(squares: Array) -> Array:
    """1/sqrt, and 0 with derivative 0 at 0."""
    positive = squares > 0
    return jnp.where(positive, lax.rsqrt(jnp.where(positive, squares, 1.0)), 0.0)


def literal(
    mass: Array, pos: Array, vel: Array, N: int, Nt: int, dt: float, G: float, softening: float
) -> tuple[Array, Array]:
    def accelerations(pos: Array) -> Array:
        dx, dy, dz = (pos[:, c : c + 1].T - pos[:, c : c + 1] for c in range(3))
        inv_r3 = _inverse_root(dx**2 + dy**2 + dz**2 + softening**2) ** 3
        return jnp.hstack([G * (d * inv_r3) @ mass for d in (dx, dy, dz)])

    def energies(pos: Array, vel: Array) -> tuple[Array, Array]:
        dx, dy, dz = (pos[:, c : c + 1].T - pos[:, c : c + 1] for c in range(3))
        inv_r = _inverse_root(dx**2 + dy**2 + dz**2)
        return 0.5 * jnp.sum(mass * vel**2), G * jnp.sum(jnp.triu(-(mass * mass.T) * inv_r, 1))

    def step(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        pos, vel, acc, kinetic, potential = carry
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = accelerations(pos)
        vel = vel + acc * dt / 2.0
        one, other = energies(pos, vel)
        return pos, vel, acc, kinetic.at[i + 1].set(one), potential.at[i + 1].set(other)

    vel = vel - jnp.mean(mass * vel, axis=0) / jnp.mean(mass)
    one, other = energies(pos, vel)
    kinetic, potential = jnp.zeros(Nt + 1).at[0].set(one), jnp.zeros(Nt + 1).at[0].set(other)
    state = lax.fori_loop(0, Nt, step, (pos, vel, accelerations(pos), kinetic, potential))
    return state[3], state[4]
