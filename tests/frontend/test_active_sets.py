"""Loops in which masks leave fewer and fewer of something: particles that go, roots that are found."""
import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.linspace(0.35, 3.1, 7) ** 1.1


def while_some_are_left(x):
    total, where, weight = 0.0, x * 1.0, np.ones(len(x))
    for _ in range(90):
        if where.size == 0:
            break
        where = where + 0.3 * np.sin(where) + 0.05
        weight = weight * np.exp(-0.1 * where)
        gone = where > 2.5
        total += np.sum(weight[gone] * where[gone])
        where, weight = where[~gone], weight[~gone]
    return total + np.sum(weight)


def results_at_their_places(x):
    z, places, found = x * 1.0, np.arange(len(x)), np.zeros(len(x))
    for k in range(70):
        z = z * z + 0.1
        done = z > 2
        found[places[done]] = z[done] * (k + 1)
        z, places = z[~done], places[~done]
    return np.sum(found * np.arange(len(x)))


def only_where_there_are_any(x):
    z, places, found = x * 1.0, np.arange(len(x)), np.zeros(len(x))
    for k in range(70):
        z = z * 1.1
        done = z > 4.0
        if done.any():
            found[places[done]] = z[done] ** 2 + k
            z = z[~done]
            places = places[~done]
    return np.sum(found * np.arange(len(x))) + np.sum(z)


def active_roots(x):
    y, active, count = np.ones(len(x)), np.arange(len(x)), 0
    while len(active) > 0 and count < 40:
        step = (y[active] ** 2 - x[active]) / (2 * y[active])
        y[active] -= step
        active = active[np.abs(step) > 1e-9]
        count += 1
    return np.sum(y * y * y) + count


def intervals_halved(x):
    low, high, active = np.zeros(len(x)), x + 1.0, np.arange(len(x))
    while len(active):
        middle = 0.5 * (low[active] + high[active])
        big = middle * middle > x[active]
        high[active[big]] = middle[big]
        low[active[~big]] = middle[~big]
        active = active[high[active] - low[active] > 0.1]
    return np.sum(low * high)


def places_first(x):
    y = x * 1.0
    todo = np.flatnonzero(y > 0.5)
    while todo.size > 0:
        y[todo] = y[todo] * 0.8
        todo = todo[y[todo] > 0.5]
    return np.sum(y ** 2)


def rows(x):
    p = np.stack((x, x * 2, x + 1), axis=1)
    gone = 0.0
    for _ in range(70):
        p = p * 1.02
        inside = p[:, 1] < 5.0
        gone += 0.1 * np.sum(p[~inside, 0])
        p = p[inside]
    return gone + np.sum(p[:, 2] * p[:, 0]) + len(p)


def changed_under_two_names(x):
    y = x * 1.0
    z, total = y, 0.0
    for _ in range(70):
        w = z
        z += 0.1
        total += np.sum(w)
        z = z[z < 3.0]
    return np.sum(y) + np.sum(z) + total


def one_and_the_same_part_before(x):
    z = x * 1.0
    old = z
    for _ in range(70):
        old, z = z, z * 1.03
        inside = z < 4
        z, old = z[inside], old[inside]
    return np.sum(z - old)


def of_two_kinds(x):
    a, b = x * 1.0, x * 2.0
    for _ in range(70):
        a, b = a * 1.01, b * 1.02
        a = a[a < 3.0]
        b = b[b < 3.0]
    return np.sum(a) * np.sum(b)


def without_the_largest(x):
    z, s = x * 1.0, 0.0
    while len(z) > 2:
        s = s + z.max() * np.mean(z)
        z = z[z < z.max()]
    return s


class Cloud:
    def __init__(self, z):
        self.z, self.places = z, np.arange(len(z))


def in_an_object(x):
    cloud, found = Cloud(x * 1.0), np.zeros(len(x))
    for t in range(70):
        cloud.z = cloud.z * 1.03
        done = cloud.z > 4.0
        found[cloud.places[done]] = cloud.z[done] * t
        cloud.z, cloud.places = cloud.z[~done], cloud.places[~done]
    return np.sum(found) + np.sum(cloud.z)


def in_a_tuple(x):
    def step(state):
        z, w = state
        z = z * 1.05
        kept = z < 4.0
        return z[kept], w[kept] * 0.9

    state = (x * 1.0, np.cos(x))
    for _ in range(70):
        state = step(state)
    return np.sum(state[0] * state[1])


def added_at_places(x):
    sums, z, n = np.zeros(5), x * 1.0, np.arange(len(x)) % 3
    for _ in range(70):
        z = z * 1.05
        sums[n] += z
        kept = z < 5.0
        z, n = z[kept], n[kept]
    return np.sum(sums ** 2)


def chosen_on_both_ways(x):
    if x[0] > 0.3:
        y = x[x > 1.0] * 2
    else:
        y = x[x < 1.0]
    y += 1.0
    return np.sum(y * y)


