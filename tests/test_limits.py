"""A memory limit is kept by what the program really holds, costs nothing in accuracy, and has a true minimum."""
from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import MemoryLimitError, PlanNotExecutable

STEPS = 30


def waves(u, v, steps):
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        u[1:-1] = un[1:-1] - 0.1 * un[1:-1] * (un[1:-1] - un[:-2]) + 0.1 * vn[2:]
        v[1:-1] = vn[1:-1] - 0.1 * un[1:-1] * (vn[1:-1] - vn[:-2])
    return (u * u + v).sum()


def sweeps(x):
    """A loop in a loop."""
    for i in range(6):
        for j in range(5):
            x[1:] = x[1:] * np.cos(x[:-1]) + 0.1 * np.sin(x[1:]) * x[:-1] * (i + j)
    return (x**3).sum()


def settling(x):
    y = x * 1.0
    e, n = 1.0, 0
    while e > 1e-9 and n < 400:
        z = np.sin(y) * y * 0.9 + 0.2 * x
        e = ((z - y) ** 2).sum()
        y[1:] = 0.9 * y[1:] + 0.1 * z[1:]
        n += 1
    return (y * y).sum() * n


def data(n: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.2, 1.0, n)


CASES = {waves: (data(20_000), data(20_000)[::-1].copy(), STEPS), sweeps: (data(30_000),)}


@pytest.fixture(params=CASES, ids=lambda f: f.__name__)
def case(request):
    return request.param, CASES[request.param]


def values(gradient) -> np.ndarray:
    return np.concatenate([np.ravel(g) for g in gradient]) if not isinstance(gradient, np.ndarray) else gradient


@cache
def minimum(fn) -> int:
    """The least limit for one of the cases, searched for once."""
    with pytest.raises(MemoryLimitError) as refused:
        sdfgad.plan(fn, *CASES[fn], memory_limit=1)
    return refused.value.minimum_bytes


def test_between_the_floor_and_everything(case):
    fn, args = case
    expected = values(sdfgad.grad(fn)(*args))
    most, least = sdfgad.plan(fn, *args).predicted.peak_bytes, minimum(fn)
    assert least < most / 2
    peaks = []
    for percent in (60, 5, 0):
        limit = least + (most - least) * percent // 100
        with sdfgad.config(check="error"):
            limited = sdfgad.grad(fn, memory_limit=limit)
            found = limited(*args)
        plan = limited.plan(*args)
        assert plan.predicted.peak_bytes <= limit
        np.testing.assert_allclose(values(found), expected, rtol=1e-12, atol=1e-13)
        peaks.append(plan.predicted.peak_bytes)
    assert peaks == sorted(peaks, reverse=True)


def test_the_minimum_is_one(case):
    fn, args = case
    least = minimum(fn)
    assert sdfgad.plan(fn, *args, memory_limit=least).predicted.peak_bytes <= least
    with pytest.raises(MemoryLimitError, match=f"raise memory_limit to {least}"):
        sdfgad.plan(fn, *args, memory_limit=least - 1)


def test_a_plan_with_snapshots_is_replayed(case, tmp_path):
    fn, args = case
    plan = sdfgad.plan(fn, *args, memory_limit=minimum(fn))
    assert plan.modes
    plan.save(tmp_path / "plan.json")
    again = sdfgad.grad(fn, plan=sdfgad.Plan.load(tmp_path / "plan.json"))
    np.testing.assert_allclose(values(again(*args)), values(sdfgad.grad(fn)(*args)), rtol=1e-12, atol=1e-13)


def test_a_plan_for_other_shapes_is_refused(case):
    fn, args = case
    plan = sdfgad.plan(fn, *args)
    smaller = tuple(a[:50] if isinstance(a, np.ndarray) else a for a in args)
    with pytest.raises(PlanNotExecutable, match="other shapes"):
        sdfgad.grad(fn, plan=plan)(*smaller)


def test_a_tape_that_outgrows_the_limit_gives_way_to_snapshots():
    x = data(20_000)
    expected = sdfgad.grad(settling)(x)
    limited = sdfgad.grad(settling, memory_limit="12MB")
    np.testing.assert_allclose(limited(x), expected, rtol=1e-12)
    plan = limited.plan(x)
    assert any(mode.kind == "online" for mode in plan.modes.values())
    np.testing.assert_allclose(limited(x), expected, rtol=1e-12)


def test_a_limit_too_small_for_snapshots_is_refused():
    with pytest.raises(MemoryLimitError):
        sdfgad.grad(settling, memory_limit="1.5MB")(data(20_000))
