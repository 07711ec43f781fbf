"""fdtd_2d in JAX."""

from __future__ import annotations

from jax import lax

from npbench_suite.jax_ports.arrays import Array

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
        # Additions to a slice happen in place, and so do their transposes; padded or joined arrays are copied.
        ey = ey.at[1:].add(0.5 * (hz[:-1] - hz[1:])).at[0].set(source)
        ex = ex.at[:, 1:].add(0.5 * (hz[:, :-1] - hz[:, 1:]))
        hz = hz.at[:-1, :-1].add(0.7 * (ex[:-1, :-1] - ex[:-1, 1:] + ey[:-1, :-1] - ey[1:, :-1]))
        return (ex, ey, hz), None

    return lax.scan(step, (ex, ey, hz), _fict_, unroll=2)[0]
