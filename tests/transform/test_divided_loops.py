"""Loops over the places of two dimensions, written as one: nests, in the same order."""
import numpy as np
import pytest

from sdfgad.calls.arguments import bind
from sdfgad.ir.program import Loop
from sdfgad.ir.walk import statements
from sdfgad.verbs.pipeline import Request, derive
from tests.frontend.checking import check_both_modes

X = np.linspace(0.35, 3.1, 7) ** 1.1


def independent(x):
    y, z = np.zeros((22, 4)), np.zeros(88)
    for k in range(88):
        y[k // 4, k % 4] = x[k % 7] * k
    for k in range(88):
        z[k] = y[k // 4, k % 4] ** 2
    return np.sum(z * np.arange(88.0))


def one_after_the_other(x):
    y = np.ones((22, 4))
    for k in range(1, 88):
        y[k // 4, k % 4] = y[(k - 1) // 4, (k - 1) % 4] * x[k % 7] * 0.5 + 1.0
    return np.sum(y)


def others_are_read(x):
    y = np.ones((22, 4))
    for k in range(88):
        y[k // 4, k % 4] = y[(k * 5) % 88 // 4, (k * 5) % 4] * x[k % 7]
    return np.sum(y)


def columns_first(x):
    y = np.ones((4, 22))
    for k in range(88):
        y[k % 4, k // 4] += x[k % 7] * y[k % 4, 0]
        y[k // 22, 1] *= x[k % 5] * 0.5
    return np.sum(y)


def last_row_cut_off(x):
    y = np.ones((22, 4))
    for k in range(86):
        y[k // 4, k % 4] = y[k // 4, k % 4] * x[k % 7]
    for k in range(88):
        if x[k % 7] > 1:
            y[k // 4, k % 4] *= 2
    return np.sum(y * y)


@pytest.mark.parametrize("fn", [independent, one_after_the_other, others_are_read, columns_first, last_row_cut_off])
def test_both_modes(fn):
    check_both_modes(fn, (X,))


def test_independent_iterations_are_maps():
    program = derive(independent, bind(independent, (X,), {}), Request(("x",), None, None)).program
    assert not any(isinstance(s, Loop) for s in statements(program.body))
