"""Functions that pick by rank or by place, indices of where a mask holds, flat walks, calls with arguments given
beforehand, imports inside of functions."""
import functools

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import A34, I6, V4, V6, Case, collector
from tests.support.interpreted import interpreted

CASES: list[Case] = []
case = collector(CASES)
LABELS = np.array([2, 0, 1, 0, 2, 2])
PARTLY = np.array([[0.5, np.nan, 2.0, np.nan], [1.5, -0.5, 0.25, np.nan], [np.nan, 4.0, 1.0, np.nan]])


@case(PARTLY, PARTLY[:, 0].copy(), V6, PARTLY.astype(np.float32))
def ranks_without_what_is_no_number(A, y, x, B):
    return [np.nanmedian(A), np.nanmedian(A, axis=0), np.nanmedian(A, axis=1, keepdims=True), np.nanmedian(y),
            np.nanmedian(x), np.nanquantile(A, 0.3, axis=1), np.nanquantile(x, [0.2, 0.7]), np.nanpercentile(A, 100),
            np.nanpercentile(A, 35, axis=0, keepdims=True), np.nanmedian(B, axis=1)]


@case(A34, V4, I6)
def put_and_choose(A, x, k):
    B, C = A.copy(), A.copy()
    np.put(B, [[1, -1], [5, 1]], [3.0, x[0] * 2])
    np.put(C.T[::2], [0, 2], x)
    return [B, C, np.choose(np.array([[0], [1]]), [x, 2 * x]), np.choose(k % 2, (1.0, V6))]


@case(A34, V4)
def running_sums_and_polynomials(A, x):
    return [np.cumulative_sum(A, axis=1, include_initial=True), np.cumulative_prod(x), np.poly(x),
            np.poly([1.0, 2.0]), np.cumulative_prod(A, axis=0, include_initial=True)]


@case(A34, V4)
def grids_and_indices(A, x):
    return [*np.meshgrid(x, A[0], A[:, 0], sparse=True), *np.meshgrid(x, A[:, 1], sparse=True, indexing="ij"),
            A[np.triu_indices_from(A, 1)], A[np.tril_indices_from(A)], A[:, :3][np.diag_indices_from(A[:, :3])]]


@case(A34, V6)
def of_what_is_known_outside(A, x):
    names, places = np.unique(LABELS, return_inverse=True)
    inside = np.intersect1d(LABELS, np.array([0, 2]))
    mean = np.bincount(LABELS, weights=x) / np.bincount(LABELS)
    return [names, places, mean, x[inside], x[np.setdiff1d(LABELS, [1])], [np.sum(x[LABELS == n]) for n in names],
            np.isin(x, x[:2]), np.isin(LABELS, [0, 1], invert=True), np.isin(A, x)]


@case(np.arange(24.0).reshape(2, 3, 4), V6)
def orders_and_axes(A, x):
    return [np.lexsort((x, LABELS)), np.lexsort((x, -x)), np.apply_over_axes(np.sum, A, [0, -1]),
            np.apply_over_axes(np.max, A, 1), A[0][:, :3][np.mask_indices(3, np.triu)],
            A[0][:, :3][np.mask_indices(3, np.tril, -1)]]


@case(A34, V6)
def iterated(A, x):
    y = A.copy()
    y.flat[2:5] = x[:3]
    y.flat[-1] += 2.0
    total = 0.0
    for k, v in enumerate(A.flat):
        y.flat[k] *= v
    for (i, j), v in np.ndenumerate(A):
        total += v * i - j
    for at, v in np.ndenumerate(x):
        total += v * x[at]
    return [y, A.flat[3], total, np.fromiter((v * v for v in x), float), np.fromiter((3 * v for v in x), int, count=2)]


@case(A34, V6)
def where_a_mask_holds(A, x):
    y, z = A.copy(), x.copy()
    places = np.where(A > 0.2)
    y[places] = y[places] * 2
    i, j = np.nonzero(A < 0)
    y[i, j] -= A[i, j] * 0.5
    k, = np.where(x > 0)
    z[k] *= 3
    z[np.flatnonzero(x < -0.5)] = 0
    mask = x > 0
    found = np.nonzero(mask)[0]
    mask[:] = False
    return [y, z, np.sum(x[found]), np.mean(x[k]), np.sum(A[np.where(A)])]


@case(V6)
def given_beforehand(x):
    def scaled(a, b, c):
        return a * b + c

    f = functools.partial(functools.partial(scaled, 2.0), c=x)
    total = functools.partial(np.sum, axis=0)
    step = functools.partial(lambda k, a, b: k * a + b, 0.5)
    table = {"f": f, "g": functools.partial(np.power, x)}
    return [f(x), total(x), functools.reduce(step, [x[0], x[1], x[2]]), table["f"](3.0), table["g"](2.0)]


