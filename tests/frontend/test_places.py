"""Loops over the places where a mask holds, and arithmetic with rows that a mask selects."""
import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.support.oracle import program_gradient

RNG = np.random.default_rng(7)
X, Y, A, P, W = (RNG.standard_normal(s) for s in ((12,), (9,), (6, 5), (5,), (5, 3)))


def counted(x):
    at = np.where(x > 0)[0]
    s = 0.0
    for k in range(len(at)):
        s += x[at[k]] ** 2 * k
    return [s, at.size, at.shape[0], len(np.flatnonzero(x < 0)), np.argwhere(x > 0).shape[0]]


def walked(x, A):
    s = 0.0
    for i in np.flatnonzero(x > 0):
        s = 0.5 * s + x[i] * i
    for i, j in zip(*np.where(A > 0), strict=True):
        s += A[i, j] ** 2 * i - j
        if s > 20:
            break
    for k, (i, j) in enumerate(np.argwhere(A < 0)):
        s += A[i, j] * k
    for at in np.argwhere(A > 1):
        s += A[at[0], at[1]]
    for v in x[x > 0.3]:
        s = s * 0.9 + v * v
    return s


def nested(x, y):
    s = 0.0
    for i in np.where(x > 0)[0]:
        for j in np.where(y > x[i])[0]:
            s += (y[j] - x[i]) ** 2
    return s


def changed_while_walked(x):
    s = 0.0
    for t in range(3):
        for k in np.flatnonzero(x > 0.3 * t):
            x[k] = 0.9 * x[k] + 0.05 * x[k - 1]
        for v in x[x < 0]:
            x[0] += 0.1 * v
        s += np.sum(x ** 2) * (t + 1)
    return s


def single_ones(x):
    q = x[x > 0]
    at = np.where(x > 0)[0]
    s = q[0] * q[-1] + x[at[0]] ** 2 * x[at[-1]]
    for k in range(len(q) - 1):
        s += q[k] * q[k + 1]
    return s


def crossings(x):
    t = np.arange(x.shape[0]) * 0.1
    i = np.where(x[:-1] * x[1:] < 0)[0]
    root = t[i] - x[i] * (t[i + 1] - t[i]) / (x[i + 1] - x[i])
    return np.sum(root ** 2) + len(i)


def neighbours(A):
    i, j = np.where(A[:-1, :-1] > 0)
    return np.sum(A[i + 1, j] * A[i, j + 1] ** 2)


def selected_twice(x):
    q = x[x > 0]
    r = q[q < 0.8]
    return np.sum(r ** 2) * len(r) + np.mean(q)


def rows(A, p, w):
    q = A[A[:, 0] > -0.5]
    away = q - p
    image = np.tanh(away @ w)
    inner = q - q.mean(axis=0)
    return [np.sum(np.linalg.norm(away, axis=1) ** 3) / len(q), np.sum(image), np.sum(image.max(axis=1)),
            image.max(axis=0), q.min(axis=0), np.sum(np.mean(q, axis=-1) ** 2), inner.T @ inner / (q.shape[0] - 1),
            np.sum(q * p), np.sum((q @ p) ** 2), (q > p).any(axis=0)]


CASES = [(counted, X), (walked, X, A), (nested, X, Y), (changed_while_walked, X), (single_ones, X), (crossings, X),
         (neighbours, A), (selected_twice, X), (rows, A, P, W)]


@pytest.mark.parametrize("fn, arguments", [(f, a) for f, *a in CASES], ids=[c[0].__name__ for c in CASES])
def test_same_as_numpy(fn, arguments):
    check(fn, *arguments)


def test_gradients():
    """One program, with everything of the others that is a number."""
    def all_of_them(x, y, A, p, w):
        s = walked(x, A) + nested(x, y) + single_ones(x) + crossings(y) + neighbours(A) + selected_twice(x)
        found = rows(A, p, w)
        return s + np.sum(found[6]) + np.sum(found[3]) + found[0] + found[1] + changed_while_walked(x) + counted(y)[0]

    sdfgad.check_grads(all_of_them, X.copy(), Y.copy(), A.copy(), P.copy(), W.copy())


