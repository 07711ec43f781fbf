"""Plans: what a call will store, saved and replayed, executed to the letter or refused; memory limits."""
from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.checkpoint.decided import RECOMPUTE
from sdfgad.errors import MemoryLimitError, PlanNotExecutable
from sdfgad.plans import planning
from sdfgad.plans.plan import Plan
from tests.support.plans import recompute_where_possible

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


def test_the_limit_of_the_settings_holds_for_pullbacks():
    with sdfgad.config(memory_limit="100 kB"), pytest.raises(MemoryLimitError):
        sdfgad.vjp(steps, np.ones(100_000))


@dataclass(frozen=True)
class Schedule:
    peak_bytes: int
    limit_bytes: int | None = None


def test_a_model_that_sees_a_part_of_every_plan_is_asked_for_that_part(monkeypatch):
    """Plans of 8, 5 and 1, of which programs take three times as much: what the model misses of the first one, 16, is
    more than the limit, but that is not so of smaller plans."""
    def planner(question, inner):
        return SimpleNamespace(whole=False, fastest=lambda bounds: next(
            (Schedule(n) for n in (8, 5, 1) if n <= bounds.peak), None))

    monkeypatch.setattr(planning, "Planner", planner)
    monkeypatch.setattr(planning.Choice, "emitted", lambda self, s: SimpleNamespace(peak=3 * s.peak_bytes))
    choice = planning.Choice(None, None, None, 15)
    choice.__dict__["question"] = None
    found, schedule = choice._within(15, 15, planning.ATTEMPTS)
    assert (found.peak, schedule) == (15, Schedule(5, 15))
