"""What kernels share is computed ahead of the loops in which nothing changes it, and no earlier."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.footprint import scheduled
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, pieces
from sdfgad.ir.expr import call
from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Loop, Program, Stmt
from sdfgad.ir.walk import writes
from tests.codegen.build_programs import F8, add, agree, compare, load, mapped, mul, num, program, span, store
from tests.support.thresholds import change

N = 24
FIXED = call("div", num(1.0), load("s"))
CHANGED = call("div", num(1.0), load("c"))


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, parallel_work=512)


def scaled(*factors: call) -> list[Stmt]:
    """Two maps that are one kernel."""
    value = load("x", "i", "j")
    for factor in factors:
        value = mul(value, factor)
    domain = [span("i", N), span("j", N)]
    return [mapped(domain, store("y", ["i", "j"], value)),
            mapped(domain, store("x", ["i", "j"], mul(add(load("y", "i", "j"), num(1.0)), value)))]


def build(*body: Stmt) -> Program:
    made = program(body, {n: ((N, N), F8) for n in ("x", "y")} | {"s": ((), F8), "c": ((), F8)})
    agree(made)
    return made


def constants(items: tuple[Item, ...]) -> list[str]:
    return [n for i in items if isinstance(i, Group) for s in i.body for n in sorted(writes(s)) if "constant" in n]


CHANGE = mapped([], store("c", [], mul(load("c"), num(1.5))))


def test_once_for_all_iterations_of_all_loops() -> None:
    inner = Loop(span("q", 3), tuple(scaled(FIXED)))
    items = scheduled(build(Loop(span("t", 2), (inner,)))).items
    assert len(constants(items)) == 1
    assert sum("constant" in n for p in pieces(items) if isinstance(p, Group) for s in p.body for n in writes(s)) == 1


def test_not_ahead_of_a_change() -> None:
    """Another one that is made of it stays as well."""
    outer = Loop(span("t", 3), (*scaled(FIXED, add(FIXED, CHANGED)), CHANGE))
    items = scheduled(build(outer)).items
    assert len(constants(items)) == 1
    loop = next(i for i in items if isinstance(i, ControlFlow))
    assert len(constants(loop.parts[0])) == 1


def test_ahead_of_the_inner_loop_alone() -> None:
    inner = Loop(span("q", 3), tuple(scaled(CHANGED)))
    items = scheduled(build(Loop(span("t", 2), (CHANGE, inner)))).items
    assert constants(items) == []
    assert len(constants(next(i for i in items if isinstance(i, ControlFlow)).parts[0])) == 1


def test_loops_of_the_program_stay() -> None:
    """Whatever they read is looked at inside."""
    sweep = Loop(span("k", 1, N), (mapped([], store("x", ["k", 0], load("x", ix("k") - 1, 0), "+")),))
    chosen = If(compare("lt", load("c"), num(0.0)), (mapped([], store("c", [], num(2.0))),), ())
    build(Loop(span("t", 3), (*scaled(FIXED), sweep, chosen, CHANGE)))


@pytest.mark.parametrize("trips", [0, 1])
def test_harmless_where_nothing_runs(trips: int) -> None:
    """Even a division by zero ahead of what never uses it."""
    branch = If(compare("lt", load("x", 0, 0), num(-1e9)), tuple(scaled(FIXED, call("div", num(1.0), num(0.0)))),
                tuple(scaled(FIXED)))
    build(Loop(span("t", ix(trips)), (branch,)))
