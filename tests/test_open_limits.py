"""Limits for loops whose length shows only as they run: tapes as long as that, then snapshots, level by level."""
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.checkpoint.modes import BINOMIAL, ONLINE, SEGMENTS, Mode
from sdfgad.errors import MemoryLimitError
from sdfgad.names import loop_name
from sdfgad.plans.fallback import MOST_ONLINE, smaller_modes
from sdfgad.reverse.problem import OpenLoop
from sdfgad.verbs.pipeline import Derivative, Request, derive
from tests.data import early_programs as programs

N = 4000
WHOLE = {programs.picard: 80, programs.own_counter: 80, programs.steps_in_time: 60, programs.two_levels: 30,
         programs.inside_a_while_loop: 60, programs.around_a_while_loop: 60}
"""Programs, and iterations enough to fill a tape."""


@cache
def unlimited(fn) -> tuple[Derivative, np.ndarray]:
    """The gradient that stores everything, for all tests."""
    return derived(fn)


def derived(fn, limit: int | None = None) -> tuple[Derivative, np.ndarray]:
    """The gradient, after a call that keeps the limit to the byte."""
    bound = bind(fn, (*programs.arguments(fn, N), -1.0, WHOLE[fn]), {})
    made = derive(fn, bound, Request(fn.__code__.co_varnames[:2], limit=limit))
    used = made.measured(bound)
    assert limit is None or used.peak_bytes <= limit
    return made, np.concatenate(list(made.run(bound, frozenset())[1].values()))


