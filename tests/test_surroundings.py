"""What a function takes from outside may change between calls: the gradient is that of the function as it is now."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend.syntax.surroundings import Cells, Surroundings

X = np.linspace(0.5, 2.0, 6)
NUMBER = 3.0
COUNT = 2
TABLE = np.arange(6.0)
PLACES = np.array([0, 3, 5])
STRIDED = np.arange(12.0)[::2]
SIZES = [1.0, 2.0]
BOX = SimpleNamespace(dt=0.5, inner=SimpleNamespace(k=2), grid=np.ones(6))


def helper(x):
    return x * 2.0


def other_helper(x):
    return x * 5.0


def uses_number(x):
    return np.sum(x * NUMBER)


def uses_count(x):
    total = 0.0
    for _ in range(COUNT):
        total += np.sum(x * x)
    return total


def uses_table(x):
    return np.sum(np.sqrt(TABLE) * x)


def uses_places(x):
    return np.sum(x[PLACES] ** 2)


def uses_strided(x):
    return np.sum(STRIDED * x)


def uses_list(x):
    return np.sum(x) * SIZES[0]


def uses_object(x):
    return np.sum(x * BOX.grid) * BOX.dt * BOX.inner.k


def uses_helper(x):
    return np.sum(helper(x))


def rebind(name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setitem(globals(), name, value)


def put(array: np.ndarray, k: int, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    def change(patch: pytest.MonkeyPatch) -> None:
        patch.setitem(_Items(array), k, value)
    return change


class _Items(dict):
    """An array as monkeypatch wants it: something with items to set and to put back."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(enumerate(array))
        self.array = array

    def __setitem__(self, k: int, value: Any) -> None:
        self.array[k] = value


CHANGES = [
    (uses_number, rebind("NUMBER", 4.0)),
    (uses_count, rebind("COUNT", 3)),
    (uses_table, rebind("TABLE", np.ones(6))),
    (uses_table, put(TABLE, 4, 100.0)),
    (uses_places, rebind("PLACES", np.array([1, 2, 2, 4]))),
    (uses_places, put(PLACES, 1, 0)),
    (uses_strided, put(STRIDED, 2, -7.0)),
    (uses_list, lambda patch: patch.setitem(globals(), "SIZES", [9.0])),
    (uses_object, lambda patch: patch.setattr(BOX, "dt", 0.25)),
    (uses_object, lambda patch: patch.setattr(BOX.inner, "k", 3)),
    (uses_object, lambda patch: patch.setattr(BOX, "grid", np.arange(6.0))),
    (uses_object, lambda patch: patch.setattr(BOX, "inner", SimpleNamespace(k=5))),
    (uses_helper, rebind("helper", other_helper)),
]


def slope(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """Central differences; the functions here are at most quadratic."""
    found = np.empty_like(x)
    for k in range(x.size):
        step = np.zeros_like(x)
        step[k] = 0.5
        found[k] = f(x + step) - f(x - step)
    return found


@pytest.mark.parametrize(("fn", "change"), CHANGES, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CHANGES)])
def test_a_change_is_seen(fn, change, monkeypatch):
    g = sdfgad.grad(fn)
    np.testing.assert_allclose(g(X), slope(fn, X), rtol=1e-12)
    with monkeypatch.context() as patch:
        change(patch)
        np.testing.assert_allclose(g(X), slope(fn, X), rtol=1e-12)
    np.testing.assert_allclose(g(X), slope(fn, X), rtol=1e-12)


def test_every_way_to_call_sees_a_change(monkeypatch):
    fn, change = CHANGES[0]
    g, compiled = sdfgad.grad(fn), sdfgad.forward(fn)
    tangent = np.cos(X)

    def check() -> None:
        expected = slope(fn, X)
        np.testing.assert_allclose(g.value_and_grad(X)[0], fn(X), rtol=1e-13)
        np.testing.assert_allclose(compiled(X), fn(X), rtol=1e-13)
        np.testing.assert_allclose(sdfgad.jvp(fn, (X,), (tangent,))[1], expected @ tangent, rtol=1e-12)
        value, pullback = sdfgad.vjp(fn, X)
        np.testing.assert_allclose(value, fn(X), rtol=1e-13)
        np.testing.assert_allclose(pullback(1.0), expected, rtol=1e-12)

    check()
    with monkeypatch.context() as patch:
        change(patch)
        check()
    check()


def test_variables_of_enclosing_functions():
    factor = 1.0

    def scaled(x):
        return np.sum(x) * factor

    g = sdfgad.grad(scaled)
    assert g(X)[0] == 1.0
    factor = 4.0
    assert g(X)[0] == 4.0


def scaled(v):
    return v * NUMBER


def test_what_numpy_functions_call(monkeypatch):
    def in_pieces(x):
        return np.sum(np.piecewise(x, [x > 1], [scaled, lambda v: v]))

    g = sdfgad.grad(in_pieces)
    np.testing.assert_array_equal(g(X), np.where(X > 1, 3.0, 1.0))
    monkeypatch.setitem(globals(), "NUMBER", 5.0)
    np.testing.assert_array_equal(g(X), np.where(X > 1, 5.0, 1.0))


def test_a_list_changed_in_place():
    weights = [1.0, 2.0]

    def weighted(x):
        total = 0.0
        for k, w in enumerate(weights):
            total += w * x[k]
        return total

    g = sdfgad.grad(weighted)
    assert list(g(X)[:3]) == [1.0, 2.0, 0.0]
    weights.append(5.0)
    assert list(g(X)[:3]) == [1.0, 2.0, 5.0]


def test_the_same_surroundings_are_translated_once(monkeypatch):
    g = sdfgad.grad(uses_number)
    derivatives = [g._derivative(sdfgad.calls.arguments.bind(uses_number, (X,), {}), False)]
    monkeypatch.setitem(globals(), "NUMBER", 8.0)
    derivatives.append(g._derivative(sdfgad.calls.arguments.bind(uses_number, (X,), {}), False))
    monkeypatch.setitem(globals(), "NUMBER", 3.0)
    derivatives.append(g._derivative(sdfgad.calls.arguments.bind(uses_number, (X,), {}), False))
    assert derivatives[0] is derivatives[2] is not derivatives[1]


def test_two_functions_as_arguments_are_told_apart():
    def apply(f, x):
        return np.sum(f(x))

    g = sdfgad.grad(apply, wrt="x")
    for factor in range(1, 5):
        # The function before is gone by now, and its address may be that of the new one.
        assert g(lambda v, k=float(factor): v * k, X)[0] == factor


def test_a_look_is_repeated_as_it_was_made():
    place = SimpleNamespace(a=float("nan"), b=[1, {"k": (2, 3)}], c=X)
    noted = Surroundings()
    for name, value in vars(place).items():
        noted.note(place, name, value)
    assert noted.unchanged()
    place.b[1]["k"] = (2, 4)
    assert not noted.unchanged()
    place.b[1]["k"] = (2, 3)
    assert noted.unchanged()
    place.c = X.copy()
    assert not noted.unchanged()
    del place.c
    assert not noted.unchanged()


def test_cells_without_a_value_are_left_out():
    def outer(fill):
        def inner():
            return late

        if fill:
            late = 1
        return inner.__closure__

    assert dict(Cells({"late": outer(False)[0]})) == {}
    assert dict(Cells({"late": outer(True)[0]})) == {"late": 1}
