"""What indices show without a look at points is what all points show."""
from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sdfgad.analysis.sure_accesses import surely_inside, surely_separate
from sdfgad.ir.index import Ix, elem, ix, minimum, mod
from sdfgad.ir.layout import Packing
from sdfgad.ir.program import Array, Lib, Map, Range, Store, View, axis
from tests.support.build import F8, at, each, put, span

I, J = span("i", 0, 4), span("j", 0, 4)
X, Y, A = Array("x", (6,), F8), Array("y", (6,), F8), Array("A", (6, 6), F8)
ARRAYS = {a.name: a for a in (X, Y, A)}


def meets(stmt: Map, name: str) -> bool:
    """Whether two points of a map touch the same element in its only store."""
    seen = [tuple(i.evaluate(env) for i in stmt.body[-1].index) for env in points(stmt.domain)]
    return len(set(seen)) < len(seen)


def points(domain: tuple[Range, ...], env: dict[str, int] | None = None) -> list[dict[str, int]]:
    if not domain:
        return [env or {}]
    r, env = domain[0], env or {}
    return [p for k in range(r.start.evaluate(env), r.stop.evaluate(env), r.step)
            for p in points(domain[1:], {**env, r.var: k})]


def test_affine_indices_over_ranges_that_move_with_each_other() -> None:
    """Never sure of an index that leaves its array, or of points that meet; and sure of most others."""
    told = {"inside": [0, 0], "apart": [0, 0]}
    ends = [(0, 3, 1), (3, -1, -1), (1, 6, 2), (0, ix("i") + 1, 1), (5, "i", -2), (2, 2, 1)]
    indices = [ix("i"), ix("j"), ix("i") + 2, 5 - ix("j"), ix("i") + "j", 2 * ix("j") - 1, ix(5)]
    for (low, high, step), first, second in product(ends, indices, indices):
        domain = (span("i", 0, 3), Range("j", ix(low), ix(high), step))
        stmt = each(domain, put("A", (first, second), 1.0))
        here = [[i.evaluate(p) for i in (first, second)] for p in points(domain)]
        inside, apart = all(0 <= k < 6 for at in here for k in at), not meets(stmt, "A")
        assert inside or not surely_inside(stmt, (), ARRAYS), (domain, first, second)
        assert apart or not surely_separate(stmt), (domain, first, second)
        for name, true, sure in (("inside", inside, surely_inside(stmt, (), ARRAYS)),
                                 ("apart", apart, surely_separate(stmt))):
            told[name][0] += sure
            told[name][1] += true
    assert all(sure > 0.4 * true for sure, true in told.values()), told


@pytest.mark.parametrize("index", [elem("k", ("i",)), mod(ix("i"), 5), minimum(ix("i"), ix(7) - "i"), ix("t")])
def test_of_what_is_not_affine_or_known_nothing_is_sure(index: Ix) -> None:
    assert not surely_inside(each(I, put("x", (index,), 1.0)), (), ARRAYS)


def test_loops_around_count_and_packed_arrays_are_looked_at() -> None:
    stmt = each(I, put("x", (ix("i") + "t",), 1.0))
    assert surely_inside(stmt, (span("t", 0, 3),), ARRAYS) and not surely_inside(stmt, (span("t", 0, 4),), ARRAYS)
    packed = {**ARRAYS, "x": Array("x", (6,), F8, packing=Packing(((ix(0), ix(6)),)))}
    assert not surely_inside(stmt, (span("t", 0, 3),), packed)


@pytest.mark.parametrize("sure, body", [
    (True, [put("x", ("i",), at("x", "i"))]), (False, [put("x", ("i",), at("x", ix("i") + 1))]),
    (True, [put("x", (0,), 1.0, "+")]), (False, [put("x", (0,), 1.0)]),
    (False, [put("x", (0,), 1.0, "+"), put("y", ("i",), at("x", 0))]),
    (True, [put("x", ("i",), 1.0, "+"), put("y", ("i",), at("x", "i"))]),
    (False, [put("x", ("i",), 1.0), put("x", (ix("i") + 1,), 1.0)])])
def test_points_that_read_write_and_add(sure: bool, body: list[Store]) -> None:
    assert surely_separate(each(I, *body)) is sure


def test_operands_of_libraries() -> None:
    part = View("A", (ix(3), ix(3)), (ix(axis(0)) + 3, ix(axis(1))), F8)
    beyond = View("A", (ix(3), ix(3)), (ix(axis(0)) + 4, ix(axis(1))), F8)
    out = View("y", (ix(3),), (ix(axis(0)),), np.dtype(float))
    assert surely_inside(Lib("inv", (out,), (part,)), (), ARRAYS)
    assert not surely_inside(Lib("inv", (out,), (beyond,)), (), ARRAYS)
    assert surely_separate(Lib("inv", (out,), (part,))) and not surely_separate(Lib("inv", (part,), (part,)))
