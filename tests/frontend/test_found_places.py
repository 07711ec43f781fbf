"""Items, rows and columns of submatrices by places of the run, and places that stand in lists."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from tests.frontend.checking import check, check_both_modes
from tests.support.interpreted import interpreted

X = np.array([0.43, -1.2, 0.9, 1.7, -0.3, 0.6])
_BASE = np.cos(np.arange(36.0) ** 2).reshape(6, 6)
K = _BASE @ _BASE.T + 6 * np.eye(6)


def sub_el(x, k):
    m = x > 0
    q = k[np.ix_(m, m)]
    return q[0, 0] * x[0] + q[1, -1] * x[1]


def sub_row(x, k):
    m = x > 0
    q = k[np.ix_(m, m)] * x[0]
    return np.sum(q[1, :] ** 2) + np.sum(q[:, 0] * x[m]) + np.sum(q[0])


def sub_rows(x, k):
    m = x > 0
    q = k[np.ix_(m, m)] * x[0]
    s = 0.0
    for row in q:
        s += np.sum(row ** 2)
    for i in range(q.shape[0]):
        s += q[i, i] + np.sum(q[i])
    return s


def sub_keep(x, k):
    m = x > 0
    q = k[np.ix_(m, m)] * x[0]
    q = q / q.sum(axis=0, keepdims=True)
    return np.sum(q ** 2)


def setdiag(x, k):
    m = np.nonzero(x > 0)[0]
    A = k * x[0]
    A[m, m] = 1.0
    return np.sum(A ** 2)


def setrows(x, k):
    m = np.nonzero(x > 0)[0]
    A = k * x[0]
    A[m, :] = 0.0
    A[:, m] = 0.0
    A[m, m] = 1.0
    return np.sum(np.linalg.solve(A + np.eye(6), x) ** 2)


def free_comp(x, k):
    n = 6
    free = [i for i in range(n) if x[i] > 0]
    return np.sum(k[np.ix_(free, free)] @ x[free])


def free_comp2(x, k):
    n = 6
    free = [i for i in range(n) if x[i] > 0]
    u = np.zeros(n)
    u[free] = np.linalg.solve(k[np.ix_(free, free)], x[free])
    return np.sum(u ** 2) + np.sum(k[free][:, 0] * x[free]) + len(free) * x[0]


def eye_of_a_list(x, k):
    h = []
    for v in x:
        if v > 0:
            h.append(v)
    e = np.eye(len(h))
    return np.sum(e) * x[0] + 1.0 * e.shape[1] + np.sum(e @ np.array(h))


@pytest.mark.parametrize("program", [sub_el, sub_row, sub_rows, sub_keep, setdiag, setrows, free_comp, free_comp2,
    eye_of_a_list])
def test_values_and_derivatives(program: Callable[..., Any]) -> None:
    check_both_modes(program, (X, K))


FLAGS = np.array([True, False, True, True, False, False])


@pytest.mark.parametrize("fn", [
    lambda x: x[np.flatnonzero(FLAGS)] * 2, lambda x: x[np.argwhere(FLAGS)[:, 0]] ** 2,
    lambda x: np.outer(x, x)[np.ix_([True, False] * 3, [0, 3])], lambda x: x * len(np.nonzero(FLAGS)[0]),
    lambda x: np.zeros(len(np.flatnonzero(FLAGS))) + x[0], lambda x: x[np.nonzero([1, 0, 2])],
    lambda x: (np.isposinf(1 / x), np.isneginf(-x / (x - x)), np.nonzero(FLAGS), np.argwhere([0, 1]))])
def test_places_in_arrays_from_outside_are_known(fn):
    check(fn, np.linspace(0.5, 2.0, 6))


def test_known_places_are_looked_at_in_each_call():
    flags = np.array([True, False, True])
    with interpreted():
        taken = sdfgad.forward(lambda x: x[np.flatnonzero(flags)] * 2)
        for _ in range(2):
            np.testing.assert_array_equal(taken(np.arange(3.0)), 2 * np.flatnonzero(flags))
            flags[1:] = ~flags[1:]
            flags[0] = True
