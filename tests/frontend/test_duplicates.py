"""Copies of arrays, containers and objects, and loops over `np.arange`, whose integers are known."""
import copy
from copy import deepcopy

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

X = np.array([0.4, -1.2, 0.7])


class State:
    def __init__(self, u):
        self.u, self.twice, self.parts = u, [u, u], {"a": u[:2], "n": 3}


class Own:
    def __deepcopy__(self, memo):
        return self


def copied(x):
    s = State(x * 2)
    t, near = deepcopy(s), copy.copy(s)
    t.twice[0][1] += 1.0  # and its other place, not that of s
    near.u[0] += 1.0
    near.twice.append(x)
    y = copy.copy(x)
    y[0] = 9.0
    d = deepcopy({"x": x, "k": (1, "a", None)})
    d["x"][2] = x[0] * x[1]
    return [s.u, t.u, t.twice[1], len(s.twice), t.parts["a"], s.parts["n"], y, d["x"], d["k"][0], x, deepcopy(x[0])]


def tree_prices(x):
    n = 6
    c = np.maximum(0.0, 1.1 - x[0] * np.arange(n + 1))
    for i in np.arange(n - 1, -1, -1):
        s = np.arange(i, -1, -1) * x[2]
        c[:i + 1] = 0.5 * c[1:i + 2] + 0.4 * c[:i + 1] + i / 2
        c = np.maximum(c[:-1], s)
    for j in np.arange(2, 9, 3, dtype=np.int32):
        c = c * j + j ** 2
    return c, j, i


def test_same_as_python():
    check(copied, X)
    check(tree_prices, X)


@pytest.mark.parametrize("program, what", [
    (lambda x: [deepcopy(Own()), x][1], "a copy of an object of class Own"),
    (lambda x: deepcopy(x, {}), "memo")], ids=["own", "memo"])
def test_refused(program, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,), {})
