"""Of a state and its copy one is kept for the reverse sweep."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from tests.support.oracle import numerical_gradient

N, STEPS = 14, 4


def both_read(u, steps):
    for _ in range(steps):
        un = u.copy()
        b = np.sin(u)
        u[1:-1] = 0.3 * un[1:-1] * (un[1:-1] - un[:-2]) + 0.3 * b[2:]
        u[0] = 0.0
        u[-1] = 1.0
    return np.sum(u)


def read_in_place(u, steps):
    for _ in range(steps):
        un = u.copy()
        u[1:-1] = 0.5 * u[1:-1] * u[1:-1] - 0.1 * un[2:] * un[:-2]
    return np.sum(u)


def few_replaced(u, steps):
    y = u[0]
    for k in range(steps):
        un = u.copy()
        y += np.sum(u * u * un)
        u[k:k + 2] = np.sin(un[k + 1:k + 3]) * u[k]
    return y


def open_ended(u, steps):
    k = 0
    while k < steps and u[3] < 1e6:
        un = u.copy()
        b = u[2:] * u[:-2]
        u[1:-1] = un[1:-1] * un[:-2] + 0.1 * b
        k = k + 1
    return np.sum(u)


def under_a_condition(u, steps):
    for _ in range(steps):
        un = u.copy()
        if np.sum(u * u) > 3.0:
            u[:-1] = 0.5 * u[1:] * un[:-1]
        else:
            u[1:] = np.cos(un[:-1]) * u[1:]
    return np.sum(u * u)


def copy_changed(u, steps):
    for _ in range(steps):
        un = u.copy()
        un[2] = 0.25
        u[:] = u * un * 0.9
    return np.sum(u)


PROGRAMS = [both_read, read_in_place, few_replaced, open_ended, under_a_condition, copy_changed]


def data() -> np.ndarray:
    return np.random.default_rng(5).random(N) + 0.4


def kept(fn: Callable[..., Any], steps: int = STEPS) -> dict[str, int]:
    """What is stored, in bytes."""
    plan = sdfgad.grad(fn).plan(sdfgad.spec(N), steps)
    return {i.name.split("@")[0]: i.bytes for i in plan.problem.items if i.name not in plan.recomputed}


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("fn", PROGRAMS)
def test_gradients(fn, steps):
    expected = numerical_gradient(lambda u: fn(u, steps), (data(),))
    assert np.allclose(sdfgad.grad(fn)(data(), steps), expected, rtol=1e-6, atol=1e-9)


def test_the_copy_is_kept_alone():
    # With the state after the last step, which is written where it would be kept.
    assert kept(both_read) == {"un": 8 * N * (STEPS + 1)}


def test_few_elements_are_recorded_as_before():
    assert kept(few_replaced) == {"u": 8 * 2 * STEPS}


def test_memory_is_as_planned():
    for fn in PROGRAMS:
        if fn is not open_ended:
            found = sdfgad.grad(fn).measure(data(), STEPS)
            assert found.measured.peak_bytes == found.predicted.peak_bytes


def test_within_less_memory():
    free = sdfgad.grad(both_read)
    expected, plan = free(data(), 40), free.plan(data(), 40)
    limit = (plan.outlook.floor_bytes + plan.predicted.peak_bytes) // 2
    assert np.allclose(sdfgad.grad(both_read, memory_limit=limit)(data(), 40), expected, rtol=1e-13)
