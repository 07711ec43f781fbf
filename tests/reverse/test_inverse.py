"""Overwrites that are undone exactly instead of stored: ordinary programs, under every plan, to the last bit."""
from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import sdfgad
from sdfgad.checkpoint.decided import INVERSE, STORE
from sdfgad.errors import PlanNotExecutable
from sdfgad.frontend import parse
from sdfgad.plans.plan import Plan
from tests.reverse.test_loop_modes import derived, gradients, offered
from tests.support.oracle import undoable
from tests.support.plans import store_all
from tests.support.schema import PLAN, complaints

MOST_PLANS = 12


def every_other_until_enough(x):
    """The counter of a while loop, which says what is read."""
    k = 0
    s = 0.0
    y = x * 1.0
    while s < 3.0:
        s = s + y[k] * y[k]
        y[k] = y[k] * 0.5 * y[k + 1]
        k = k + 2
    return np.sum(y * y) + s


def counted_again_and_again(x):
    """The counter starts afresh in an outer loop."""
    s = 0.0
    for t in range(4):
        k = 0
        while s < 3.0 + t:
            s = s + x[k] * x[k] * s + 0.3
            k += 1
    return s


def monte_carlo(x):
    seed = 12345
    s = 0.0
    for _ in range(6):
        seed = (1103515245 * seed + 12345) % 2147483648
        s = s + x[seed % x.size] ** 2 * (seed / 2147483648)
    return s


def many_generators(x):
    state = np.arange(1, 9)
    s = np.zeros(8)
    for _ in range(6):
        state = (16807 * state) % 2147483647
        s = s + s * x[:8] * (state / 2147483647.0) + x[4:12]
    return np.sum(s)


def ring_buffer(x):
    head = 0
    buffer = np.zeros(5)
    s = 0.0
    for t in range(12):
        buffer[head] = x[t] * x[t]
        head = (head + 1) % 5
        s = s + buffer[head] * x[t]
    return s


def alternating_sign(x):
    sign = 1
    s = 0.5
    for t in range(6):
        sign = -sign
        s = s + sign * x[t] * x[t] * s
    return s


def accepted_steps(x):
    k = 0
    s = 1.0
    for i in range(6):
        if x[i] > 0.7:
            k = k + 1
        s = s * x[k] + x[i]
    return s


def moving_indices(x):
    index = np.arange(10)
    s = 0.0
    for t in range(6):
        index[1:] = index[1:] + t
        index[0] = 3 - index[0]
        s = s + np.sum(x[index % 12] * x[index % 12])
    return s


def cellular(x):
    m = np.zeros(12, dtype=np.uint8)
    k = np.arange(12).astype(np.uint8)
    s = 1.0
    for _ in range(6):
        m ^= k
        m += np.uint8(100)
        s = s + np.sum(np.where(m > 120, x * x, 0.5 * x)) * s
    return s


def two_fields_exchanged(x):
    u, v = x * 1.0, x[::-1] + 0.1
    for _ in range(5):
        u[1:-1] = u[1:-1] * v[1:-1]
        w = u.copy()
        u[:] = v
        v[:] = w
    return np.sum(u * v)


def two_fields_for_long(x):
    u, v = x * 1.0, x[::-1] + 0.1
    for _ in range(40):
        u[1:-1] = np.sin(u[1:-1]) * v[2:]
        w = u.copy()
        u[:] = v
        v[:] = w
    return np.sum(u * v)


def names_exchanged(x):
    u, v = x * 1.0, np.sin(x)
    t = 0
    while t < 5:
        v = v * u
        u, v = v, u
        t += 1
    return np.sum(u * v)


def advected(x):
    u, c = x * 1.0, x * x
    for _ in range(5):
        u = np.roll(u, 1)
        c = c + u * u
    return np.sum(c * x)


def turned_in_place(x):
    u = np.outer(x[:4], x[4:8])
    c = np.ones((4, 4))
    for _ in range(4):
        u[:, :] = np.roll(u, (1, 2), axis=(0, 1))
        c = c + u * u * c
        u[:] = u.T[::-1].copy()
    return np.sum(c)


def shuffled(x):
    order = np.argsort(x[::-1])
    u, c = x * 1.0, np.ones(12)
    for _ in range(4):
        u[:] = u[order]
        c = c * u
    return np.sum(c)