def test_rows_that_are_not_selected_may_be_anything():
    def fitted(A, w):
        return np.sum((A[np.isfinite(A[:, 0])] @ w) ** 2)

    spoilt = A.copy()
    spoilt[2] = np.nan
    rest = np.delete(spoilt, 2, axis=0)
    g = sdfgad.grad(fitted)(spoilt, W)
    assert np.allclose(g.w, 2 * rest.T @ (rest @ W), rtol=1e-12)
    assert np.array_equal(g.A[2], np.zeros(5))


def test_too_far():
    def third(x):
        return x[np.where(x > 0)[0][2]] * x[x > 0][2]

    assert sdfgad.forward(third)(np.array([1.0, -1.0, 2.0, 3.0])) == 9.0
    with pytest.raises(IndexError):
        sdfgad.forward(third)(np.array([1.0, -1.0, 2.0, -3.0]))


def two_masks(x):
    return np.sum(x[x > 0] * x[x < 1])


def an_array_beside(x):
    return np.sum(x[x > 0] + np.arange(12.0))


def a_number_for_each_row(A):
    return np.sum(A[A[:, 0] > 0] * A[:, 1][A[:, 0] > 0])


def rows_beside_columns(A):
    return np.sum(A[:, A[0] > 0] + A[A[:, 0] > 0])


@pytest.mark.parametrize("fn, argument, what", [
    (two_masks, X, "different masks"), (an_array_beside, X, "with an array that is not"),
    (a_number_for_each_row, A, "numbers selected by it"), (rows_beside_columns, A[:5], "combined with rows")],
    ids=lambda v: getattr(v, "__name__", ""))
