"""Names that exchange their arrays in loops that data end: arguments among them, and arrays that others know."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

X = np.linspace(0.2, 1.4, 6)
Y = np.linspace(0.9, 0.3, 6)


def until_small(a, b):
    k = 0
    while np.sum(a) > 1.5 and k < 5:
        b[1:-1] = 0.45 * (a[:-2] + a[2:])
        a, b = b, a
        k += 1
    return np.sum(a * a * b)


def one_argument(a):
    b = np.zeros_like(a)
    change, k = 1.0, 0
    while change > 1e-2 and k < 7:
        b[1:-1] = 0.45 * (a[:-2] + a[2:])
        change = np.max(np.abs(a - b)[1:-1]) * 0.1
        a, b = b, a
        k += 1
    return np.sum(a * a) + np.sum(b)


def left_early(a, b):
    for _ in range(100):
        b[1:-1] = 0.45 * (a[:-2] + a[2:])
        if np.max(np.abs(a - b)[1:-1]) < 0.2:
            break
        a, b = b, a
    return np.sum(a * a * b)


def now_and_then(a, b):
    for _ in range(9):
        b[1:-1] = 0.5 * (a[:-2] + a[2:]) * b[1:-1]
        if np.sum(b) > 2.0:
            a, b = b, a
        a *= 0.95
    return np.sum(a * a * b)


def three_in_turn(a, b, c):
    k = 0
    while np.sum(a) > 1.0 and k < 4:
        c[1:-1] = 0.4 * (a[:-2] + a[2:]) + 0.1 * b[1:-1]
        a, b, c = b, c, a
        k += 1
    return np.sum(a * b + c * c)


def by_a_third_name(a):
    new = a.copy()
    k = 0
    while np.sum(a * a) > 0.1 and k < 20:
        new[1:-1] = a[1:-1] * a[:-2]
        old = a
        a = new
        new = old
        k += 1
    return a.sum() + np.sum(new * new)


def nested(a, b):
    for _ in range(3):
        k = 0
        while np.sum(a) > 0.5 and k < 3:
            b[1:-1] = 0.45 * (a[:-2] + a[2:])
            a, b = b, a
            k += 1
        a += 0.1 * b
    return np.sum(a * a * b)


def numbers_too(a, b):
    p, q, r, s = 1.0, 2.0, np.ones((2, 2)), np.full((2, 2), 3.0)
    while p * np.sum(a) < 30.0:
        b[:] = a * 1.1
        r *= 1.5
        a, b = b, a
        p, q = q, p
        r, s = s, r
        p *= 1.2
    return np.sum(a * b) * p * q + np.sum(r[0] * s[1] * s[1])


def in_a_function(u):
    def relaxed(a, b):
        for _ in range(7):
            if np.sum(a) < 2.0:
                break
            b[1:] = 0.7 * a[:-1]
            a, b = b, a
        return a

    v = np.ones_like(u)
    return np.sum(relaxed(u, v) ** 2) + np.sum(u * v)


def row_seen_later(a, b):
    first = a[:2]
    k = 0
    while np.sum(a) > 1.5 and k < 3:
        b[:] = 0.6 * a
        a, b = b, a
        k += 1
    return np.sum(first * a[:2]) + np.sum(b)


def fresh_every_time(a, b):
    k = 0
    while np.sum(a) > 2.0 and k < 6:
        k += 1
        shown = a[1:3]
        b[:] = 0.6 * a * np.sum(shown)
        b /= 1.5
        a, b = b, a
        if np.sum(a) > 3.0:
            a *= 0.5
    return np.sum(a * b)


PROGRAMS = [(until_small, 2), (one_argument, 1), (left_early, 2), (now_and_then, 2), (three_in_turn, 3),
            (by_a_third_name, 1), (nested, 2), (numbers_too, 2), (in_a_function, 1), (row_seen_later, 2),
            (fresh_every_time, 2)]


def arrays(count):
    return [X.copy(), Y.copy(), X * Y][:count]


@pytest.mark.parametrize(("program", "count"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
@pytest.mark.parametrize("scale", [1.0, 0.1, 1.7])
def test_values_and_what_becomes_of_the_arguments(program, count, scale):
    check(program, *(scale * a for a in arrays(count)))


@pytest.mark.parametrize(("program", "count"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_derivatives(program, count):
    sdfgad.check_grads(program, *arrays(count))


def test_the_derivative_of_what_an_argument_is_in_the_end():
    """Which of the two arguments holds what depends on how often they have changed places."""

    def updated(a, b, n):
        k = 0
        while k < n and np.sum(a) < 1e6:
            b[:] = a * a
            a, b = b, a
            k += 1

    for n in range(4):
        found = sdfgad.grad(updated, wrt="a", output="a", reduce="sum")(X.copy(), Y.copy(), n)
        power = {0: 1, 1: 1, 2: 4, 3: 4}[n]
        np.testing.assert_allclose(found, power * X ** (power - 1), rtol=1e-12)


def test_an_array_shown_by_another_name_is_refused():
    def shown(a, b):
        while np.sum(a) > 2.0:
            b[:] = 0.5 * a
            part = a[1:3]
            a, b = b, a
            a[0] = part[0]
        return np.sum(a)

    with pytest.raises(UnsupportedError, match=r"(?s)'part' shows too.*part = part.copy\(\)") as caught:
        parse(shown, (X, Y))
    assert caught.value.line == shown.__code__.co_firstlineno + 4


def test_reading_an_argument_by_its_other_name_is_refused():
    def known(a, b):
        same = a
        while np.sum(a) > 2.0:
            b[:] = 0.5 * a
            b[0] += same[1]
            a, b = b, a
        return np.sum(a)

    with pytest.raises(UnsupportedError):
        parse(known, (X, Y))


def test_a_name_bound_anew_as_well_is_refused():
    def anew(a, b):
        while np.sum(a) > 2.0:
            b[:] = 0.5 * a
            a, b = b, a
            if a[0] > 0.1:
                b = a
        return np.sum(a * b)

    with pytest.raises(UnsupportedError):
        parse(anew, (X, Y))


def returned_from_within(a, b):
    for k in range(70):
        b[1:] = 0.7 * a[:-1]
        if np.sum(b) < 1.0:
            return a
        a, b = b, a
    return b


def a_part_shown_before(a, b):
    v = a[1:4]
    k = 0
    while np.sum(a) > 1.0 and k < 5:
        b[:] = 0.6 * a
        a, b = b, a
        k += 1
    return np.sum(v) + v[0]


def updated_by_an_inner_function(a, b):
    def f():
        b[:] = 0.6 * a

    k = 0
    while np.sum(a) > 1.0 and k < 5:
        f()
        a, b = b, a
        k += 1
    return np.sum(a * a)


def kept_in_a_list(a, b):
    both = [a, b]
    k = 0
    while np.sum(a) > 1.0 and k < 5:
        b[:] = 0.6 * a
        a, b = b, a
        k += 1
    return np.sum(both[0]) + both[1][0]


def called_twice(a, b):
    def run(p, q):
        k = 0
        while np.sum(p) > 1.0 and k < 3:
            q[:] = 0.6 * p
            p, q = q, p
            k += 1

    run(a, b)
    run(b, a)
    return np.sum(a * a) + b[0]


def with_continue(a, b):
    for k in range(70):
        if a[k % 6] > b[k % 6]:
            continue
        b[1:] = 0.7 * a[:-1]
        a, b = b, a
        if np.sum(b) < 0.0:
            break
    return np.sum(a) + 2 * np.sum(b)


def a_sum_from_before(a, b):
    s = a + b
    k = 0
    while np.sum(a) > 1.0 and k < 3:
        b[:] = 0.6 * a + 0.1 * s
        t = a * 2
        a, b = b, a
        b += t
        k += 1
    return np.sum(s * a) + np.sum(t)


@pytest.mark.parametrize("program", [
    returned_from_within, a_part_shown_before, updated_by_an_inner_function, kept_in_a_list,
    called_twice, with_continue, a_sum_from_before])
def test_what_else_shows_the_arrays(program):
    check(program, X.copy(), Y.copy())


def test_orders_of_memory_may_differ():
    def run(a, b):
        k = 0
        while np.sum(a) > 0.1 and k < 3:
            b[:] = 0.6 * a
            a, b = b, a
            k += 1
        return a.ravel()

    check(run, np.asfortranarray(np.outer(X, Y)), np.outer(Y, X))
