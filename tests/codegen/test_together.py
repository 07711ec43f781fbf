"""A loop stays with one thread where its kernels pass on more lines than they save time; numbers never change."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.caches import LINE
from sdfgad.codegen.cpu.footprint import scheduled
from sdfgad.codegen.cpu.order import together
from sdfgad.codegen.cpu.order.handover import ALL, ANY, ONE, Facts, Holdings, Owner, Touched, apart, facts
from sdfgad.codegen.cpu.order.pieces import Extent, Group, Kernel, pieces
from sdfgad.ir.expr import Expr, call
from sdfgad.ir.index import Like, ix, minimum
from sdfgad.ir.program import Array, If, Loop, Map, Program, Range, Stmt
from tests.codegen.build_programs import (
    B1,
    F4,
    F8,
    I8,
    add,
    agree,
    compare,
    load,
    mapped,
    mul,
    num,
    program,
    span,
    store,
)
from tests.support.thresholds import change

N = 24
ROWS, COLUMNS = Owner("parts", 0, (6, 12, 18)), Owner("parts", 1, (6, 12, 18))


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter takes its time for what is worth threads."""
    change(monkeypatch, parallel_work=512)
    change(monkeypatch, lines_per_fork=8)


def build(*body: Stmt, dtype: np.dtype = F8, size: int = N) -> Program:
    return program(body, {n: ((size, size), dtype) for n in ("x", "y", "z")} | {"go": ((), B1), "n": ((), I8)}, {})


def kernels(made: Program) -> int:
    return sum(isinstance(p, Kernel) for p in pieces(scheduled(made).items))


def over(shared: str, target: str, value: Expr, size: int = N) -> Loop:
    """All elements of `target`, by rows of i or of j in parallel."""
    inner = span("j" if shared == "i" else "i", size)
    return replace(Loop(span(shared, size), (mapped([inner], store(target, ["i", "j"], value)),)), parallel=True)


def again(*body: Stmt, trips: Like = 3) -> Loop:
    return Loop(span("t", trips), body)


def light(source: str, dtype: np.dtype = F8) -> Expr:
    return mul(load(source, "i", "j", dtype=dtype), num(0.5, dtype))


def heavy(source: str) -> Expr:
    return call("exp", call("neg", call("exp", light(source))))


ACROSS = (over("i", "y", light("x")), over("j", "x", light("y")))
ALONG = (over("i", "y", light("x")), over("i", "x", light("y")))
BUSY = (over("i", "y", heavy("x")), over("j", "x", heavy("y")))
SUMS = Loop(span("k", 1, N), (mapped([span("i", N)], store("y", ["i", "k"], load("y", "i", ix("k") - 1), "+")),))
RIM = mapped([span("j", N)], store("y", [0, "j"], load("y", 1, "j")))


@pytest.mark.parametrize("body, count", [
    (ACROSS, 0), (ALONG, 2), (BUSY, 2), ((ALONG[0], SUMS, ALONG[1]), 0), ((ALONG[0], RIM, ALONG[1]), 2),
    ((over("j", "y", light("x")), over("j", "x", light("y"))), 2)],
    ids=["across", "along", "busy", "one thread between", "a rim between", "along columns"])
def test_lines_and_work_decide(body: Sequence[Stmt], count: int) -> None:
    made = build(again(*body))
    assert kernels(made) == count
    agree(made)


def test_what_runs_once_is_shared() -> None:
    made = build(*ACROSS)
    assert kernels(made) == 2
    agree(made)


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_trips(trips: int) -> None:
    made = build(again(*ACROSS, trips=trips))
    assert kernels(made) == 0
    agree(made)


def test_trips_that_data_know() -> None:
    made = build(again(*ACROSS, trips=ix(0) + minimum(3, N)), again(*ALONG, trips=2))
    assert kernels(made) == 2
    agree(made)


def test_only_the_loop_that_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    made = build(again(over("i", "z", heavy("z")), Loop(span("s", 2), ACROSS)))
    assert kernels(made) == 1
    agree(made)
    change(monkeypatch, lines_per_fork=1 << 20)
    assert kernels(made) == 3


def test_a_branch_inside() -> None:
    cond = compare("lt", load("x", 0, 0), num(2.0))
    made = build(again(If(cond, ACROSS, ALONG)))
    assert kernels(made) == 0
    agree(made)


def test_small_elements() -> None:
    body = (over("i", "y", light("x", F4)), over("j", "x", light("y", F4)))
    made = build(again(*body), dtype=F4)
    assert kernels(made) == 0
    agree(made, tolerance=1e-6)


