"""Short loops stay loops: with lists that they make longer, and with sums over ranges whose ends other loops decide."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from sdfgad.ir.program import Loop
from sdfgad.ir.walk import statements
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import V6


def probe(x):
    u, seen = x * x, []
    for t in range(12):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        seen.append(u[2] * x[0])
    return np.sum(np.square(seen)) + seen[-1]


def pairs(x):
    q, both = 1.0, {"t": [], "e": []}
    for t in range(10):
        q = np.sin(q + x[t % 6])
        both["t"].append(0.1 * t)
        both["e"].append(q * x)
    return np.sum(np.trapezoid(np.array(both["e"]), both["t"], axis=0))


def powers(x):
    rows = [x ** 2 * k for k in range(20)]
    return np.sum(np.stack(rows)[3:] * x)


def unpacked(x):
    seen = []
    for k in range(10):
        seen.append(x[k % 6] * k)
    first, *_, last = seen
    return first + last * x[0] + sum(sorted(seen)[2:4])


def sizes(x):
    ends = []
    for k in range(10):
        ends.append(1 + k // 2)
    return sum([np.sum(np.ones(n) * x[0]) ** 2 for n in ends])


def shapes(x):
    parts = []
    for k in range(10):
        parts.append(np.ones(1 + k // 2))
    return sum([np.sum(v * x[0]) ** 2 for v in parts])


def loops_in(fn: Callable[..., object]) -> int:
    return sum(isinstance(s, Loop) for s in statements(check(fn, V6).program.body))


@pytest.mark.parametrize("fn", [probe, pairs, powers, sizes])
def test_lists_of_short_loops_are_arrays(fn: Callable[..., object]) -> None:
    check_both_modes(fn, (V6,))
    assert loops_in(fn) == 1


def test_a_long_list_sorted_and_unpacked() -> None:
    check_both_modes(unpacked, (V6,))


def test_loops_are_written_out_where_lists_do_what_arrays_do_not() -> None:
    check_both_modes(shapes, (V6,))
    assert loops_in(shapes) == 0


def convolved(x):
    out = np.zeros(6)
    for j in range(6):
        out[j] = sum(x[i] * x[j - i] for i in range(j)) + sum((2 * k for k in range(j)), 0.5)
    return np.sum(out * np.sin(x))


def chosen_and_nested(x):
    t = 0.0
    for j in range(6):
        t += x[j] * sum(x[i] for i in range(j) if x[i] > 0.5)
        t += sum(sum(x[k] * x[i] for k in range(i)) for i in range(1, j))
    return t


def rows_and_iterators(x):
    i, t, square = 7.0, 0.0, np.outer(x, x)
    for j in range(1, 6):
        items = (x[k] * 2 for k in range(j))
        t += sum(items) ** 2 + sum(items)
        t = t + np.sum(sum(square[i] * x[j] for i in range(j)))
    return t * i


def extrema(x):
    t = 0.0
    for j in range(1, 6):
        t += max([x[k] for k in range(j)]) * x[j] + min(x[k] for k in range(j, 6))
        t += np.mean(np.array([x[k] ** 2 for k in range(j)]))
    return t


@pytest.mark.parametrize("fn", [convolved, chosen_and_nested, rows_and_iterators, extrema])
def test_comprehensions_over_ranges_of_loops(fn: Callable[..., object]) -> None:
    check_both_modes(fn, (V6,))
    assert loops_in(fn) > 1


def pivoted(x):
    a = np.outer(x, np.cos(np.arange(6) * x[0])) + np.diag(x) + 0.1 * np.sin(np.arange(36.0)).reshape(6, 6)
    for k in range(6):
        p = max(range(k, 6), key=lambda r: abs(a[r, k]))
        if p != k:
            a[[p, k]] = a[[k, p]]
        for r in range(k + 1, 6):
            a[r] -= a[r, k] / a[k, k] * a[k]
    return np.sum(np.log(np.abs(np.diag(a))))


def steps(x):
    t = 0.0
    for k in range(4):
        i = min(range(k, -1, -1), key=lambda r: (x[r] - 0.37) ** 2)
        j = max(range(k, 6, 2), key=lambda r: x[r])
        t += x[i] * (k + 1) + x[j] ** 2 + j
    return t


@pytest.mark.parametrize("fn", [pivoted, steps])
def test_places_of_extrema_in_ranges_of_loops(fn: Callable[..., object]) -> None:
    check_both_modes(fn, (V6,))
    assert loops_in(fn) > 1


def test_an_extremum_of_a_range_that_may_be_empty_is_refused() -> None:
    def fn(x):
        t = 0.0
        for k in range(70):
            t += x[max(range(k, 69), key=lambda r: x[r])]
        return t

    with pytest.raises(UnsupportedError, match="may be empty"):
        parse(fn, (np.zeros(80),))


class Filter:
    """A filter as libraries have them: what is dear is computed when somebody asks, and forgotten by each update."""

    def __init__(self):
        self.x, self.p, self.y = np.zeros((2, 1)), np.eye(2), None
        self._likelihood = 1.0

    @property
    def likelihood(self):
        if self._likelihood is None:
            self._likelihood = np.exp(-0.5 * self.y ** 2)
        return self._likelihood

    def update(self, z):
        self.y = z - self.x[0, 0]
        self.x = self.x + self.p[:, :1] * self.y / (self.p[0, 0] + 0.5)
        self.p = 0.9 * self.p + 0.01 * np.eye(2)
        self._likelihood = None


def forgetful(x):
    f, total = Filter(), 0.0
    for z in np.concatenate([x, 2 * x]):
        f.update(z)
        total += f.x[0, 0] ** 2 + f.x[1, 0]
    return total * f.likelihood


def one_matrix_for_all(x):
    n = 12
    steps, weights, noise = [np.outer(x[:2], x[1:3])] * n, [0.5] * n, (x[3:5],) * n
    v, seen = x[:2], np.zeros((n, 2))
    for k, (z, m, w, q) in enumerate(zip(np.concatenate([x, x]), steps, weights, noise)):
        v = np.tanh(m @ v * w + q * z)
        seen[k] = v
    for k in range(n - 2, -1, -1):
        v = np.sin(steps[k + 1] @ v) + seen[k]
    return np.sum(v)


def changed_on_the_way(x):
    rows, s = [x[:2]] * 12, 0.0
    for k, (z, row) in enumerate(zip(np.concatenate([x, x]), rows)):
        s += z * row[0]
        rows[k + 1 if k < 11 else 0] = row * 2.0
    return s


@pytest.mark.parametrize(("fn", "count"), [(forgetful, 1), (one_matrix_for_all, 2)])
def test_loops_over_objects_and_equal_items_stay_loops(fn: Callable[..., object], count: int) -> None:
    check_both_modes(fn, (V6,))
    assert loops_in(fn) == count


def test_a_list_that_changes_on_the_way_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="changes on the way"):
        parse(changed_on_the_way, (V6,), {})
