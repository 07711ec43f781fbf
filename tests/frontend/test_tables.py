"""Loops over long constant sequences of numbers read tables; short ones, and bodies that need constants, are written
out."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.frontend.arrays import tables
from sdfgad.ir.program import Loop
from tests.frontend.checking import check
from tests.support.oracle import check_program

F = np.sin(np.arange(60.0)).reshape(3, 4, 5)
STEPS = [(0, 0), (1, 0), (0, -1), (1, 1), (-1, 2), (0, 0), (2, 3), (-3, 1)]
WEIGHTS = [0.5, 0.25, 0.125, 0.5, 0.75, 1.0, 0.1, 0.2]
NODES = [(0, 1, 2), (1, 3, 2), (2, 1, 0), (3, 3, 1), (0, 2, 3), (1, 0, 2), (3, 2, 1), (2, 0, 3)]
SHIFTS = np.array(STEPS)
SHARES = np.array([0.5, 0.75])


def neighbours(f):
    total, k = 0.0, 0
    for (cx, cy), w in zip(STEPS, WEIGHTS):  # noqa: B905
        total += w * np.sum(np.roll(f[k % 3], (cx, cy), axis=(0, 1)) * f[0]) + cx * w
        k += 1
    return total


def elements(f):
    out = np.zeros(4)
    for k, (a, b, c) in enumerate(NODES):
        out[a] += f[0, b, 0] * f[1, c, 1] * SHARES[k % 2]
        if a > b:
            continue
        out[c] -= f[2, a, 2] * k
    return np.sum(out**2)


def powers(f):
    total = 0.0
    for w in [0.5, 1.5, 2.0, 0.25, 0.75, 1.25, 3.0, 4.0]:
        total += np.sum(f**2) ** w / w
    return total


def shapes(f):
    total = 0.0
    for n in [1, 2, 3, 1, 2, 3, 1, 2]:
        total += np.sum(np.ones((n, 2))) * np.sum(f[:n])
    return total


def chosen(f):
    total = 0.0
    for n in [1, 2, 3, 1, 2, 3, 1, 2]:
        total += [np.sum(f), np.sum(f**2), 1.0][n - 1]
    return total


def kinds(f):
    total = 0.0
    for n in [1, 2.0, 3, 1, 2, 3, 1, 2]:
        total += n * np.sum(f)
    return total


@pytest.fixture(params=[512, 0])
def longest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(tables, "MOST_STEPS", request.param)
    return int(request.param)


@pytest.mark.parametrize(("fn", "looped"), [(neighbours, True), (elements, True), (powers, True), (shapes, True),
                                            (chosen, False), (kinds, False)])
def test_written_out_or_not(fn: Callable[..., Any], looped: bool, longest: int) -> None:
    parsed = check(fn, F)
    assert any(isinstance(s, Loop) for s in parsed.program.body) == (looped and longest == 0)
    if looped and longest == 0:
        check_program(parsed.program, {"f": F}, ["f"], rtol=1e-6)


def rolled(f, i):
    total = f * 0
    for k in range(len(SHIFTS)):
        total = total + np.roll(f, SHIFTS[k], axis=(0, 1)) * k
    for cx, cy in SHIFTS:
        total = total + np.roll(f, (cx, cy), axis=(1, 2)) * cx
    return [total, np.roll(f, np.array([1, 2]), axis=(0, 1)), np.roll(f, [1, 2], axis=[0, 1]), np.roll(f, (1, 2), 1),
            np.roll(f, [3], axis=(0, 1)), np.roll(f, i, axis=(0, 1)), np.roll(f, (1, 2)), np.roll(f, (1, -1), (0, 0))]


def test_shifts_are_arrays_and_lists() -> None:
    check(rolled, F, np.array([2, -1]))
