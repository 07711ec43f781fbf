"""Indices that leave their array where nothing looks at them before the run."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.support.interpreted import interpreted
from tests.support.point_loops import run

INSIDE, OUTSIDE = np.array([0.5, 0.25, 0.01]), np.array([0.5, 0.25, 0.75])


def read_in_a_branch(x):
    total = 0.0
    for i in range(3):
        if x[i] > 0.2:
            total += x[i + 1] ** 2
    return total


def written_in_a_branch(x):
    y = x * 1.0
    for i in range(3):
        if x[i] > 0.2:
            y[i + 1] = x[i] ** 2
    return np.sum(y * y)


def below_in_a_branch(x):
    total = 0.0
    for i in range(3):
        if x[i] < 0.6:
            total += x[1 - 2 * i] * x[i]
    return total


def counted(x):
    total, i = 0.0, 0
    while total < 0.6:
        total += x[i]
        i += 1
    while total < 1.0 and x[2] > 0.5:
        total += 0.1 * x[i + 1]
    return total


def computed(x):
    return x[int(x[2] * 20.0)] * x[0]


def unsigned(x):
    return np.sum(x[(x * 4.1).astype(np.uint8)])


def an_array_of_them(x):
    y = x * 2.0
    y[(x * 4.1).astype(int)] = x
    return y


@pytest.mark.parametrize("fn", [read_in_a_branch, written_in_a_branch])
def test_a_branch_that_guards_them(fn):
    check_both_modes(fn, (INSIDE,))
    with pytest.raises(IndexError):
        fn(OUTSIDE)
    with interpreted():
        for verb in (sdfgad.forward, sdfgad.grad):
            with pytest.raises(IndexError, match="out of bounds for 3 elements"):
                verb(fn)(OUTSIDE)


def test_negative_ones_count_from_the_end():
    check_both_modes(below_in_a_branch, (INSIDE,))


@pytest.mark.parametrize("fn", [counted, computed, unsigned, an_array_of_them])
def test_what_data_say_is_looked_at_when_asked_for(fn):
    with sdfgad.config(debug_nans=True):
        check(fn, INSIDE)
        with pytest.raises(IndexError):
            fn(OUTSIDE)
        with pytest.raises(IndexError, match="out of bounds for 3 elements"):
            check_value(fn, OUTSIDE)


def check_value(fn, x):
    parsed = parse(fn, (x,))
    run(parsed.program, {k: np.asarray(v) for k, v in parsed.collect((x,), {}).items()})


def unsigned_in_a_branch(x):
    places, total = (x * 4.1).astype(np.uint8), 0.0
    for i in range(3):
        if x[i] > 0.2:
            total += x[places[i]]
    return total


def test_unsigned_ones_stay_inside_the_memory():
    """In a branch they are modulo the length, as others are."""
    with interpreted():
        np.testing.assert_allclose(sdfgad.forward(unsigned_in_a_branch)(OUTSIDE), OUTSIDE[2] + OUTSIDE[1] + OUTSIDE[0])
        with pytest.raises(sdfgad.OutOfBoundsError):
            sdfgad.forward(unsigned)(OUTSIDE)
