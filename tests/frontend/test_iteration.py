"""Iterating over things, names carried from one iteration to the next."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check
from tests.frontend.programs import A34, V6, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(A34)
def iterate_rows(A):
    s = np.zeros(4)
    for row in A:
        s += row * row
    for k, row in enumerate(A):
        s = s + k * row
    for r, q in zip(A, A[::-1]):
        s -= r * q
    return s


@case(V6)
def iterate_lists(x):
    s = 0.0
    for c in [1.0, 2.0]:
        s += c * x[0]
    for k, c in enumerate((0.5, 0.25), start=2):
        s += c * x[k]
    for a, b in zip((1, 2), [3.0, 4.0]):
        s += a * b * x[a]
    for i in reversed(range(3)):
        s = s * 2 + x[i]
    return s


@case(V6)
def comprehension(x):
    parts = [x[i] * i for i in range(4) if i != 2]
    return np.stack(parts), sum([c for c in parts])


@case(V6)
def mapped(x):
    halves = list(map(lambda part: part * 2, np.split(x, 2)))
    products = tuple(map(np.multiply, halves, reversed(halves)))
    first, second = map(np.sum, products)
    return halves, products, first, second, sum(map(lambda k: x[k] ** k, range(3)))


@case(A34, 2)
def all_indices(A, n):
    total = 0.0
    for i, j in np.ndindex(A.shape):
        total += A[i, j] * (i + 2 * j)
    for i, j, k in np.ndindex(n, 3, 2):
        total += A[i, j] * A[k, 0]
    for (k,) in np.ndindex(n):
        A[k] *= 2
    for _ in np.ndindex(n, 0):
        total += 100.0
    return total


@case(V6)
def sorted_and_quantified(x):
    total = 0.0
    for k in sorted([3, 1, 2], reverse=True):
        total = total * x[k] + k
    if any([k > 2 for k in range(3)]) or not all(k < 3 for k in range(3)):
        total += 100.0
    if any(v > 1.0 for v in x[:4]) and not all([v > 0.0 for v in x]):
        total *= 2.0
    return total, sorted(range(4))


@case(V6)
def list_building(x):
    out = []
    for i in [0, 1, 2]:
        out.append(x[i] * 2)
    out += [x[3]]
    return np.array(out)


@case(A34, np.array([0, 2, 1]))
def members_known_at_run_time(A, places):
    s = 0.0
    for i in range(3):
        for j in range(4):
            if (i, j) in [(0, 1), (2, 3)]:
                s += A[i, j]
            elif i not in (j, None, 2):
                s -= 2.0 * A[i, j]
        if places[0] in (i, 1):
            s += 10.0 * A[i, 0]
    return s


@case(A34)
def items_left_out(A):
    s = 0.0
    for j in range(4):
        rest = [k for k in range(4) if k not in (j,)]
        s += A[0, rest[0]] * np.delete(A, j, 1)[1, 0] * (j + 1)
    return s


@case(V6)
def unrolled_fallback(x):
    t = 0.0
    for i in range(4):
        y = np.zeros(2 ** i)
        y[:] = x[i]
        t += y.sum()
    return t


@case(V6)
def list_in_range_loop(x):
    out = []
    for i in range(4):
        out.append(x[i] + i)
    return np.array(out)


@case(V6)
def tuple_state(x):
    a, b = x[0], x[1]
    for i in range(5):
        a, b = b, a + b
    return a, b


@case(V6)
def swap_buffers(x):
    u = x.copy()
    un = np.zeros(6)
    for t in range(5):
        un[1:-1] = u[1:-1] + 0.1 * (u[2:] - u[:-2])
        u, un = un, u
    return u + 2 * un


@case(V6, np.zeros(6))
def swap_arguments(u, un):
    for t in range(3):
        un[:] = u * 1.5
        u, un = un, u
    return u


@case(V6)
def rebinding_array(x):
    for t in range(3):
        x = x * 2 - x[0]
    return x


@case(V6)
def rebinding_after_update(x):
    y = x
    for t in range(3):
        y = y * 2
        y[0] = 1.0
    return y


@case(V6)
def previous_row(x):
    prev = x[0]
    s = 0.0
    for i in range(1, 6):
        s += x[i] - prev
        prev = x[i]
    return s


@case(A34)
def previous_array_row(A):
    prev = A[0]
    s = np.zeros(4)
    for i in range(1, 3):
        s = s + A[i] * prev
        prev = A[i]
    return s


@case(V6)
def shape_changes(x):
    while x.shape[0] > 1:
        n = x.shape[0] // 2
        x = x[:n] + x[n:2 * n]
    return x[0]


@case(V6)
def pass_and_docstring(x):
    """A docstring."""
    return x[...] * 1


@case(V6)
def assert_and_del(x):
    assert x.shape[0] == 6, "six"
    y = x * 2
    z = y + 1
    del y
    return z


@case(V6)
def errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x)
        if x[0] > 0:
            y = y * 2
    return y


@case(A34)
def products_of_ranges(a):
    out = np.zeros_like(a)
    for i, j in itertools.product(range(1, a.shape[0]), range(a.shape[1] - 1, -1, -2)):
        out[i, j] = a[i - 1, j] + 10 * i + j + out[i - 1, j]
    for i, x, j in itertools.product(range(2, 0, -1), a[0], range(i, i + 2)):
        out[i, j] += x * out[i - 1, j]
    return out


@case(V6)
def products_of_items(x):
    s = 0.0
    for (k, a), b, c in itertools.product(enumerate(x), x[:2], (1.0, 2.0)):
        s += a * b + c * k
    for p, q in itertools.product(x, repeat=2):
        s = s * 0.5 + p * q
    for _ in itertools.product(x, range(0)):
        s = 0.0
    return s, list(zip(x[:2], range(2)))


@case(V6)
def picked_items(x):
    s = 0.0
    for a, b in itertools.combinations(x, 2):
        s = s * 0.9 + a * b
    for a, b in itertools.permutations(list(x[:3]), 2):
        s = s * 0.9 + a - b * b
    for a, b in itertools.pairwise(x):
        s = s * 0.9 + a * b
    for a in itertools.chain(itertools.islice(x, 1, None, 2), [1.0, 2.0], x[:2]):
        s = s * 0.9 + a
    return s


@case(V6, 4)
def repeated(x, n):
    for _ in itertools.repeat(None, n):
        x = x - 0.1 * np.sin(x)
    for k in itertools.repeat(0.0, -n):
        x = x * k
    return x


@case(V6, A34)
def reductions_of_items(x, a):
    m = reduce(np.dot, [a, a.T, a])
    s = reduce(lambda p, q: p - q * q, x, 0.5) + reduce(max, x)
    for k, p in enumerate(itertools.accumulate(x)):
        s += k * p
    for k, p in enumerate(itertools.accumulate(x, lambda p, q: p * q - 1, initial=2.0)):
        s += k * p
    return m, s


@case(V6)
def lists_by_value(x):
    order = [3, 1, 2, 1]
    order.remove(1)
    picked = x[order.index(2)] * order.count(1)
    order.clear()
    ways = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    turned = [x[ways.index((-a, -b)) % 6] * (k + 1) for k, (a, b) in enumerate(ways)]
    return picked, len(order), np.array(turned), ways.count((0, 1))


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
