"""Python's booleans are integers for its operators, where NumPy's own stay booleans."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from tests.frontend.checking import check

X = np.array([-0.4, -1.2, 2.5])


def negations(x):
    p, q = not x[0] > 0, not x[1] > 5
    return p + q, (p + q) * x, p - q, p * q, -p, +p, abs(p), p ** 2, p / 2


def comparisons_of_floats(x):
    p, q = float(x[0]) < 0, x[1].item() < 5
    v = x.tolist()
    return p + q, (v[0] < 0) + (v[1] < 0) + x, p & q, p | q, p ^ q, p << 2, p // 1, (p == True) + (q != False)  # noqa: E712


def conversions(x):
    p, q = bool(x[0] < 0), math.isfinite(x[1])
    return p + q, p + p + q, True + p, p - True, np.add(p, p), np.sum([p, q]), sum([p, q])


def reductions(x):
    p, q = any(v < 0 for v in x), all([x[0] < 0, x[1] < 0])
    r, s = np.allclose(x, x), np.array_equal(x, x)
    return p + q, p - q, r + r, s + s, np.any(x < 0) + np.all(x < 9), (x[0] < 0) + (x[1] < 0)


def found_in_a_loop(x):
    p, count = False, 0
    for v in x:
        if v < 0:
            p = True
        count += p + (not v > 0)
    a, b = False, True
    for _ in range(x.size):
        a, b = b, not a
    return p + p, count * x, a + b + b, a - b


@dataclass
class Found:
    hit: bool = False
    count: int = 0


def held(x):
    found, flags = Found(), [False] * 3
    for k in range(3):
        if x[k] < 0:
            flags[k] = found.hit = True
        found.count += found.hit + found.hit
    return found.count * x, flags[0] + flags[1] + flags[2]


@pytest.mark.parametrize("program", [negations, comparisons_of_floats, conversions, reductions, found_in_a_loop, held])
def test_sums_of_booleans(program):
    check(program, X)
