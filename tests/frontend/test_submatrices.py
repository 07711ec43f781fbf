"""Submatrices and lengths that masks of the run decide: systems of free unknowns, kernels of what was seen, sizes."""
from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.linalg

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

F = np.array([0.4, -1.2, 0.9, 1.7, -0.3, 0.6])
_BASE = np.cos(np.arange(36.0) ** 2).reshape(6, 6)
K = _BASE @ _BASE.T + 6.0 * np.eye(6)
FIXED = np.array([1, 4])


def free_unknowns(f, stiffness):
    free, fixed = np.where(f > 0)[0], np.where(f <= 0)[0]
    u = np.zeros(6)
    u[fixed] = 0.3
    load = f[free] - stiffness[np.ix_(free, fixed)] @ u[fixed]
    u[free] = np.linalg.solve(stiffness[np.ix_(free, free)], load)
    return np.sum(u**2) + f[free] @ np.linalg.inv(stiffness[free][:, free]) @ f[free]


def places_left(f, stiffness, fixed):
    free = np.setdiff1d(np.arange(6), fixed)
    inner = np.setdiff1d(np.arange(6), [0, 5])
    beside = np.setdiff1d(np.arange(6), np.where(f < 0)[0])
    found = np.linalg.solve(stiffness[np.ix_(inner, inner)], f[inner])
    return (np.sum(np.linalg.solve(stiffness[np.ix_(free, free)], f[free]) ** 2) + np.sum(found**2)
            + np.sum(stiffness[np.ix_(beside, beside)]))


def active_set(f, stiffness):
    x, active, steps = np.zeros(6), np.ones(6, bool), 0
    while steps < 5:
        part = stiffness[np.ix_(active, active)]
        x[:] = 0.0
        x[active] = np.linalg.solve(part, f[active])
        if not (x < 0).any():
            break
        active = active & ~(x < 0)
        steps += 1
    return np.sum(x**2)


def rectangle(f, k):
    m, n = f > 0, f < 0.5
    r = k[np.ix_(m, n)]
    return [np.sum(r.T @ f[m]) ** 2, f[m] @ r @ f[n], np.sum(r.sum(axis=0) * f[n]), np.sum(r.sum(axis=1) * f[m]),
            np.sum(r @ r.T @ f[m]), r.max(), r.mean(), np.sum(r.mean(axis=0) ** 2), np.sum(r.max(axis=1)),
            1.0 * r.shape[0] * r.shape[1], 1.0 * len(r), 1.0 * r.size, np.sum(f[m] @ k[m]), np.sum(k[:, m][m] ** 2),
            np.sum(k[:, m][0] * f[m]), np.sum(k[m][1:, 0] ** 2), np.sum(k[np.ix_(m, [0, 2])]),
            np.sum(k[np.ix_([0, 1], n)] ** 2)]


def kernel(f, k):
    seen = f > 0
    x, y = f[seen], k[0][seen]
    gram = np.exp(-(x[:, None] - x[None, :]) ** 2) + 0.1 * np.eye(len(x))
    factor = np.linalg.cholesky(gram)
    gaps = x[:, None] - x
    return [y @ np.linalg.solve(gram, y), np.sum(np.log(np.diag(factor))), np.trace(gram), np.linalg.norm(gram),
            np.sum(scipy.linalg.solve_triangular(factor, y, lower=True) ** 2), np.linalg.slogdet(gram)[1],
            np.sum(np.tanh(gaps) ** 2 * x), np.sum(np.outer(x, y) ** 2)]


def names(f, k):
    """What a name stands for is a copy, which other names of it share."""
    k, m = k.copy(), f > 0
    first = k[np.ix_(m, m)]
    mesh = np.ix_(m, m)
    k[0, 0] = 50.0
    second = first
    first += 1.0
    m[0], m[1] = False, True
    return [np.sum(first**2), np.sum(second), np.sum(k[mesh] ** 3), np.sum(k[np.ix_(m, m)])]


def stored(f, k):
    m, out = f > 0, np.zeros((6, 6))
    out[np.ix_(m, m)] = 2.0
    out[np.ix_(m, ~m)] += k[np.ix_(m, ~m)]
    out[np.ix_(~m, ~m)] *= 3.0
    out[np.ix_(m, m)] = k[np.ix_(m, m)] @ k[np.ix_(m, m)]
    return out


