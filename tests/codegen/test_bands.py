"""Neighbouring maps become one kernel over bands of rows only where rows that depend on each other stay together."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.footprint import scheduled
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Item, Kernel
from sdfgad.codegen.cpu.order.row_order import Rowed, in_rows, tied
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program, Stmt
from tests.codegen.build_programs import F8, add, agree, load, mapped, mul, num, program, span, store
from tests.support.thresholds import change

N = 24
ROW, COLUMN = span("i", N), span("j", N)
INNER = [span("i", 1, N - 1), span("j", 1, N - 1)]


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter takes its time for what is worth threads."""
    change(monkeypatch, parallel_work=512)


def build(*body: Stmt) -> Program:
    return program(body, {n: ((N, N), F8) for n in ("x", "y", "z")} | {"s": ((), F8)}, {})


def kernels(items: tuple[Item, ...]) -> Iterator[Kernel]:
    for item in items:
        if isinstance(item, Kernel):
            yield item
        elif isinstance(item, ControlFlow):
            for part in item.parts:
                yield from kernels(part)


def sizes(*body: Stmt) -> list[int]:
    """How many statements each kernel runs; native code leaves what the interpreter does."""
    before = build(*body)
    agree(before)
    return [len(k.origin) for k in kernels(scheduled(before).items)]


COPY = mapped([ROW, COLUMN], store("y", ["i", "j"], mul(load("x", "i", "j"), load("x", "i", "j"))))
STENCIL = mapped(INNER, store("z", ["i", "j"], add(load("x", ix("i") - 1, "j"), mul(load("x", ix("i") + 1, "j"),
                                                                                    load("y", "i", "j")))))
FIRST_ROW = mapped([COLUMN], store("z", [0, "j"], load("z", 1, "j")))
LAST_ROW = mapped([COLUMN], store("z", [N - 1, "j"], load("z", N - 2, "j")))
COLUMN_0 = mapped([ROW], store("z", ["i", 0], load("z", "i", 1)))
SHIFTED = mapped([span("k", 1, N), COLUMN], store("x", ["k", "j"], mul(load("z", "k", "j"), num(0.5))))
BEHIND = mapped([span("k", 1, N), COLUMN], store("y", ["k", "j"], load("z", ix("k") - 1, "j")))
SCALAR = mapped([], store("s", [], num(2.0)))
CLEARED = mapped([ROW], store("x", ["i", 1], num(0.0)))
FROM_CLEARED = mapped([ROW], store("z", ["i", 0], load("x", "i", 1)))
DOWN = mapped([ROW, COLUMN], store("y", [0, "j"], load("z", "i", "j"), "+"))


@pytest.mark.parametrize("body, expected", [
    ((COPY, STENCIL), [2]),
    ((COPY, STENCIL, FIRST_ROW, COLUMN_0, LAST_ROW), [5]),
    ((COLUMN_0, STENCIL), [2]),
    ((FIRST_ROW, COPY), [1]),
    ((COPY, SCALAR, STENCIL), [2]),
    ((Loop(span("t", 3), (COPY, STENCIL, COLUMN_0)),), [3]),
    ((STENCIL, CLEARED, COLUMN_0, FIRST_ROW), [3]),
    ((STENCIL, CLEARED, FROM_CLEARED, COLUMN_0), [1]),
    ((STENCIL, CLEARED, COLUMN_0, BEHIND), [2, 2]),
    ((STENCIL, BEHIND), [1, 1]),
    ((STENCIL, SHIFTED), [1, 1]),
    ((STENCIL, FIRST_ROW, BEHIND), [2, 1]),
], ids=["own rows", "with the border", "border first", "much in one row", "across a scalar", "in a loop",
        "past what waits", "not past what it needs", "past what waits and no further", "rows before", "overwritten",
        "until rows before"])
def test_one_kernel_for_maps_that_keep_to_their_rows(body: tuple[Stmt, ...], expected: list[int]) -> None:
    assert sizes(*body) == expected


def test_a_sum_over_the_rows_is_no_band() -> None:
    before = build(COPY, DOWN, STENCIL)
    agree(before)
    assert all(DOWN not in k.origin or len(k.origin) == 1 for k in kernels(scheduled(before).items))


def rowed(stmt: Map, alone: bool = True) -> Rowed:
    made = in_rows(stmt, Frame(build().arrays), {"z": (0, 0), "x": (0, 0), "y": (0, 0)}, "row", alone)
    assert made is not None
    return made


def test_rows_beside_the_border_stay_with_it() -> None:
    assert tied(rowed(STENCIL), rowed(FIRST_ROW)) == range(1, 2)
    assert tied(rowed(STENCIL), rowed(LAST_ROW)) == range(N - 1, N)
    assert tied(rowed(STENCIL), rowed(COLUMN_0)) == range(0)
    assert tied(rowed(STENCIL), rowed(BEHIND)) is None


def test_what_only_numbers_make_is_computed_once() -> None:
    half = mul(load("s"), num(0.25))
    first = mapped([ROW, COLUMN], store("y", ["i", "j"], mul(half, load("x", "i", "j"))))
    second = mapped([ROW, COLUMN], store("z", ["i", "j"], mul(mul(half, half), load("x", "i", "j"))))
    before = build(first, second)
    agree(before)
    made = scheduled(before)
    (kernel,) = kernels(made.items)
    assert {n for n in made.arrays if n.startswith("constant")} == {"constant", "constant_1"}
    assert [p.expr.args[0] for m in kernel.body if isinstance(m, Map) for p in m.body] == [
        load("constant"), load("constant_1")]


@pytest.mark.parametrize("var", ["row", "block"])
def test_loops_may_have_any_name(var: str) -> None:
    shift = mapped([ROW, COLUMN], store("y", ["i", "j"], mul(load("x", var, "j"), load("x", "i", "j"))))
    assert sizes(Loop(span(var, 3), (shift, STENCIL))) == [2]
