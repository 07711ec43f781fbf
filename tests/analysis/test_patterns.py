"""Sparsity patterns: the very nonzeros where indices are affine or given, never fewer anywhere."""
from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from sdfgad.analysis.patterns.points import Instances
from sdfgad.errors import UnsupportedError
from sdfgad.ir.index import ix
from sdfgad.ir.program import Range
from sdfgad.thresholds import changed
from tests.programs.examine import Task
from tests.programs.running import arguments, load, more_arguments
from tests.support.tangents import first_derivative, matrix, second_derivative

pytest.importorskip("scipy")
pattern_of = import_module("sdfgad.verbs.sparsity").pattern_of

X = np.array([0.4, 1.3, 0.7, 1.9, 0.2, 1.1])
M = np.linspace(0.3, 1.7, 12).reshape(3, 4)
PLACES = np.array([3, -1, 0, 0, 2, 5])


def stencil(x):
    r = np.zeros_like(x)
    r[1:-1] = x[:-2] * x[1:-1] - x[2:] ** 2
    r[0] = x[0]
    return r


def in_place_twice(x):
    for _ in range(2):
        x[1:] = x[1:] * x[:-1]
    return x


def periodic(x):
    return np.roll(x, 2) * (1.0 + np.pad(x, 1)[2:])


def at_places(x, places):
    y = x[places] * x
    y[places] += x[::-1]
    return y


def at_places_made(x):
    where = (3 * np.arange(x.size) + 1) % x.size
    return x[where] ** 2


def chosen_by_index(x):
    k = np.arange(x.size)
    return np.where(k < 3, x[::-1], np.sin(x))


