"""Binding: the short way for plain positional calls finds what Python's own rules find."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
import pytest

from sdfgad.calls.arguments import as_input, bind
from sdfgad.calls.directions import fitting
from sdfgad.errors import OutputError, UsageError
from sdfgad.ir.program import Array


def two(a: Any, b: Any = 3.0) -> Any:
    return a, b


def first(a: Any, /, b: Any) -> Any:
    return a, b


def rest(a: Any, *b: Any) -> Any:
    return a, b


def named(a: Any, *, b: Any = 4.0) -> Any:
    return a, b


class Pairs:
    def method(self, a: Any, b: Any = 5.0) -> Any:
        return a, b


@pytest.mark.parametrize(("fn", "args", "keywords", "values"), [
    (two, (1.0, 2.0), {}, {"a": 1.0, "b": 2.0}), (two, (1.0,), {}, {"a": 1.0, "b": 3.0}),
    (two, (), {"b": 2.0, "a": 1.0}, {"a": 1.0, "b": 2.0}), (first, (1.0, 2.0), {}, {"a": 1.0, "b": 2.0}),
    (rest, (1.0, 2.0), {}, {"a": 1.0, "b": (2.0,)}), (named, (1.0,), {}, {"a": 1.0, "b": 4.0}),
    (named, (1.0,), {"b": 2.0}, {"a": 1.0, "b": 2.0}), (named, (), {"b": 2.0, "a": 1.0}, {"a": 1.0, "b": 2.0}),
    (first, (1.0,), {"b": 2.0}, {"a": 1.0, "b": 2.0}), (two, (1.0,), {"b": 2.0}, {"a": 1.0, "b": 2.0}),
    (Pairs().method, (1.0,), {"b": 2.0}, {"a": 1.0, "b": 2.0}), (Pairs().method, (1.0,), {}, {"a": 1.0, "b": 5.0}),
])
def test_values(fn: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any],
                values: dict[str, Any]) -> None:
    bound = bind(fn, args, keywords)
    assert bound.values == values and list(bound.values) == ["a", "b"]
    assert [name for name, _ in bound.signature] == ["a", "b"]


def test_defaults_may_be_replaced() -> None:
    def loss(x: Any, w: Any = 3.0, *, s: Any = 4.0) -> Any:
        return x, w, s

    @wraps(loss)
    def around(*args: Any, **keywords: Any) -> Any:
        return loss(*args, **keywords)

    def changed(name: str, value: Any) -> Callable[[], Any]:
        return lambda: setattr(loss, name, value)

    assert loss.__kwdefaults__ is not None
    for change in (lambda: None, changed("__defaults__", (5.0,)), lambda: loss.__kwdefaults__.update(s=6.0),
                   changed("__kwdefaults__", {"s": 7.0}), changed("__defaults__", (np.arange(3.0),))):
        change()
        for fn in (loss, around, partial(loss)):
            assert bind(fn, (1.0,), {}).values == dict(zip("xws", loss(1.0), strict=True))
            bound = bind(fn, (), {"x": 1.0, "s": 0.0})
            assert bound.values["w"] is loss(1.0)[1] and bound.values["s"] == 0.0


@pytest.mark.parametrize(("fn", "args"), [(two, ()), (two, (1.0, 2.0, 3.0)), (named, (1.0, 2.0)), (first, (1.0,))])
def test_wrong_numbers_of_arguments(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError, match=fn.__name__):
        bind(fn, args, {})


@pytest.mark.parametrize(("fn", "args", "keywords"), [
    (two, (1.0,), {"a": 2.0}), (two, (1.0,), {"c": 2.0}), (first, (), {"a": 1.0, "b": 2.0}), (named, (), {"b": 1.0}),
    (Pairs().method, (1.0,), {"self": 2.0}), (two, (1.0, 2.0), {"b": 2.0})])
def test_wrong_names_of_arguments(fn: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=fn.__name__):
        bind(fn, args, keywords)


def test_arrays_that_fit_are_taken_as_they_are() -> None:
    wanted = Array("x", (2, 3), np.dtype("f8"))
    x = np.arange(6.0).reshape(2, 3)
    assert as_input(x, wanted, None) is x
    for other in (x.astype(">f8"), np.asfortranarray(x), x.astype("f4"), x.tolist()):
        made = as_input(other, wanted, None)
        np.testing.assert_array_equal(made, x)
        assert made.dtype == wanted.dtype and made.flags.c_contiguous and made.dtype.isnative


@pytest.mark.parametrize("kind", ["f8", "f4", "c16"])
def test_a_copy_goes_where_there_is_room(kind: str) -> None:
    wanted = Array("x", (2, 3), np.dtype(kind))
    x = np.arange(6.0).reshape(2, 3)
    for given in (x.astype(kind), np.asfortranarray(x.astype(kind)), x.astype(">f8"), x.ravel(), x.tolist()):
        room = np.full((2, 3), np.nan, kind)
        assert as_input(given, wanted, room) is room
        np.testing.assert_array_equal(room, x)


@pytest.mark.parametrize("value", [0.1, np.float64(0.1), np.float32(0.5), np.array(0.1), 2])
@pytest.mark.parametrize("kind", ["f8", "f4", "c16"])
def test_a_number_is_an_array_without_dimensions(value: float | np.ndarray, kind: str) -> None:
    for shape in ((), (1,)):
        made = as_input(value, Array("x", shape, np.dtype(kind)), None)
        assert type(made) is np.ndarray and made.shape == shape and made.dtype == kind and made.flags.carray
        assert made.item() == np.dtype(kind).type(value)


def test_arrays_of_other_classes_are_other_arguments() -> None:
    plain = np.ones((2, 2))
    known = bind(two, (plain,), {}).signature
    assert bind(two, (plain[1:].repeat(2, axis=0),), {}).signature == known
    for other in (np.matrix(plain), np.ma.array(plain, mask=plain > 2)):
        assert bind(two, (other,), {}).signature != known


def test_arrays_in_another_order_are_other_arguments() -> None:
    # What `ravel` gives is a copy of them, and a view of others.
    plain = np.ones((2, 2))
    known = bind(two, (plain,), {}).signature
    turned = [bind(two, (other,), {}).signature for other in (plain.T, plain[::-1])]
    assert turned[0] == turned[1] != known


def test_nothing_takes_none_as_its_cotangent() -> None:
    """A rank that returns None calls its pullback as the others do."""
    assert list(fitting((), (None,))) == []
    with pytest.raises(OutputError, match="0 outputs, 1 seeds"):
        fitting((), (1.0,))
