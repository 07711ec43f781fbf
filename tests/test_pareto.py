"""The front of bytes against time, and pins: executable plans with exact peaks, and the wishes of users."""
from __future__ import annotations

import json

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import MemoryLimitError, PlanNotExecutable, UsageError
from sdfgad.plans import alternatives
from sdfgad.plans.plan import Plan
from sdfgad.report import charts
from sdfgad.thresholds import changed
from tests.support.schema import complaints

N, STEPS = 40, 30
U = np.linspace(0.1, 1.0, N)


def waves(u, steps):
    for t in range(steps):
        w = np.sin(u[1:-1])
        u[1:-1] = u[1:-1] + 0.1 * w * u[:-2] * u[2:]
    return np.sum(u * u)


@pytest.fixture(scope="module")
def front() -> list[Plan]:
    return sdfgad.pareto(waves, sdfgad.spec(N), STEPS, points=5)


def test_a_front_goes_from_the_fastest_to_the_smallest(front) -> None:
    assert 3 <= len(front) <= 5
    peaks = [p.predicted.peak_bytes for p in front]
    factors = [p.outlook.time_factor for p in front]
    assert peaks == sorted(set(peaks), reverse=True) and factors == sorted(set(factors))
    assert peaks[0] == sdfgad.plan(waves, U, STEPS).predicted.peak_bytes
    assert {p.outlook.floor_bytes for p in front} == {peaks[-1]}
    assert [p.limit_bytes for p in front] == peaks


def test_the_ends_stay_when_points_are_few(front) -> None:
    two = sdfgad.pareto(waves, sdfgad.spec(N), STEPS, points=2)
    assert [p.predicted.peak_bytes for p in two] == [front[k].predicted.peak_bytes for k in (0, -1)]
    with pytest.raises(UsageError, match="points"):
        sdfgad.pareto(waves, sdfgad.spec(N), STEPS, points=0)


def test_every_point_is_executable_and_its_peak_exact(front) -> None:
    expected = sdfgad.grad(waves)(U, STEPS)
    for plan in (front[0], front[-1]):
        replayed = sdfgad.grad(waves, plan=Plan.from_json(plan.to_json()), memory_limit=plan.predicted.peak_bytes)
        np.testing.assert_allclose(replayed(U, STEPS), expected, rtol=1e-12)
        measured = replayed.measure(U, STEPS).measured
        assert measured.seconds > 0
        # Small arrays live in the registers and on the stacks of the compiled program.
        assert measured.peak_bytes <= 1.01 * plan.predicted.peak_bytes + 100_000


def scattered(x, A, ind):
    x = x.copy()
    m = x.mean()
    y = x - m
    c = np.tanh(np.sqrt(A[0, -1] * A[0, -1] + 0.3))
    y *= np.arctan(np.log(1.2 + np.roll(x, 1) ** 2))
    for block in range(4, 0, -3):
        x[1:4] *= np.arctan(np.sqrt((y[1:4] - x[1:4]) * (y[1:4] - x[1:4]) + 0.3))
        x[ind] += 0.3 * np.sin(0.3 * (A @ y))
    if y[4] <= x[4] * c:
        x[ind] += 0.3 * np.sin(np.where(y > 1.5, x, 0.5 * y))
    return (x * x).sum() + (y * y).sum() + 0.3 * A.sum() + c


