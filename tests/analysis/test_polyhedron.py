"""Feasibility never says no when there is a point, and says it often enough to be of use."""
from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sdfgad.analysis.elements.polyhedron import System, _fourier_motzkin
from tests.support.thresholds import change

NAMES = ("a", "b", "c")
SIZE = 5


def random_system(rng: np.random.Generator) -> tuple[System, list, list]:
    """A few random rows over variables in 0 .. SIZE-1."""
    names = NAMES[:rng.integers(1, 4)]

    def row(constants: int):
        return {v: int(rng.integers(-3, 4)) for v in names}, int(rng.integers(-constants, constants + 1))

    zero = [row(4) for _ in range(rng.integers(0, 3))]
    rows = [row(8) for _ in range(rng.integers(0, 4))]
    box = [part for v in names for part in (({v: 1}, 0), ({v: -1}, SIZE - 1))]
    return System(list(zero), rows + box), zero, rows


def has_point(zero: list, rows: list) -> bool:
    def value(row, at):
        return sum(c * at[v] for v, c in row[0].items()) + row[1]

    for point in product(range(SIZE), repeat=len(NAMES)):
        at = dict(zip(NAMES, point, strict=True))
        if all(value(r, at) == 0 for r in zero) and all(value(r, at) >= 0 for r in rows):
            return True
    return False


@pytest.mark.parametrize("seed", range(8))
def test_no_point_is_overlooked(seed):
    rng = np.random.default_rng(seed)
    empty = proved = 0
    for _ in range(60):
        system, zero, rows = random_system(rng)
        exists, verdict = has_point(zero, rows), system.feasible()
        assert verdict or not exists, (zero, rows)
        empty += not exists
        proved += not verdict
    assert proved >= 0.8 * empty > 0


@pytest.mark.parametrize("zero, nonnegative, expected", [
    ([], [], True),
    ([({}, 1)], [], False),
    ([({"a": 2}, 1)], [], False),
    ([({"a": 2, "b": 4}, 3)], [], False),
    ([({"a": 1, "b": -1}, 0)], [({"a": 1, "b": -1}, -1)], False),
    ([], [({"a": 1}, 0), ({"a": -1}, -1)], False),
    ([], [({"a": 2}, -1), ({"a": -2}, 1)], False),
    ([({"a": 1, "b": -2}, 0)], [({"a": 1}, -4), ({"a": -1}, 4)], True),
])
def test_known_systems(zero, nonnegative, expected):
    assert System(zero, nonnegative).feasible() is expected


def test_a_system_is_not_changed_by_the_question():
    system = System([({"a": 1}, 0)], [({"a": 1}, -1)])
    assert [system.feasible(), system.feasible()] == [False, False]


def test_systems_by_other_names_are_answered_once(monkeypatch):
    """Under one limit for their size: with another one the answer may be another."""
    def system(a: str, b: str) -> System:
        return System([], [({a: 1, b: -2}, 7), ({a: -1}, 11), ({b: 1}, 0), ({a: -1}, 11)])

    _fourier_motzkin.cache_clear()
    assert system("i", "j").feasible() and system("k", "t").feasible()
    assert _fourier_motzkin.cache_info().misses == 1
    change(monkeypatch, inequalities=0)
    assert system("i", "j").feasible() and _fourier_motzkin.cache_info().misses == 2
