"""Of a product, the other factor is kept for the reverse sweep, not all the arrays that it is made of."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from tests.support.oracle import numerical_gradient

N, STEPS = 9, 3


def waves(e, h, g, c, steps):
    """Yee's scheme: the curl is one number per point where the two fields are two."""
    for _ in range(steps):
        h[:-1] += 0.5 * (e[1:] - e[:-1])
        g[1:] -= 0.3 * (e[1:] - e[:-1])
        e[1:-1] += c[1:-1] * (h[1:-1] - h[:-2] - g[2:] + g[1:-1])
    return np.sum(e * e)


def limited(e, h, g, c, steps):
    """Two limited fluxes, whose signs decide."""
    for _ in range(steps):
        curved = e[2:] - 2.0 * e[1:-1] + e[:-2]
        d = curved[1:] - curved[:-1]
        f = np.where(d * (e[2:-1] - e[1:-2]) > 0.0, 0.0, d)
        q = np.where(d * h[1:-2] > 0.1, d, 0.5 * d)
        e[2:-2] -= 0.1 * c[2:-2] * (f[1:] - f[:-1] + q[1:] - q[:-1])
    return np.sum(e * e)


def diffused(e, h, g, c, steps):
    """One state, changed in place: as many bytes, but nothing to put back."""
    for _ in range(steps):
        e[1:-1] += 0.2 * c[1:-1] * (e[2:] - 2.0 * e[1:-1] + e[:-2])
    return np.sum(e * e)


def both_factors_move(e, h, g, c, steps):
    for _ in range(steps):
        e[1:-1] = e[1:-1] + 0.1 * (h[2:] - h[:-2]) * (g[1:-1] + g[:-2])
        h[:] = 0.9 * h + 0.1 * e
        g[:] = 0.8 * g - 0.1 * e
    return np.sum(e * e) + np.sum(h)


def looked_at_elsewhere(e, h, g, c, steps):
    """The state is needed for itself, too."""
    for _ in range(steps):
        e[1:-1] += 0.2 * c[1:-1] * (e[2:] - e[:-2])
        e[:] = e * (1.0 - 0.1 * e)
    return np.sum(e * e)


def open_ended(e, h, g, c, steps):
    k = 0
    while k < steps and np.max(e) < 1e6:
        h[:-1] += 0.5 * (e[1:] - e[:-1])
        e[1:-1] += c[1:-1] * (h[1:-1] - h[:-2])
        k += 1
    return np.sum(e * e)


def under_a_condition(e, h, g, c, steps):
    for t in range(steps):
        if t % 2 == 0:
            e[1:-1] += c[1:-1] * (h[2:] - h[:-2])
        else:
            e[1:-1] -= c[1:-1] * (h[2:] + e[:-2])
        h[:] = h - 0.2 * e
    return np.sum(e * e)


def at_the_rim(e, h, g, c, steps):
    """What only a condition keeps inside of the array."""
    for _ in range(steps):
        for i in range(len(c)):
            left = h[i - 1] if i > 0 else 0.0
            e[i] = e[i] + c[i] * (h[i] - left)
        h[:] = h + 0.3 * e
    return np.sum(e * e)


def of_a_triangle(e, h, g, c, steps):
    for k in range(steps):
        e[k:] += c[k:] * (h[k:] - g[:len(g) - k])
        h[:] = 0.9 * h + 0.1 * e
        g[:] = 0.8 * g - 0.1 * e
    return np.sum(e * e)


def of_components(e, h, g, c, steps):
    """Rows of one array: each of their factors would be an array of its own."""
    f = np.stack((e, h, g))
    for _ in range(steps):
        for k in range(3):
            f[k, 1:-1] += c[1:-1] * (f[k, 2:] - f[k, :-2])
    return np.sum(f * f)


PROGRAMS = [waves, limited, diffused, both_factors_move, looked_at_elsewhere, open_ended, under_a_condition, at_the_rim,
            of_a_triangle, of_components]


def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(7)
    return tuple(rng.random(N) + 0.2 for _ in range(4))


def kept(fn: Callable[..., Any]) -> dict[str, int]:
    """What is stored, in bytes."""
    plan = sdfgad.grad(fn, wrt=("e", "h", "g", "c")).plan(*[sdfgad.spec(N)] * 4, STEPS)
    return {i.name.split("@")[0]: i.bytes for i in plan.problem.items if i.name not in plan.recomputed}


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_gradients(fn):
    expected = [numerical_gradient(lambda *x: fn(*x, STEPS), data(), k) for k in range(4)]
    got = sdfgad.grad(fn, wrt=("e", "h", "g", "c"))(*data(), STEPS)
    assert all(np.allclose(a, b, rtol=1e-6, atol=1e-8) for a, b in zip(got, expected, strict=True))


def test_one_number_per_point():
    assert kept(waves) == {"factor": 8 * (N - 2) * STEPS}
    assert kept(diffused) == {"factor": 8 * (N - 2) * STEPS}


def test_what_is_needed_for_itself_is_kept_alone():
    assert "factor" not in kept(looked_at_elsewhere)
    assert "factor" not in kept(of_components)


def test_what_comparisons_decide_is_no_fewer_arrays():
    assert "factor" not in kept(limited)


def test_within_less_memory():
    given = (*data(), 60)
    free = sdfgad.grad(waves, wrt=("e", "c"))
    expected, plan = free(*given), free.plan(*given)
    limit = (plan.outlook.floor_bytes + plan.predicted.peak_bytes) // 2
    got = sdfgad.grad(waves, wrt=("e", "c"), memory_limit=limit)(*given)
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(got, expected, strict=True))