def test_the_smallest_point_of_a_front_is_taken_for_a_limit() -> None:
    """Of a program that is not small, the front may hold one that is smaller than the smallest by the model."""
    given = np.linspace(0.3, 1.0, 5), np.linspace(-1.0, 1.0, 25).reshape(5, 5), np.array([3, 0, 4, 1, 2])
    with changed(small_program=0):
        last = sdfgad.pareto(scattered, *given)[-1]
        least = last.predicted.peak_bytes
        assert last.outlook.floor_bytes == least
        with pytest.raises(MemoryLimitError) as refused:
            sdfgad.grad(scattered, memory_limit=least // 2).plan(*given)
        assert refused.value.minimum_bytes > least  # of a limit so low the smallest by the model is told
        assert sdfgad.grad(scattered, memory_limit=least).plan(*given).predicted.peak_bytes == least
        with pytest.raises(MemoryLimitError) as refused:
            sdfgad.grad(scattered, memory_limit=least - 1).plan(*given)
        assert refused.value.minimum_bytes == least


def test_the_limit_of_a_point_gives_a_plan_within_it(front) -> None:
    for plan in front:
        again = sdfgad.plan(waves, sdfgad.spec(N), STEPS, memory_limit=plan.predicted.peak_bytes)
        assert again.predicted.peak_bytes <= plan.predicted.peak_bytes


def test_the_timeline_peaks_at_the_predicted_peak(front) -> None:
    for plan in front:
        peak = max(m.bytes for m in plan.outlook.timeline)
        assert peak == plan.predicted.peak_bytes
        assert {m.phase for m in plan.outlook.timeline} == {"forward", "reverse"}


def test_the_neighbours_of_a_plan_lie_on_either_side(front, monkeypatch) -> None:
    monkeypatch.setattr(alternatives, "HURRY", 600.0)
    middle = sdfgad.plan(waves, sdfgad.spec(N), STEPS, memory_limit=front[1].predicted.peak_bytes)
    peak, factor = middle.predicted.peak_bytes, middle.outlook.time_factor
    faster, smaller = middle.outlook.front
    assert faster.peak_bytes > peak > smaller.peak_bytes
    assert faster.time_factor < factor < smaller.time_factor
    assert not middle.outlook.whole and front[0].outlook.whole
    # One of the next points of a front of the usual length, not just half of it or the smallest there is.
    assert smaller.peak_bytes > 0.7 * peak > front[-1].predicted.peak_bytes


def scratch(a, b):
    """What the planner's model does not know of: room that the code needs for itself."""
    for _ in range(6):
        a = np.fft.fft(a).real * 0.01 + np.linalg.solve(b, a)
    return np.sum(a * a)


def test_what_is_drawn_is_what_is_predicted() -> None:
    n = 24
    for fn, args in ((scratch, (np.ones(n), np.eye(n) * 2.0)), (total, (U,))):
        plan = sdfgad.plan(fn, *args)
        assert max(m.bytes for m in plan.outlook.timeline) == plan.predicted.peak_bytes


def test_the_front_is_drawn_downwards_and_holds_storing_everything_once(front) -> None:
    all_stored = (front[0].predicted.store_all_bytes, front[0].outlook.store_all_factor)
    points = [(p.peak_bytes, p.time_factor) for p in front[0].outlook.front]
    drawn = charts._front([*points, (all_stored[0], 1.01 * all_stored[1]), (points[1][0] + 1, 9.0)], all_stored)
    assert drawn == sorted(set(points) - {p for p in points if p[0] == all_stored[0]} | {all_stored})
    assert [f for _, f in drawn] == sorted((f for _, f in drawn), reverse=True)


def total(x):
    return np.sum(x)


def test_the_json_of_a_plan_keeps_to_the_schema(front) -> None:
    limited = sdfgad.plan(waves, sdfgad.spec(N), STEPS, memory_limit=front[-1].predicted.peak_bytes, wrt="u")
    for plan in (*front, limited, sdfgad.grad(waves).measure(U, STEPS), sdfgad.plan(total, U)):
        raw = json.loads(plan.to_json())
        assert complaints(raw) == []
        again = Plan.from_json(plan.to_json())
        assert again == plan and again.outlook == plan.outlook and again.to_json() == plan.to_json()
        assert str(again) == str(plan)
    assert raw["predicted"]["floor_bytes"] == raw["predicted"]["peak_bytes"]
    assert complaints({**raw, "colour": 1}) and complaints({**raw, "limit_bytes": -1})
    assert complaints({k: v for k, v in raw.items() if k != "pareto"})


def test_the_json_names_the_call(front) -> None:
    raw = json.loads(front[0].to_json())
    assert raw["target"] == "test_pareto.py:waves" and raw["symbols"] == {"steps": STEPS} and raw["wrt"] == ["u"]
    assert raw["device"] == "cpu" and raw["versions"]["sdfgad"] == sdfgad.__version__
    assert raw["timeline"][0][:2] == [0, front[0].outlook.timeline[0].bytes]
    assert len(raw["pareto"]) == len(front)


def other(u, steps):
    for t in range(steps):
        u[1:-1] = u[1:-1] + 0.2 * np.cos(u[1:-1]) * u[:-2] * u[2:]
    return np.sum(u * u)


def test_a_plan_for_another_call_is_refused(front) -> None:
    for call in (lambda plan: sdfgad.plan(other, sdfgad.spec(N), STEPS, plan=plan),
                 lambda plan: sdfgad.plan(waves, sdfgad.spec(N + 1), STEPS, plan=plan),
                 lambda plan: sdfgad.plan(waves, sdfgad.spec(N), STEPS - 1, plan=plan),
                 lambda plan: sdfgad.plan(waves, sdfgad.spec(N, "float32"), STEPS, plan=plan),
                 lambda plan: sdfgad.grad(waves, plan=plan)(U[:-1].copy(), STEPS)):
        with pytest.raises(PlanNotExecutable, match="other shapes"):
            call(front[-1])
    with pytest.raises(MemoryLimitError, match="the plan needs"):
        sdfgad.plan(waves, sdfgad.spec(N), STEPS, plan=front[0], memory_limit=front[-1].predicted.peak_bytes)


def newton(x):
    y = x.copy()
    n = 0
    while np.max(np.abs(y * y - 0.5 * (x + x[::-1]))) > 1e-10 and n < 400:
        y = y - 0.02 * (y * y - 0.5 * (x + x[::-1]))
        n = n + 1
    return np.sum(y)


def test_a_plan_that_changed_at_run_time_is_reported_as_it_is_now() -> None:
    x = np.linspace(2.0, 3.0, 500)
    peak = sdfgad.plan(newton, x).predicted.peak_bytes
    gradient = sdfgad.grad(newton, memory_limit=peak + 600_000)
    assert "growable" in str(gradient.plan(x)) and not gradient.plan(x).modes
    gradient(x)
    plan = gradient.plan(x)
    assert plan.modes and "while loop" in str(plan) and plan.about == sdfgad.plan(newton, x).about
    assert plan.outlook.floor_bytes == peak
    assert complaints(json.loads(plan.to_json())) == []
    assert str(Plan.from_json(plan.to_json())) == str(plan)


# Pins.

def planned(**options) -> Plan:
    return sdfgad.plan(waves, sdfgad.spec(N), STEPS, **options)


def test_a_loop_pinned_to_snapshots_uses_them() -> None:
    pinned = planned(snapshot="t")
    assert [mode.kind for mode in pinned.modes.values()] in (["binomial"], ["segments"])
    assert not planned().modes
    np.testing.assert_allclose(sdfgad.grad(waves, snapshot={"t"})(U, STEPS), sdfgad.grad(waves)(U, STEPS), rtol=1e-12)


def rebuilding(x):
    y = np.ones(4)
    for t in range(3):
        h = np.sin(x) + t
        y[1:] = y[1:] * h[:-1] * h[1:]
    return (y * y).sum()


def test_values_are_stored_or_made_again_as_pinned() -> None:
    x = np.array([0.3, 0.7, 1.1, 0.4])
    decision = {}
    for pin in ("store", "recompute"):
        plan = sdfgad.plan(rebuilding, x, **{pin: "h"})
        decision[pin] = {plan.decisions[i.name] for i in plan.problem.items if i.array == "h"}
        np.testing.assert_allclose(sdfgad.grad(rebuilding, **{pin: ["h"]})(x), sdfgad.grad(rebuilding)(x), rtol=1e-13)
    assert decision == {"store": {"store"}, "recompute": {"recompute"}}


def test_a_loop_is_known_by_the_name_the_user_gave_it() -> None:
    pinned = sdfgad.plan(rounds, sdfgad.spec(1000), sdfgad.spec(1000), wrt="x", snapshot="k")
    assert pinned.modes and " k loop " in str(pinned)
    with pytest.raises(UsageError, match="known: k$"):
        sdfgad.plan(rounds, sdfgad.spec(1000), sdfgad.spec(1000), wrt="x", snapshot="j")


@pytest.mark.parametrize("options, message", [
    ({"store": "q"}, "store='q': nothing of this name"),
    ({"recompute": {"q"}}, "recompute='q': nothing of this name"),
    ({"snapshot": "u"}, "snapshot='u': nothing of this name"),
    ({"store": "u", "recompute": ("u",)}, "store='u' and recompute='u' contradict"),
    ({"recompute": "u"}, "recompute='u'.*cannot be made again"),
    ({"store": 3}, "store=3 is not a name"),
    ({"snapshot": [""]}, "snapshot='' is not a name"),
])
def test_a_pin_that_cannot_be_is_named(options, message) -> None:
    with pytest.raises(UsageError, match=message):
        planned(**options)


def test_a_plan_and_pins_exclude_each_other(front) -> None:
    with pytest.raises(UsageError, match="leave out"):
        sdfgad.grad(waves, plan=front[0], snapshot="t")


def rounds(x, h):
    total = 0.0
    for k in range(50):
        h[:] = np.exp(x * (0.01 * k) + 0.1 * np.sum(x))
        total = total + np.sum(h * h * h)
    return total


def trickle(u, steps):
    for _ in range(steps):
        u[1] = np.sin(u[1]) * u[2]
        u[2] = u[1] * u[3]
    return np.sum(u * u)


def test_only_a_pin_that_breaks_the_limit_is_blamed() -> None:
    """A snapshot of the array takes more than the records of all iterations."""
    def need(**options) -> Plan:
        return sdfgad.plan(trickle, sdfgad.spec(1000), 20, **options)

    free, pinned = need(store="u").outlook.floor_bytes, need(store="u", snapshot="_").outlook.floor_bytes
    assert free < pinned
    with pytest.raises(MemoryLimitError, match="because of the pins snapshot='_'\n") as caught:
        need(store="u", snapshot="_", memory_limit=free)
    least = caught.value.minimum_bytes
    assert free < least and need(store="u", snapshot="_", memory_limit=least).predicted.peak_bytes <= least
    with pytest.raises(MemoryLimitError) as caught:
        need(snapshot="_", memory_limit=10)
    assert "pins" not in str(caught.value)
