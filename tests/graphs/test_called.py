"""Programs and graphs of DaCe that a NumPy function calls."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import dace
import numpy as np
import pytest

import sdfgad
from sdfgad.analysis.verify import verify
from sdfgad.errors import DtypeError, UnsupportedError
from sdfgad.frontend import parse
from sdfgad.frontend.graphs import called
from sdfgad.frontend.graphs.called import called_graph
from sdfgad.frontend.graphs.reading import read
from sdfgad.ir.verify import SOURCE
from tests.frontend.checking import same
from tests.graphs.pairs import N, numbers
from tests.graphs.test_around import Model, scale_row, weighted
from tests.support.point_loops import run

MODEL, HELD = Model(), np.ones(4)


@dace.program
def moved(u: dace.float64[N], k: dace.float64):
    return u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2])


@dace.program
def squares(u: dace.float64[N]):
    return np.sum(u * u)


@dace.program
def recurrent(u: dace.float64[N], v: dace.float64[N], k: dace.int64):
    for i in range(1, N):
        v[i] = v[i - 1] * u[i] + k


@dace.program
def parts(u, k):
    return u * k, u + k


def plain_recurrent(u: np.ndarray, v: np.ndarray, k: int) -> None:
    for i in range(1, len(u)):
        v[i] = v[i - 1] * u[i] + k


def plain_scale(a: np.ndarray, s: float) -> None:
    a *= s


GRAPH = sdfgad.from_sdfg(squares.to_sdfg())


def in_loops(u, programs):
    smooth, repeat, scale = programs
    v = u - u
    scale(u * 2.0, 3.0)
    for i in range(3):
        w = np.concatenate((u[:1], smooth(u, 0.1 * i), u[-1:]))
        repeat(w * 0.5, v, 1)
        if v[2] > 1.0:
            scale(v, 0.5)
        u = w + v[::-1]
    return np.sum(u * v)


def calling(u):
    return in_loops(u, (moved, recurrent, scale_row))


def written_out(u):
    return in_loops(u, (moved.f, plain_recurrent, plain_scale))


def both(u, k):
    a, b = parts(u, k)
    return a * b + squares(u)[0] + squares(u).shape[0] + GRAPH(u) + weighted(u[:3].copy()) + MODEL.loss(u[1:].copy(), k)


def both_in_numpy(u, k):
    weights = weighted.f.__globals__["WEIGHTS"]
    scaled = u[1:] * MODEL.factor * MODEL.weights
    return u * k * (u + k) + 2 * np.sum(u * u) + 1 + np.sum(u[:3] ** 2 * weights) + np.sum(scaled**2, keepdims=True) * k


def value(fn: Callable[..., Any], *arguments: Any) -> Any:
    parsed = parse(fn, arguments, foreign=called_graph)
    verify(parsed.program, "parse", SOURCE)
    return run(parsed.program, {k: np.array(v) for k, v in parsed.collect(arguments).items()})


def test_programs_in_loops_and_branches_have_gradients():
    u = numbers(5)
    found, expected = (sdfgad.value_and_grad(f)(u) for f in (calling, written_out))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_values_are_those_of_numpy():
    u = numbers(4)
    same(value(both, u, 0.5), both_in_numpy(u, 0.5), 1e-13)


def test_what_is_around_a_program_is_looked_at_again(monkeypatch: pytest.MonkeyPatch):
    weights, u = weighted.f.__globals__["WEIGHTS"], np.ones(3)
    gradient = sdfgad.grad(lambda u: np.sum(weighted(u)))
    np.testing.assert_allclose(gradient(u), 2.0 * weights)
    monkeypatch.setitem(weighted.f.__globals__, "WEIGHTS", weights + 1.0)
    np.testing.assert_allclose(gradient(u), 2.0 * weights + 2.0)


def shared(u):
    recurrent(u, u, 1)
    return np.sum(u)


def by_place(u):
    recurrent(u, np.zeros_like(u), np.argmax(u))
    return np.sum(u)


def of_outside(u):
    scale_row(HELD, 2.0)
    return np.sum(u * HELD)


def in_other_dtype(u):
    return np.sum(squares(u.astype(np.float32)))


@pytest.mark.parametrize("fn, arguments, error, what", [
    (shared, (numbers(4),), UnsupportedError, "shares memory with another argument"),
    (by_place, (numbers(4),), UnsupportedError, "no known number"),
    (of_outside, (numbers(4),), UnsupportedError, "from outside the function"),
    (in_other_dtype, (numbers(4),), DtypeError, "the graph takes float64")])
def test_what_is_refused(fn, arguments, error, what):
    with pytest.raises(error, match=what):
        value(fn, *arguments)


def test_indices_that_are_looked_at_before_a_call_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(called, "read", lambda *given: replace(read(*given), accesses=(None,)))
    with pytest.raises(UnsupportedError, match="indices from data in squares"):
        value(lambda u: squares(u), numbers(4))
