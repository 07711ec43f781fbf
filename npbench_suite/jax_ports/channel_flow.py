"""JAX ports of channel_flow: the loop runs to a tolerance, and JAX reverses loops of fixed length only."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

# The presets need fewer than 1000 steps. A run that needs more gives NaN.
MOST_STEPS = 1024

State = tuple[Array, Array, Array]


def idiomatic(
    nit: int, u: Array, v: Array, dt: float, dx: float, dy: float, p: Array, rho: float, nu: float, F: float
) -> State:
    return _run(partial(_step, nit, dt, dx, dy, rho, nu, F), (u, v, p))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _run(step: Callable[[State], State], state: State) -> State:
    return _recorded(step, state)[0]


def _recorded(step: Callable[[State], State], state: State) -> tuple[State, tuple[Array, Array, Array]]:
    """The final state; what reverse mode needs: u and v before every step, and the number of steps."""
    trace = jnp.empty((MOST_STEPS, *state[0].shape), state[0].dtype)

    def body(carry: tuple[Array, Array, State, Array, Array]) -> tuple[Array, Array, State, Array, Array]:
        n, _, state, us, vs = carry
        after = step(state)
        return n + 1, _difference(after[0], state[0]), after, us.at[n].set(state[0]), vs.at[n].set(state[1])

    n, _, state, us, vs = lax.while_loop(lambda c: _going_on(c[0], c[1]), body, (0, 1.0, state, trace, trace))
    state = tuple(jnp.where(n < MOST_STEPS, x, jnp.nan) for x in state)
    return state, (n, us, vs)


def _reverse(step: Callable[[State], State], saved: tuple[Array, Array, Array], adjoint: State) -> tuple[State]:
    n, us, vs = saved

    def body(carry: tuple[Array, State]) -> tuple[Array, State]:
        n, adjoint = carry
        # A step is linear in p: any p will do.
        _, pullback = jax.vjp(step, (us[n - 1], vs[n - 1], jnp.zeros_like(us[0])))
        return n - 1, pullback(adjoint)[0]

    return (lax.while_loop(lambda c: c[0] > 0, body, (n, adjoint))[1],)


_run.defvjp(_recorded, _reverse)


def _difference(after: Array, before: Array) -> Array:
    return (jnp.sum(after) - jnp.sum(before)) / jnp.sum(after)


def _going_on(n: Array, udiff: Array) -> Array:
    return (udiff > 0.001) & (n < MOST_STEPS)


def _step(nit: int, dt: float, dx: float, dy: float, rho: float, nu: float, F: float, state: State) -> State:
    u, v, p = state
    both = 2 * (dx**2 + dy**2)
    along_x, along_y, source = dy**2 / both, dx**2 / both, dx**2 * dy**2 / both

    def sides(f: Array) -> tuple[Array, Array]:
        """East and west neighbours of the inner rows."""
        inner = f[1:-1]
        return jnp.roll(inner, -1, axis=1), jnp.roll(inner, 1, axis=1)

    def sweep(p: Array, b: Array) -> Array:
        east, west = sides(p)
        inside = (east + west) * along_x + (p[2:] + p[:-2]) * along_y - b
        return jnp.pad(inside, ((1, 1), (0, 0)), mode="edge")

    def moved(f: Array, east: Array, west: Array) -> Array:
        mid, south, north = f[1:-1], f[:-2], f[2:]
        carried = u[1:-1] * (dt / dx) * (mid - west) + v[1:-1] * (dt / dy) * (mid - south)
        return mid - carried + nu * (dt / dx**2 * (east - 2 * mid + west) + dt / dy**2 * (north - 2 * mid + south))

    (u_east, u_west), (v_east, v_west) = sides(u), sides(v)
    u_x, u_y = (u_east - u_west) / (2 * dx), (u[2:] - u[:-2]) / (2 * dy)
    v_x, v_y = (v_east - v_west) / (2 * dx), (v[2:] - v[:-2]) / (2 * dy)
    b = source * rho * ((u_x + v_y) / dt - u_x**2 - 2 * u_y * v_x - v_y**2)
    p, _ = lax.scan(lambda p, _: (sweep(p, b), None), p, None, length=nit)

    p_east, p_west = sides(p)
    next_u = moved(u, u_east, u_west) - dt / (2 * rho * dx) * (p_east - p_west) + F * dt
    next_v = moved(v, v_east, v_west) - dt / (2 * rho * dy) * (p[2:] - p[:-2])
    walls = ((1, 1), (0, 0))
    return jnp.pad(next_u, walls), jnp.pad(next_v, walls), p


def literal(
    nit: int, u: Array, v: Array, dt: float, dx: float, dy: float, p: Array, rho: float, nu: float, F: float
) -> State:
    """A scan over the most steps there may be, of which the last ones do nothing."""
    step = partial(_step, nit, dt, dx, dy, rho, nu, F)

    def body(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], None]:
        udiff, state = carry

        def one() -> tuple[Array, State]:
            after = step(state)
            return lax.stop_gradient(_difference(after[0], state[0])), after

        return lax.cond(udiff > 0.001, one, lambda: (udiff, state)), None

    (udiff, state), _ = lax.scan(body, (jnp.ones(()), (u, v, p)), None, length=MOST_STEPS)
    u, v, p = (jnp.where(udiff > 0.001, jnp.nan, x) for x in state)
    return u, v, p
