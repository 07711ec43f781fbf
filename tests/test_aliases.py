"""Arguments that share memory, with one another or with an array from outside: refused where somebody writes, and only
there."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.fast_call import UNLIKE
from sdfgad.errors import AliasError

TABLE = np.array([0.5, -1.0, 2.0, 0.1])
TURNED = np.arange(8.0)[::-2]
BOX = {"held": SimpleNamespace(table=np.arange(4.0)), "row": [np.arange(1.0, 5.0)]}


def read(x, y, w):
    return np.sum(x * y * w) + np.sum(x**2)


def updates_first(x, y):
    x[1:] = x[1:] * 2.0
    return np.sum(x * y)


def with_global(x):
    x[1:] = x[1:] * 2.0
    return np.sum(x * TABLE)


def with_turned(x):
    x[1:] = x[1:] * 2.0
    return np.sum(x * TURNED)


def with_attribute(x):
    x[1:] = x[1:] * 2.0
    return np.sum(x * BOX["held"].table)


def with_item(x):
    x[1:] = x[1:] * 2.0
    return np.sum(x * BOX["row"][0])


def with_default(x, table=TABLE):
    x[1:] = x[1:] * 2.0
    return np.sum(x * table)


def closure(table: np.ndarray) -> Callable[..., Any]:
    def with_closure(x):
        x[1:] = x[1:] * 2.0
        return np.sum(x * table)

    return with_closure


def helper(x):
    def inside(y, table=TABLE):
        return np.sum(y * table)

    x[1:] = x[1:] * 2.0
    return inside(x)


def gram(columns):
    return sum(np.sum(a * b) ** 2 for a in columns for b in columns)


def test_arrays_that_are_only_read_each_get_their_own_derivative() -> None:
    made = sdfgad.value_and_grad(read, wrt=("x", "y"))
    data = np.linspace(0.5, 2.0, 7)
    w = np.arange(1.0, 7.0)
    pairs = ((data[:-1], data[1:]), (w, w), (w, w.copy()), (data[:6], data[:6]), (w, w))
    for x, y in pairs:  # the long way, and the short cut
        value, found = made(x, y, w)
        assert value == pytest.approx(read(x, y, w))
        np.testing.assert_allclose(found.x, y * w + 2 * x)
        np.testing.assert_allclose(found.y, x * w)
    assert sdfgad.forward(read)(w, w, w) == read(w, w, w)
    _, tangent = sdfgad.jvp(read, (w, w, w), (w, None, None))
    np.testing.assert_allclose(tangent, np.sum((w * w + 2 * w) * w))
    _, pullback = sdfgad.vjp(read, data[1:], data[:-1], w)
    np.testing.assert_allclose(pullback(1.0).y, data[1:] * w)


def test_items_of_containers_may_be_one_array() -> None:
    x = np.array([1.0, 2.0])
    found = sdfgad.grad(gram)([x, x, 2 * x])
    both = sdfgad.grad(gram)([x, x.copy(), 2 * x])
    for one, other in zip(found, both, strict=True):
        np.testing.assert_allclose(one, other)


def test_an_argument_that_is_updated_is_alone() -> None:
    fn = updates_first
    made, forward = sdfgad.grad(fn), sdfgad.forward(fn)
    data = np.linspace(0.5, 2.0, 8)
    x, y = data[:4].copy(), data[4:].copy()
    first = made(x, y)
    for one, other in ((x, x), (data[:4], data[3:7]), (data[3:7], data[:4]), (x, x[:])):
        for verb in (made, forward, made.measure, lambda *a: sdfgad.vjp(fn, *a),
                     lambda *a: sdfgad.jvp(fn, a, (a[0], None))):
            with pytest.raises(AliasError, match="'x' and 'y' share memory"):
                verb(one, other)
    np.testing.assert_array_equal(made(data[:4], data[4:]).x, first.x)  # views that lie side by side
    strided = np.linspace(0.5, 2.0, 8)
    np.testing.assert_allclose(made(strided[::2], strided[1::2]).y, made(strided[::2].copy(), strided[1::2].copy()).y)


OUTSIDE = [(with_global, TABLE), (with_turned, TURNED), (with_attribute, BOX["held"].table),
           (with_item, BOX["row"][0]), (with_default, TABLE), (closure(TABLE), TABLE), (helper, TABLE)]


@pytest.mark.parametrize(("fn", "table"), OUTSIDE, ids=lambda v: getattr(v, "__name__", ""))
def test_an_array_from_outside_is_not_updated_by_way_of_an_argument(fn: Callable[..., Any], table: np.ndarray) -> None:
    made = sdfgad.grad(fn, wrt="x")
    expected = np.array([1.0, 2.0, 2.0, 2.0]) * table
    np.testing.assert_allclose(made(table.copy()), expected)
    np.testing.assert_allclose(made(table.copy()), expected)
    for _ in range(2):
        with pytest.raises(AliasError, match="share"):
            made(table)


def test_the_short_cut_looks_for_arrays_from_outside() -> None:
    room = np.zeros(9)
    fn = closure(room[:4])
    room[:] = np.linspace(1.0, 2.0, 9)
    made = sdfgad.grad(fn)
    first = made(room[4:8])
    repeat = made._repeats[False, "cpu", None]
    assert repeat is not None
    np.testing.assert_array_equal(repeat((room[5:],), {}), first)  # the program does not look at the values of x
    assert repeat((room[3:7],), {}) is UNLIKE
    with pytest.raises(AliasError, match="table"):
        made(room[3:7])


def reads_only(x):
    return np.sum(x * TABLE)


def test_an_argument_that_is_only_read_may_be_an_array_from_outside() -> None:
    made = sdfgad.grad(reads_only)
    for _ in range(2):
        np.testing.assert_array_equal(made(TABLE), TABLE)


def test_an_array_given_away_is_alone() -> None:
    made = sdfgad.grad(reads_only, donate="x")
    with pytest.raises(AliasError, match="TABLE"):
        made(TABLE)
    with pytest.raises(AliasError, match="'x' and 'y'"):
        sdfgad.grad(read, donate="x")(TABLE, TABLE, TABLE.copy())
