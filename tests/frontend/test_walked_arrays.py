"""Loops over arrays whose names, elements or origins change in the body, and over iterators that make items late."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.frontend.checking import check, check_both_modes
from tests.frontend.refusing import check_refusal

X = np.array([0.3, -1.2, 2.1, 0.7, -0.4, 1.9])

_WALKS = {
    "array": lambda y: y, "view": lambda y: y[::-1], "rows": lambda y: y.reshape(6, 1)[:, 0], "flat": lambda y: y.flat,
    "reversed": lambda y: reversed(y), "iterator": lambda y: iter(y), "sorted": lambda y: sorted(y),
}


def _named_anew(walk):
    def run(x):
        y = x * x - 0.5
        s = 0.0
        for b in walk(y):
            s = 0.5 * s + b
            y = y * 2
        return np.sum(y) + s

    return run


def _named_anew_where_data_say(walk):
    def run(x):
        y = x * x - 0.5
        s = 0.0
        for b in walk(y):
            s = 0.5 * s + b
            if b > 0.1:
                y = np.sin(y)
        return np.sum(y) + s

    return run


@pytest.mark.parametrize("made", [_named_anew, _named_anew_where_data_say])
@pytest.mark.parametrize("walk", _WALKS.values(), ids=_WALKS)
def test_names_of_what_is_walked_over_may_be_bound_anew(walk, made):
    check_both_modes(made(walk), (X,))


def _beside_others(x):
    y = x * x - 0.5
    s = 0.0
    for k, (a, b) in enumerate(zip(x, y, strict=True)):
        y = y[::-1] * x[k]
        s += a * b
    return s + np.sum(y)


def _items_of_a_tuple(x):
    y = x * x
    s = 0.0
    for b in (x + 1, y):
        if x[0] > 0:
            y = y * 2
        s += np.sum(b * x)
    return s + np.sum(y)


def _by_an_inner_function(x):
    y = x * x

    def change():
        nonlocal y
        y = y * 2
        return y[0]

    s = 0.0
    for b in y:
        s += b * change()
    return s


def _numbers_of_a_product(x):
    y = x * 1
    for k, (a, b) in enumerate(itertools.product(y[:3], y[3:])):
        y[k % 6] += a * b
    return np.sum(y * x)


@pytest.mark.parametrize("fn", [_beside_others, _items_of_a_tuple, _by_an_inner_function, _numbers_of_a_product])
def test_what_is_walked_over_stays(fn):
    check_both_modes(fn, (X,))


def _rows_of_generators(x):
    rows = [x[:2] * 1, x[2:4] * 1, x[4:] * 1]
    for r in (q for q in rows):
        r *= 2
    for a, b in itertools.pairwise(rows):
        a += b * 0.5
    return rows


def test_items_that_show_what_becomes_of_their_arrays():
    check(_rows_of_generators, X)


def _pairs(x):
    y = x * 1
    for a, b in itertools.pairwise(y):
        y[2] = a * b
    return y


def _mapped(x):
    y = x * 1
    for a in map(lambda v: 2 * v, y):
        y[2] = a
    return y


def _scaled(x):
    s = 1.0
    for a in (v * s for v in x):
        s += a
    return s


def _left(x):
    y = x * 1
    pairs = itertools.pairwise(y)
    y[0] = 5.0
    return [a * b for a, b in pairs]


def _one_of_two(x):
    y = x * x
    for a in (y if x[0] > 0 else x):
        y[2] = a
    return y


@pytest.mark.parametrize("fn, line, what", [
    (_pairs, 2, "an iterator that looks at what changes"), (_mapped, 2, "an iterator that looks at what changes"),
    (_scaled, 2, "an iterator that looks at 's', which changes"),
    (_left, 4, "an iterator that looks at what changes"), (_one_of_two, 2, "one of several arrays")])
def test_items_made_ahead_of_changes_are_refused(fn, line, what):
    check_refusal(fn, (X,), line, what)
