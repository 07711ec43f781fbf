"""What a loop overwrites and the reverse sweep looks at before the loop alone has one record, where the loop begins."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.verbs.pipeline import Request, derive
from tests.support.oracle import numerical_gradient

N, STEPS = 6, 3


def first_guess(x, y):
    z = x * x
    r = z * y
    for _ in range(STEPS):
        z[:] = z + 0.5 * r
        r[:] = r * r
    return np.sum(z)


def in_parts(x, y):
    z = np.sin(x)
    r = z * z * y
    for _ in range(STEPS):
        z[:2] = z[2:4] + r[:2]
        z[3:] = 0.5 * z[3:] + r[3:]
    return np.sum(z * y)


def in_a_nest(x, y):
    z = np.sin(x)
    r = z * z * y
    for _ in range(STEPS):
        for j in range(1, N):
            z[j] = 0.5 * z[j] + z[j - 1] + r[j]
    return np.sum(z)


def within_a_loop(x, y):
    z = np.sin(x)
    for _ in range(2):
        z[:] = z * z * y
        for k in range(STEPS):
            z[:] = z + y * k
    return np.sum(z)


def looked_at_inside(x, y):
    z = np.sin(x)
    r = z * z * y
    for _ in range(STEPS):
        z[:] = z * z + r
    return np.sum(z)


def place_that_moves(x, y):
    z = np.sin(x)
    r = z * z * y
    p = np.zeros(1, dtype=np.int64)
    for k in range(STEPS):
        p[0] = (3 * k + p[0]) % N
        z[p[0]] = r[k] + 0.5 * z[p[0]]
    return np.sum(z * y)


def outside_at_the_rim(x, y):
    z = np.sin(x)
    s = 0.0
    for k in range(N):
        s = s + z[k] * z[k] * y[0]
        for _ in range(STEPS):
            if k > 0:
                z[k - 1] = y[k] + 0.5 * z[k - 1]
    return s + np.sum(z * y)


def triangle(x, y):
    z = np.sin(x)
    r = z * z * y
    for _ in range(STEPS):
        for j in range(N):
            for k in range(j):
                z[k] = 0.5 * z[k] + r[j]
    return np.sum(z)


@pytest.mark.parametrize(("f", "least"), [
    (first_guess, [N, STEPS * N]), (in_parts, [2, 3]), (in_a_nest, [N - 1]), (within_a_loop, [2 * N]),
    (looked_at_inside, [STEPS * N]), (place_that_moves, [STEPS, STEPS]), (outside_at_the_rim, [N - 1]),
    (triangle, [N - 1])])
def test_a_value_before_a_loop_is_recorded_once(f, least):
    x, y = np.linspace(0.3, 0.9, N), np.linspace(0.8, 0.4, N)
    made = derive(f, bind(f, (x, y), {}), Request(("x", "y")))
    kept = [i.bytes for i in made.plan.problem.items]
    assert sorted(kept) == [8 * n for n in least]
    grads = sdfgad.grad(f, wrt=("x", "y"))(x.copy(), y.copy())
    for k, name in enumerate(("x", "y")):
        expected = numerical_gradient(lambda *a: f(*(b.copy() for b in a)), (x, y), k)
        np.testing.assert_allclose(getattr(grads, name), expected, rtol=1e-7, atol=1e-9)


def until_it_is_small(x, y):
    z = x * x
    r = z * y
    while np.max(r) > 1e-3:
        z = z + 0.5 * r
        r = 0.25 * r
    return np.sum(z)


def test_nothing_grows_for_a_value_before_a_loop_of_unknown_length():
    x, y = np.linspace(0.3, 0.9, N), np.linspace(0.8, 0.4, N)
    made = derive(until_it_is_small, bind(until_it_is_small, (x, y), {}), Request(("x", "y")))
    assert not [a for a in made.program.arrays.values() if a.role == "tape"]
    grads = sdfgad.grad(until_it_is_small, wrt=("x", "y"))(x.copy(), y.copy())
    for k, name in enumerate(("x", "y")):
        expected = numerical_gradient(until_it_is_small, (x, y), k)
        np.testing.assert_allclose(getattr(grads, name), expected, rtol=1e-7, atol=1e-9)
