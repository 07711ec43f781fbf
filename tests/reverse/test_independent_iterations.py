"""Loops whose iterations start from nothing keep the records of one of them: it runs again right before its reverse."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.checkpoint import solve, streaming
from sdfgad.checkpoint.modes import SEGMENTS
from sdfgad.checkpoint.roofline import Machine
from sdfgad.plans import planning
from sdfgad.thresholds import changed

SLOW_MEMORY = Machine(1e8, 1e12)
RECORDS = 20_000
"""Records that are taken to stream through memory here."""


def energies(poses, atoms, weights):
    """Each iteration fills a number of its own; inside, a loop that overwrites what it made."""
    out = np.zeros(poses.shape[0])
    for p in range(poses.shape[0]):
        x = np.cos(poses[p, 0]) * atoms + poses[p, 1]
        energy = 0.0
        for i in range(6):
            x[1:] = 0.9 * x[1:] * x[:-1] + 0.1 * atoms[1:]
            energy += np.sum(np.sin(x)) * atoms[i]
        out[p] = np.tanh(energy)
    return np.sum(out * out * weights)


def sums(poses, atoms, weights):
    """Totals that everybody adds to, of which the program makes something afterwards."""
    total, profile = 0.0, np.zeros(atoms.shape)
    for p in range(poses.shape[0]):
        x = poses[p, 0] * atoms
        for _ in range(5):
            x[1:] = x[1:] - 0.3 * x[:-1] * x[1:]
        total += weights[p] * np.sum(x * x)
        profile += x * weights[p]
    return total * total + np.sum(profile * profile)


def until(poses, atoms, weights):
    """A tape of unknown length in each iteration."""
    total = 0.0
    for p in range(poses.shape[0]):
        x = poses[p, 0] * atoms
        while np.sum(x * x) > 0.5:
            x = 0.7 * x + 0.01 * np.sin(x) * poses[p, 1]
        total += weights[p] * np.sum(np.exp(x))
    return total


def carried(poses, atoms, weights):
    """A sum that the iterations look at: these are not independent."""
    total = 1.0
    for p in range(poses.shape[0]):
        x = total * atoms * poses[p, 0]
        for _ in range(5):
            x[1:] = x[1:] - 0.3 * x[:-1] * x[1:]
        total += 0.1 * weights[p] * np.sum(x * x)
    return total


def steps_between(poses, atoms, weights):
    """The sum steers the number of steps: it may not come out wrong when an iteration runs again."""
    total, taken = 0.0, 0
    for p in range(poses.shape[0]):
        x = poses[p, 0] * atoms
        for _ in range(taken % 4 + 2):
            x[1:] = x[1:] - 0.3 * x[:-1] * x[1:]
        taken += 3
        total += weights[p] * np.sum(x * x)
    return total


def arguments(poses=12, atoms=90):
    rng = np.random.default_rng(3)
    return rng.uniform(0.2, 1.0, (poses, 2)), rng.uniform(0.2, 0.9, atoms), rng.uniform(0.5, 1.0, poses)


@pytest.fixture(autouse=True)
def small_cache(monkeypatch):
    monkeypatch.setattr(streaming, "STREAM_BYTES", RECORDS)
    monkeypatch.setattr(planning, "this_machine", lambda: SLOW_MEMORY)
    monkeypatch.setattr("sdfgad.analysis.cost.CACHE_BYTES", RECORDS // 2)
    monkeypatch.setattr("sdfgad.analysis.cost.NEAR_BYTES", RECORDS // 2)


def stored(monkeypatch, fn):
    """The gradient that stores everything."""
    monkeypatch.setattr(streaming, "STREAM_BYTES", 10**12)
    return sdfgad.value_and_grad(fn)(*arguments())


@pytest.mark.parametrize("fn", [energies, sums])
def test_independent_iterations_keep_nothing(monkeypatch, fn):
    found = sdfgad.value_and_grad(fn)
    plan = found.plan(*arguments())
    assert [(m.kind, m.count) for m in plan.modes.values()] == [(SEGMENTS, 12)]
    more = sdfgad.plan(fn, *arguments(poses=48))
    given = 8 * 3 * 2 * (48 - 12)  # the arguments themselves, and their gradients
    assert more.predicted.peak_bytes - plan.predicted.peak_bytes < 2 * given
    assert plan.predicted.peak_bytes < 0.5 * plan.predicted.store_all_bytes
    value, gradients = found(*arguments())
    assert np.isclose(value, fn(*(a.copy() for a in arguments())), rtol=1e-13)
    reference, expected = stored(monkeypatch, fn)
    assert value == reference
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    with sdfgad.config(num_threads=3):
        np.testing.assert_array_equal(found(*arguments())[1].poses, gradients.poses)
    assert sdfgad.check_grads(fn, *arguments()).ok


@pytest.mark.parametrize("fn", [energies, carried, steps_between])
def test_starting_again_gives_the_same_gradient(monkeypatch, fn):
    expected = stored(monkeypatch, fn)[1]
    for one, other in zip(sdfgad.grad(fn, snapshot="p")(*arguments()), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_iterations_look_at_is_carried():
    state = {fn.__name__: sdfgad.plan(fn, *arguments(), snapshot="p").schedule.problem.loops[0].state_bytes
             for fn in (energies, sums, carried)}
    assert state["energies"] == state["sums"] == 0
    assert state["carried"] >= 8


def test_what_inner_loops_offer_is_found_once(monkeypatch):
    asked, found = [], solve.best_points
    monkeypatch.setattr(solve, "best_points", lambda points, count: asked.append(count) or found(points, count))
    with changed(small_program=0):  # of a large program the floor is not looked for below that of the model
        assert sdfgad.plan(carried, *arguments(), snapshot="p").outlook.floor_bytes
    assert len(asked) == 1


def test_tapes_of_unknown_length_are_those_of_one_iteration():
    expected = sdfgad.grad(until)(*arguments())
    free = sdfgad.grad(until).measure(*arguments())
    tape = free.measured.peak_bytes - free.predicted.peak_bytes
    limited = sdfgad.grad(until, memory_limit=free.predicted.peak_bytes + tape // 3)
    for one, other in zip(limited(*arguments()), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert SEGMENTS in {m.kind for m in limited.plan(*arguments()).modes.values()}
