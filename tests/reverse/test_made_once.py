"""What is made again piece by piece: once for all that read it, before the loops that do."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.program import Block, Loop
from sdfgad.ir.walk import children, writes
from sdfgad.verbs.pipeline import Request, derive
from tests.support.interpreted import interpreted
from tests.support.oracle import numerical_gradient


def columns(u, k):
    """Coefficients in pieces, read in a loop over levels and outside of it, and made of what the loop behind
    overwrites."""
    u = u.copy()
    n = u.shape[0]
    p = np.zeros_like(u)
    for _ in range(2):
        a = np.zeros_like(u)
        a[1:] = k[1:] * u[1:] + k[:-1] * u[:-1]
        p[0] = u[0] / (2.0 + a[1])
        for j in range(1, n):
            p[j] = (u[j] - a[j] * p[j - 1]) / (2.0 + a[j])
        for j in range(n):
            u[j] = p[j] + 0.1 * u[j]
    return np.sum(u * u)


def sides(u, k):
    """Pieces made of pieces, read in one branch of each step, in a loop of the other one, and before both."""
    u = u.copy()
    n = u.shape[0]
    for t in range(3):
        b = np.zeros_like(u)
        b[1:] = 0.5 * k[1:] * u[:-1]
        a = np.zeros_like(u)
        a[:-1] = b[1:] + b[:-1]
        v = u * a
        if t % 2 == 0:
            v[0] = v[1] * a[0] * b[1]
        else:
            for j in range(1, n):
                v[j] = v[j] + np.sin(v[j - 1]) * a[j] * b[j]
        u = np.sin(v + u)
    return np.sum(u * u)


def until(u, k):
    """The loop that reads it runs as often as the data say, and may end early."""
    u = u.copy()
    n = u.shape[0]
    for _ in range(2):
        a = np.zeros_like(u)
        a[1:] = k[1:] * u[1:] + u[:-1]
        v = u * 1.0
        m = 0
        while v[0, 0] > 0.01:
            v[:] = 0.4 * v * v * a[n - 1 - m]
            v[0] = v[0] * a[1]
            m += 1
            if m == n - 1:
                break
        u = np.sin(u) + v
    return np.sum(u * u)


RNG = np.random.default_rng(3)
U, K = RNG.uniform(0.5, 1.0, (5, 2)), RNG.uniform(0.5, 1.0, (5, 2))


@pytest.mark.parametrize("fn", [columns, sides, until], ids=lambda f: f.__name__)
def test_gradients(fn):
    with interpreted():
        found = sdfgad.grad(fn, wrt=("u", "k"))(U, K)
    for name, position in (("u", 0), ("k", 1)):
        np.testing.assert_allclose(getattr(found, name), numerical_gradient(fn, [U, K], position), rtol=1e-6, atol=1e-7)


def test_a_loop_makes_nothing_again_that_stays():
    with sdfgad.config(target="reference"):
        found = derive(columns, bind(columns, (U, K), {}), Request(("u", "k")))
    assert any(i.array == "a" and i.again for i in found.made.kept), "it is not stored"
    made = [depth for name, depth in _written(found.program.body, 0) if name == "a"]
    assert made == [1] * 4, "two pieces in each step of either sweep, and none in the loop over levels"


def _written(block: Block, depth: int) -> Iterator[tuple[str, int]]:
    """Each array that a statement writes, and the loops around."""
    for stmt in block:
        for inner in children(stmt):
            yield from _written(inner, depth + isinstance(stmt, Loop))
        if not children(stmt):
            yield from ((name, depth) for name in writes(stmt))
