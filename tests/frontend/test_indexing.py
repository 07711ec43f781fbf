"""Subscripts: slices, gathers, scatters, masks; views and aliases."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import A34, A44, I6, V6, Case, collector
from tests.support.oracle import program_gradient

CASES: list[Case] = []
case = collector(CASES)


@case(V6)
def masks_that_change(x):
    m = x > 0.5
    chosen = x[m] * 2
    m[0] = not m[0]
    total = chosen.sum() + x[m].sum()
    for k in range(3):
        m[k] = x[k] > 0.2
        x[m] *= 1.5
        total += x[m].mean()
        m = x > 0.3 * k
        x[m] = x[m] + chosen.sum()
    return total, m


@case(V6, A34)
def masks_written_twice(x, A):
    y = np.arange(6.0)
    y[x > 0.5] *= x[x > 0.5]
    x[x > 0.2] -= x[x > 0.2] * y[x > 0.2]
    y[x > 0.2] += x[x > 0.2]
    for k in range(3):
        x = x * 1.25
        y[x > 0.1 * k] += x[x > 0.1 * k] - x[x > 0.1 * k].sum()
        A[A[:, 0] > 0, k] *= A[A[:, 0] > 0, k + 1]
    y[y > A[0, 0] / 3] = y[y > A[0, 0] / 3] - A[1, 1] * 2
    return x, y


@case(A44, I6)
def crossed(A, idx):
    free = idx % 2 + 1
    B = A[np.ix_(free[:3], idx[1:3] % 4)] * 2
    for k in range(3):
        A[np.ix_([k, k + 1], [k, k + 1])] += B[0, 0] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return B, A[np.ix_((0, 2), free[:2])], np.ix_(free), A.reshape(2, 2, 4)[np.ix_([1, 0], [1], idx[:2] % 4)]


@case(A34, np.arange(60.0).reshape(3, 4, 5))
def places_written_into_the_program(A, t):
    A[[True, False, True], 1] = 7.0
    A[[False, True, False]] *= 2
    return [A[(0, 1, 0), (3, 3, 2)], A[(0, 2),], t[1, (0, 2), 1:], A[[True, False, True]],
            A[:, [True, False, False, True]],
            t[[True, True, False], [0, 3]], A[[False] * 3], t.item(7),
            t.item(1, 2, 3) + t.item((0, 1, 2)), np.extract(A > 1, A).sum(), np.dsplit(t, [2])[1], np.real_if_close(A),
            np.einsum(t, [..., 0], t, [..., 0], [...]), A[0].searchsorted(1.0), (A[0] > 1).nonzero()[0].sum(),
            A.compress([True, False, True], axis=0), np.array([0, 2, 1, 0]).choose(A), np.imag(2.5)]


@case(A34, V6)
def changed_by_methods(A, x):
    x.partition(2)
    A.put([1, 3], [0.5, 0.25])
    return np.sort(x[:2]), x[2], A


@case(A34, V6)
def rows_at_places_that_data_choose(A, x):
    k = np.argmax(x[:3])
    A[k] *= 2
    return A[k], (A[k, 1:], A[np.argmin(A[:, 0]), 1]), A[int(x[0] > 0)]


@case(A34, V6, I6)
def gathers(A, x, idx):
    return [x[idx], A[:, [0, 2]], A[[0, 2]], A[[0, 1], [1, 2]], A[1, [0, 3]], x[idx[1:3]], x[[1, -1]], A[idx[:2], 1:3],
            np.take(x, idx), A[:, None, [0, 1]], x[idx.reshape(2, 3)], x[-idx], A[idx[:3, None] % 3, idx[:2]],
                x[idx % 3 + 1],
            np.take(A, [0, 1], axis=1)]


@case(A34, V6, I6)
def scatters(A, x, idx):
    y = np.zeros(6)
    y[idx] = x
    y[idx] += 1.0
    y[[0, 1]] = 7.0
    y[[1, 1]] = [3.0, 4.0]
    A[:, [0, 2]] *= 2
    A[[0, 1], [1, 2]] = 5.0
    z = np.zeros((6, 2))
    np.add.at(z, idx, x[:, None] * np.ones(2))
    np.subtract.at(y, idx, 0.5)
    np.add.at(y, (idx,), x)
    z[idx, 1] = x
    return y, z


@case(V6, A34)
def masks(x, A):
    y = x.copy()
    y[y > 0.5] = 0.0
    m = x > 0.5
    y[m] = x[m] * 2 + 1
    y[~m] += 10
    A[A < 0] = 1.5
    A[A > 0.5] *= 2.0
    z = np.zeros(6)
    z[m] = np.sqrt(x[m])
    w = x[m]
    s = w.sum() + w.mean() + np.max(x[m]) + (w * w).sum() + len(w) + w.size + np.std(w)
    rows = A[:, 0] > 0
    A[rows] = 3.0
    return y, z, s, np.mean(x[x > 0]), x[m].min(), np.sum(x[m] > 0.6), np.count_nonzero(x[m]), A[rows].sum(axis=0)


@case(np.arange(60.0).reshape(3, 4, 5), np.arange(20).reshape(4, 5) % 3 == 0, np.arange(12).reshape(3, 4) % 5 > 2)
def masks_beside_other_indices(x, last, first):
    y, z = x.copy(), x.copy()
    for q in range(3):
        y[q, last] = x[(2, 0, 1)[q], last] + y[q, last]
    y[-1, last] *= 2.0
    z[first, 1] = 0.5
    z[first, 2:] = 3 * z[first, 2:]
    z[first, 0] -= 1.0
    z[0, first[0], 3] += 2.0
    z[:, last] *= 2.0
    z[1:, last] -= 4
    z[..., last[0]] += 1.0
    y[:, first[0], 4] = -1.0
    return y, z, x[1, last].sum(), x[first, ::2].sum(axis=0), x[0, first[0], -1].max()


@case(np.arange(60.0).reshape(3, 4, 5), np.arange(20).reshape(4, 5) % 3 == 0)
def what_masks_choose_behind_slices(x, mask):
    y, z, row = 2 * x, np.zeros((3, 4, 5)), x[:1] * 3
    z[:, mask] = x[:, mask]
    z[1:, ~mask] = y[1:, ~mask]
    y[..., mask[0]] = y[::-1][..., mask[0]]
    z[:, mask[:, 2], 1] = row[:, mask[:, 2], 1]
    y[:, mask[:, 1], 1:3] = x[:, mask[:, 1], 1:3]
    return y, z


SHAPES = ((2, 3), (4,), ())


@case(np.arange(12.0))
def sizes_of_parts(x):
    sizes = [int(np.prod(s)) for s in SHAPES]
    ends = np.cumsum([0, *sizes])
    parts = [x[ends[k]:ends[k + 1]].reshape(s) for k, s in enumerate(SHAPES)]
    starts = np.array([1, 5])
    grid = np.zeros((3, 4))
    return [*parts, x[starts[0]:starts[1]].reshape(2, 2), x[:np.max(sizes)].reshape(3, 2), x[np.min(sizes):][0],
            x.reshape(-1, np.prod(grid.shape[1:])), x[:np.sum(sizes)], np.cumprod(SHAPES[0])]


def move_on(places):
    places[0] += 1


@case(np.arange(12.0))
def known_places_that_change(x):
    o, p, q, total = np.array([1, 2, 3]), np.cumsum([1, 2]), np.array([4, 5]), 0.0
    view = o[1:]
    for k in range(4):
        total = total + x[o[1]] * x[p[0]] + x[q[0]] ** 2
        view[0] += 1
        p += k
        move_on(q)
    if x[3] > 1:
        o[0] = 5
    return total, x[o[0]], x[:o[0]].sum()


@case(A34)
def slices(A):
    return [A[1:, :-1], A[-1], A[::2], A[::-1], A[1:100], A[5:], A[:, -2:], A[..., 0], A[0, ...], A[2:0:-1, 3:1:-1],
            A[-2:-1]]


@case(V6, 2)
def dynamic_slices(x, n):
    s = 0.0
    for i in range(6):
        s += x[:i].sum() + x[i:].sum() * 2 + np.sum(x[max(0, i - n):i + n]) * 3 + x[i:i + 1][0]
        s += (x[i::2]).sum() + x[:i][::-1].sum() + x[-i - 1:].sum()
    return s


@case(V6)
def dynamic_temporaries(x):
    s = 0.0
    for i in range(1, 6):
        t = x[:i] * 2
        u = np.exp(t)
        v = np.zeros(i)
        v += u
        s += np.dot(u, x[:i]) + v.max() + t[-1] + t[i - 1]
    return s


@case(A44, 0)
def symbolic_matrix_products(A, unused):
    s = 0.0
    for i in range(1, 4):
        s += (A[:i, :i] @ A[:i, 0]).sum() + (A[:i, :] @ A[:, :i]).sum() + A[0, :i] @ A[:i, 1]
        s += (A[0] @ A[:, :i]).sum()
    return s


@case(V6, A34)
def view_updates(x, A):
    v = x[1:4]
    v += 1
    w = v[::-1]
    w[0] = 100.0
    r = A.reshape(-1)
    r[3] = -5.0
    f = A.ravel()
    f[0] = 9.0
    t = A.T
    t[1] = 2.0
    c = A.flatten()
    c[:] = 0
    d = A.T.reshape(-1)
    d[:] = 1.0
    q = A[1][1:3]
    q *= 2
    np.diag(A)
    return x[3], A


@case(V6)
def overlapping_updates(x):
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    x[::-1] = x * 1
    x[2:5] = x[1:4] * x[3:6]
    x[::2] = x[1::2]
    x[:3], x[3:] = x[3:] * 2, x[:3] * 3
    return x


@case(V6)
def alias_of_name(x):
    y = x
    y[0] = 5.0
    z = y
    z += 1
    w = x + 0
    w[0] = 0
    return x is not None, z


@case(V6)
def scalar_is_a_copy(x):
    t = x[0]
    x[0] = 9.0
    u = t
    t += 1
    return t, u, x[0]


@case(V6)
def chained_assignment(x):
    y = np.zeros(6)
    z = np.zeros(6)
    y[1:] = z[:-1] = x[:-1] * 2
    a = b = x * 3
    a[0] = 7
    return y, z, b


def add_to(a, v):
    a += v


@case(A34)
def update_through_function(A):
    def row(M, i):
        return M[i]

    r = row(A, 1)
    r -= A[0]
    add_to(A[2], 1.0)
    return r


@case(np.array(2.5), V6)
def zero_dimensional(a, x):
    a[...] = a * 2
    a += 1
    b = np.zeros(())
    b[()] = x[0]
    c = b + 1
    return a * x, b, c


@case(V6)
def integer_in_place(x):
    n = np.zeros(6, dtype=int)
    n[:] = x * 3
    n += 1
    n[2] = 7.9
    x[0] = 3
    x //= 0.2
    x %= 3
    x **= 2
    n <<= 1
    return n, x


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)


def test_the_gradient_of_a_returned_row_at_a_place_that_data_choose():
    def chosen(A, x):
        return A[np.argmax(x)]

    parsed = parse(chosen, (A34, V6[:3]))
    _, found = program_gradient(parsed.program, {"A": A34, "x": V6[:3]}, ["A"], [np.array([1.0, 2.0, 3.0, 4.0])])
    expected = np.zeros_like(A34)
    expected[np.argmax(V6[:3])] = [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(found["A"], expected)
