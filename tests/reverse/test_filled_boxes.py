"""Boxes that a block writes one after the other: one record, or one version, for what they fill together."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.verbs.pipeline import Request, derive
from tests.support.oracle import numerical_gradient

N, STEPS = 6, 3


def turned(x, y):
    for _ in range(STEPS):
        x[:] = np.roll(x * x * y, 2)
    return np.sum(x)


def turned_back(x, y):
    for _ in range(STEPS):
        after = x * x * y
        x[4:] = after[:2]
        y[:] = y * 0.5
        x[:4] = after[2:]
    return np.sum(x)


def looked_at_between(x, y):
    for _ in range(STEPS):
        x[:3] = x[:3] * y[:3]
        x[3:] = x[3:] * x[3:]
    return np.sum(x)


def read_by_the_first(x, y):
    for _ in range(STEPS):
        x[3:] = x[:3] * x[3:] * y[:3]
        x[:3] = y[3:]
        y[:] = np.sin(y)
    return np.sum(x)


def written_between(x, y):
    for _ in range(STEPS):
        y[:] = x * x
        x[:2] = y[:2]
        x[1:] = y[1:] * 0.5
        x[2:] = y[2:]
    return np.sum(x)


def not_a_box(x, y):
    for _ in range(STEPS):
        y[:] = x * x
        x[:2] = y[:2]
        x[4:] = y[4:]
    return np.sum(x)


@pytest.mark.parametrize(("f", "tapes"), [
    (turned, [N]), (turned_back, [N]), (looked_at_between, [3, 3]), (read_by_the_first, [N]),
    (written_between, [2, 5]), (not_a_box, [2, 2])])
def test_one_record_holds_what_fills_a_box_if_nobody_looks_meanwhile(f, tapes):
    x, y = np.linspace(0.3, 0.9, N), np.linspace(0.8, 0.4, N)
    made = derive(f, bind(f, (x, y), {}), Request(("x", "y")))
    kept = [i for i in made.plan.problem.items if i.name.startswith("x@")]
    assert [i.bytes for i in kept] == [8 * STEPS * n for n in tapes]
    grads = sdfgad.grad(f, wrt=("x", "y"))(x.copy(), y.copy())
    for k, name in enumerate(("x", "y")):
        np.testing.assert_allclose(grads[name], numerical_gradient(f, (x, y), k), rtol=1e-7, atol=1e-10)


def test_a_record_of_a_box_is_read_where_it_is():
    made = derive(turned, bind(turned, (np.ones(N), np.ones(N)), {}), Request(("x", "y")))
    assert [a.shape for n, a in made.program.arrays.items() if n.startswith("tape")] == [(STEPS, N)]


def local(x):
    total = 0.0
    for _ in range(STEPS):
        speed = np.empty(N)
        speed[1:] = np.sin(x[:-1])
        speed[0] = np.exp(x[-1])
        total += np.sum(np.exp(speed * speed * x))
        x[:] = x * 0.9
    return total


def left_over(x):
    speed = np.ones(N)
    total = 0.0
    for _ in range(STEPS):
        speed[1:3] = np.sin(x[:2])
        speed[3:] = x[3:] * 2.0
        total += np.sum(speed * speed * x)
        speed[0] = speed[0] * x[0]
    return total


@pytest.mark.parametrize(("f", "versions"), [(local, 1), (left_over, 0)])
def test_what_is_made_afresh_in_parts_has_versions(f, versions):
    x = np.linspace(0.3, 0.9, N)
    made = derive(f, bind(f, (x,), {}), Request(("x",)))
    assert sum(n.startswith("speed") and a.shape == (STEPS, N) for n, a in made.program.arrays.items()) == versions
    np.testing.assert_allclose(sdfgad.grad(f)(x.copy()), numerical_gradient(f, (x,)), rtol=1e-7, atol=1e-10)
