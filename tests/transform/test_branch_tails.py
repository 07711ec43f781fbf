"""What follows a branch that may end a loop goes into both of its sides."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.calls.arguments import bind
from sdfgad.frontend import parse
from sdfgad.ir.program import If, Loop, Map
from sdfgad.ir.walk import statements
from sdfgad.transform.normal.branch_tails import sink_tails
from sdfgad.verbs.pipeline import Request, derive
from tests.frontend.checking import check_both_modes

X = np.linspace(0.3, 1.1, 7)


def looked_at_first(x):
    u = np.ones(7)
    for _ in range(100):
        f = u * u * u - x
        if np.max(np.abs(f)) < 1e-6:
            break
        u = u - f / (3 * u * u)
    return np.sum(u * x)


def two_names(x):
    """Both have two values behind the branch."""
    u, v = np.zeros(7), x * 1.0
    for k in range(90):
        if np.sum(v) < 1.5:
            break
        u, v = u + v * v, v * 0.7 + 0.01 * k * u
    return np.sum(u * x) + np.sum(v)


def something_else_is_left(x):
    """The side that ends the loop computes as well, and the last iteration does not end it."""
    u = x
    for k in range(70):
        u = 0.9 * u + 0.1 * np.sin(x)
        if u[0] > 5.0:
            u = np.cos(u) * x
            break
        u = u * (1.0 + 0.01 * k)
    return np.sum(u * u)


def exchanged(x):
    """Names take each other's values in the side that goes on."""
    a, b = x, 2.0 * x
    for _ in range(80):
        if np.sum(a * b) > 40.0:
            break
        a, b = b * 1.1, a + 0.1
    return np.sum(a * a) - np.sum(b)


def continued(x):
    """One branch ends the loop, another one the iteration."""
    u = x
    for k in range(75):
        if np.sum(u) > 9.0:
            break
        v = u * 1.05
        if k % 3 == 1:
            continue
        u = v + 0.01 * x
    return np.sum(u * x)


PROGRAMS = (looked_at_first, two_names, something_else_is_left, exchanged, continued)


@pytest.mark.parametrize("fn", PROGRAMS)
def test_both_modes(fn):
    check_both_modes(fn, (X,))


def test_both_sides_hold_what_merges_names():
    before = parse(exchanged, (X,)).program
    after = sink_tails(before)
    ends = [next(s for s in statements(p.body) if isinstance(s, Loop)).body[-1] for p in (before, after)]
    assert [isinstance(s, If) for s in ends] == [False, True] and ends[1].then and ends[1].orelse
    assert len(after.arrays) > len(before.arrays)


def test_the_sweep_back_does_all_in_the_branch():
    """What was tested before the branch is differentiated with what the branch does."""
    program = derive(looked_at_first, bind(looked_at_first, (X,), {}), Request(("x",), None, None)).program
    back = [s for s in statements(program.body) if isinstance(s, Loop)][-1]
    branch = next(s for s in back.body if isinstance(s, If))
    assert not any(isinstance(s, Map) and s.domain for s in back.body) and branch.then and branch.orelse


def test_nothing_is_moved_where_a_branch_ends_no_loop():
    def fn(x):
        u = x
        for k in range(70):
            if k % 10 == 0:
                v = u * 2.0
            else:
                v = u * 0.9
            u = v + 0.1
        return np.sum(u)

    program = parse(fn, (X,)).program
    assert sink_tails(program) is program
