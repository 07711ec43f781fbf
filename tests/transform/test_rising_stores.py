"""Maps that store from the end are turned round, where that leaves fewer accesses that fall, and mean the same."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.joining.rising_stores import rising_stores
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Loop, Map, Program, Range
from sdfgad.transform.clearing.zeroing import fold_zeroing
from tests.codegen.build_programs import F8, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N = 7
I, T = ix("i"), ix("t")
SOME = Range("i", ix(0), T)
LAST = T - 1 - I


def inside(*body: Map) -> Program:
    return program([Loop(span("t", 1, N), body)], {"x": ((N,), F8), "y": ((N,), F8), "z": ((N,), F8)}, {})


def turned(stmt: Map) -> Map:
    before = inside(stmt)
    after = rising_stores(before)
    check_same(before, after)
    loop = after.body[0]
    assert isinstance(loop, Loop) and isinstance(loop.body[0], Map)
    return loop.body[0]


@pytest.mark.parametrize(("op", "value", "expected"), [
    ("+", load("y", I), load("y", LAST)), (None, load("y", LAST), load("y", I)),
    ("+", mul(load("y", I), load("z", I)), mul(load("y", LAST), load("z", LAST)))])
def test_stores_rise(op: str | None, value: object, expected: object):
    part = turned(mapped([SOME], store("x", (LAST,), value, op))).body[0]  # type: ignore[arg-type]
    assert part == store("x", (I,), expected, op)  # type: ignore[arg-type]


@pytest.mark.parametrize("stmt", [
    mapped([SOME], store("x", (I,), load("y", LAST), "+")),
    mapped([SOME], store("x", (LAST,), load("y", I) , "+"), store("z", (I,), load("y", I), "+")),
    mapped([SOME], store("x", (LAST,), mul(load("y", I), load("z", I)))),
    mapped([Range("i", ix(0), T, 2)], store("x", (LAST,), load("y", I), "+")),
], ids=["rising", "two stores", "more would fall", "every other one"])
def test_others_stay(stmt: Map):
    assert turned(stmt) == stmt


def test_other_ends():
    part = turned(mapped([Range("i", ix(2), T)], store("x", (T + 1 - I,), load("y", I), "+")))
    assert part == mapped([Range("i", ix(2), T)], store("x", (I,), load("y", T + 1 - I), "+"))


def test_ends_change_places():
    part = turned(mapped([Range("i", ix(2), T)], store("x", (LAST,), load("y", I), "+")))
    assert part == mapped([Range("i", ix(0), T - 2)], store("x", (I,), load("y", LAST), "+"))


def cleared(r: Range, index: Ix) -> Map:
    return mapped([r], store("x", (index,), num(0.0)))


@pytest.mark.parametrize(("r", "index", "met"), [
    (SOME, I, True), (SOME, LAST, True), (Range("i", ix(1), T + 1), I - 1, True),
    (Range("i", ix(0), T - 1), I, False), (Range("i", ix(0), T + 1), I, False), (SOME, I + 1, False),
    (span("i", N), I, False)])
def test_sums_of_what_was_cleared_between_the_same_ends_assign(r: Range, index: Ix, met: bool):
    """Ends need not be numbers, but the same."""
    before = inside(cleared(r, index), mapped([SOME], store("x", (LAST,), load("y", I), "+")))
    after = fold_zeroing(before.but(live_out=frozenset(("x", "y", "z"))))
    check_same(before, after)
    loop = after.body[0]
    assert isinstance(loop, Loop) and (len(loop.body) == 1) == met


def test_sums_over_other_points_stay():
    """Each element has to be added to once."""
    before = inside(cleared(SOME, I), mapped([SOME, span("k", 2)], store("x", (LAST,), load("y", I), "+")))
    assert fold_zeroing(before.but(live_out=frozenset(("x", "y", "z")))).body == before.body
