"""What a program of DaCe takes from around it: arrays, numbers, objects, functions of Python."""
from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import dace
import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.frontend.graphs.function import as_function
from sdfgad.frontend.graphs.reading import read
from tests.graphs.pairs import N, numbers
from tests.support.point_loops import run

WEIGHTS = np.array([1.0, 2.0, 4.0])
SETTING = SimpleNamespace(rate=SimpleNamespace(value=2.0))


class Model:
    """Weights and a factor, as attributes."""

    def __init__(self) -> None:
        self.weights, self.factor = np.array([1.0, 3.0, 2.0]), 2.0

    @dace.method
    def scaled(self, x: dace.float64[3]):
        return x * self.factor

    @dace.method
    def loss(self, x: dace.float64[3], s):
        y = self.scaled(x) * self.weights
        return np.sum(y * y) * s


class Unbound:
    @dace.program
    def loss(self, x: dace.float64[3]):
        return np.sum(x * x)


@dace.program
def weighted(x: dace.float64[3]):
    return np.sum(x * x * WEIGHTS)


@dace.program
def rated(x: dace.float64[3]):
    return np.sum(x) * SETTING.rate.value


@dace.program
def outer(a: dace.float64[3]):
    return np.outer(a, a)


@dace.program
def backwards(a: dace.float64[3]):
    return a[::-1] * a


@dace.program
def overwriting(x: dace.float64[3]):
    WEIGHTS[:] = x


@dace.program
def scale_row(a: dace.float64[N], s: dace.float64):
    for i in dace.map[0:N]:
        a[i] = a[i] * s


@dace.program
def rows(a: dace.float64[2, 3]):
    for i in range(2):
        scale_row(a[i], 2.0)


@dace.program
def columns(a: dace.float64[2, 3]):
    for j in range(3):
        scale_row(a[:, j], 3.0)


def value(program: Any, *arguments: Any) -> Any:
    parsed = read(as_function(program), arguments, {})
    return run(parsed.program, parsed.collect(arguments))


def test_a_program_in_a_class_says_how_methods_are_decorated() -> None:
    for program in (Unbound().loss, Unbound.loss):
        with pytest.raises(sdfgad.UsageError, match="decorate it with @dace.method"):
            sdfgad.grad(program)(np.ones(3))


def test_arrays_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1.0, 2.0, 3.0])
    gradient = sdfgad.grad(weighted)
    np.testing.assert_allclose(gradient(x), 2 * x * WEIGHTS, rtol=1e-15)
    monkeypatch.setitem(globals(), "WEIGHTS", np.array([5.0, 0.0, 1.0]))
    assert value(weighted, x) == 14.0
    WEIGHTS[0] = 1.0
    assert value(weighted, x) == 10.0


def test_attributes_of_objects_are_looked_at_again() -> None:
    x = numbers(3)
    assert value(rated, x) == np.sum(x) * 2.0
    SETTING.rate.value = 3.0
    assert value(rated, x) == np.sum(x) * 3.0


def test_a_method_is_a_function_of_its_arguments() -> None:
    x, model, other = numbers(3), Model(), Model()
    other.factor = 5.0
    for one in (model, other):
        gradient = sdfgad.grad(one.loss, wrt="x")(x, 0.5)
        np.testing.assert_allclose(gradient, x * (one.factor * one.weights) ** 2, rtol=1e-14)
    before = value(model.loss, x, 1.0)
    model.factor *= 2
    np.testing.assert_allclose(value(model.loss, x, 1.0), 4 * before, rtol=1e-14)
    model.weights[:] = 1.0
    np.testing.assert_allclose(value(model.loss, x, 1.0), np.sum((4 * x) ** 2), rtol=1e-14)
    assert value(pickle.loads(pickle.dumps(as_function(model.loss))), x, 1.0) == value(model.loss, x, 1.0)
    with pytest.raises(UsageError, match="take it from an object"):
        sdfgad.grad(Model.loss)


def test_programs_that_call_the_same_do_not_mix() -> None:
    """DaCe hands the loop variable of one caller on to the other, which has none of that name."""
    for program, factor in ((rows, 2.0), (columns, 3.0)):
        a = numbers(2, 3)
        parsed = read(as_function(program), (a,), {})
        memory = {n: np.array(v) for n, v in parsed.collect((a,)).items()}
        run(parsed.program, memory)
        np.testing.assert_allclose(memory[parsed.traced["a"]], a * factor, rtol=1e-15)


@pytest.mark.parametrize("program, what", [
    (outer, "hands to Python: `numpy_outer`"), (backwards, "front end does not take: Negative strides"),
    (overwriting, "an update of 'WEIGHTS'")])
def test_what_needs_python_is_refused_with_its_line(program: Any, what: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        value(program, numbers(3))
    assert what in str(error.value)
    assert "test_around.py:" in str(error.value)
