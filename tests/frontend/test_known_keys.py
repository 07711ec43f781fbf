"""Keys of dicts, members of enumerations and places of lists that are known, or chosen among what is."""
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any

import numpy as np
import pytest

import sdfgad
from tests.frontend.checking import check, check_both_modes

X = np.array([1.2, 0.7, -0.4])
PAIRS = {(0, 1): 0.5, (1, 2): 0.25}


class Kind(IntEnum):
    SLACK = 0
    LOAD = 2


class Method(Enum):
    NEWTON = "newton"
    PICARD = "picard"


def pairs_as_keys(x, bonds):
    energy, seen = bonds[0, 1] ** 2 + bonds.get((5, 5), 2.0), {}
    for (i, j), strength in bonds.items():
        energy += strength * x[i] * x[j]
    for i in (0, 1, 2):
        for j in (0, 1, 2):
            seen[i, j] = seen[j, i] if (j, i) in seen else x[i] * x[j]
    return energy + seen[2, 1] + len(seen) + bonds[(1, 2)]


def tables_by_members(x, kinds, name):
    weight = {Method.NEWTON: 1.5, Method.PICARD: x[1]}
    s = weight[Method(name)] + weight[Method["PICARD"]]
    for k, kind in enumerate([Kind(n) for n in kinds]):
        s += x[k] ** 2 if kind is Kind.LOAD else x[k]
    return s * Kind(2).value


def parities(x):
    return np.sum(x * np.array([(-1) ** bin(i).count("1") for i in range(3)]))


def ends_of_places(x):
    at = np.nonzero(x > 0)[0]
    return np.sum(x) * np.max(at) + at.min() + np.mean(at) * x[0] + np.flatnonzero(x < 1).sum()


@pytest.mark.parametrize("fn, arguments", [
    (pairs_as_keys, (X, PAIRS)), (tables_by_members, (X, (0, 2, 2), "newton")), (parities, (X,)),
    (ends_of_places, (X,))])
def test_value_and_derivatives(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
    check_both_modes(fn, arguments)


def test_gradients_stand_under_the_same_keys() -> None:
    found = sdfgad.grad(pairs_as_keys, wrt=("x", "bonds"))(X, PAIRS)["bonds"]
    assert found.keys() == PAIRS.keys()
    np.testing.assert_allclose([found[0, 1], found[1, 2]], [2 * 0.5 + X[0] * X[1], 1 + X[1] * X[2]])


def shares_by_turns(x, shares):
    """A loop that is not written out, as it may end early with an array under another name."""
    stock = x
    for year in range(6):
        new = np.zeros_like(stock)
        new[1:] = 0.5 * stock[:-1] + x[1:]
        if year >= 0:
            new[1:] -= np.minimum(new[1:], shares[year % 2] * new[1:])
        stock = new
        if stock.sum() < 1e-3:
            break
    return stock.sum()


def test_an_item_is_chosen_in_a_loop_that_cannot_be_written_out() -> None:
    check(shares_by_turns, X, [0.1, 0.2])
    check_both_modes(shares_by_turns, (X, [0.1, 0.2]))
