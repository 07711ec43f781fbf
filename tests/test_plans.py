"""Plans: what a call will store, saved and replayed, executed to the letter or refused; memory limits."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.checkpoint.plan import RECOMPUTE, Plan, recompute_where_possible
from sdfgad.errors import MemoryLimitError, PlanNotExecutable

X = np.array([0.3, 0.7, 1.1, 0.4])


def steps(x):
    x = x.copy()
    for _ in range(4):
        x[1:-1] = x[1:-1] + 0.1 * x[:-2] * x[2:]
    return (x * x).sum()


def test_a_plan_says_what_a_call_would_store():
    seen = sdfgad.plan(steps, sdfgad.spec(4))
    assert seen.predicted.peak_bytes > 0
    assert any(item.array == "x" for item in seen.problem.items)
    assert "stor" in str(seen)
    assert sdfgad.grad(steps).plan(X).predicted == seen.predicted
    assert sdfgad.grad(steps).plan(sdfgad.spec(400)).predicted.peak_bytes > 50 * seen.predicted.peak_bytes


def test_a_plan_is_saved_and_replayed(tmp_path):
    seen = sdfgad.plan(steps, sdfgad.spec(4))
    seen.save(tmp_path / "plan.json")
    read = Plan.load(tmp_path / "plan.json")
    assert read == seen
    np.testing.assert_array_equal(sdfgad.grad(steps, plan=read)(X), sdfgad.grad(steps)(X))


def rebuilding(x):
    y = np.ones(4)
    for t in range(3):
        h = np.sin(x) + t
        y[1:] = y[1:] * h[:-1] * h[1:]
    return (y * y).sum()


def test_a_plan_that_recomputes_gives_the_same_gradient():
    seen = sdfgad.plan(rebuilding, X)
    again = recompute_where_possible(seen.problem)
    assert again.recomputed
    assert again.predicted.peak_bytes < seen.predicted.peak_bytes
    np.testing.assert_allclose(sdfgad.grad(rebuilding, plan=again)(X), sdfgad.grad(rebuilding)(X), rtol=1e-13)


def test_a_plan_that_cannot_be_executed_is_refused():
    seen = sdfgad.plan(steps, X)
    item = next(i for i in seen.problem.items if not i.recomputable)
    impossible = Plan(seen.problem, {**seen.decisions, item.name: RECOMPUTE})
    with pytest.raises(PlanNotExecutable, match=item.name):
        sdfgad.grad(steps, plan=impossible)(X)


def test_a_memory_limit_is_kept_or_refused():
    need = sdfgad.plan(steps, X).predicted.peak_bytes
    np.testing.assert_array_equal(sdfgad.grad(steps, memory_limit=need)(X), sdfgad.grad(steps)(X))
    with pytest.raises(MemoryLimitError, match="limit") as caught:
        sdfgad.grad(steps, memory_limit=8)(X)
    assert caught.value.minimum_bytes > 8
    with sdfgad.config(memory_limit=8), pytest.raises(MemoryLimitError):
        sdfgad.grad(steps)(X)
