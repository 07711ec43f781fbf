"""Sums and ends of integer arrays that are known before the call: sizes, counts and places come from them."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sdfgad
from tests.frontend.checking import check_both_modes
from tests.support.interpreted import interpreted

COUNTS = np.array([2, 1, 1])


def room(x):
    counts = np.array([(1 + d) % 3 + 1 for d in range(3)])
    z = np.zeros((counts.sum(), counts.max()))
    z[:, :] = x[:3]
    return np.sum(z ** 2)


def by_builtins(x):
    counts = np.array([1, 2, 1])
    return np.sum(np.zeros(sum(counts)) + x[max(counts)] ** 2)


def of_places(x):
    places = np.cumsum(np.array([1, 2, 1]))
    z = np.zeros(places[-1])
    z[places[0]:] = x[1] ** 2
    return np.sum(z)


def of_a_range(x):
    z = np.zeros(np.arange(4).sum())
    z[:] = x[0] ** 2
    return np.sum(z)


def of_parts(x):
    counts, table = np.array([1, 3, 2, 4]), np.array([[1, 2, 3], [4, 1, 6]])
    total = np.sum(counts[:2]) * x[0] ** 2 + np.max(COUNTS[1:]) * x[1] ** 2 + np.prod(counts[::-1][:2]) * x[2] ** 2
    return total + np.sum(np.zeros(table[0].max()) + x[0]) * np.cumsum(table[:, 1])[1] + np.prod(table[1][:2]) * x[1]


def other_functions_of_parts(x):
    counts = np.array([1, 3, 1, 4])
    rest = x[np.setdiff1d(np.arange(3), counts[:1])]
    return np.sum(rest ** 2) + np.sum(np.bincount(counts[:3]) * x[0]) + np.sum(x[np.unique(counts[::2])] ** 3)


def written(x):
    counts = np.array([1, 2, 1])
    counts[0] = 2
    return counts.sum() * x[0] ** 2 + np.cumsum(counts)[1] * x[1]


def in_a_loop(x):
    counts, s = np.array([1, 2, 1]), 0.0
    for _ in range(3):
        s = s + counts.sum() * x[0] ** 2
        counts[0] += 1
    return s


def through_a_view(x):
    counts = np.array([1, 2, 1])
    part = counts[1:]
    part[0] = 5
    return counts.sum() * x[0] + part.max() * x[1] ** 2 + counts.min() // 2 * x[2]


def on_a_condition(x):
    counts = np.array([1, 2, 1])
    if x[0] > 0.5:
        counts[1] = 0
    return counts.sum() * x[0] ** 2


def of_more_parts(x):
    counts = np.array([1, 3, 2, 1])
    places = np.zeros(4, dtype=int)
    places[1:] = np.cumsum(counts[:-1])
    s = np.sum(counts[:2]) * x[0] + max(counts[2:]) * x[1] + np.prod(counts[::2]) * x[2] * places[3] + sum(COUNTS[:1])
    return s * np.sum(x[np.unique(counts[:3])])


def of_a_part_in_a_loop(x):
    counts, s = np.array([1, 3, 2, 1] * 30), 0.0
    for k in range(100):
        s = s + (np.sum(counts[:k + 1]) + np.max(counts[k:k + 2])) * x[k % 4] ** 2
    return s


def made(x):
    counts, parts = np.full(3, 7 // 3), np.zeros(4, dtype=int)
    counts[:7 % 3] += 1
    parts[1:] = np.cumsum(counts)
    z = np.zeros(np.insert(counts, 0, 2)[1] + parts[2])
    z[parts[1]:] = x[counts[-1]] ** 2
    return np.sum(z) * len(np.zeros(np.roll(parts, 1)[0]))


def made_in_a_loop(x):
    counts, places = np.empty(3, dtype=np.int32), np.empty(3, dtype=np.int32)
    for k in range(3):
        if k < 1:
            counts[k] = 2
        else:
            counts[k] = 1
        places[k] = 0 if k == 0 else places[k - 1] + counts[k - 1]
    z, s = np.zeros(counts.sum()), 0.0
    for k in range(40):
        z[:counts[0]] += x[:counts[0]] * places[2]
        s = s + z[places[1]] + np.sum(z[:places[2]] ** 2)
    return s


def changed_in_a_loop(x):
    counts, first, s = np.zeros(3, dtype=int), np.array(1), 0.0
    counts[0] = 1
    for k in range(40):
        s = s + np.sum(x[:counts[0]] ** 2) + x[first]
        counts[0] = counts[0] % 3 + 1
        first[...] = (first + 1) % 4
    return s * counts[0] * first


def changed_by_data(x):
    counts, n = np.zeros(2, dtype=int), np.zeros(1, dtype=int)
    if x[0] > 0.5:
        counts[0] = 2
        n[0] = counts[0] + 1
    while n[0] < 9:
        n[0] += 2
    return x[counts[0]] ** 2 * n[0]


def behind_a_loop(x):
    for k in range(3):
        counts, total = np.array([k + 98, k + 99]), np.zeros(2, dtype=int)
        for j in range(2):
            total[j] = counts[j] + j
    counts, parts = counts // 100, np.zeros(2, dtype=int)
    parts[:] = total // 101
    return x[counts[0]] ** 2 + x[counts[1]] ** 3 * np.sum(x[:parts[1] + 1])


def as_often_as_an_element(x):
    counts = np.array([3, 2])
    rooms, more = [0.0] * counts[0], counts[1] * (x[0], x[1])
    rooms[2] = x[0] ** 2
    return sum(rooms) * len(rooms) + sum(more) * len(more) + np.sum([x[1]] * np.array(3))


def used_twice(x):
    counts, places, s = np.array([3, 1, 2]), np.zeros(2, dtype=int), np.sum(np.eye(3)[np.argmax(x) % 3] * x[1:])
    counts[0] = 2
    for k in range(10):
        places[1] = k % 3
        s = s + x[places[1] + 1] * np.sum(np.tri(4)[places[1] * 1] * x)
    return s + np.sum(np.eye(counts[0]) * x[:2]) + np.sum(np.round(x, counts[1]) * x)


def parts_and_rows(x):
    counts = np.array([3, 1, 2])
    counts[0] = 2
    return np.sum(np.split(x, counts[0])[1] ** 2) * np.insert(x, counts[1], x[3] ** 2)[1] + np.sum(
        np.array_split(x, COUNTS[0])[0] ** 3)


@pytest.mark.parametrize("fn", [
    used_twice, parts_and_rows, behind_a_loop, as_often_as_an_element, made, made_in_a_loop,
    changed_in_a_loop, changed_by_data, room, by_builtins, of_places, of_a_range, of_parts,
    of_more_parts, other_functions_of_parts, written, in_a_loop, of_a_part_in_a_loop, through_a_view, on_a_condition])
def test_sums_of_known_integers(fn: Callable[..., float]) -> None:
    check_both_modes(fn, (np.array([0.9, 0.4, 1.3, 0.7]),))


def test_integers_from_outside_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([2, 1, 1])
    monkeypatch.setitem(globals(), "COUNTS", counts)
    gradient = sdfgad.grad(of_outside)
    x = np.ones(5)
    assert gradient(x).tolist() == [2, 2, 2, 2, 0]
    counts[0] = 3
    assert gradient(x).tolist() == [2, 2, 2, 2, 2]


FLAGS = np.array([True, False, True])


def told_by_flags(x):
    counts = np.zeros(2, dtype=int)
    if FLAGS[1]:
        counts[0] = 1
    counts[1] = FLAGS[1] * 3
    return np.sum(x[:counts[1]] ** 2) * x[FLAGS.sum()] * x[counts[0]]


@pytest.mark.parametrize("fn", [told_by_flags, lambda x: x[np.count_nonzero(FLAGS)], lambda x: x[:COUNTS[0] + 1] ** 2,
                                lambda x: np.ones(COUNTS[1] * 2) * x[np.cumsum(FLAGS)[1]]])
def test_arrays_from_outside_are_looked_at_in_each_call(fn: Callable[..., object], monkeypatch: pytest.MonkeyPatch):
    x = np.linspace(0.5, 2.0, 5)
    monkeypatch.setitem(globals(), "COUNTS", counts := np.array([2, 1, 1]))
    monkeypatch.setitem(globals(), "FLAGS", flags := np.array([True, False, True]))
    with interpreted():
        taken = sdfgad.forward(fn)
        for _ in range(3):
            np.testing.assert_allclose(taken(x), fn(x), rtol=1e-14)
            counts[:2], flags[1] = counts[:2] + 1, not flags[1]


def of_outside(x):
    z = np.zeros(COUNTS.sum())
    z[:] = x[:COUNTS.sum()]
    return np.sum(z ** 2)
