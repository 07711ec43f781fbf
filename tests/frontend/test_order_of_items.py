"""Tuples in order, and lists of arrays, objects and named numbers sorted by data."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.array([0.7, -0.3, 1.2, 0.4, 0.9, -1.1])


def the_least_with_its_place(x):
    v, k = min((v, k) for k, v in enumerate(x))
    w, j = max(zip(x[:3], range(3), strict=True))
    return v * 2 + x[k - 1] + w * w * j


def tuples_compared(x):
    best = (np.inf, -1)
    for k in range(6):
        candidate = ((x[k] - 0.5) ** 2, k)
        if candidate < best:
            best = candidate
    more = x[0] if (1, x[0]) <= (1, x[2]) and (2, x[0]) > (1, x[2]) and (x[0],) < (x[0], x[1]) else x[3]
    return best[0] * x[best[1]] + more


def arrays_by_their_first(x):
    pieces = sorted([x[0:2], x[2:4], x[4:6]], key=lambda a: a[0])
    pieces.sort(key=lambda a: -a.sum(), reverse=True)
    return pieces[0][1] * 2 + pieces[1][0] * pieces[2][1]


def objects(x):
    class Point:
        def __init__(self, a, b):
            self.a, self.b = a, b

    points = sorted([Point(x[0], x[1]), Point(x[2], x[3]), Point(x[4], x[5])], key=lambda p: p.a)
    return points[0].b * 2 + points[1].a


def dicts_and_arrays_in_tuples(x):
    items = [{"f": x[0], "v": x[:2]}, {"f": x[3], "v": x[2:4]}, {"f": x[2], "v": x[4:]}]
    items.sort(key=lambda q: q["f"])
    swarm = sorted([(x[k:k + 2], (x[k:k + 2] ** 2).sum()) for k in (0, 2, 4)], key=lambda t: t[1])
    return items[0]["f"] * 2 + items[1]["v"][0] * items[2]["v"][1] + swarm[0][1] + swarm[0][0] @ swarm[-1][0]


def a_simplex(x):
    def f(v):
        return (v[0] - 1) ** 2 + (v[1] + x[0]) ** 2

    simplex = [np.array([0.0, 0.0]), np.array([1.0, x[1]]), np.array([x[2], 1.0])]
    for _ in range(3):
        simplex.sort(key=f)
        middle = (simplex[0] + simplex[1]) / 2
        across = middle + (middle - simplex[2])
        simplex[2] = across if f(across) < f(simplex[1]) else middle + 0.5 * (simplex[2] - middle)
    simplex.sort(key=f)
    return simplex[0].sum() ** 2


def names_by_their_numbers(x):
    params = {"a": x[0], "b": x[1], "c": x[2]}
    ranks = sorted(params, key=params.get, reverse=True)
    best = max(params, key=params.get)
    first, *_ = sorted(params.items(), key=lambda item: item[1])
    return params[ranks[0]] ** 2 + 2 * params[ranks[1]] + params[best] + (first[1] if first[0] == "b" else 0.0) + sum(
        k * v for k, (_, v) in enumerate(sorted(params.items(), key=lambda item: item[1])))


PROGRAMS = [the_least_with_its_place, tuples_compared, arrays_by_their_first, objects, dicts_and_arrays_in_tuples,
            a_simplex, names_by_their_numbers]


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_data_say_what_comes_first(fn, sign):
    check_both_modes(fn, (sign * X,))


def test_of_equal_ones_the_second_parts_decide():
    def program(x):
        return [max(zip(x, [3, 1, 7, 2, 4, 5], strict=True))[1], min(zip(x[:2], x[2:4], strict=True))[1], min(
            (x[0], 2), (x[1], 1), (np.nan, 0))[1]]

    check(program, np.array([1.0, 1.0, 2.0, 0.5, 2.0, 0.3]))


def test_an_array_of_a_sorted_list_is_one_of_several():
    def program(x):
        pieces = [x[0:2] * 1, x[2:4] * 1]
        order = sorted(pieces, key=lambda a: a[0])
        order[0][0] = 5.0
        return pieces[0][0]

    with pytest.raises(sdfgad.UnsupportedError, match="one of several arrays"):
        parse(program, (X,))


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(sdfgad.UnsupportedError, match="different kinds or shapes"):
        parse(lambda x: sorted([x[:2], x[2:5]], key=lambda a: a[0])[0], (X,))
