"""Loops that carry the derivative of their states forward: right gradients, no tapes, and loops that cannot."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.applications import load as load_application
from sdfgad.calls.arguments import bind
from sdfgad.checkpoint.roofline import Machine
from sdfgad.ir.expr import Call, loads
from sdfgad.ir.program import Map, Store
from sdfgad.ir.walk import statements
from sdfgad.plans import planning
from sdfgad.testing import check_grads
from sdfgad.transform.passes import leaving_out
from sdfgad.verbs.pipeline import Derivative, Request, derive

C = np.array([0.1, 0.3, -0.2, 0.5, 0.7])
N = 6


def polynomial(x):
    y = np.zeros(x.shape)
    for k in range(C.size):
        y = y * x + C[k]
    return np.sum(y * y)


def logistic(x):
    for _ in range(7):
        x[1:] = 3.1 * x[1:] * (1.0 - x[1:])
    return np.sum(x * x)


def square_root(x):
    """The initial guess depends on the number as well."""
    y = 0.5 * (x + 1.0)
    for _ in range(5):
        y = 0.5 * (y + x / y)
    return np.sum(y * y)


def orbit(x):
    p = np.ones(x.shape)
    q = np.zeros(x.shape)
    for _ in range(9):
        p += 0.1 * np.sin(q)
        q -= x * p
    return np.sum(p * q) + np.sum(q)


def of_parts(x):
    """Not all statements are about the same points."""
    p = np.ones(x.shape)
    q = np.zeros(x.shape)
    for _ in range(9):
        p += 0.1 * np.sin(q)
        q[1:] -= x[1:] * p[1:]
        q *= 0.9
    return np.sum(p * q)


def stepped(x):
    """The state has a new name in each step."""
    for _ in range(5):
        y = x * x
        x = x + 0.1 * y * (1.0 - y)
    return np.sum(x)


def kepler(x):
    """Until it has converged, with a step that is a state as well."""
    e = x.copy()
    step = np.ones(x.shape)
    while np.max(np.abs(step)) > 1e-10:
        step = (e - 0.3 * np.sin(e) - x) / (1.0 - 0.3 * np.cos(e))
        e = e - step
    return np.sum(np.sin(e))


def one_parameter(x):
    """Of all points."""
    y = np.linspace(0.1, 0.5, 8)
    for _ in range(6):
        y = y + 0.1 * x[2] * y * (1.0 - y)
    return np.sum(y * y)


def one_after_the_other(x):
    y = 0.3 * x
    for _ in range(3):
        y = y * y + x
    z = 1.0 + y
    for _ in range(4):
        z = np.sqrt(z * x + y)
    return np.sum(z)


def in_branches(x):
    y = x * x
    if np.sum(x) > 1.0:
        for _ in range(3):
            y = y * y + 0.2
    else:
        y[2:] = 0.0
    return np.sum(y * y)


def scalars(x):
    s = 0.0
    for i in range(x.size):
        y = 0.0
        for k in range(C.size):
            y = y * x[i] + C[k]
        s += y * y
    return s


def chosen(x):
    y = np.zeros(x.shape)
    for k in range(5):
        y = np.where(y < 1.2, y * y * x + 0.4 + 0.1 * k, y)
    return np.sum(y * y)


def gathered(x):
    at = np.array([3, 3, 0, 5])
    y = np.full(4, 0.2)
    for _ in range(4):
        y = y * y + x[at]
    return np.sum(y)


def within_others(x):
    """A polynomial in each of several steps."""
    s = np.zeros(x.shape)
    for t in range(3):
        y = np.zeros(x.shape)
        for k in range(C.size):
            y = y * x + C[k]
        s = s * np.cos(y) + y
    return np.sum(s)


CARRIED = (one_after_the_other, in_branches, polynomial, logistic, square_root, orbit, stepped, kepler,
           one_parameter, scalars, chosen, gathered, within_others)


def two_numbers(x):
    y = np.zeros(x.shape)
    for _ in range(5):
        y = y * x + x[::-1]
    return np.sum(y * y)


def another_each_time(x):
    y = np.zeros(3)
    for k in range(x.size):
        y = y * y * 0.3 + x[k]
    return np.sum(y)


def neighbours(x):
    for _ in range(5):
        x[1:] = x[1:] * x[:-1]
    return np.sum(x)


def two_states(x):
    y = x * 0.5
    z = x[::-1] + 1.0
    for _ in range(5):
        y = y * z
        z = z * y + 0.1
    return np.sum(y)


def linear(x):
    """The cotangent takes no value of the state."""
    y = x * 0.5
    for _ in range(5):
        y = 0.9 * y + 0.1
    return np.sum(y * y)


LEFT = (two_numbers, of_parts, another_each_time, neighbours, two_states, linear)


def point() -> np.ndarray:
    return np.linspace(0.2, 0.9, N)


def made(fn: Callable[..., Any], x: np.ndarray) -> Derivative:
    return derive(fn, bind(fn, (x,), {}), Request(("x",)))


def slopes(found: Derivative) -> set[str]:
    return {n for n in found.made.program.arrays if n.startswith("slope_of_")}


@pytest.mark.parametrize("fn", CARRIED, ids=lambda f: f.__name__)
def test_the_slope_is_carried_along(fn):
    assert slopes(made(fn, point()))
    check_grads(fn, point())
    with leaving_out("preaccumulate"):
        expected = sdfgad.grad(fn, wrt="x")(point())
    np.testing.assert_allclose(sdfgad.grad(fn, wrt=("x",))(point())[0], expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("fn", (polynomial, logistic, square_root, orbit, kepler, one_parameter, chosen, gathered),
                         ids=lambda f: f.__name__)
def test_nothing_is_kept(fn):
    assert made(fn, point()).plan.problem.items == ()


@pytest.mark.parametrize("fn", LEFT, ids=lambda f: f.__name__)
def test_other_loops_stay_as_they_are(fn):
    assert not slopes(made(fn, point()))


def rotated(z):
    y = np.zeros(z.shape, dtype=np.complex128)
    for k in range(4):
        y = y * z + (0.3 - 0.1j * k)
    return np.sum(y.real * y.imag)


def mirrored(z):
    """No complex number is its derivative."""
    y = np.zeros(z.shape, dtype=np.complex128)
    for _ in range(4):
        y = np.conj(y) * y * z + 0.3j
    return np.sum(y.real * y.imag)


@pytest.mark.parametrize("fn, carried", [(rotated, True), (mirrored, False)])
def test_complex_numbers(fn, carried):
    z = point() * np.exp(1j * np.arange(N))
    assert bool(slopes(derive(fn, bind(fn, (z,), {}), Request(("z",))))) == carried
    check_grads(fn, z)


def as_often(x, n):
    y = x * x
    for _ in range(n[0]):
        y = y * y + 0.1
    return np.sum(y)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_loops_that_run_as_often_as_data_say(n):
    check_grads(as_often, point(), np.array([n]), wrt="x")


def overflowing(x):
    """Where the slope is infinite nobody looks."""
    y = x.copy()
    for _ in range(12):
        y = y * y * 3.0
    return np.sum(np.where(np.abs(y) < 1e3, y, 0.0))


def test_an_infinite_slope_that_nobody_looks_at_counts_as_zero():
    found = sdfgad.grad(overflowing)(np.array([0.3, 5.0, 0.2]))
    assert found[1] == 0.0 and np.all(np.isfinite(found)) and found[0] > 0.0


def test_it_takes_room_for_the_slope_in_place_of_a_tape():
    def long(x):
        for _ in range(1000):
            x[:] = 3.1 * x * (1.0 - x)
        return np.sum(x)

    x = np.full(1000, 0.3)
    bound = bind(long, (x,), {})
    assert derive(long, bound, Request(("x",))).measured(bound).peak_bytes < 8 * x.nbytes


def states_of_each_other(x, c):
    """What the second state begins with is the first one, seen from the other end, which holds nothing active then."""
    y = np.zeros(x.shape)
    z = np.zeros(x.shape)
    s = np.sum(x)
    for _ in range(3):
        y[:] = c
        z[:] = y[::-1] * 2.0
        for _ in range(4):
            y[:] = y * z + 0.3
            z[:] = z * y * 0.5
        s = s + np.sum(y * z * x)
        y[:] = x * s
    return s + np.sum(y)


def test_a_state_seen_from_elsewhere_is_no_number_of_the_point():
    args = (point(), point() / 2.0)
    found = derive(states_of_each_other, bind(states_of_each_other, args, {}), Request(("x",)))
    ends = [p for s in statements(found.made.swept.body) if isinstance(s, Map) for p in s.body
            if isinstance(p, Store) and isinstance(p.expr, Call) and p.expr.fn == "with_partial"]
    assert ends and all(n.index == p.index for p in ends for n in loads(p.expr) if n.array == p.array)
    check_grads(states_of_each_other, *args, wrt="x")


@pytest.fixture
def lookups() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """As few as slopes take more room for than records do."""
    application = load_application("rsbench")
    sizes = {**application.sizes["usual"], "lookups": 2000, "nuclides": 8}
    return application.program, tuple(application.arguments(**sizes).values())


WRT = ("energies", "densities", "fits", "radii")


def test_where_slopes_do_not_fit_loops_are_recorded(lookups, monkeypatch):
    """Both ways give the same gradient, the limit holds, and the plan is followed again."""
    program, args = lookups
    # One on which slopes are the fastest: what was measured while others worked may say something else.
    monkeypatch.setattr(planning, "this_machine", lambda: Machine(1.5e10, 1e10, 2, alone=1.1e10))
    free = sdfgad.grad(program, wrt=WRT)
    with leaving_out("preaccumulate"):
        least = sdfgad.plan(program, *args, wrt=WRT).predicted.peak_bytes
    assert free.plan(*args).predicted.peak_bytes > least
    small = sdfgad.grad(program, wrt=WRT, memory_limit=least)
    plan = small.plan(*args)
    assert plan.predicted.peak_bytes <= least
    assert sdfgad.plan(program, *args, wrt=WRT, plan=plan).predicted == plan.predicted
    for one, other in zip(small(*args), free(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13)


def test_who_says_what_is_stored_gets_loops_as_they_are_written():
    plan = sdfgad.plan(orbit, point(), store="q")
    assert {i.array for i in plan.problem.items} >= {"q"} and not plan.recomputed
