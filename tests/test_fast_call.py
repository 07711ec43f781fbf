"""Calls like the one before take a short cut: the same results and errors, whatever is different at the second call."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.program import address
from sdfgad.errors import AliasError, OutOfBoundsError, UsageError
from sdfgad.verbs.pipeline import Derivative


def cubes(x: np.ndarray, y: np.ndarray, scale: float, power: int) -> np.ndarray:
    x *= scale
    return np.sum(x**power * y)


def expected(x: np.ndarray, y: np.ndarray, scale: float, power: int) -> list[np.ndarray]:
    x = x.astype(np.float64)
    return [power * scale * (scale * x) ** (power - 1) * y, (scale * x) ** power]


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """One entry for each call that did not take the short cut."""
    found: list[int] = []
    plain = Derivative.run

    def run(self: Derivative, *args: Any, **keywords: Any) -> Any:
        found.append(1)
        return plain(self, *args, **keywords)

    monkeypatch.setattr(Derivative, "run", run)
    yield found


def arrays(size: int = 5, start: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(size) + start, np.linspace(1.0, 2.0, size)


def test_a_second_call_takes_the_short_cut(long_way: list[int]) -> None:
    gradient = sdfgad.grad(cubes, wrt=("x", "y"))
    results = []
    for start in range(4):
        x, y = arrays(start=float(start))
        kept = x.copy()
        results.append((gradient(x, y, 1.5, 3), expected(x, y, 1.5, 3)))
        assert np.array_equal(x, kept)
    assert len(long_way) == 1
    for found, wanted in results:  # all of them after the last call: no two calls share their results
        assert found.keys() == ["x", "y"]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


CHANGES = {
    "float": (lambda x, y: (x, y, 0.5, 3), True),
    "float of NumPy": (lambda x, y: (x, y, np.float64(0.5), 3), False),
    "exponent": (lambda x, y: (x, y, 1.5, 2), False),
    "true for one": (lambda x, y: (x, y, 1.5, True), False),
    "length": (lambda x, y: (x[:3].copy(), y[:3].copy(), 1.5, 3), False),
    "dtype": (lambda x, y: (x.astype(np.float32), y, 1.5, 3), False),
    "every second": (lambda x, y: (np.repeat(x, 2)[::2], y, 1.5, 3), False),
    "part of another": (lambda x, y: (np.concatenate((x, x))[:5], y, 1.5, 3), True),
    "neighbours": (lambda x, y: (*np.concatenate((x, y)).reshape(2, 5), 1.5, 3), True),
    "read only": (lambda x, y: (_frozen(x), y, 1.5, 3), False),
    "other byte order": (lambda x, y: (x.astype(">f8"), y, 1.5, 3), False),
}


def _frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("name", CHANGES)
def test_what_differs_is_seen(name: str, long_way: list[int]) -> None:
    change, like_before = CHANGES[name]
    gradient = sdfgad.grad(cubes, wrt=("x", "y"))
    gradient(*arrays(), 1.5, 3)
    args = change(*arrays(start=2.0))
    found = gradient(*args)
    assert len(long_way) == (1 if like_before else 2)
    for one, other in zip(found, expected(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5 if args[0].dtype == np.float32 else 1e-14)


def test_keywords_in_any_order(long_way: list[int]) -> None:
    gradient = sdfgad.grad(cubes, wrt="x")
    x, y = arrays()
    first = gradient(x, y, 1.5, 3)
    assert np.array_equal(gradient(power=3, scale=1.5, y=y, x=x), first)
    assert len(long_way) == 1
    with pytest.raises(UsageError):
        gradient(x, y, 1.5)
    with pytest.raises(UsageError):
        gradient(x, y, 1.5, 3, power=3)


def named(x: np.ndarray, *, scale: float) -> np.ndarray:
    return np.sum(scale * x)


def test_what_takes_a_name_is_not_given_by_position() -> None:
    gradient = sdfgad.grad(named, wrt="x")
    x = np.ones(3)
    for _ in range(2):
        assert gradient(x, scale=2.0)[0] == 2.0
        with pytest.raises(UsageError):
            gradient(x, 2.0)


def test_arrays_that_share_memory_are_refused_at_any_call() -> None:
    gradient = sdfgad.grad(cubes, wrt=("x", "y"))
    x, y = arrays()
    gradient(x, y, 1.5, 3)
    both = np.arange(8.0)
    for one, other in ((x, x), (both[:5], both[3:])):
        with pytest.raises(AliasError):
            gradient(one, other, 1.5, 3)


def test_a_spec_is_refused_at_any_call() -> None:
    gradient = sdfgad.grad(cubes, wrt="x")
    x, y = arrays()
    gradient(x, y, 1.5, 3)
    with pytest.raises(UsageError, match="spec"):
        gradient(x, sdfgad.spec(5), 1.5, 3)


def picked(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.sum(x[places] ** 2)


def test_index_arrays_are_checked_at_every_call() -> None:
    gradient = sdfgad.grad(picked, wrt="x")
    x = np.arange(4.0)
    for _ in range(2):
        np.testing.assert_array_equal(gradient(x, np.array([1, 1, 3])), [0.0, 4.0, 0.0, 6.0])
    with pytest.raises(OutOfBoundsError):
        gradient(x, np.array([1, 1, 4]))


FACTOR = 2.0


def scaled(x: np.ndarray) -> np.ndarray:
    return np.sum(FACTOR * x)


def test_surroundings_are_looked_at_in_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = sdfgad.grad(scaled)
    x = np.ones(3)
    assert gradient(x)[0] == gradient(x)[0] == 2.0
    monkeypatch.setitem(scaled.__globals__, "FACTOR", 5.0)
    assert gradient(x)[0] == gradient(x)[0] == 5.0


def test_value_and_gradient_and_forward(long_way: list[int]) -> None:
    x, y = arrays()
    gradient, value = sdfgad.grad(cubes, wrt="x"), sdfgad.forward(cubes)
    wanted = float(np.sum((1.5 * x) ** 3 * y))
    for _ in range(3):
        both, slope = gradient.value_and_grad(x, y, 1.5, 3)
        assert both == pytest.approx(wanted, rel=1e-14)
        np.testing.assert_allclose(slope, expected(x, y, 1.5, 3)[0], rtol=1e-14)
        assert value(x, y, 1.5, 3) == pytest.approx(wanted, rel=1e-14)
        assert np.array_equal(gradient(x, y, 1.5, 3), slope)
    assert len(long_way) == 2


def test_a_given_array_is_overwritten_each_time() -> None:
    gradient = sdfgad.grad(cubes, wrt="y", donate=("x",))
    for _ in range(2):
        x, y = arrays()
        gradient(x, y, 1.5, 3)
        np.testing.assert_array_equal(x, 1.5 * np.arange(5))


def test_arguments_do_not_stay_alive() -> None:
    gradient = sdfgad.grad(cubes, wrt=("x", "y"))
    for _ in range(2):
        x, y = arrays()
        gradient(x, y, 1.5, 3)
        looks = weakref.ref(x), weakref.ref(y)
        del x, y
        gc.collect()
        assert [look() for look in looks] == [None, None]


def test_a_dropped_gradient_gives_its_memory_back_at_once() -> None:
    gradient = sdfgad.grad(cubes, wrt=("x", "y"))
    gc.collect()
    gc.disable()
    try:
        gradient(*arrays(), 1.5, 3)
        (derivative,), = gradient._known.values()
        look = weakref.ref(derivative.compiled())
        del gradient, derivative
        assert look() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("array", [np.ones(3), np.ones(4)[1:], np.array(1.0), np.zeros(0), np.broadcast_to(1.0, (2, 2)),
                                   np.frombuffer(b"12345678")])
def test_address_of_the_elements(array: np.ndarray) -> None:
    assert address(array) == array.__array_interface__["data"][0]


def test_an_array_of_nothing_and_one_alone() -> None:
    gradient = sdfgad.grad(scaled)
    whole = np.arange(6.0)
    for x in (np.zeros(0), np.zeros(0), whole[1:4], whole[2:5]):
        assert np.array_equal(gradient(x), np.full(x.shape, 2.0))


def test_calls_from_several_threads() -> None:
    gradient = sdfgad.grad(cubes, wrt=("x", "y"))
    gradient(*arrays(), 1.5, 3)

    def right(k: int) -> bool:
        x, y = arrays(start=float(k))
        return all(np.allclose(a, b, rtol=1e-13) for a, b in
                   zip(gradient(x, y, 1.0 + k, 3), expected(x, y, 1.0 + k, 3), strict=True))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(right, range(200)))


class Model:
    """A gradient that is a method."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @sdfgad.grad
    def loss(self, x: np.ndarray) -> np.ndarray:
        return np.sum(self.weight * x)


def test_methods_of_several_objects() -> None:
    two, three = Model(2.0), Model(3.0)
    x = np.ones(2)
    for _ in range(2):
        assert two.loss(x)[0] == 2.0 and three.loss(x)[0] == 3.0
    two.weight = 7.0
    assert two.loss(x)[0] == 7.0
