"""Sums over triangles stay right when NaN or infinity lies where they do not look, and where they do."""
from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.program import Array, If, Lib, Program, Range
from sdfgad.ir.walk import statements
from sdfgad.thresholds import Thresholds, changed
from sdfgad.transform.products.contract import contract
from sdfgad.transform.products.masked_products import guard_masked_products
from sdfgad.transform.products.merge_products import merge_products
from tests.support.build import at, each, position, put, span
from tests.support.oracle import check_same
from tests.support.thresholds import change

WITHOUT = Thresholds(contracted_product=1 << 60)
N, M = 6, 10
"""For the interpreter."""
LARGE = 40
"""Large enough for a call of BLAS."""
I, J = position("i").expr.ix, position("j").expr.ix
TRIANGLES = {
    "left below": (span("i", 0, N), span("j", 0, M), span("k", 0, I + 1)),
    "left above": (span("i", 0, N), span("j", 0, M), span("k", I + 1, N)),
    "right below": (span("i", 0, N), span("j", 0, N), span("k", 0, J)),
    "right above": (span("i", 0, N), span("j", 0, N), span("k", J, N)),
    "both": (span("i", 0, N), span("k", 0, I + 1), span("j", 0, position("k").expr.ix + 1)),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("name", TRIANGLES)
def test_one_product(name: str, value: float, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, contracted_product=1, contracted_extent=1)
    kind = np.dtype(dtype)
    ranges: tuple[Range, ...] = TRIANGLES[name]
    product = at("A", "i", "k", dtype=kind) * at("B", "k", "j", dtype=kind)
    arrays = {n: Array(n, s, kind, "argument") for n, s in {"A": (N, N), "B": (N, M), "C": (N, M)}.items()}
    p = Program("p", arrays, tuple(arrays), (each(ranges, put("C", ("i", "j"), product, "+")),))
    after = guard_masked_products(merge_products(contract(p)))
    assert sum(isinstance(s, Lib) for s in statements(after.body)) == 1
    rng = np.random.default_rng(2)
    for array in ("A", "B"):
        for place in ((0, 0), (2, 3), (3, 2), (N - 1, N - 1), (N - 1, 0)):
            start = {n: rng.standard_normal(a.shape).astype(kind) for n, a in arrays.items()}
            start[array][place] = value
            check_same(p, after, start, tolerance=1e-5)


@pytest.mark.parametrize("array", ["A", "D", "B"])
@pytest.mark.parametrize("low", [0, 1])
def test_merged_products(array: str, low: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two triangles with a factor in common, over the same rows and over neighbouring ones."""
    change(monkeypatch, contracted_product=1, contracted_extent=1)
    shapes = {"A": (N, N), "D": (N, N), "B": (N, M), "C": (N, M)}
    arrays = {n: Array(n, s, np.dtype("f8"), "argument") for n, s in shapes.items()}
    below = (span("i", low, N), span("j", 0, M), span("k", 0, I))
    above = (span("i", 0, N - low), span("j", 0, M), span("k", I + 1, N))
    p = Program("p", arrays, tuple(arrays), (
        each(below, put("C", ("i", "j"), at("A", "i", "k") * at("B", "k", "j"), "+")),
        each(above, put("C", ("i", "j"), at("D", "k", "i") * at("B", "k", "j"), "+"))))
    after = guard_masked_products(merge_products(contract(p)))
    assert sum(isinstance(s, Lib) for s in statements(after.body)) == 1
    assert any(isinstance(s, If) for s in after.body)
    rng = np.random.default_rng(2)
    for value in (np.inf, np.nan):
        for place in ((0, 0), (2, 3), (3, 2), (N - 1, N - 1)):
            start = {n: rng.standard_normal(s) for n, s in shapes.items()}
            start[array][place] = value
            check_same(p, after, start, tolerance=1e-5)


def trmm(a: Any, b: Any) -> Any:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1:, i] @ b[i + 1:, j]
    return np.sum(b * b)


def syrk(a: Any, c: Any) -> Any:
    for i in range(a.shape[0]):
        c[i, :i + 1] *= 0.5
        for k in range(a.shape[1]):
            c[i, :i + 1] += a[i, k] * a[:i + 1, k]
    return np.sum(c * c)


def symm(a: Any, b: Any, c: Any) -> Any:
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += b[i, j] * a[i, :i]
            c[i, j] += b[:i, j] @ a[i, :i]
    return np.sum(c * c)


def _derivatives(fn: Callable[..., Any]) -> Callable[..., list[np.ndarray]]:
    """The gradient and the tangent in one list, made at the first call."""
    own = FunctionType(fn.__code__, fn.__globals__, fn.__name__)
    gradient = sdfgad.grad(own)

    def call(arrays: list[np.ndarray]) -> list[np.ndarray]:
        found = gradient(*(x.copy() for x in arrays))
        _, slope = sdfgad.jvp(own, tuple(x.copy() for x in arrays), tuple(np.ones_like(x) for x in arrays))
        return [*found, np.asarray(slope)]

    return call


@pytest.mark.parametrize("fn, count, dtype", [(trmm, 2, "f8"), (trmm, 2, "f4"), (syrk, 2, "f8"), (symm, 3, "f8")])
def test_compiled(fn: Callable[..., Any], count: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient and the tangent against those of a program without products."""
    rng = np.random.default_rng(5)
    products, loops = _derivatives(fn), _derivatives(fn)
    for array in range(count):
        for place in ((3, 7), (7, 3), (LARGE - 1, 0), (0, LARGE - 1)):
            start = [rng.standard_normal((LARGE, LARGE)).astype(dtype) for _ in range(count)]
            start[array][place] = np.inf
            with changed(WITHOUT):
                expected = loops(start)
            for threads in ("1", "2"):
                monkeypatch.setenv("SDFGAD_NUM_THREADS", threads)
                for x, y in zip(products(start), expected, strict=True):
                    finite = np.isfinite(y)
                    np.testing.assert_array_equal(np.isfinite(x), finite)
                    np.testing.assert_allclose(x[finite], y[finite], rtol=1e-2, atol=1e-2)