@pytest.mark.parametrize("fn", WHOLE, ids=lambda f: f.__name__)
def test_a_tape_that_outgrows_the_limit_gives_way_to_snapshots(fn):
    made, expected = unlimited(fn)
    base, tape = made.plan.predicted.peak_bytes, made.compiled().tape_peak
    assert tape > 4 * base and not made.plan.modes
    assert not derived(fn, int(base + 1.1 * tape))[0].plan.modes
    for percent in (60, 40) if fn is programs.picard else (40,):
        limited, found = derived(fn, base + tape * percent // 100)
        assert limited.plan.modes and limited.plan.predicted.unbounded
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(MemoryLimitError, match="outgrew its limit"):
        derived(fn, base + 16 * N)


def test_a_call_that_goes_on_with_less_leaves_those_of_other_threads_alone(monkeypatch):
    """Each gives what its own program has made: here one runs while another one is between its code and its result."""
    fn, made_all = programs.picard, unlimited(programs.picard)[0]
    limit = made_all.plan.predicted.peak_bytes + made_all.compiled().tape_peak * 40 // 100
    few, many = (bind(fn, (*programs.arguments(fn, N), tol, WHOLE[fn]), {}) for tol in (1e3, -1.0))
    made = derive(fn, few, Request(fn.__code__.co_varnames[:2], limit=limit, value=True))
    expected = [made_all.run(bound, frozenset())[1] for bound in (few, many)]
    execute, found = Derivative.execute, []

    def interrupted(self, *call):
        memory = execute(self, *call)
        monkeypatch.setattr(Derivative, "execute", execute)
        before = made.emission
        found.append(made.run(many, frozenset())[1])
        assert made.emission is not before
        return memory

    monkeypatch.setattr(Derivative, "execute", interrupted)
    found.insert(0, made.run(few, frozenset())[1])
    for gradient, wanted in zip(found, expected, strict=True):
        for name, value in wanted.items():
            np.testing.assert_allclose(gradient[name], value, rtol=1e-12, atol=1e-14)


def test_several_threads_that_outgrow_a_limit_at_once():
    made_all, expected = unlimited(programs.picard)
    fn = programs.picard
    limit = made_all.plan.predicted.peak_bytes + made_all.compiled().tape_peak * 20 // 100
    bound = bind(fn, (*programs.arguments(fn, N), -1.0, WHOLE[fn]), {})
    made = derive(fn, bound, Request(fn.__code__.co_varnames[:2], limit=limit))
    with ThreadPoolExecutor(4) as pool:
        for _, grads in pool.map(lambda _: made.run(bound, frozenset()), range(8)):
            np.testing.assert_allclose(np.concatenate(list(grads.values())), expected, rtol=1e-12, atol=1e-14)
    assert made.measured(bound).peak_bytes <= limit


@pytest.mark.parametrize(("fn", "percent", "kinds"), [
    (programs.steps_in_time, 40, {"k": SEGMENTS}), (programs.steps_in_time, 12, {"k": SEGMENTS, "_": ONLINE}),
    (programs.two_levels, 40, {"_": ONLINE})], ids=["outer", "both", "early"])
def test_the_outermost_loops_come_first(fn, percent, kinds):
    made, expected = unlimited(fn)
    base, tape = made.plan.predicted.peak_bytes, made.compiled().tape_peak
    limited, found = derived(fn, base + tape * percent // 100)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    plan = limited.plan
    assert {loop_name(name.split("@")[0]): mode.kind for name, mode in plan.modes.items()} == kinds
    assert {row.name: row.decision for row in plan.outlook.loops} == {n: str(m) for n, m in plan.modes.items()}
    assert all(f" {name} loop " in str(plan) for name in kinds)


def test_a_plan_with_snapshots_of_an_early_loop_is_replayed(tmp_path):
    fn = programs.picard
    made, expected = unlimited(fn)
    limited, _ = derived(fn, made.plan.predicted.peak_bytes + made.compiled().tape_peak // 2)
    limited.plan.save(tmp_path / "plan.json")
    args = (*programs.arguments(fn, N), -1.0, WHOLE[fn])
    again = sdfgad.grad(fn, wrt=("u", "f"), plan=sdfgad.Plan.load(tmp_path / "plan.json"))
    assert again.plan(*args).modes == limited.plan.modes
    np.testing.assert_allclose(np.concatenate(list(again(*args))), expected, rtol=1e-12, atol=1e-14)


def test_snapshots_on_disk(tmp_path):
    fn = programs.picard
    args = (*programs.arguments(fn, N), -1.0, WHOLE[fn])
    expected = sdfgad.grad(fn, wrt="u")(*args)
    limited = sdfgad.grad(fn, wrt="u", memory_limit="600kB", spill=tmp_path)
    np.testing.assert_allclose(limited(*args), expected, rtol=1e-12)
    assert [mode.kind for mode in limited.plan(*args).modes.values()] == [ONLINE]


def inner_iterations(x, w):
    """What each of the six iterations records is as long as its `while` loop turns out to be."""
    y = x * 1.0
    for _ in range(6):
        e, z = 1.0, y * w
        while e > 1e-3:
            z2 = np.sin(z) * y * 0.5 + 0.3
            e = np.sum((z2 - z) ** 2)
            z = z2
        y = 0.5 * y + 0.5 * z * y
    return np.sum(y * y)


VECTORS = tuple(np.random.default_rng(k).uniform(0.2, 1.0, 2000) for k in range(2))


def test_a_program_that_holds_less_makes_room_for_the_tapes():
    expected = sdfgad.grad(inner_iterations, wrt="x").measure(*VECTORS)
    gradient = sdfgad.grad(inner_iterations, wrt="x")(*VECTORS)
    limit = expected.outlook.floor_bytes + 100_000
    limited = sdfgad.grad(inner_iterations, wrt="x", memory_limit=limit)
    # The fastest program within the limit leaves too little of it to the tapes.
    assert limited.plan(*VECTORS).predicted.peak_bytes > limit - 75_000
    np.testing.assert_allclose(limited(*VECTORS), gradient, rtol=1e-12)
    measured = limited.measure(*VECTORS)
    assert measured.measured.peak_bytes <= limit < expected.measured.peak_bytes
    assert any(mode.kind == BINOMIAL for mode in measured.modes.values())


def test_the_refusal_says_what_the_tapes_need():
    least = sdfgad.plan(inner_iterations, *VECTORS, wrt="x").outlook.floor_bytes
    with pytest.raises(MemoryLimitError, match=f"beside tapes of loops(.|\n)*to more than {least}"):
        sdfgad.plan(inner_iterations, *VECTORS, wrt="x", memory_limit=least - 1)
    limit = least + 20_000
    with pytest.raises(MemoryLimitError, match=r"and at least \d+ kB for .* z \(line \d+\), the limit is") as refused:
        sdfgad.grad(inner_iterations, wrt="x", memory_limit=limit)(*VECTORS)
    assert refused.value.limit_bytes == limit < refused.value.minimum_bytes
    assert f"raise memory_limit to more than {refused.value.minimum_bytes}" in str(refused.value)


def test_a_call_that_may_overwrite_its_arrays_does_not_begin_again():
    x, w = VECTORS
    limited = sdfgad.grad(inner_iterations, wrt="x", memory_limit="150kB", donate="x")
    with pytest.raises(MemoryLimitError, match="give no arrays away"):
        limited(x.copy(), w)


def recomputing(x, most):
    y = x * 1.0
    for _ in range(most):
        z = np.exp(np.sin(x))
        y[1:] = y[1:] * z[:-1] * z[1:]
        if y[1] < 1e-9:
            break
    return np.sum(y * y)


@pytest.mark.parametrize("pin", ["store", "recompute"])
def test_values_on_tapes_are_stored_or_made_again_as_pinned(pin):
    x = np.linspace(0.1, 0.2, 500)
    plan = sdfgad.plan(recomputing, x, 5000, **{pin: "z"})
    item = next(i for i in plan.problem.items if i.array == "z")
    assert item.bytes is None and plan.decisions[item.name] == pin
    np.testing.assert_allclose(sdfgad.grad(recomputing, **{pin: "z"})(x, 5000), sdfgad.grad(recomputing)(x, 5000),
                               rtol=1e-12)


# The modes to try, without any program.

def loop(name: str, trips: int | None, *around: str, state: int = 100, inside: bool = False) -> OpenLoop:
    return OpenLoop(name, state, trips, trips is not None, around, inside)


EARLY, STEPS, INNER = loop("early", None), loop("steps", 30), loop("inner", None, "steps")


@pytest.mark.parametrize(("loops", "modes", "free", "expected"), [
    ([EARLY], {}, 1000, {"early": Mode(ONLINE, 4)}),
    ([EARLY], {}, 10**9, {"early": Mode(ONLINE, MOST_ONLINE)}),
    ([EARLY], {}, 399, None),
    ([EARLY], {"early": Mode(ONLINE, 4)}, 1000, {"early": Mode(ONLINE, 4, 5)}),
    ([EARLY], {"early": Mode(ONLINE, 4)}, 399, None),
    ([EARLY], {"early": Mode(ONLINE, 4, 5)}, 1000, None),
    ([EARLY, loop("other", None)], {}, 1000, {"early": Mode(ONLINE, 2), "other": Mode(ONLINE, 2)}),
    ([STEPS, INNER], {}, 1000, {"steps": Mode(SEGMENTS, 5)}),
    ([STEPS, INNER], {}, 10**9, {"steps": Mode(SEGMENTS, 30)}),
    ([STEPS, INNER], {"steps": Mode(SEGMENTS, 5)}, 1000, {"steps": Mode(BINOMIAL, 5)}),
    ([STEPS, INNER], {"steps": Mode(BINOMIAL, 5, 4)}, 1000, {"steps": Mode(BINOMIAL, 5)}),
    ([STEPS, INNER], {"steps": Mode(BINOMIAL, 5)}, 1000, {"steps": Mode(BINOMIAL, 5), "inner": Mode(ONLINE, 4)}),
    ([STEPS, INNER], {"steps": Mode(SEGMENTS, 30)}, 1000, {"steps": Mode(SEGMENTS, 30), "inner": Mode(ONLINE, 4)}),
    ([EARLY, loop("inner", 99, "early", inside=True)], {"early": Mode(ONLINE, 4, 2)}, 10**6,
     {"early": Mode(ONLINE, 4, 2), "inner": Mode(SEGMENTS, 10)}),
])
def test_the_next_modes_to_try(loops, modes, free, expected):
    assert smaller_modes({p.name: p for p in loops}, modes, free, spill=False) == expected


def test_snapshots_on_disk_take_none_of_what_is_free():
    assert smaller_modes({"early": EARLY}, {}, 1, spill=True) == {"early": Mode(ONLINE, MOST_ONLINE)}
