"""Containers bound anew in loops and branches: their leaves are carried, whatever they are made of."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from sdfgad.frontend.loops import loops
from tests.frontend.checking import check
from tests.support.oracle import check_program

U = np.linspace(0.4, 1.0, 4)
H = np.linspace(1.0, 2.0, 4)
N = 6


class Pair(NamedTuple):
    u: Any
    h: Any


@dataclass(frozen=True)
class State:
    u: Any
    h: Any
    dt: float = 0.1


@dataclass
class Open:
    u: Any
    h: Any


START = {"u": U.copy(), "h": [2.0, 3.0]}
BEGIN = Open(U.copy(), 3.0)


@pytest.fixture(autouse=True)
def never_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "UNROLL_TRIPS", 0)


def rise(s):
    return dataclasses.replace(s, u=s.u + s.dt * s.h, h=s.h - s.dt * s.u**2)


def tuples(u, h, n):
    s = (u, h, 0.0)
    for _ in range(n):
        s = (s[0] + 0.1 * s[1], s[1] - 0.1 * s[0] ** 2, s[2] + 0.5)
    return np.sum(s[0] * s[1]) * s[2]


def named(u, h, n):
    s = Pair(u, h)
    for _ in range(n):
        s = Pair(s.u + 0.1 * s.h, h=s.h - 0.1 * s.u**2)
        s = s._replace(u=s.u * 0.5)
    return np.sum(s.u * s.h)


def frozen(u, h, n):
    s = State(u, h)
    for _ in range(n):
        s = rise(s)
    return np.sum(s.u * s.h)


def opened(u, h, n):
    s = Open(u, h)
    for k in range(n):
        s = Open(s.u + 0.1 * s.h, s.h - 0.1 * s.u**2)
        s.u = s.u * 0.5
        s.h[k % 2] += s.u[0]
    s.u = s.u * 3.0
    return np.sum(s.u * s.h)


def dicts(u, h, n):
    s = {"u": u, "inner": {"h": h, "t": 0}}
    for k in range(n):
        s = {"u": s["u"] + 0.1 * s["inner"]["h"], "inner": {**s["inner"], "t": s["inner"]["t"] + k}}
        s = dict(s, u=s["u"] * 0.9)
    return np.sum(s["u"] * s["inner"]["h"]) * s["inner"]["t"]


def spaces(u, h, n):
    s = SimpleNamespace(u=u, h=h)
    for _ in range(n):
        s = SimpleNamespace(u=s.u + 0.1 * s.h, h=s.h - 0.1 * s.u**2)
    return np.sum(s.u * s.h)


def layers(u, h, n):
    weights = [(u, h), (h, u)]
    for _ in range(n):
        weights = [(w - 0.1 * w * b, b * 0.9) for w, b in weights]
    return sum(np.sum(w * b) for w, b in weights)


def conditional(u, h, n):
    s, k = State(u, h), 0
    while np.sum(s.u) < 5.0 and k < n:
        s = rise(s)
        k += 1
    return np.sum(s.u * s.h) * k


def left(u, h, n):
    s = State(u, h)
    for k in range(n):
        if k == 1:
            continue
        s = rise(s)
        if s.u[0] > 0.9:
            break
    else:
        s = State(u, u)
    return np.sum(s.u * s.h)


def nested(u, h, n):
    s = Pair(u, (h, 1.0))
    for k in range(n):
        for j in range(3):
            s = Pair(s.u + 0.01 * s.h[0] * j, (s.h[0] - 0.01 * s.u, s.h[1] * 1.1))
        s = Pair(s.u, (s.h[0] * k, s.h[1]))
    return np.sum(s.u * s.h[0]) * s.h[1]


def branched(u, h, n):
    s = State(u, h)
    for k in range(n):
        if s.u[k % 3] > 0.65:
            s = rise(s)
        elif s.h[0] > 1.2:
            s = State(s.u * 0.9, s.h, dt=0.2)
    t = rise(s) if s.u[0] > 0.72 else State(s.h, s.u)
    return np.sum(s.u * s.h) * np.sum(t.u) * t.dt


def exchanged(u, h, n):
    s = Pair(u * 1.0, h * 1.0)
    for _ in range(n):
        s.u[1:] = s.u[1:] + 0.1 * s.h[:-1]
        s = Pair(s.h, s.u)
    return np.sum(s.u * s.h**2)


def returned(u, h, n):
    s = Open(u, h)
    for _ in range(n):
        if s.u[0] > 0.75:
            return s
        s = Open(s.u + 0.1 * s.h, s.h)
    return Open(s.h, s.u)


def returned_sum(u, h, n):
    s = returned(u, h, n)
    return np.sum(s.u * s.h * s.u)


def last_only(u, h, n):
    for k in range(n):
        s = Open(u * k, {"h": h[k % 4], "rest": u[k % 4:]})
        before = s
    return np.sum(s.u + before.h["h"]) + np.sum(s.h["rest"])


def from_outside(u, h, n):
    s, b = START, BEGIN
    for _ in range(n):
        s = {"u": s["u"] * u, "h": [s["h"][0] * 1.1, s["h"][1]]}
        b = Open(b.u + h, b.h * 1.5)
    return np.sum(s["u"]) * s["h"][0] + np.sum(b.u) * b.h


def remembered(u, h, n):
    s = old = Open(u, h)
    for _ in range(n):
        s = Open(s.u + 0.1 * old.h, s.h * 0.9)
    return np.sum(s.u * old.u * s.h)


def previous(u, h, n):
    s = old = Pair(u, h)
    for _ in range(n):
        old, s = s, Pair(s.u + 0.1 * old.h, s.h * 0.9)
    return np.sum(s.u * old.u * s.h)


def argument(s, n):
    for _ in range(n):
        s = {"u": s["u"] + 0.1 * s["h"], "h": s["h"] - 0.1 * s["u"] ** 2}
    return np.sum(s["u"] * s["h"])


PROGRAMS = [tuples, named, frozen, opened, dicts, spaces, layers, conditional, left, nested, branched, exchanged,
            returned, returned_sum, last_only, from_outside, remembered, previous]


@pytest.mark.parametrize("fn", PROGRAMS)
def test_values(fn: Callable[..., Any]) -> None:
    check(fn, U.copy(), H.copy(), N)


@pytest.mark.parametrize("fn", [f for f in PROGRAMS if f is not returned])
def test_gradients(fn: Callable[..., Any]) -> None:
    parsed = parse(fn, (U, H, N))
    check_program(parsed.program, parsed.collect((U, H, N)), ["u", "h"], rtol=1e-6)


def test_an_argument_bound_anew() -> None:
    parsed = check(argument, {"u": U.copy(), "h": H.copy()}, N)
    assert not parsed.mutated


def test_long_loops_under_a_limit() -> None:
    made = sdfgad.value_and_grad(frozen, memory_limit="5KB")
    u, h = np.linspace(0.1, 0.2, 20), np.linspace(0.0, 0.1, 20)
    value, found = made(u, h, 30)
    _, plain = sdfgad.value_and_grad(tuples_of_two)(u, h, 30)
    assert value == pytest.approx(frozen(u, h, 30))
    np.testing.assert_allclose(found.u, plain.u)
    np.testing.assert_allclose(found.h, plain.h)


def tuples_of_two(u, h, n):
    for _ in range(n):
        u, h = u + 0.1 * h, h - 0.1 * u**2
    return np.sum(u * h)


def grows(u, n):
    s = (u,)
    for _ in range(n):
        s = (*s, u)
    return s[0]


def other_key(u, n):
    s = {"u": u}
    for k in range(n):
        t = s["u"] * 2
        s = {"u": t, "v": t}
    return s["u"]


def other_class(u, n):
    s = Pair(u, u)
    for _ in range(n):
        s = State(s.u, s.h * 2)
    return s.u


def other_shape(u, n):
    s = State(u, u)
    for _ in range(n):
        s = State(s.u, np.append(s.h, s.h[0]))
    return s.u


def single(u, n):
    s = (u, u)
    for _ in range(n):
        s = s[0]
    return s


@pytest.mark.parametrize(("fn", "line", "what"), [
    (grows, 3, "s has 1 items first, then 2"), (other_shape, 3, "'s.h', which changes its shape"),
    (single, 3, "'s', which changes its shape or type")])
def test_a_structure_that_changes_is_refused(fn: Callable[..., Any], line: int, what: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse(fn, (U, N))
    assert what in caught.value.what, caught.value.what
    assert caught.value.line == fn.__code__.co_firstlineno + line


@pytest.mark.parametrize("fn", [other_key, other_class])
def test_a_structure_that_the_first_iteration_changes(fn: Callable[..., Any]) -> None:
    check(fn, U, N)


def seen_by_another(u, n):
    s = old = Open(u, u)
    for _ in range(n):
        s = Open(s.u * 2.0, s.h)
    s.u = s.u * 3.0
    return np.sum(old.u)


def kept_in_a_branch(u, n):
    s = old = Open(u, u)
    if u[0] > n:
        s = Open(s.u * 2.0, s.h)
    s.u = s.u * 3.0
    return np.sum(old.u)


@pytest.mark.parametrize("fn", [seen_by_another, kept_in_a_branch])
def test_what_another_name_may_show_is_not_changed(fn: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="changed inside a loop or branch"):
        parse(fn, (U, N))
