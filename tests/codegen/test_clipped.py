"""Sums that borders cut off: the points with all terms are apart, and every point has the terms it had."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.order.clipped import whole_terms_apart
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Map, Range
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


@pytest.mark.parametrize("channels, count, whole", [((), 9, [[36, 3, 36, 3]]), (("c",), 3, [])])
def test_borders_of_both_axes(channels: tuple[str, ...], count: int, whole: list[list[int]]) -> None:
    """Corners, edges, and a middle of which all terms are numbers; along channels, which are last, rows are whole."""
    def of(point: Ix, term: str) -> list[Range]:
        return [span(next(iter(point.symbols)), N), span(term, maximum(point - 37, 0), minimum(point + 1, 3))]

    at, last = [ix(c) for c in channels], (4,) * len(channels)
    stmt = mapped([*of(I, "d"), *of(ix("j"), "e"), *(span(c, 4) for c in channels)],
                  store("t", ["i", "j", *at], mul(load("k", "d", "e"), load("y", I - D, ix("j") - ix("e"), *at)), "+"))
    before = program((stmt,), {"t": ((N, N, *last), F8), "k": ((3, 3), F8), "y": ((N, N, *last), F8)}, {})
    made = whole_terms_apart(stmt)
    check_same(before, before.but(body=made), tolerance=0.0)
    found = [m for m in made if all(i.const is not None for r in m.domain for i in (r.start, r.stop))]
    assert len(made) == count and [[r.trips for r in m.domain] for m in found] == whole


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


def test_transposed_convolution_of_channels() -> None:
    """The middle of an image is in register tiles."""
    def layer(x, w):
        y = np.zeros((2, 18, 18))
        for o in range(2):
            for i in range(2):
                for a in range(3):
                    for b in range(3):
                        y[o] += w[o, i, a, b] * x[i, a:a + 18, b:b + 18]
        return np.sum(y ** 2)

    rng = np.random.default_rng(2)
    x, w = rng.random((2, 20, 20)), rng.random((2, 2, 3, 3))
    found = sdfgad.grad(layer, wrt=("x", "w"))(x, w)
    np.testing.assert_allclose(found.x, numerical_gradient(layer, [x, w]), rtol=1e-5)
    np.testing.assert_allclose(found.w, numerical_gradient(layer, [x, w], 1), rtol=1e-5)
