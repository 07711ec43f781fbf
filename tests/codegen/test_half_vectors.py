"""Sums along short rows use vectors of half the width where whole ones would leave more points over."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpp import Frame, Writer
from sdfgad.codegen.cpu.nests import half_vectors
from sdfgad.codegen.cpu.nests.emit import emit_map
from sdfgad.ir.expr import Expr
from sdfgad.ir.program import Map, Range
from tests.codegen.build_programs import F4, F8, I8, agree, load, mapped, mul, program, span, store

ROWS = 3


def pair(columns: Range, dtype: np.dtype = F8, work: int = half_vectors.LEAST_WORK) -> Map:
    """Sums along rows, and down columns, of the same terms, each of so many operations."""
    term: Expr = load("x", "i", "j", dtype=dtype)
    for _ in range(work):
        term = mul(term, load("u", "j", dtype=dtype))
    return mapped([span("i", ROWS), columns], store("y", ["i"], term, "+"), store("z", ["j"], term, "+"))


def shapes(points: int, dtype: np.dtype = F8) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    return {"x": ((ROWS, points), dtype), "u": ((points,), dtype), "y": ((ROWS,), dtype), "z": ((points,), dtype)}


def text_of(columns: Range, points: int, dtype: np.dtype = F8, work: int = half_vectors.LEAST_WORK) -> str:
    writer = Writer()
    emit_map(writer, Frame(program((), shapes(points, dtype)).arrays, {}), pair(columns, dtype, work))
    return writer.text


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_vectors, "vector_bytes", lambda: 64)


@pytest.mark.parametrize(("points", "halved"), [(3, False), (4, True), (7, True), (8, False), (99, False), (100, True),
                                                (252, True), (260, False)])
def test_where_half_a_vector_or_more_is_left_over(points: int, halved: bool) -> None:
    assert ("omp simd simdlen(4) reduction" in text_of(span("j", points), points)) == halved
    assert "omp simd" in text_of(span("j", points), points)


@pytest.mark.parametrize(("points", "shared"), [(2, False), (3, True)])
def test_one_or_two_terms_are_added_one_by_one(points: int, shared: bool) -> None:
    """At the border of a convolution, setting up lanes took longer than the sum."""
    assert ("omp simd" in text_of(span("j", points), points)) == shared


def test_single_precision_has_twice_the_points() -> None:
    assert "simdlen(8)" in text_of(span("j", 24), 24, F4)
    assert "simdlen" not in text_of(span("j", 20), 20, F4)


def test_rows_of_a_triangle() -> None:
    assert "simdlen(4)" in text_of(span("j", "i", 100), 100)
    assert "simdlen" not in text_of(span("j", "i", 400), 400)


def test_not_where_sums_would_wait_for_each_other() -> None:
    assert "simdlen" not in text_of(span("j", 100), 100, work=half_vectors.LEAST_WORK - 1)


def test_not_for_numbers_of_several_types_or_integers() -> None:
    assert "simdlen" not in text_of(span("j", 100), 100, I8)
    mixed = {**shapes(100), "n": ((100,), I8)}
    stmt = pair(span("j", 100))
    stmt = mapped(stmt.domain, *stmt.body, store("n", ["j"], load("n", "j", dtype=I8), "+"))
    writer = Writer()
    emit_map(writer, Frame(program((), mixed).arrays, {}), stmt)
    assert "simdlen" not in writer.text


def test_not_where_vectors_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_vectors, "vector_bytes", lambda: 32)
    assert "simdlen" not in text_of(span("j", 100), 100)


@pytest.mark.parametrize("dtype", [F8, F4])
@pytest.mark.parametrize("points", [4, 13, 100])
def test_the_sums_are_the_same(points: int, dtype: np.dtype) -> None:
    agree(program((pair(span("j", points), dtype),), shapes(points, dtype)), calls=1)
    agree(program((pair(span("j", "i", points), dtype),), shapes(points, dtype)), calls=1)
