"""What a mask selects stays in its array as long as nobody changes that; places stay as they are where all fit."""
import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.program import Loop
from sdfgad.ir.walk import statements
from sdfgad.verbs.pipeline import Request, derive
from tests.frontend.checking import check_both_modes
from tests.frontend.test_active_sets import results_at_their_places

X = np.linspace(0.35, 3.1, 7) ** 1.1


def base_updated_later(x):
    y = x * 1.0
    z = y[y > 1]
    y += 1
    return np.sum(z * z) + np.sum(y * y)


def selected_updated(x):
    y = x * 1.0
    z = y[y > 1]
    z += 1
    return np.sum(z * z) + np.sum(y * y)


def base_updated_in_the_next_iteration(x):
    y = x * 1.0
    w, s = y[y > 1], 0.0
    for _ in range(70):
        y *= 1.01
        s += np.sum(w * w)
        w = y[y < 5]
    return s + np.sum(w)


def an_element_updated_in_the_next_iteration(x):
    y = x * 1.0
    z, s = y, 0.0
    for _ in range(70):
        y[2] = y[2] * 1.01
        s += np.sum(z * z)
        z = z[z < 2.9]
    return s + np.sum(z) + np.sum(y * y)


def _grown(a, k):
    a += k
    return a[a < 3.0]


def by_a_function_that_updates(x):
    y, s = x * 1.0, 0.0
    for _ in range(66):
        z = _grown(y, 0.01)
        z *= 2
        s += np.sum(z * z)
    return s + np.sum(y)


def another_name_updated(x):
    z, s = x * 1.0, 0.0
    for _ in range(70):
        w = z
        z = z[z < 3]
        w += 0.01
        s += np.sum(z * z) + np.sum(w)
    return s


def exchanged(x):
    z, w, s = x * 1.0, x * 2.0, 0.0
    for _ in range(70):
        m = z + w < 6
        z, w = w[m], z[m] * 1.01
        s += np.sum(z)
    return s + np.sum(w * z)


def in_two_loops(x):
    z, s = x * 1.0, 0.0
    for _ in range(5):
        w = z[z < 2.5]
        for _ in range(66):
            w = w * 1.01
            v = w[w < 2.6]
            s += np.sum(v * v)
        z *= 1.05
        s += np.sum(w)
    return s


def on_one_way(x):
    z = x * 1.0
    for t in range(70):
        z = z[z < 3] if t % 3 == 0 else z * 1.01
    return np.sum(z * z)


def in_a_list(x):
    y, parts = x * 1.0, []
    for _ in range(3):
        parts.append(y[y > 1])
        y += 0.1
    return np.sum(parts[0]) + np.sum(parts[1] ** 2) + np.sum(parts[2] ** 3)


def columns_of_rows(x):
    p = np.stack((x, x * 2), axis=1)
    q = p[p[:, 1] > 2]
    r = q[:, 0]
    r += 1.0
    return np.sum(q * q) + np.sum(p) + np.sum(r ** 3)


def no_number_elsewhere(x):
    y = np.sqrt(x - 1.0)
    z = y[np.isfinite(y)]
    w = z * z
    z = z[w < 1.0]
    return np.sum(z ** 3) + np.sum(w)


def infinite_elsewhere(x):
    y = 1.0 / (x - x[2])
    z = y[np.abs(y) < 100]
    z = z[z > 0]
    t = z * 1.0
    t *= t
    return np.sum(t) + np.sum(1 / z)


def places_updated_later(x):
    n, sums, z = np.arange(len(x)) % 3, np.zeros(5), x * 1.0
    for t in range(70):
        z = z * 1.03
        m = z < 3
        sums[n[m]] += z[m]
        n[0] = t % 4
    return np.sum(sums ** 2)


def places_outside_elsewhere(x):
    after, s = np.array([1, 2, 9, 9, 5, 9, -1]), np.zeros(len(x))
    m = after < 7
    s[after[m]] = x[m] * 2
    return np.sum(s * np.arange(len(x)))


def counted_places_outside_elsewhere(x):
    after, s = np.arange(len(x)) + 1, np.zeros(len(x))
    m = after < 7
    s[after[m]] = x[m] * 2
    return np.sum(s * np.arange(len(x))) + np.sum(x[after[m]] ** 2)


def one_place_outside(x):
    p, s = np.zeros(len(x), dtype=np.int64), np.zeros(len(x))
    p[2] = 7
    m = p < 7
    s[p[m]] = x[m]
    return np.sum(s * s)


def places_never_stored_elsewhere(x):
    p, m, s = np.empty(len(x), dtype=np.int64), x > 1, x * 1.0
    p[m] = 3
    s[p[m]] += 1.0
    return np.sum(s * s) + np.sum(x[p[m]])


def places_stored_in_a_branch(x):
    p, s, m = np.empty(len(x), dtype=np.int64), np.zeros(len(x)), x > 1
    for i in range(len(x)):
        if x[i] > 1:
            p[i] = i
    s[p[m]] = x[m] * 3
    return np.sum(s * s * np.arange(len(x)))


def of_a_grid(x):
    i, j = np.indices((4, 3))
    i, j, z, a = i.ravel(), j.ravel(), np.ones(12), np.zeros((4, 3))
    for _ in range(70):
        z = z * x[i] * 0.9 + 0.05
        done = z > 1.5
        a[i[done], j[done]] = z[done]
        z, i, j = z[~done], i[~done], j[~done]
    return np.sum(a * a) + np.sum(z)


@pytest.mark.parametrize("fn", [
    base_updated_later, selected_updated, base_updated_in_the_next_iteration, an_element_updated_in_the_next_iteration,
    by_a_function_that_updates, another_name_updated, exchanged, in_two_loops, on_one_way, in_a_list, columns_of_rows,
    no_number_elsewhere, infinite_elsewhere, places_updated_later, places_outside_elsewhere,
    counted_places_outside_elsewhere, one_place_outside, places_never_stored_elsewhere, places_stored_in_a_branch,
    of_a_grid])
def test_both_modes(fn):
    with np.errstate(all="ignore"):
        check_both_modes(fn, (X,))


@pytest.mark.parametrize("fn", [results_at_their_places, of_a_grid])
def test_places_that_stay_need_no_loop_over_entries(fn):
    program = derive(fn, bind(fn, (X,), {}), Request(("x",), None, None)).program
    assert sum(isinstance(s, Loop) for s in statements(program.body)) <= 2  # the steps, both ways
    assert not any(a.dtype.kind == "i" and a.shape for a in program.arrays.values())


def test_compiled():
    value, gradient = sdfgad.value_and_grad(of_a_grid)(X)
    steps = 1e-6 * np.eye(len(X))
    np.testing.assert_allclose(value, of_a_grid(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, [(of_a_grid(X + h) - of_a_grid(X - h)) / 2e-6 for h in steps], rtol=1e-5,
                               atol=1e-5)
