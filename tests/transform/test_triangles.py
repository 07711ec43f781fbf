"""Sums over triangles run over the triangle, and so does what only they read; the interpreter sees no difference."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import Call
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Program
from sdfgad.ir.walk import statements
from sdfgad.transform.sums.triangles import narrow_triangles
from tests.support.build import BOOL, F8, I8, at, each, lit, loop, one, position, program, put, span, view_of
from tests.support.oracle import check_same, program_gradient

N = 6
X = np.linspace(0.3, 2.1, N) ** 2
I, J = ix("i"), ix("j")
BOX = (span("i", 0, N), span("j", 0, N))


def asks(fn: str, left: Ix | int, right: Ix | int, dtype: np.dtype = I8) -> Term:
    return Term(Call(fn, (position(left, dtype).expr, position(right, dtype).expr), BOOL))


def isnt(condition: Term) -> Term:
    return Term(Call("not", (condition.expr,), BOOL))


ABOVE = asks("gt", J, I)
MAKE = each(BOX, put("t", ("i", "j"), at("x", "i") * at("x", "j") + 1.0))
TERM = at("t", "i", "j") * at("x", "j")


def summed(condition: Term = ABOVE, term: Term = TERM, other: float = 0.0, box: Any = BOX, op: str = "+") -> Map:
    return each(box, put("s", (), where(condition, term, lit(other)), op))


def made(*body: Any, shape: tuple[int, ...] = (N, N)) -> Program:
    return program({"x": X}, [one("s", (), lit(0.0)), *body], t=shape, u=(N, N), v=(N, N))


def narrowed(before: Program, seen: tuple[str, ...] = ("s",), long_row: int = 0) -> list[Map]:
    """The maps over two ranges after the pass, which must not change what is `seen`."""
    after = narrow_triangles(before.but(live_out=frozenset(seen)), long_row)
    kept = before.but(arguments=("x", *seen))
    start = {n: np.zeros(before.arrays[n].shape) for n in seen} | {"x": X}
    check_same(kept, after.but(arguments=kept.arguments), start, tolerance=1e-14)
    return [s for s in statements(after.body) if isinstance(s, Map) and len(s.domain) == 2]


def ragged(stmt: Map) -> bool:
    return any(r.start.symbols | r.stop.symbols for r in stmt.domain)


@pytest.mark.parametrize(("condition", "start", "stop"), [
    (ABOVE, I + 1, N), (asks("ge", J, I), I, N), (asks("lt", J, I), 0, I), (asks("le", J, I), 0, I + 1),
    (isnt(asks("le", J, I)), I + 1, N), (isnt(asks("ge", J, I)), 0, I), (asks("lt", I, J), I + 1, N),
    (asks("ge", ix(N - 1) - I, J), 0, ix(N) - I), (asks("gt", I + J, ix(N - 1)), ix(N) - I, N),
])
def test_sums_and_matrices_over_the_triangle(condition: Term, start: Any, stop: Any) -> None:
    make, add = narrowed(made(MAKE, summed(condition)))
    for stmt in (make, add):
        assert (stmt.domain[1].start, stmt.domain[1].stop) == (ix(start), ix(stop))


@pytest.mark.parametrize("condition", [
    asks("gt", J, I - 2), asks("gt", J, I + 1), asks("gt", J, I * 2), asks("gt", J, 2), asks("gt", J * 2, I),
    asks("gt", J, I * I), asks("eq", J, I), asks("gt", J, I, F8), isnt(isnt(ABOVE)), asks("gt", J, ix("k")),
], ids=["a row below the box", "a row above it", "leaves the box", "one index", "every second one", "curved",
        "diagonal", "compares floats", "twice not", "another variable"])
def test_other_conditions_are_left_alone(condition: Term) -> None:
    before = made(loop(span("k", 0, 2), MAKE, summed(condition)))
    assert not any(map(ragged, narrowed(before)))


@pytest.mark.parametrize("stmt", [
    summed(other=1.0), summed(op="*", other=1.0), each(BOX, put("u", ("i", "j"), where(ABOVE, TERM, lit(0.0)))),
    summed(term=at("t", "j", "i")), summed(term=at("t", "i", "j") * at("t", 0, 1)),
    each((span("i", 0, N), span("j", 1, N)), put("s", (), where(ABOVE, TERM, lit(0.0)), "+")),
    each((span("i", 0, N, 2), span("j", 0, N)), put("s", (), where(ABOVE, TERM, lit(0.0)), "+")),
    summed(term=at("x", "i") * at("x", "j")),
], ids=["something else outside", "a product", "no sum", "the other triangle", "two elements", "part of the box",
        "every second row", "no matrix"])
def test_other_sums_are_left_alone(stmt: Map) -> None:
    assert not any(map(ragged, narrowed(made(MAKE, stmt))))


def test_what_makes_the_matrices_is_narrowed_too() -> None:
    first = each(BOX, put("u", ("i", "j"), at("x", "j") - at("x", "i")))
    second = each((span("a", 0, N), span("b", 0, N)), put("t", ("a", "b"), at("u", "a", "b") * at("u", "a", "b")))
    found = narrowed(made(loop(span("k", 0, 3), first, second, summed())))
    assert [str(s.domain[1].start) for s in found] == ["i + 1", "a + 1", "i + 1"]


OTHER = each(BOX, put("s", (), at("t", "i", "j"), "+"))


@pytest.mark.parametrize("body", [
    [MAKE, summed(), OTHER], [MAKE, OTHER, summed()], [MAKE, each(BOX, put("t", ("i", "j"), 2.0)), summed()],
    [each(BOX, put("t", ("j", "i"), at("x", "i"))), summed()], [one("t", (0, 1), 1.0), summed()],
    [each(BOX, put("t", ("i", "j"), 1.0, "+")), summed()],
    [each(BOX, put("t", ("i", "j"), 1.0), put("u", ("i", "j"), 2.0)), summed()],
    [MAKE, loop(span("k", 0, 2), summed())], [loop(span("k", 0, 2), MAKE), summed()],
], ids=["read after", "read before", "made twice", "made across", "made in part", "added to", "made with another",
        "added up in a loop", "made in a loop"])
def test_matrices_that_others_use_stay_whole(body: list[Any]) -> None:
    assert not any(map(ragged, narrowed(made(*body))))


def test_what_others_read_of_a_chain_stays_whole() -> None:
    first = each(BOX, put("u", ("i", "j"), at("x", "j") - at("x", "i")))
    second = each(BOX, put("t", ("i", "j"), at("u", "i", "j") * 2.0))
    third = each(BOX, put("s", (), at("u", "i", "j"), "+"))
    assert [ragged(s) for s in narrowed(made(first, second, summed(), third))] == [False, True, True, False]


def test_not_what_somebody_wants() -> None:
    assert not any(map(ragged, narrowed(made(MAKE, summed()), ("s", "t"))))


def test_not_for_short_rows() -> None:
    assert any(map(ragged, narrowed(made(MAKE, summed()), long_row=2)))
    assert not any(map(ragged, narrowed(made(MAKE, summed()), long_row=3)))


@pytest.mark.parametrize("size", [2, 70])
def test_gradients(size: int) -> None:
    """At 70 the pipeline narrows; what lies outside the triangle is no number there."""
    box = (span("i", 0, size), span("j", 0, size))
    make = each(box, put("t", ("i", "j"), where(asks("gt", J, I), at("x", "i") / (at("x", "j") - at("x", "i")),
                                                lit(np.nan))))
    add = each(box, put("s", (), where(ABOVE, at("t", "i", "j") * at("t", "i", "j"), lit(0.0)), "+"))
    x = np.cumsum(np.linspace(0.3, 0.9, size))
    before = program({"x": x}, [one("s", (), lit(0.0)), make, add], t=(size, size))
    before = before.but(returns=view_of(before.arrays["s"]))
    value, grads = program_gradient(before, {"x": x}, ["x"])
    rows, columns = np.triu_indices(size, 1)
    gap = x[columns] - x[rows]
    np.testing.assert_allclose(value, np.sum((x[rows] / gap) ** 2), rtol=1e-12)
    expected = np.zeros(size)
    np.add.at(expected, rows, 2 * x[rows] / gap**2 + 2 * x[rows] ** 2 / gap**3)
    np.add.at(expected, columns, -2 * x[rows] ** 2 / gap**3)
    np.testing.assert_allclose(grads["x"], expected, rtol=1e-10)