def cards(x, r):
    """Elements at places that depend on data, equal ones among them."""
    s = 0.5
    for i in range(10, 0, -1):
        t = x[i]
        x[i] = x[r[i]]
        x[r[i]] = t
        s = s + s * x[i] * x[0]
    return s


def rows_exchanged(x, r):
    a = np.outer(x[:6], x[6:]) + np.eye(6)
    for k in range(5):
        row = a[k].copy()
        a[k] = a[r[k] % 6]
        a[r[k] % 6] = row
        a[k + 1:] = a[k + 1:] * a[k]
    return np.sum(a)


def handed_on(x):
    """The older of two states holds what the younger one was."""
    old, now = x * 1.0, np.sin(x)
    most = 0.0
    for _ in range(4):
        then = now * old * old + 0.1 * now
        most = most + np.sum(then)
        old[:] = now
        now[:] = then
    return np.sum(now) + most


def x12() -> np.ndarray:
    return np.random.default_rng(1).uniform(0.5, 1.0, 12)


R = np.array([3, 1, 5, 3, 0, 5, 6, 2, 8, 1, 4, 11])
CASES = [(fn, (), undone) for fn, undone in (
    (every_other_until_enough, "k"), (counted_again_and_again, "k"), (monte_carlo, "seed"), (many_generators, "state"),
    (ring_buffer, "head"), (alternating_sign, "sign"), (accepted_steps, "k"), (moving_indices, "index"),
    (cellular, "m"), (two_fields_exchanged, "u v"), (names_exchanged, "u"), (advected, "u"), (turned_in_place, "u"),
    (shuffled, "u"), (handed_on, "now"))]
CASES += [(cards, (R,), "x"), (rows_exchanged, (R,), "a")]
every_program = pytest.mark.parametrize("fn, more, undone", CASES, ids=[c[0].__name__ for c in CASES])


def undone_in(plan: Plan) -> list[str]:
    return sorted({i.array for i in plan.problem.items if plan.decisions[i.name] == INVERSE})


@every_program
def test_the_plan_says_so(fn, more, undone):
    plan = sdfgad.plan(fn, x12(), *more)
    assert undone_in(plan) == undone.split()
    pinned = sdfgad.plan(fn, x12(), *more, store=tuple(undone.split()))
    assert not undone_in(pinned)
    stored = [p.predicted.peak_bytes + 10**6 * p.predicted.unbounded for p in (plan, pinned)]
    # A few bytes may lie where something else was before.
    assert stored[0] < stored[1] or plan.predicted.unbounded or stored[0] == stored[1] <= 1000
    assert " inverse " in str(plan) and "undone exactly" in " ".join(str(plan).split())


@every_program
def test_gradients_are_those_of_storing_everything(fn, more, undone):
    free, pinned = sdfgad.grad(fn), sdfgad.grad(fn, store=tuple(undone.split()))
    expected = pinned(x12(), *more)
    for threads in (1, 2):
        with sdfgad.config(num_threads=threads):
            for _ in range(2):
                # Restored to the last bit; but compiled with other neighbours, a product may round once more or less.
                np.testing.assert_array_max_ulp(free(x12(), *more), expected, 4)
    assert sdfgad.check_grads(fn, x12(), *more).ok


def units(fn, args) -> frozenset[str]:
    """All that can be undone, worth it or not."""
    return undoable(parse(fn, args).program)


@every_program
def test_loops_in_parts_undo_the_same(fn, more, undone):
    args = (x12(), *more)
    plain, wrt = derived(fn, args)
    expected = gradients(plain, wrt, args, True)[0]
    names = units(fn, args)
    plans = list(itertools.product(*offered(plain)))
    chosen = np.random.default_rng(2).permutation(len(plans))[:MOST_PLANS]
    for k in (0, *chosen):
        modes = {name: mode for name, mode in plans[k] if mode is not None}
        made = derived(fn, args, modes, names)[0]
        assert any(p.undone for p in made.kept)
        np.testing.assert_array_equal(gradients(made, wrt, args, True)[0], expected, err_msg=str(modes))


def test_a_plan_is_replayed_and_written(tmp_path):
    plan = sdfgad.plan(monte_carlo, x12())
    assert complaints(json.loads(plan.to_json()), PLAN) == []
    plan.save(tmp_path / "plan.json")
    again = sdfgad.grad(monte_carlo, plan=Plan.load(tmp_path / "plan.json"))
    np.testing.assert_array_equal(again(x12()), sdfgad.grad(monte_carlo)(x12()))
    assert undone_in(again.plan(x12())) == ["seed"]
    stored = store_all(plan.problem)
    np.testing.assert_array_equal(sdfgad.grad(monte_carlo, plan=stored)(x12()), sdfgad.grad(monte_carlo)(x12()))