def not_numbers(f, k):
    """What is not selected is no number."""
    m = f > 0
    a, g = np.where(np.logical_and(m[:, None], m), k, np.nan), np.where(m, f, np.nan)
    return [np.sum(np.linalg.solve(a[np.ix_(m, m)], g[m])), np.sum(a[np.ix_(m, m)] @ g[m]),
            np.sum(np.exp(-0.1 * a[np.ix_(m, m)]))]


def nothing(f, k):
    m = f > 100.0
    return np.sum(np.linalg.solve(k[np.ix_(m, m)], f[m])) + f[0] ** 2 + np.linalg.det(k[np.ix_(m, m)])


def sizes(f, k):
    m = f > 0
    x = f[m]
    n = len(x)
    numbers, z, w = np.arange(n), np.zeros(n), np.ones(x.shape)
    z[:] = x * numbers
    w += z
    total = np.sum(np.full(m.sum(), 2.0) * x) + np.sum((np.arange(np.count_nonzero(m)) + 1.0) * x)
    for i in range(3):
        on = k[i] > 0
        count = on.sum()
        total += np.sum(np.ones(count) * f[on] * np.arange(count))
    return total + np.sum(z + w * x)


def in_order(f, k):
    m = f > 0
    grown = []
    for i in range(6):
        if f[i] > 0:
            grown.append(2.0 * f[i])
    a, s = np.array(grown), np.sort(f[f > -0.5])
    joined = np.concatenate([f[m], f[f < 0.2], np.array([1.0, 2.0]), f[:2]])
    return [np.sum(a * f[m]), np.sum(np.diff(f[m]) * a[1:]), np.sum(f[m][1:] * f[m][:-1]), np.sum(np.cumsum(f[m])),
            s[0] + 2.0 * s[-1] + s[len(s) // 2], np.sum(s[1:] - s[:-1]), np.sum(np.sin(joined)), 1.0 * len(joined),
            np.sum(np.diff(joined) ** 2), joined[-1] + joined[0]]


def spread(f, k):
    m = f > 0
    return [np.sum(np.cov(k[m].T) ** 2), np.sum(np.cov(k[m], rowvar=False, ddof=0)),
            np.sum(np.corrcoef(k[m, 0], k[m, 1])), np.sum(np.corrcoef(k[m].T) ** 2)]


PROGRAMS = [free_unknowns, active_set, rectangle, kernel, names, stored, not_numbers, nothing, sizes, in_order, spread]


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("wrt", [0, 1])
def test_submatrices_and_sizes_that_data_decide(fn, wrt):
    def weighed(one, other):
        found = fn(one, other) if wrt == 0 else fn(other, one)
        return sum(np.sum(np.sin(part)) for part in (found if isinstance(found, list) else [found]))

    check_both_modes(weighed, (F, K) if wrt == 0 else (K, F))


def test_places_that_are_left():
    check_both_modes(places_left, (F, K, FIXED))


def test_sorted_numbers_end_with_what_is_none():
    check(lambda x: np.sort(x[~(x > 1.0)])[2] + np.sort(x[~(x > 1.0)])[0], np.array([0.3, np.nan, 2.0, -1.0]))
    check(lambda x: np.isnan(np.sort(x[~(x > 1.0)])[-1]), np.array([0.3, np.nan, 2.0, -1.0]))


def other_lengths(f, k):
    return np.sum(np.ones((f < 0).sum()) * f[f > 0])


def changed_mask(f, k):
    m = f > 0
    part = k[np.ix_(m, m)]
    m[0] = False
    return np.sum(part @ f[m])


def other_masks(f, k):
    return np.sum(k[np.ix_(f > 0, f > 0)] + k[np.ix_(f > 0, f < 0)])


def returned(f, k):
    return k[np.ix_(f > 0, f > 0)]


def taken_apart(f, k):
    rows, columns = np.ix_(f > 0, f > 0)
    return np.sum(k[rows, columns])


def known_columns(f, k):
    k = k.copy()
    k[np.ix_(f > 0, [0, 2])] = 1.0
    return k


@pytest.mark.parametrize("fn", [other_lengths, changed_mask, other_masks, returned, taken_apart, known_columns])
def test_what_does_not_fit_is_refused(fn):
    with pytest.raises(UnsupportedError, match=re.escape("[SG1")):
        parse(fn, (F, K))
