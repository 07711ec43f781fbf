"""Lists whose length the run decides: items set and taken away at both ends, the last few, loops over them."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes

X = np.array([0.43, -1.2, 0.9, 1.7, -0.3, 0.6])


def set0(x):
    h = [x[0]]
    while h[-1] > 0.1:
        h.append(h[-1] * 0.5)
    h[0] = x[1]
    return sum(h)


def setlast(x):
    h = [x[0]]
    while h[-1] > 0.1:
        h.append(h[-1] * 0.5)
    h[-1] += x[1]
    return sum(h)


def setlast_in(x):
    h = [x[0]]
    while h[-1] > 0.1:
        h.append(h[-1] * 0.5)
        h[-1] -= 0.01
    return sum(h)


def setarr(x):
    h = [x]
    while np.sum(h[-1] ** 2) > 0.1:
        h.append(h[-1] * 0.5)
    h[0] = x * 2
    return np.sum(h[0]) + np.sum(h[-1])


def zipstar(x):
    h = [(0.0, x[0])]
    while h[-1][1] > 0.1:
        h.append((h[-1][0] + 0.1, h[-1][1] * 0.5))
    t, y = zip(*h)
    return np.sum(np.array(t) * np.array(y))


def zipstar2(x):
    h = []
    v = x[0]
    while v > 0.1:
        v = v * 0.5
        h.append((0.1, v))
    t, y = zip(*h)
    return np.trapezoid(y, t) + y[-1]


def zipstrict(x):
    a = [(x[0], 1.0), (x[1], 2.0)]
    u, v = zip(*a, strict=True)
    return u[0] * v[1] + u[1]


def concat(x):
    h = [x[0]]
    while h[-1] > 0.1:
        h = h + [h[-1] * 0.5]
    return sum(h)


def iconcat(x):
    h = [x[0]]
    while h[-1] > 0.1:
        h += [h[-1] * 0.5]
    return sum(h)


def dq(x):
    h = deque(maxlen=3)
    y = x
    while np.sum(y ** 2) > 0.1:
        y = y * 0.7
        h.append(y)
    return np.sum(h[0]) + np.sum(h[-1]) + sum(np.sum(v) for v in h)


def pop0(x):
    h = []
    y = x
    while np.sum(y ** 2) > 0.1:
        y = y * 0.7
        h.append(y)
        if len(h) > 2:
            h.pop(0)
    return np.sum(h[0]) + np.sum(h[-1])


def popnum(x):
    h = []
    y = x[0]
    while y > 0.01:
        y = y * 0.7
        h.append(y)
        if len(h) > 2:
            h.pop(0)
    return h[0] * h[1]


def popf(x):
    h = []
    y = x
    for i in range(20):
        y = y * 0.7
        h.append(y)
        if len(h) > 3:
            h.pop(0)
        if np.sum(y ** 2) < 0.1:
            break
    return np.sum(h[0]) + np.sum(h[-1])


def tail(x):
    h = []
    y = x
    while np.sum(y ** 2) > 0.1:
        y = y * 0.7
        h.append(y)
        h = h[-3:]
    return np.sum(h[0]) + np.sum(h[-1])


def pop_arr(x):
    h = []
    y = x
    while np.sum(y ** 2) > 0.1:
        y = y * 0.7
        h.append(y)
    s = 0.0
    while h:
        s += np.sum(h.pop() ** 2)
    return s


def lbfgs(x):
    m = 3
    A = np.diag(np.arange(1.0, 7.0))
    S, Y, R = ([], [], [])
    b = x
    z = np.zeros(6)
    g = A @ z - b
    k = 0
    while np.linalg.norm(g) > 0.001 and k < 30:
        q = g.copy()
        al = []
        for s, y, r in zip(reversed(S), reversed(Y), reversed(R)):
            a = r * (s @ q)
            q = q - a * y
            al.append(a)
        if len(S) > 0:
            q = q * (S[-1] @ Y[-1] / (Y[-1] @ Y[-1]))
        for s, y, r, a in zip(S, Y, R, reversed(al)):
            be = r * (y @ q)
            q = q + s * (a - be)
        d = -q
        t = -(g @ d) / (d @ A @ d)
        zn = z + t * d
        gn = A @ zn - b
        S.append(zn - z)
        Y.append(gn - g)
        R.append(1.0 / ((gn - g) @ (zn - z)))
        if len(S) > m:
            S.pop(0)
            Y.pop(0)
            R.pop(0)
        z, g = (zn, gn)
        k += 1
    return np.sum(z ** 2)


def lbfgs_for(x):
    m = 3
    A = np.diag(np.arange(1.0, 7.0))
    S, Y = ([], [])
    b = x
    z = np.zeros(6)
    g = A @ z - b
    for k in range(8):
        if np.linalg.norm(g) < 0.001:
            break
        q = g.copy()
        al = []
        for i in range(len(S) - 1, -1, -1):
            a = S[i] @ q / (Y[i] @ S[i])
            q = q - a * Y[i]
            al.append(a)
        al = al[::-1]
        if S:
            q = q * (S[-1] @ Y[-1] / (Y[-1] @ Y[-1]))
        for i in range(len(S)):
            be = Y[i] @ q / (Y[i] @ S[i])
            q = q + S[i] * (al[i] - be)
        d = -q
        t = -(g @ d) / (d @ A @ d)
        zn = z + t * d
        gn = A @ zn - b
        S.append(zn - z)
        Y.append(gn - g)
        if len(S) > m:
            S.pop(0)
            Y.pop(0)
        z, g = (zn, gn)
    return np.sum(z ** 2)


def maxlen_for(x):
    h = deque([x[0]], maxlen=3)
    for i in range(1, 6):
        h.append(h[-1] * x[i])
        if h[-1] > 100:
            break
    return sum(h)


def clearlist(x):
    h = []
    y = x[0]
    while y > 0.01:
        y = y * 0.5
        h.append(y)
        if len(h) > 3:
            h.clear()
    return sum(h)


def named_row(x):
    h = [x]
    while np.sum(h[-1] ** 2) > 0.1:
        h.append(h[-1] * 0.5)
    first = h[0]
    h[0] = x * 2
    return np.sum(first) + np.sum(h[0])


def walked_ahead(x):
    h = [x[0]]
    while h[-1] > 0.1:
        add = h.append
        for v in h:
            add(v * 0.1)
    return sum(h)


@pytest.mark.parametrize("program", [
    set0, setlast, setlast_in, setarr, zipstar, zipstar2, zipstrict, concat, iconcat, dq, pop0,
    popnum, popf, tail, pop_arr, lbfgs, lbfgs_for, maxlen_for, clearlist,
])
def test_values_and_derivatives(program: Callable[..., Any]) -> None:
    check_both_modes(program, (X,))


@pytest.mark.parametrize("program, what", [(named_row, "while a name stands for it"), (walked_ahead, "list")])
def test_refused(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,))