def test_a_plan_that_undoes_what_cannot_be_is_refused():
    plan = sdfgad.plan(ring_buffer, x12())
    item = next(i for i in plan.problem.items if i.array == "buffer")
    wrong = Plan(plan.problem, {**plan.decisions, item.name: INVERSE})
    with pytest.raises(PlanNotExecutable, match=f"{item.name}: not an overwrite that can be undone"):
        sdfgad.grad(ring_buffer, plan=wrong)(x12())


def test_one_of_two_can_be_stored():
    plan = sdfgad.plan(two_fields_exchanged, x12(), store="u")
    assert undone_in(plan) == ["v"]
    assert {plan.decisions[i.name] for i in plan.problem.items if i.array == "u"} == {STORE}
    name = next(i.name for i in sdfgad.plan(two_fields_exchanged, x12()).problem.items if i.array == "v")
    pinned = sdfgad.plan(two_fields_exchanged, x12(), store=(name,))
    assert undone_in(pinned) == ["u"]
    expected = sdfgad.grad(two_fields_exchanged)(x12())
    for request in ("u", "v", name):
        np.testing.assert_array_equal(sdfgad.grad(two_fields_exchanged, store=request)(x12()), expected)


def test_limits_below_what_is_stored():
    x = np.linspace(0.5, 1.0, 4000)
    free = sdfgad.plan(two_fields_for_long, x)
    limit = (free.outlook.floor_bytes + free.predicted.peak_bytes) // 2
    limited = sdfgad.grad(two_fields_for_long, memory_limit=limit)
    plan = limited.measure(x)
    assert plan.modes and undone_in(plan) == ["u", "v"] and plan.measured.peak_bytes <= limit
    np.testing.assert_allclose(limited(x), sdfgad.grad(two_fields_for_long)(x), rtol=1e-13)


# What is not undone: it would lose something, or keep more than it saves.

def doubled(x):
    k = 1
    s = 1.0
    for _ in range(4):
        k = k * 2
        s = s * x[k % 12] + x[k % 5]
    return s


def halved(x):
    k = 100
    s = 1.0
    for _ in range(4):
        k = k // 2
        s = s * x[k % 12]
    return s


def masked_by_itself(x):
    index = np.arange(12)
    s = 1.0
    for _ in range(4):
        index[index < 5] += 3
        s = s + s * np.sum(x[index])
    return s


def shifted_by_its_first(x):
    index = np.arange(12)
    s = 1.0
    for _ in range(4):
        index[:] = index + index[0] + 1
        s = s + s * np.sum(x[index % 12] ** 2)
    return s


def drifting(x):
    """Floating-point numbers round."""
    y = x * 1.0
    for _ in range(4):
        y += 0.1
        x = x * y * y
    return np.sum(x)


def rotated_but_for_one(x):
    u, c = x * 1.0, np.ones(12)
    for _ in range(4):
        u[1:] = u[:-1].copy()
        c = c * u
    return np.sum(c)


def gathered(x, r):
    u, c = x * 1.0, np.ones(12)
    for _ in range(4):
        u[:] = u[r]
        c = c * u
    return np.sum(c)


def pivots(x):
    """The elimination overwrites the row that has been exchanged, and records nothing: there is nothing to save."""
    a = np.outer(x[:5], x[5:10]) + np.diag(x[:5])
    for k in range(5):
        p = k + np.argmax(np.abs(a[k:, k]))
        row = a[k].copy()
        a[k] = a[p]
        a[p] = row
        a[k + 1:, k] = a[k + 1:, k] / a[k, k]
        a[k + 1:, k + 1:] = a[k + 1:, k + 1:] - np.outer(a[k + 1:, k], a[k, k + 1:])
    return np.sum(np.log(np.abs(np.diag(a))))


@pytest.mark.parametrize("fn, more", [
    *((f, ()) for f in (doubled, halved, masked_by_itself, shifted_by_its_first, drifting, rotated_but_for_one,
                        pivots)), (gathered, (R,))], ids=lambda p: getattr(p, "__name__", ""))
def test_what_is_stored_all_the_same(fn, more):
    assert not undone_in(sdfgad.plan(fn, x12(), *more))
    assert sdfgad.check_grads(fn, x12(), *more).ok
