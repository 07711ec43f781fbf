"""Sums that borders cut off: the points with all terms are apart, and every point has the terms it had."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.order.clipped import whole_terms_apart
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Map
from sdfgad.thresholds import thresholds
from tests.codegen.build_programs import F8, load, mapped, mul, program, span, store
from tests.support.oracle import check_same, numerical_gradient

I, D, N, TERMS = ix("i"), ix("d"), 40, 7


def gathered(start: Ix | int, stop: Ix | int, at: Ix = I - D, points: tuple[int, ...] = (N,)) -> Map:
    return mapped([span("i", *points), span("d", start, stop)],
                  store("t", ["i"], mul(load("k", "d"), load("y", at)), "+"))


def parts(stmt: Map) -> tuple[Map, ...]:
    """The maps in its place; they leave the same, to the bit."""
    before = program((stmt,), {"t": ((N,), F8), "k": ((N,), F8), "y": ((N + TERMS,), F8)}, {})
    made = whole_terms_apart(stmt)
    check_same(before, before.but(body=made), tolerance=0.0)
    return made


@pytest.mark.parametrize("stmt, whole", [
    (gathered(maximum(I - 33, 0), minimum(I + 1, TERMS)), (6, 34)),
    (gathered(0, minimum(I + 1, TERMS)), (6, N)),
    (gathered(maximum(I - 33, 0), TERMS, I - D + TERMS), (0, 34)),
    (gathered(maximum(-I + 6, 0), minimum(-I + N, TERMS), I + D), (6, 34)),
    (gathered(maximum(-I + 6, 0), minimum(-I + N, TERMS), I + D, (3, N - 1)), (6, 34)),
])
def test_points_with_all_terms(stmt: Map, whole: tuple[int, int]) -> None:
    found = [m for m in parts(stmt) if all(i.const is not None for r in m.domain for i in (r.start, r.stop))]
    assert [(m.domain[0].start.const, m.domain[0].stop.const) for m in found] == [whole]
    assert all(m.domain[1].trips == TERMS for m in found)


@pytest.mark.parametrize("stmt", [
    gathered(0, TERMS, I + D),
    gathered(0, minimum(I + 1, TERMS), points=(thresholds().whole_terms + 5,)),
    gathered(0, minimum(2 * I + 1, TERMS), I),
    gathered(0, minimum(I, N)),
], ids=["no borders", "few points", "two at a time", "a triangle"])
def test_what_stays_as_it_is(stmt: Map) -> None:
    assert parts(stmt) == (stmt,)


def test_transposed_convolution() -> None:
    """Borders of both sides, and what vectors leave over."""
    def smooth(x, k):
        y = np.zeros((3, x.shape[1] - 4))
        for d in range(5):
            y += k[d] * x[:, d:d + y.shape[1]]
        return np.sum(y ** 3)

    rng = np.random.default_rng(1)
    x, k = rng.random((3, 43)), rng.random(5)
    found = sdfgad.grad(smooth, wrt=("x", "k"))(x, k)
    np.testing.assert_allclose(found.x, numerical_gradient(smooth, [x, k]), rtol=1e-6)
    np.testing.assert_allclose(found.k, numerical_gradient(smooth, [x, k], 1), rtol=1e-6)