def _positive_or_not(x, c):
    if c > 1.0:
        return x[x > 1.0]
    return x[x < 1.0]


def returned_early(x):
    y = x * 1.0
    z = _positive_or_not(y, y[0] + y[1])
    z += 1.0
    return np.sum(z * z) + np.sum(y * y)


def _from_a_loop(x, c):
    for t in range(70):
        z = x * 1.0
        if c * t > 3:
            return z[z > 0.5]
    return x[x < 1.0]


def returned_from_a_loop(x):
    y, s = x * 1.0, 0.0
    for k in range(66):
        z = _from_a_loop(y, y[k % 2])
        z += 1.0
        s += np.sum(z * z)
    return s + np.sum(y * y)


PROGRAMS = (while_some_are_left, results_at_their_places, only_where_there_are_any, active_roots, intervals_halved,
            places_first, rows, changed_under_two_names, one_and_the_same_part_before, of_two_kinds,
            without_the_largest, in_an_object, in_a_tuple, added_at_places, chosen_on_both_ways,
            returned_early, returned_from_a_loop)


@pytest.mark.parametrize("fn", PROGRAMS)
def test_both_modes(fn):
    check_both_modes(fn, (X,))


def test_some_of_no_elements():
    check(while_some_are_left, np.zeros(0))


def test_the_way_that_is_not_taken():
    check_both_modes(chosen_on_both_ways, (X - 0.2,))


def test_compiled():
    for fn in (results_at_their_places, active_roots):
        value, gradient = sdfgad.value_and_grad(fn)(X)
        steps = 1e-6 * np.eye(len(X))
        np.testing.assert_allclose(value, fn(X), rtol=1e-12)
        np.testing.assert_allclose(gradient, [(fn(X + h) - fn(X - h)) / 2e-6 for h in steps], rtol=1e-5, atol=1e-5)


def test_one_mask_for_all_that_share_it():
    names = parse(results_at_their_places, (X,)).program.arrays
    assert sum(n.startswith(("z_", "places_")) for n in names) == 1  # numbers: places stay as they are


def stored_at_their_rows(x):
    a = np.outer(x, x - 1.0)
    i, _ = np.nonzero(a > 0.0)
    a[i, 0] = x[0] * 2
    return np.sum(a * a)


def bound_on_one_way(x):
    if x[0] > 0.3:
        y = x[x > 1.0]
    return np.sum(y * y)


def test_places_of_two_axes():
    check_both_modes(stored_at_their_rows, (X,))


def test_a_name_bound_on_one_way():
    check_both_modes(bound_on_one_way, (X,))
    with pytest.raises(UnboundLocalError, match="'y'"):
        sdfgad.grad(bound_on_one_way)(X - 0.2)


def joined(x):
    z = x * 1.0
    for _ in range(70):
        z = z[z * 1.1 < 4.0]
        z = np.concatenate((z, x))
    return np.sum(z)


def by_another_mask(x):
    places, found = np.arange(len(x)), np.zeros(len(x))
    found[places[x > 1.0]] = x[x > 2.0]
    return np.sum(found)


def a_condition_of_fewer(x):
    few = x[x > 1.0]
    return np.sum(x[few > 2.0])


@sdfgad.custom_jvp
def cubed(z):
    return z ** 3


cubed.defjvp(lambda primals, tangents: (cubed(primals[0]), 5.0 * primals[0] * tangents[0]))


def by_a_rule(x):
    return np.sum(cubed(x[x > 1.0]))


@pytest.mark.parametrize("fn, what", [
    (joined, "changes its shape"), (by_another_mask, "stored at places that another one selects"),
    (a_condition_of_fewer, "as a mask of something else"),
    (by_a_rule, "as an argument of 'cubed'")])
def test_refused(fn, what):
    with pytest.raises(UnsupportedError, match=what):
        sdfgad.grad(fn)(X)


@pytest.mark.parametrize("of", [lambda z: z.real, lambda z: z.imag, lambda z: z[1:], lambda z: z[::-1],
                                lambda z: z.real[1:]])
@pytest.mark.parametrize("first", [True, False])
def test_parts_of_what_a_mask_selects_that_numpy_shows(of, first):
    """`b = z.real; b += 1.0` changes z, too: refused where somebody could tell."""
    def f(z):
        z = z[z.real > 0.5]
        b = of(z)
        if first:
            b += 1.0
            return np.sum(z * z).real
        z += 1.0
        return np.sum(b).real

    with pytest.raises(UnsupportedError, match="shares memory with another array"):
        parse(f, (X + 1j,))


def test_parts_of_what_a_mask_selects_that_nobody_changes():
    def f(z):
        z = z[z.real > 0.5]
        a, b, c, d = z.real, z[1:], (z * 2).imag, z[z.imag > 0.3].real
        c += 1.0
        d *= 2.0
        return np.sum(a) * np.sum(b * b).real + np.sum(np.cumsum(c)) + np.sum(d) + np.sum(z).real

    check(f, X + 1j * X)
