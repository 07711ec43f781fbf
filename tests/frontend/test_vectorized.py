"""`np.vectorize` of functions of numbers: values, derivatives, and the refusal of what may not be a float."""
from __future__ import annotations

import math

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

X = np.linspace(-0.7, 1.4, 6)
A = np.outer(X, X + 0.3)


def piece(v, k):
    if v > 0.5:
        return v * v * k
    return math.sin(v) if v > 0.0 else -0.1 * v


MADE = np.vectorize(piece)


@np.vectorize
def decorated(v):
    return 0.0 if v < 0.0 else 3 * v ** 2


def programs():
    def inside(x, a):
        def steps(v):
            total = 0.0
            while v > 0.1:
                v = v * 0.5
                total += v
            return total

        return np.sum(np.vectorize(steps, otypes=[float])(x)) + np.sum(a)

    def other(x, a):
        return np.vectorize(lambda v: max(v, 0), otypes="d")(x)

    return [lambda x, a: MADE(x, 2.0), lambda x, a: MADE(a, x), lambda x, a: decorated(a) * x,
            lambda x, a: np.vectorize(lambda v, w: v * w if v > w else w)(x, a),
            other, inside]


@pytest.mark.parametrize("k", range(6))
def test_values(k):
    program = programs()[k]

    def run(x, a):
        return program(x, a)

    check(run, X, A)


def test_derivatives():
    def run(x, a):
        return sum(np.sum(np.sin(program(x, a))) for program in programs())

    sdfgad.check_grads(run, X.copy(), A.copy())


@pytest.mark.parametrize("program", [
    lambda x: np.vectorize(lambda v: max(v, 0))(x),
    lambda x: np.vectorize(lambda v: v if v > 0.2 else 0)(x),
    lambda x: np.vectorize(lambda v: int(v))(x),
    lambda x: np.vectorize(lambda v: (v, v))(x),
    lambda x: np.vectorize(lambda v: v * 2.0)(np.arange(3)),
    lambda x: np.vectorize(lambda v: v * 2.0, otypes=[int])(x),
    lambda x: np.vectorize(lambda v: v.sum(), signature="(n)->()")(x),
], ids=lambda program: f"line {program.__code__.co_firstlineno}")
def test_refusals(program):
    with pytest.raises(UnsupportedError, match=r"np\.vectorize") as caught:
        parse(program, (X,))
    assert caught.value.line == program.__code__.co_firstlineno
