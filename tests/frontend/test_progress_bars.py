"""Loops over progress bars (tqdm, track of rich), and over prange of numba."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes


def of_package(package: str) -> Callable[[Any], Any]:
    """Says that something comes from there, as these packages need not be installed."""
    def mark(thing: Any) -> Any:
        thing.__module__ = package
        return thing

    return mark


@of_package("tqdm.std")
class tqdm:  # noqa: N801
    """As that of tqdm: a class with methods that a loop may not call."""

    def __init__(self, iterable=None, desc=None, total=None, **options):
        self.iterable, self.total = iterable, total

    def __iter__(self) -> Iterator[Any]:
        yield from self.iterable

    def update(self, n=1):
        pass


@of_package("tqdm.std")
def trange(*args, **options):
    return tqdm(range(*args), **options)


@of_package("rich.progress")
def track(sequence, description="Working...", total=None):
    yield from sequence


@of_package("numba.misc.special")
class prange:  # noqa: N801
    def __new__(cls, *args):
        return range(*args)


def walked(x, n):
    total = np.zeros_like(x)
    for k in tqdm(range(n), desc="steps"):
        total = total + np.sin((k + 1) * x)
    for k, v in enumerate(tqdm(x)):
        total[k] += v * v
    for k, v in tqdm(enumerate(x), total=len(x)):
        total[k] *= v
    for k in trange(1, 3, leave=False):
        total = total * x + k
    for v in track([x, 2.0 * x], description="parts"):
        total = total + v
    for k in prange(x.size):
        total[k] *= 1.0 + x[k]
    for part in tqdm(iterable=[x, total]):
        total = total + part
    return np.sum(total)


def test_what_is_looped_over() -> None:
    with pytest.warns(UserWarning, match="left out: tqdm"):
        check_both_modes(walked, (np.array([0.3, -0.7, 1.1]), 4))


def test_a_bar_that_is_moved_by_hand() -> None:
    def run(x):
        bar = tqdm(total=3)
        for _ in range(3):
            x = 2.0 * x
            bar.update(1)
        return np.sum(x)

    with pytest.raises(UnsupportedError, match="(?s)a tqdm of nothing.*for item in tqdm"):
        parse(run, (np.ones(3),), {})


def test_others_of_that_name() -> None:
    def trange(n):
        return [n, 2 * n]

    check(lambda x: [v * x for v in trange(3)], np.ones(2))
