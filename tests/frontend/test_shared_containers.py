"""Containers that several names stand for, or that are in others, while loops and branches bind them anew."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

RANDOM = np.random.default_rng(4)
W, ROWS = RANDOM.uniform(-0.9, 0.9, 80), RANDOM.uniform(-0.9, 0.9, (80, 3))


class Stepper:

    def __init__(self, u):
        self.u, self.before, self.at = u, [], {"t": (0.0, 1.0)}

    def step(self, f):
        k = f(self.u)
        self.u = self.u + 0.02 * (1.5 * k - 0.5 * self.before[-1] if self.before else k)
        self.before = [k]
        self.at = {"t": (self.at["t"][1], self.at.get("t")[0] + 0.1)}


def two_steps(rows):
    s = Stepper(rows[0])
    for _ in range(90):
        s.step(lambda u: np.sin(u) * u[::-1])
    return np.sum(s.u ** 2) * s.at["t"][0]


def both_kept(w):
    first = {"x": w[0], "v": [w[1], 1.0]}
    s, best = first, first
    for t in w:
        s = {"x": s["x"] + 0.1 * s["v"][0], "v": [s["v"][0] - 0.1 * s["x"] + t, s["v"][1]]}
        if s["x"] > 1.0:
            best = s
    return s["x"] * first["x"] + best["v"][0]


def only_read(w):
    r, q = {"a": w[0], "b": [w[2]]}, {"a": w[1], "b": [1.0]}
    chosen = r if w[0] > 0 else q
    fresh = [w[3]] if w[1] > 0 else [w[4]]
    fresh[0] = fresh[0] * 2
    return chosen["a"] * chosen["b"][0] + fresh[0]


class Body:
    def __init__(self, x):
        self.x = x


def returned_on_every_way(w):
    def solved(s):
        for t in w:
            s.x = 0.5 * np.cos(s.x) + 0.01 * t
            if abs(s.x) < 0.01:
                return s
        return s

    def made(v):
        if v > 0:
            return Body(v)
        return Body(v * v)

    s, total = Body(w[0]), 0.0
    first = s
    for t in w:
        s = solved(s)
        s.x = s.x * 0.9 + t
        total += first.x
    r = made(w[1])
    r.x += 1.0
    return total, r.x


def one_of_two_lists(w):
    r, q = [0.0], [0.0]
    for k, t in enumerate(w):
        (r if k % 2 else q).append(t)
    return sum(r) * 2 + sum(q) * 3


@pytest.mark.parametrize("fn, argument", [
    (two_steps, ROWS), (both_kept, W), (only_read, W), (returned_on_every_way, W), (one_of_two_lists, W)])
def test_program(fn: Callable[..., Any], argument: np.ndarray) -> None:
    check(fn, argument, rtol=1e-10)


def seen_by_both(w):
    d = {"a": 1.0}
    s, q = d, 0.0
    for t in w:
        d["a"] += t
        s = {"a": s["a"] * 0.5}
        q += s["a"]
    return q


def seen_by_both_later(w):
    d, s = {"a": 1.0}, {"a": 0.0}
    if w[0] > -100:
        s = d
    d["a"] = w[1]
    return s["a"]


def one_of_two_dicts(w):
    r, q = {"a": 0.0}, {"a": 1.0}
    chosen = r if w[0] > 0 else q
    chosen["a"] = w[1]
    return r["a"] * 2 + q["a"] * 3


def one_of_two_seen(w):
    r, q = {"a": 0.0}, {"a": 1.0}
    chosen = r if w[0] > -100 else q
    r["a"] = w[1]
    return chosen["a"]


def returned_from_a_branch(w):
    def pick(a, b):
        if w[0] > 0:
            return a
        return b

    r, q = [w[0]], [w[1]]
    pick(r, q).append(5.0)
    return len(r) * w[0] + sum(q)


@pytest.mark.parametrize("program", [
    returned_from_a_branch, seen_by_both, seen_by_both_later, one_of_two_dicts, one_of_two_seen])
def test_what_another_name_would_not_see_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="changed inside a loop|may be one of several"):
        parse(program, (W,))


def relaxed(p, b, sweeps):
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1] = 0.5 * (old[2:] + old[:-2]) - 0.1 * b[1:-1]
        p[-1] = p[-2] * p[0]
    return p


def handed_back(u, p):
    b = np.zeros_like(u)
    for _ in range(70):
        b[1:-1] = u[2:] - u[:-2]
        p = relaxed(p, b, 3)
        u[1:-1] -= 0.01 * (p[2:] - p[:-2])
    return np.sum(u * u) + np.sum(p)


def handed_back_until(u, p):
    k = 0
    while np.sum(np.abs(p)) > 0.1 and k < 70:
        p = relaxed(p, u, 2)
        k += 1
    return np.sum(p * u) + k


def handed_back_in_part(u, p):
    for k in range(80):
        q = relaxed(p, u, 1)
        p = q if k > 3 else p
        u *= 0.99
    return np.sum(p * u)


def both(u, v):
    u[1:-1] += 0.1 * (v[2:] - v[:-2])
    v[1:-1] *= 1.0 - 0.01 * u[1:-1]
    return u, v


def handed_back_in_turn(u, v):
    for _ in range(67):
        v, u = both(u, v)
    return np.sum(u * u * v)


def edges(p):
    p[0] = p[1] * p[2]
    return p


def handed_back_beside_one_made_anew(u, v):
    for _ in range(66):
        old = u.copy()
        u[1:-1] = 0.5 * (old[2:] + old[:-2])
        u = edges(u)
        v = edges(v)
        v = 0.9 * v + 0.1 * u
    return np.sum(u * v)


@pytest.mark.parametrize("program", [handed_back, handed_back_until, handed_back_in_part, handed_back_in_turn,
                                     handed_back_beside_one_made_anew])
def test_arguments_that_functions_update_and_hand_back_keep_their_names_in_long_loops(program):
    check_both_modes(program, (np.linspace(0.5, 1.0, 6), np.linspace(-0.4, 0.9, 6)))
