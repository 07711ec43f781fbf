"""Slices of a known size at places that data decide: they lie in their arrays, or the run stops."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.support.point_loops import run

X = np.linspace(0.3, 1.2, 8)
PLACES = np.array([1, 0, 3, 2, 1])
PAIRS = np.array([(0, 1), (3, 2), (1, 3)])


def blocks(x, places):
    k = np.zeros((len(x), len(x)))
    for n in range(len(places)):
        i = places[n]
        k[2 * i:2 * i + 2, 2 * i:2 * i + 2] += np.outer(x[:2], x[1:3]) * x[i]
    return np.sum(k * k)


def bars(x, pairs):
    nodes = x.reshape(4, 2)
    k = 0.1 * np.eye(8)
    for i, j in pairs:
        d = nodes[j] - nodes[i]
        b = np.outer(d, d) / np.sum(d * d)
        k[2 * i:2 * i + 2, 2 * i:2 * i + 2] += b
        k[2 * j:2 * j + 2, 2 * j:2 * j + 2] += b
        k[2 * i:2 * i + 2, 2 * j:2 * j + 2] -= b
        k[2 * j:2 * j + 2, 2 * i:2 * i + 2] -= b
    return np.sum(np.linalg.inv(k)[:3])


def named(x, places):
    y = np.ones(len(x))
    for n, i in enumerate(places):
        here = slice(2 * i, 2 * i + 2)
        part = x[here] * np.array([1.0, 2.0])
        if n > 1:
            y[here] = y[here] * part
        else:
            y[here] = part[::-1]
    return np.sum(y * y)


def while_found(x, places):
    n = 0
    y = x.copy()
    while places[n] != 3 and n < 4:
        i = places[n]
        y[i:i + 3] = y[i:i + 3] * x[:3] + y[2:5]
        n += 1
    return np.sum(y * y)


PROGRAMS = [(blocks, PLACES), (bars, PAIRS), (named, PLACES), (while_found, PLACES)]


@pytest.mark.parametrize(("program", "places"), PROGRAMS)
def test_blocks_at_places_that_arguments_hold(program, places):
    check_both_modes(program, (X, places))


@pytest.mark.parametrize(("program", "places"), PROGRAMS)
@pytest.mark.parametrize("wrong", [7, -1])
def test_a_block_that_its_array_cuts_off_stops_the_run(program, places, wrong):
    beside = places.copy()
    beside.flat[0] = wrong
    parsed = parse(program, (X, beside))
    told = "a slice of [23] elements that leaves its array of 8, or counts from its end|index 7 is out of bounds"
    with pytest.raises(ValueError, match=told):
        run(parsed.program, {k: np.asarray(v) for k, v in parsed.collect((X, beside), {}).items()})


def test_slices_whose_sizes_agree_with_no_other_may_still_be_cut_off():
    def cut(x, places):
        return sum(np.sum(x[i:i + 3] ** 2) for i in places)

    check(cut, X, np.array([6, 7, -1, 0]))


def test_sizes_that_data_decide_otherwise_stay_refused():
    def differ(x, places):
        return np.sum(x[:places[0]] * x[:places[1]])

    with pytest.raises(UnsupportedError, match="do not agree"):
        parse(differ, (X, PLACES))


def test_a_handler_is_not_for_slices_that_numpy_cuts_off():
    """Which of them agree nevertheless is not known: [7:9] of 8 elements and x[:1] do."""
    def guarded(x, places):
        y = x * x
        for i in places:
            try:
                y[i:i + 2] += x[:2]
            except ValueError:
                y[0] = 0.0
        return np.sum(y)

    with pytest.raises(UnsupportedError, match="do not agree"):
        parse(guarded, (X, PLACES))


def products_in_tiles(x, k, size):
    """The tiles fill the array: the last of them is not cut off."""
    q, total = np.reshape(x, (32, 2)), 0.0
    for j in range(0, 32, size):
        total += np.sum((q[j:j + size] @ k).max(1))
    for i in range(32 - size, -1, -size):
        total += np.sum((q[i:i + size] @ k).min(0))
    return total


def test_tiles_that_fill_an_array_have_a_known_size() -> None:
    check_both_modes(lambda x, k: products_in_tiles(x, k, 2), (np.sin(np.arange(64.0)), np.reshape(X, (2, 4))))
