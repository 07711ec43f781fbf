"""fdtd_2d in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array, put

Fields = tuple[Array, Array, Array]


def literal(TMAX: int, ex: Array, ey: Array, hz: Array, _fict_: Array) -> Fields:
    def step(t, fields):
        ex, ey, hz = fields
        ey = ey.at[0, :].set(_fict_[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return lax.fori_loop(0, TMAX, step, (ex, ey, hz))


def idiomatic(TMAX: int, ex: Array, ey: Array, hz: Array, _fict_: Array) -> Fields:
    def step(fields: Fields, source: Array) -> tuple[Fields, None]:
        ex, ey, hz = fields
        ey = put(ey, ey[1:] - 0.5 * (hz[1:] - hz[:-1]), 1, 0)
        ey = put(ey, jnp.full_like(ey[:1], source), 0, 0)
        ex = put(ex, ex[:, 1:] - 0.5 * (hz[:, 1:] - hz[:, :-1]), 0, 1)
        above = ex[:-1]
        around = above[:, 1:] - above[:, :-1] + (ey[1:] - ey[:-1])[:, :-1]
        return (ex, ey, put(hz, hz[:-1, :-1] - 0.7 * around, 0, 0)), None

    return lax.scan(step, (ex, ey, hz), _fict_)[0]