@case(V6)
def imported_inside(x):
    import math
    from math import sqrt as root

    import numpy.linalg as la
    return [math.exp(x[0]), root(x[1] ** 2), la.norm(x)]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_same_as_numpy(fn, arguments):
    check(fn, *arguments)


def test_gradients():
    def all_of_them(x, A):
        y = A.copy()
        np.put(y, [1, 5], [3.0, x[0] * 2])
        y[np.where(A > 0.2)] *= 2
        return (np.nanmedian(A) * np.nanquantile(x, 0.3) + np.sum(np.choose([[0], [1]], [x, x * x])) + np.sum(y * y)
                + np.sum(np.cumulative_sum(x, include_initial=True) ** 2) + np.sum(np.poly(x[:3]) ** 2))

    sdfgad.check_grads(all_of_them, V6.copy(), A34.copy())


def test_infinite_elements():
    """Not a number is what is left out, an infinity is not."""
    def middle(x):
        return np.nanmedian(x)

    check(middle, np.array([1.0, np.inf, 2.0, np.nan, -np.inf, np.inf]))


def part_of_an_array(A):
    A[:, 1:].flat[2] = 1.0


def one_of_two_places(A):
    i, j = np.nonzero(A)
    return A[i]


def crossed_places(A):
    i, j = np.nonzero(A)
    return A[j, i]


def beyond(x):
    from .... import programs
    return programs.twice(x)


def missing(x):
    import sdfgad_of_another_world
    return sdfgad_of_another_world.f(x)


@pytest.mark.parametrize("fn, what", [
    (part_of_an_array, "'flat' of part of an array"),
    (one_of_two_places, "whose length depends on the data"), (crossed_places, "whose length depends on the data"),
    (beyond, "an import that fails: attempted relative import"),
    (missing, "an import that fails")], ids=lambda v: getattr(v, "__name__", ""))
def test_refused(fn, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(fn, (A34.copy(),))


@pytest.mark.parametrize("ufunc", [np.multiply, np.maximum, np.minimum], ids=lambda u: u.__name__)
def test_several_contributions_to_one_element(ufunc):
    k = np.array([2, 0, 1, 0, 2, 2])

    def gathered(x, A):
        y, Z, left, there = A[0, :3] + 1.0, A.T.copy(), np.ones(3), np.zeros(3, bool)
        ufunc.at(y, k, np.sin(x))
        ufunc.at(Z, (slice(None), k % 3), x[:4, None])
        ufunc.at(left, slice(1, 3), x[:2])
        ufunc.at(there, k, x > 0)
        return np.sum(y * y) + np.sum(Z * A.T) + left @ left + there.sum()

    check_both_modes(gathered, (V6, A34))


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
def test_extrema_of_all_elements_and_one_number(ufunc):
    def clipped(x, y):
        w, Z = x * y, x[:, None] * y
        ufunc.at(w, slice(None), 0.3)
        ufunc.at(Z, slice(None), y)
        return np.sum(w * w) + np.sum(Z * Z)

    check_both_modes(clipped, (np.array([0.1, 0.5, 0.9, 1.4]), np.array([0.3, 1.2, 0.7, 0.4])))


@pytest.mark.parametrize("dtype, gap", [("f4", 1e-4), ("f8", 1e-10)])
@pytest.mark.parametrize("ufunc, sign", [(np.maximum, 1), (np.minimum, -1)])
def test_what_was_there_wins_by_little(dtype, gap, ufunc, sign):
    k = np.array([0, 1, 1])

    def at(m, x):
        m = m * 1.0
        ufunc.at(m, k, np.sin(x))
        return np.sum(m)

    m = sign * np.array([1.0, 0.5, 7.0], dtype)
    x = sign * np.array([np.arcsin(1.0 - gap), 0.2, 0.9], dtype)
    with interpreted():
        found = sdfgad.grad(at)(m, x)
    np.testing.assert_array_equal(found.m, [1.0, 0.0, 1.0])
    np.testing.assert_allclose(found.x, [0.0, 0.0, np.cos(0.9)], rtol=1e-6)


def test_equal_numbers_share_what_an_element_gets():
    def largest(x):
        y = np.zeros(2)
        np.maximum.at(y, np.array([0, 0, 1]), x)
        return np.sum(y)

    assert np.sum(sdfgad.grad(largest)(np.array([1.0, 1.0, -1.0]))) == 1.0


def test_labels_that_change_between_calls():
    labels = np.array([0, 1, 1, 0])
    counted = sdfgad.forward(lambda x: np.bincount(labels, weights=x))
    np.testing.assert_array_equal(counted(V4), np.bincount(labels, weights=V4))
    labels[2] = 3
    np.testing.assert_array_equal(counted(V4), np.bincount(labels, weights=V4))
