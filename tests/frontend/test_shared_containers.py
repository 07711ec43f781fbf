"""Containers that several names stand for, or that are in others, while loops and branches bind them anew."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

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


@pytest.mark.parametrize("fn, argument", [(two_steps, ROWS), (both_kept, W)])
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


@pytest.mark.parametrize("program", [seen_by_both, seen_by_both_later])
def test_what_another_name_would_not_see_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="changed inside a loop"):
        parse(program, (W,))
