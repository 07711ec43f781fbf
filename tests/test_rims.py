"""Reads that only a condition keeps inside of their arrays: the neighbours at the rim of a grid."""
import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from sdfgad.ir.program import Loop, Map
from sdfgad.ir.walk import statements
from sdfgad.transform.stages import prepare_program
from tests.support.oracle import program_gradient

RNG = np.random.default_rng(4)
U, X, Y = RNG.standard_normal((7, 6)), RNG.standard_normal(9), RNG.standard_normal(7)
CHOSEN = np.array([True, True, False, True, True, False, True, False, False])


def heat(u, steps):
    n, m = u.shape
    for _ in range(steps):
        v = np.zeros_like(u)
        for i in range(n):
            for j in range(m):
                c = u[i, j]
                up = u[i - 1, j] if i > 0 else c
                down = u[i + 1, j] if i < n - 1 else c
                left = u[i, j - 1] if j > 0 else u[i, m - 1]
                right = u[i, j + 1] if j < m - 1 else u[i, 0]
                v[i, j] = c + 0.1 * np.tanh(up + down + left + right - 4 * c)
        u = v
    return np.sum(u ** 2)


def recurrence(x, y):
    z = np.zeros(len(y))
    for i in range(len(y)):
        z[i] = y[i] * (z[i - 1] if i > 0 else 1.0) + (x[i - 1] * z[i - 2] if i > 1 else x[i])
    return z[-1] + np.sum(z)


def chosen_by_data(x, y):
    """Where the flags hold, `y[i + 1]` is there: nobody but the data says so."""
    z = np.zeros(len(x))
    for i in range(len(x)):
        z[i] = y[i - 2] * x[i] if CHOSEN[i] and i > 1 and x[i] < 9 else x[i] ** 2
        z[i] += y[i] if CHOSEN[i] and i < 7 else 0.0
    return np.sum(z * z)


def chains(x):
    s = 0.0
    for i in range(9):
        if i < 8 and x[i + 1] > x[i]:
            s += x[i + 1] - x[i]
        if i == 0 or x[i - 1] < x[i]:
            s += x[i] ** 2
        s += (i < 8 and x[i + 1]) or 0.5 * x[i]
        s += max(x[i + 1], 0.1) if i < 8 else 0.0
        s += np.dot(x[i - 1:i + 1], x[i - 1:i + 1]) if i > 0 else x[0]
    return s


CASES = [(heat, U, 3), (recurrence, X, Y), (chosen_by_data, X, Y), (chains, X)]


@pytest.mark.parametrize("fn, arguments", [(f, a) for f, *a in CASES], ids=[c[0].__name__ for c in CASES])
def test_derivatives_stay_inside(fn, arguments):
    """The gradient program as it is made, which the verifier looks at, against differences of NumPy."""
    parsed = parse(fn, arguments)
    data = {k: np.asarray(v) for k, v in parsed.collect(arguments, {}).items()}
    wrt = [n for n, v in data.items() if v.dtype.kind == "f"]
    value, found = program_gradient(parsed.program, data, wrt, [])
    assert value == pytest.approx(fn(*[a.copy() if isinstance(a, np.ndarray) else a for a in arguments]), rel=1e-13)
    direction = {n: RNG.standard_normal(data[n].shape) for n in wrt}

    def along(h):
        moved = [a + h * direction[n] if n in direction else a for n, a in zip(data, arguments, strict=False)]
        return fn(*moved, *arguments[len(moved):])

    slope = (along(1e-5) - along(-1e-5)) / 2e-5
    assert sum(np.sum(found[n] * direction[n]) for n in wrt) == pytest.approx(slope, rel=2e-7)


def test_compiled():
    """In one program, called with many threads, and beside memory that would show a write that leaves its array."""
    def all_of_them(u, x, y):
        return heat(u, 3) + recurrence(x, y) + chosen_by_data(x, y) + chains(x)

    sdfgad.check_grads(all_of_them, U, X, Y)


def test_rims_are_loops_of_their_own():
    """Interior and rim are maps without conditions."""
    parsed = parse(heat, (np.zeros((30, 20)), 4))
    prepared = prepare_program(parsed.program)
    loops = [s for s in statements(prepared.body) if isinstance(s, Loop)]
    assert len(loops) == 1, "the one over time"
    pieces = [s for s in statements(prepared.body) if isinstance(s, Map) and "tanh" in str(s.body)]
    assert len(pieces) == 9 and all(len(s.domain) == 2 for s in pieces)