def test_refused(fn, argument, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(fn, (argument.copy(),))


def test_masks_of_several_dimensions_select_along_one():
    def kept(A, B):
        q = np.stack([A, B], axis=-1)[A > 0]
        whole = (q.sum(axis=0, keepdims=True), np.sum(q, keepdims=True), np.any(q > 0, axis=0, keepdims=True))
        return [*whole, q.max(axis=0, keepdims=True), np.sum(q * whole[0]), [w.shape for w in whole]]

    check(kept, A, A[::-1].copy())


def test_spreads_of_rows_along_either_axis():
    def spread(A):
        y = A[A[:, 0] > -0.5]
        away = (y - y.mean(axis=0)) / y.std(axis=0)
        return np.sum(y.var(0) + (away ** 3).mean(axis=0) * np.std(y, ddof=1)) + np.sum(np.var(y, axis=1, ddof=1))

    check(lambda A: [np.size(A[A[:, 0] > 0], 0), np.size(A[A[:, 0] > 0], 1), np.size(A[A > 0]), A[A > 0].std()], A)
    check_both_modes(spread, (A,))


def columns(A):
    m = A[0] > -0.6
    at, y = np.flatnonzero(m), A[:, m]
    away = (y - y.mean(axis=1, keepdims=True)) / np.std(y, axis=1)[:, None]
    B = A.copy()
    B[:, m] = y * 2 + A[:, :1]
    B[:, m] *= A[0, m]
    z, rows = A[:, m], A[A[:, 0] > -2.0]
    same, turned = z, rows.T
    z *= 2.0
    turned += 1.0
    A = A * 3.0
    return [len(y), y.shape[0], y.shape[1], y.sum(axis=0).sum(), y.max(axis=1), np.var(y, axis=-1), np.mean(y),
            away.sum(1), y @ A[0, m], np.dot(y, y.T), A[:, 0] @ y @ A[0, m], (A.T @ y).sum(axis=1),
            (y * A[0, m]).min(axis=1), np.exp(A[1:, at]).sum(axis=1),
            np.where(y > 0, y, 0.5).sum(axis=1, keepdims=True), np.any(y > 1, axis=1), np.sum(y.T, axis=0), B,
            same.sum(axis=1), rows.sum(axis=0)]


def test_columns_that_a_mask_selects():
    def total(A):
        s = 0.0
        for found in columns(A)[3:]:
            s = s + np.sum(found * np.sin(np.reshape(np.arange(float(np.size(found))), np.shape(found)) + 1.0))
        return s

    check(columns, A, rtol=1e-11)
    check_both_modes(total, (A,))


@pytest.mark.parametrize("keep", [lambda y: y, lambda y: [y.T][0].T], ids=["name", "list"])
def test_columns_are_those_of_their_moment(keep):
    def later(A):
        A = A * 1.0
        m = A[0] > -0.6
        y = keep(A[:, m])
        A[:] = 2.0
        return y @ A[0, m]

    check(later, X.reshape(3, 4))


def test_functions_of_what_a_mask_selects():
    special = pytest.importorskip("scipy.special")

    def found(x, w, xp, fp):
        m = x > 0.2
        y, one = x[m], x[m].copy()
        one *= 2
        elementwise = [np.round(y, 1).sum(), np.where(y > 1, y, 0.5).sum(), np.logaddexp(y, w[m]).sum(),
                       special.expit(y).sum(), np.interp(y, xp, fp).sum(), np.polyval(fp, y).sum(),
                       np.isclose(y, 1.0).sum(), y.astype(int).sum(),
                       np.sinc(y).sum(), np.nan_to_num(x[m] / 0.0, posinf=2.0).sum(), y.astype(np.float32).sum()]
        reductions = [sum(y), max(y), min(y), np.prod(y), np.average(y, weights=w[m]), np.ravel(y).sum(), y[()].sum()]
        nan = np.where(x > 1, np.nan, x)
        ranks = [np.median(y), np.quantile(y, 0.3), np.percentile(y, [20, 70]), np.median(nan[m]), np.nanmean(nan[m]),
                 np.nanmedian(nan[m]), np.nansum(nan[m]), np.nanmax(nan[m])]
        return elementwise, reductions, one.sum(), ranks

    x = np.array([0.5, -1.0, 1.25, 0.1, 2.0, 0.75, -0.5, 1.5])
    check(found, x, np.arange(1.0, 9.0), np.array([0.0, 1.0, 3.0]), np.array([1.0, -1.0, 2.0]), rtol=1e-12)


def test_the_gradient_of_a_rank_among_what_a_mask_selects():
    def middle(x):
        return np.median(x[x > 0.2]) ** 2 + np.interp(x[x > 0.2], np.arange(3.0), np.arange(3.0) ** 2).sum()

    x = np.array([0.5, -1.0, 1.25, 0.1, 1.75])
    parsed = parse(middle, (x,))
    _, found = program_gradient(parsed.program, {"x": x}, ["x"])
    np.testing.assert_allclose(found["x"], [1.0, 0.0, 3.0 + 2.5, 0.0, 3.0])


def test_what_a_mask_selected_changes_under_all_its_names():
    def doubled(a):
        a *= 2

    def found(x, A):
        y, both = x[x > 0], [x[x > 0.5], x[x < 0]]
        z, kept, flat = y, y.copy(), np.ravel(y)
        for k in range(3):
            z *= 1.5
            if x[k] > 0:
                z += y.sum()
        doubled(flat)
        first = both[0]
        both[0] /= 2
        rows = A[A[:, 0] > 0]
        column = rows[:, 1]
        column *= 2
        rows -= rows.mean(axis=0)
        return y.sum(), z.sum(), kept.sum(), first.sum(), both[1].sum(), rows.sum(axis=0), column.sum(), x, A

    check(found, X.copy(), A.copy(), rtol=1e-11)
    with pytest.raises(UnsupportedError, match="stores float64"):
        parse(lambda i: doubled_by(i[i > 0]), (np.arange(3),))


def doubled_by(a):
    a *= 2.5
    return a.sum()
