"""JAX ports of vadv."""

import jax.numpy as jnp
from jax import Array, lax

Pair = tuple[Array, Array]


def idiomatic(
    utens_stage: Array, u_stage: Array, wcon: Array, u_pos: Array, utens: Array, dtr_stage: float
) -> tuple[Array]:
    # Levels first: the recurrences run along them.
    stage, u, w, pos, tend = (jnp.moveaxis(x, 2, 0) for x in (utens_stage, u_stage, wcon, u_pos, utens))
    weight = 0.125 * (w[1:, 1:] + w[1:, :-1])
    none = jnp.zeros_like(weight[:1])
    a = jnp.concatenate([none, -weight])
    c = jnp.concatenate([weight, none])
    slope = u[1:] - u[:-1]
    d = dtr_stage * pos + tend + stage - a * jnp.concatenate([none, -slope]) - c * jnp.concatenate([slope, none])
    b = dtr_stage - a - c

    def forward(carry: Pair, level: tuple[Array, ...]) -> tuple[Pair, Pair]:
        a, b, c, d = level
        before_c, before_d = carry
        scale = 1.0 / (b - before_c * a)
        carry = (c * scale, (d - before_d * a) * scale)
        return carry, carry

    def backward(above: Array, level: Pair) -> Pair:
        c, d = level
        x = d - c * above
        return x, x

    start = (none[0], none[0])
    _, (c, d) = lax.scan(forward, start, (a, b, c, d))
    _, x = lax.scan(backward, none[0], (c, d), reverse=True)
    return (jnp.moveaxis(dtr_stage * (x - pos), 0, 2),)


def literal(
    utens_stage: Array, u_stage: Array, wcon: Array, u_pos: Array, utens: Array, dtr_stage: float
) -> tuple[Array]:
    levels = utens_stage.shape[2]

    def below(k: Array | int) -> Pair:
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        return 0.5 * gav, -0.5 * gav * (u_stage[:, :, k - 1] - u_stage[:, :, k])

    def above(k: Array | int) -> Pair:
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        return 0.5 * gcv, -0.5 * gcv * (u_stage[:, :, k + 1] - u_stage[:, :, k])

    def source(k: Array | int) -> Array:
        return dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k]

    def forward(k: Array, carry: Pair) -> Pair:
        ccol, dcol = carry
        (a, from_below), (c, from_above) = below(k), above(k)
        divided = 1.0 / (dtr_stage - a - c - ccol[:, :, k - 1] * a)
        right = source(k) + from_below + from_above - dcol[:, :, k - 1] * a
        return ccol.at[:, :, k].set(c * divided), dcol.at[:, :, k].set(right * divided)

    def backward(step: Array, carry: Pair) -> Pair:
        k = levels - 2 - step
        data, out = carry
        data = dcol[:, :, k] - ccol[:, :, k] * data
        return data, out.at[:, :, k].set(dtr_stage * (data - u_pos[:, :, k]))

    c, correction = above(0)
    divided = 1.0 / (dtr_stage - c)
    ccol = jnp.zeros_like(utens_stage).at[:, :, 0].set(c * divided)
    dcol = jnp.zeros_like(utens_stage).at[:, :, 0].set((source(0) + correction) * divided)
    ccol, dcol = lax.fori_loop(1, levels - 1, forward, (ccol, dcol))

    last = levels - 1
    a, correction = below(last)
    divided = 1.0 / (dtr_stage - a - ccol[:, :, last - 1] * a)
    data = (source(last) + correction - dcol[:, :, last - 1] * a) * divided
    out = utens_stage.at[:, :, last].set(dtr_stage * (data - u_pos[:, :, last]))
    return (lax.fori_loop(0, levels - 1, backward, (data, out))[1],)