def triangle(x):
    r = np.zeros_like(x)
    for i in range(x.size):
        for j in range(i // 2):
            r[i] += x[j] * x[i]
    return r


def recurrence(x):
    for i in range(1, x.size):
        if i != 3:
            x[i] = x[i] + 0.5 * x[i - 1]
    return x


def overwritten(x):
    y = np.cumsum(x)
    y[2:4] = 1.0
    y[4:] = x[:2]
    return y


def rows_of_a_product(m):
    return m @ np.array([[1.0, 2.0], [0.5, 1.0], [3.0, 1.0], [1.0, 1.0]])


def columns_of_a_product(m):
    return np.array([[1.0, 2.0, 0.5], [0.5, 1.0, 3.0]]) @ m


def added_at_places(x, places):
    y = x[::-1] * 2.0
    np.add.at(y, places, np.sin(x))
    return y


def at_counted_places(x):
    counts = np.zeros(3, int)
    for i in range(x.size):
        counts[i % 3] += 1
    return x[counts] * x[:3]


def rows_transformed(m):
    return np.abs(np.fft.fft(m)) ** 2


def columns_solved(m):
    return np.linalg.solve(np.array([[2.0, 1.0, 0.7], [0.6, 3.0, 1.0], [0.9, 0.5, 2.2]]), m)


def backwards_in_steps(x):
    r = np.zeros_like(x)
    for i in range(x.size - 1, 0, -2):
        r[i] = x[i] * x[i - 1]
    return r


EXACT = ((stencil, X), (in_place_twice, X), (periodic, X), (at_places, X, PLACES), (at_places_made, X),
         (chosen_by_index, X), (added_at_places, X, PLACES),
         (columns_of_a_product, M), (triangle, X), (recurrence, X), (overwritten, X), (rows_of_a_product, M),
         (rows_transformed, M), (columns_solved, M), (backwards_in_steps, X))


@pytest.mark.parametrize("fn, args", [(c[0], c[1:]) for c in EXACT], ids=[c[0].__name__ for c in EXACT])
def test_the_very_nonzeros(fn, args):
    made, bound = first_derivative(fn, args, fn.__code__.co_varnames[:1])
    assert np.array_equal(pattern_of(made, bound).toarray(), matrix(made, bound) != 0.0)


def by_value(x):
    if x[0] > 0.5:
        return x * x
    return x[::-1] * x[0]


def until_small(x):
    y = x * 1.0
    while np.sum(y) > 0.5:
        y[1:] = y[1:] * y[:-1] * 0.5
        y[0] = 0.3 * y[0]
    return y


def stops_early(x):
    for i in range(1, x.size):
        if x[i] < 0.3:
            break
        x[i] = x[i] * x[i - 1]
    return x


def stops_and_forgets(x):
    y = x * x
    for i in range(x.size):
        y[i] = 1.0
        if x[i] > 1.2:
            break
    return y


def in_order(x):
    return x[np.argsort(x)] * x


def largest(x):
    return x * np.max(x[:3])


VALUES = (by_value, until_small, stops_early, stops_and_forgets, in_order, largest, at_counted_places)


@pytest.mark.parametrize("fn", VALUES, ids=lambda f: f.__name__)
def test_what_depends_on_values_is_never_less(fn):
    made, bound = first_derivative(fn, (X,), ("x",))
    pattern = pattern_of(made, bound).toarray()
    for point in (X, X[::-1].copy(), 0.6 * X):
        _, there = first_derivative(fn, (point,), ("x",))
        assert not np.any((matrix(made, there) != 0.0) & ~pattern)


def test_both_ways_of_a_branch_are_counted():
    made, bound = first_derivative(by_value, (X,), ("x",))
    expected = np.eye(6, dtype=bool) | np.eye(6, dtype=bool)[::-1]
    expected[:, 0] = True
    assert np.array_equal(pattern_of(made, bound).toarray(), expected)


def neighbours(x):
    d = x[1:] - x[:-1]
    return np.sum(d**4) + np.sum(np.exp(x[::2]))


def products(x):
    total = 0.0
    for i in range(2, x.size):
        total += x[i] * x[i - 2] ** 2
    return total


@pytest.mark.parametrize("fn", [neighbours, products], ids=lambda f: f.__name__)
def test_second_derivatives(fn):
    made, bound = second_derivative(fn, (X,), ("x",))
    assert np.array_equal(pattern_of(made, bound).toarray(), matrix(made, bound) != 0.0)


def test_steps_of_ranges():
    triangle = [Range("i", ix(5), ix(0), -2), Range("j", ix(0), ix("i"), 2)]
    found = Instances(1, {}, lambda array, at: None).over(triangle)
    assert found.symbols["i"].tolist() == [5, 5, 5, 3, 3, 1] and found.symbols["j"].tolist() == [0, 2, 4, 0, 2, 0]


def test_work_is_bounded():
    made, bound = first_derivative(recurrence, (np.ones(60),), ("x",))
    with changed(pattern_work=100_000), pytest.raises(UnsupportedError, match="SG191") as refused:
        pattern_of(made, bound)
    assert "test_patterns.py" in str(refused.value) and "sparsity=" in str(refused.value)


def _contains(number, folder, second):
    task = Task(number)
    given = more_arguments(task.seed % 4, task.size) if task.nested else arguments(task.seed % 4)
    names = ", ".join(given)
    text = f"{task.text}\n\ndef vector({names}):\n    s = program({names})\n    return x, y, x * s\n"
    program = load(text, folder, number)
    fn = program if second else program.__globals__["vector"]
    wrt = [n for n in ("x", "y", "A", "B") if n in given]
    made, bound = (second_derivative if second else first_derivative)(fn, given.values(), wrt)
    nonzero = matrix(made, bound).real != 0.0  # a number that is none differs from zero, too
    assert not np.any(nonzero & ~pattern_of(made, bound).toarray()), number


@pytest.mark.parametrize("number", range(3))
def test_random_programs(number, tmp_path):
    _contains(number, tmp_path, False)


@pytest.mark.slow
@pytest.mark.parametrize("second", (False, True))
def test_many_random_programs(second, tmp_path):
    for number in range(400, 410 if second else 430):
        try:
            _contains(number, tmp_path, second)
        except UnsupportedError:
            continue
