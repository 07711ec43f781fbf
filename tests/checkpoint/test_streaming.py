"""Loops in segments because their records would stream through memory: which loops, and the same gradient."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.checkpoint import streaming
from sdfgad.checkpoint.modes import SEGMENTS
from sdfgad.checkpoint.roofline import Machine
from sdfgad.checkpoint.schedule import FORWARD, REVERSE, ScheduledBlock, ScheduledItem, ScheduledLoop, ScheduleProblem
from sdfgad.checkpoint.streaming import cached_modes
from sdfgad.plans import planning

SLOW_MEMORY = Machine(1e8, 1e12)
SLOW_ARITHMETIC = Machine(1e13, 1e8)


def question(record, state, trips=100):
    """One loop that keeps so many bytes per iteration."""
    blocks = tuple(ScheduledBlock(f"{phase} {k}", phase, {}, loop)
                   for phase in (FORWARD, REVERSE) for k, loop in enumerate((None, "t", None)))
    item = ScheduledItem("x", "x", record, "float64", record // 8, 1, (4,), "t", store_only=True)
    return ScheduleProblem("made up", blocks, (item,), (ScheduledLoop("t", trips, state, 1e-3),))


def test_the_footprint_of_the_segments_is_as_small_as_possible(monkeypatch):
    monkeypatch.setattr(streaming, "STREAM_BYTES", 50_000)
    mode = cached_modes(question(record=1000, state=1000))["t"]
    assert mode.kind == SEGMENTS
    kept = mode.count * 1000 + -(-100 // mode.count) * 1000
    assert kept <= 22_000  # 2 sqrt(100), and a little for rounding


@pytest.mark.parametrize("record, state", [(400, 8), (1000, 10_000)])
def test_small_records_and_large_states_stay_as_they_are(monkeypatch, record, state):
    monkeypatch.setattr(streaming, "STREAM_BYTES", 50_000)
    assert cached_modes(question(record, state)) == {}


def elimination(a, b):
    """The trailing block is overwritten in each step; what it held is read again."""
    n = a.shape[0]
    for k in range(n):
        q = a[:, k] / np.sqrt(np.dot(a[:, k], a[:, k]))
        b[k] = np.sum(q * b)
        for j in range(k + 1, n):
            r = np.dot(q, a[:, j])
            a[:, j] -= r * q
    return np.sum(a * a) + np.sum(b)


def arguments(n=24):
    rng = np.random.default_rng(0)
    return rng.random((n, n)) + np.eye(n), rng.random(n)


@pytest.fixture
def small_cache(monkeypatch):
    monkeypatch.setattr(streaming, "STREAM_BYTES", 60_000)


def with_machine(monkeypatch, machine):
    monkeypatch.setattr(planning, "this_machine", lambda: machine)
    monkeypatch.setattr("sdfgad.analysis.cost.CACHE_BYTES", 30_000)
    monkeypatch.setattr("sdfgad.analysis.cost.NEAR_BYTES", 30_000)


def test_the_gradient_is_that_of_storing_everything(monkeypatch, small_cache):
    with_machine(monkeypatch, SLOW_MEMORY)
    found = sdfgad.grad(elimination)
    assert {m.kind for m in found.plan(*arguments()).modes.values()} == {SEGMENTS}
    monkeypatch.setattr(streaming, "STREAM_BYTES", 10**9)
    everything = sdfgad.grad(elimination)
    assert not everything.plan(*arguments()).modes
    for x, y in zip(found(*arguments()), everything(*arguments()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    assert sdfgad.check_grads(elimination, *arguments()).ok


def test_a_loop_that_is_dear_to_run_again_is_recorded(monkeypatch, small_cache):
    with_machine(monkeypatch, SLOW_ARITHMETIC)
    assert not sdfgad.grad(elimination).plan(*arguments()).modes


def test_a_limit_is_kept(monkeypatch, small_cache):
    with_machine(monkeypatch, SLOW_MEMORY)
    cached = sdfgad.grad(elimination).plan(*arguments()).predicted.peak_bytes
    for limit in (cached, cached - 1):
        limited = sdfgad.grad(elimination, memory_limit=limit)
        assert limited.plan(*arguments()).predicted.peak_bytes <= limit
        for x, y in zip(limited(*arguments()), sdfgad.grad(elimination)(*arguments()), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_a_plan_in_the_cache_is_replayed(monkeypatch, small_cache):
    with_machine(monkeypatch, SLOW_MEMORY)
    plan = sdfgad.grad(elimination).plan(*arguments())
    with_machine(monkeypatch, SLOW_ARITHMETIC)
    assert sdfgad.grad(elimination, plan=plan).plan(*arguments()).modes == plan.modes