@pytest.mark.parametrize("bytes_, count", [(2 * N * N * 8, 0), (2 * N * N * 8 - 1, 2), (N * N * 8 - 1, 2)])
def test_more_than_a_cache_is_in_memory_anyway(bytes_: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "NEAR_BYTES", bytes_)
    assert kernels(build(again(*ACROSS))) == count


def test_lines_cost_nothing_where_forks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, parallel_work=0)
    assert kernels(build(again(*ACROSS))) >= 2


@pytest.mark.parametrize("now, last, read, written", [
    (ONE, ONE, 0, 0), (ONE, ROWS, .5, .5), (ROWS, ONE, .5, .5), (ALL, ONE, 1, 1), (ONE, ALL, 0, .5), (ALL, ALL, 0, 0),
    (ROWS, ALL, 0, .5), (ALL, ROWS, .5, .5), (ROWS, ROWS, 0, 0), (ROWS, COLUMNS, .25, .25), (ANY, ANY, .25, .25),
    (ROWS, Owner("parts", 0, (7, 13, 19)), 1 / N, 1 / N), (ROWS, Owner("parts", 0, (18, 12, 6)), .25, .25)])
def test_waiting(now: Owner, last: Owner, read: float, written: float) -> None:
    assert (apart(now, last, False, N), apart(now, last, True, N)) == pytest.approx((read, written))


def touching(owner: Owner, read: float = 0, written: float = 0) -> Facts:
    return Facts(0.0, (Touched("x", owner, N, {(): LINE * read}, {(): LINE * written}),))


def test_lines_follow_who_changed_them() -> None:
    caches = Holdings()
    assert caches.run(touching(ROWS, written=100)) == 0
    assert caches.run(touching(ONE, read=10)) == 5  # a few of them leave the others where they are
    assert caches.run(touching(ROWS, read=100)) == 0
    assert caches.run(touching(COLUMNS, read=100)) == 25
    assert caches.run(touching(COLUMNS, read=100)) == 0
    assert caches.run(touching(ROWS, written=100)) == 25
    assert caches.run(touching(ONE, written=20)) == 10
    assert caches.run(touching(ROWS, read=100)) == pytest.approx(10)
    caches = Holdings()
    assert caches.run(touching(ROWS, written=100)) + caches.run(touching(ROWS, written=10)) == 0
    assert caches.run(touching(ONE, read=100)) == 50


def piece(stmt: Map, *shared: Range, arrays: dict[str, Array]) -> dict[tuple[str, str], tuple[float, Owner]]:
    """By array and kind of owner the bytes touched, and the owner."""
    made = Kernel(tuple(Extent(r, r.trips or 0) for r in shared), (stmt,), False, (stmt,))
    found = facts(made if shared else Group((stmt,)), arrays, {}).touched
    return {(t.array, t.owner.kind): (sum(t.bytes), t.owner) for t in found}


def test_facts_of_strips() -> None:
    arrays = {"x": Array("x", (200, 200), F8), "y": Array("y", (200, 200), F8), "c": Array("c", (200,), F8)}
    first = 16 * ix("s")
    stmt = mapped([span("k", 200), span("i", first, minimum(200, first + 16))],
                  store("y", ["k", "i"], add(load("x", "i", "k"), load("c", "k"))))
    found = piece(stmt, span("s", 13), arrays=arrays)
    assert found["y", "parts"] == (320000, Owner("parts", 1, (64, 112, 160)))
    assert found["x", "parts"] == (320000, Owner("parts", 0, (64, 112, 160)))
    assert found["c", "all"] == (1600, ALL)


def test_facts_of_lines() -> None:
    """A column takes a line for each element, a row as many as it fills, a stencil the same ones for all neighbours."""
    arrays = {"x": Array("x", (64, 64), F8), "y": Array("y", (64, 64), F8)}
    column = mapped([span("i", 64)], store("y", ["i", 0], load("x", 3, "i")))
    assert {k: v[0] for k, v in piece(column, arrays=arrays).items()} == {("y", "one"): 64 * 64, ("x", "one"): 512}
    stencil = mapped([span("j", 1, 63)], store("y", ["i", "j"], add(
        load("x", "i", ix("j") - 1), load("x", "i", ix("j") + 1))))
    assert piece(stencil, span("i", 64), arrays=arrays)["x", "parts"][0] == 64 * 62 * 8
