"""Copies of whole arrays in loops give way to exchanged names; nobody sees a difference."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.copies.double_buffer import double_buffer
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import rebuild, statements
from sdfgad.thresholds import TurnLimits
from tests.support.build import F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

N = 8
ALWAYS = TurnLimits(points=0, share=0, trips=2)
I, INNER = span("i", 0, N), span("i", 1, N - 1)
LEFT, RIGHT = ix("i") - 1, ix("i") + 1
COPY = each(I, put("y", ("i",), at("x", "i")))
STEP = each(INNER, put("x", ("i",), at("y", LEFT) * 0.5 + at("y", RIGHT) * at("b", "i")))
RIM = (one("x", (0,), at("x", 1)), one("x", (N - 1,), at("x", N - 2) * 2.0))
BACK = each(I, put("x", ("i",), at("y", "i")))
MAKE = each(INNER, put("y", ("i",), at("x", LEFT) * 0.5 + at("x", RIGHT) * at("b", "i")))
CLEAR = each(I, put("y", ("i",), 0.0))
ADD = each(I, put("b", ("i",), at("x", "i") + at("y", "i"), "+"))


def changed(*body: Stmt, keep: Sequence[str] = ("x", "y", "b"), limits: TurnLimits = ALWAYS,
            role: str = "argument") -> Program:
    """The program after the pass, which leaves the same in what is kept."""
    arrays = {n: Array(n, (N,), F8, "argument" if n == "b" else role) for n in ("x", "y", "b")}
    before = Program("p", arrays, tuple(n for n, a in arrays.items() if a.role == "argument"),
                     rebuild(body, lambda s: (replace(s),)))
    after = double_buffer(before.but(live_out=frozenset(keep)), limits)
    values = {n: np.random.default_rng(k).uniform(0.2, 0.8, N) for k, n in enumerate(before.arguments)}
    check_same(before, after, values, keep=[n for n in keep if n in before.arguments])
    assert len({id(s) for s in statements(after.body)}) == sum(1 for _ in statements(after.body))
    return after


def turns(program: Program) -> bool:
    """Whether a loop has lost its copy: it goes two by two."""
    return any(isinstance(s, Loop) and abs(s.range.step) == 2 for s in statements(program.body))


def boxes(program: Program) -> list[tuple[int | None, ...]]:
    """The sizes of what is copied in the loops."""
    return [tuple(r.trips for r in s.domain) for p in statements(program.body) if isinstance(p, Loop)
            for s in p.body if isinstance(s, Map) and isinstance(s.body[0], Store) and s.body[0].op is None
            and isinstance(s.body[0].expr, Load) and s.body[0].expr.array != s.body[0].array]


@pytest.mark.parametrize("trips", range(2, 8))
@pytest.mark.parametrize("step", [1, -1, 3])
def test_a_copy_first(trips: int, step: int) -> None:
    program = changed(loop(span("t", 2, 2 + trips * step, step), COPY, STEP, *RIM,
                           one("b", (1,), at("x", 1), "+")))
    loops = [s for s in program.body if isinstance(s, Loop)]
    assert loops[0].range.step == 2 * step and boxes(program) == [] and len(program.body) == 1 + 5 * (trips % 2)


def test_the_loop_counts_on() -> None:
    assert turns(changed(loop(span("t", 0, 7), COPY, STEP, *RIM, one("b", ("t",), at("x", 3)))))


@pytest.mark.parametrize("trips", [2, 5, 6])
def test_a_copy_last(trips: int) -> None:
    """The rim of what is copied is never made: it stays up to date by a copy of its own."""
    run = loop(span("t", 0, trips), MAKE, BACK)
    assert boxes(changed(CLEAR, run, CLEAR)) == [(1,)] * 4
    assert not turns(changed(CLEAR, run)), "y is read afterwards, and only the last copy has brought it up to date"
    assert turns(changed(CLEAR, run, keep=("x", "b")))
    assert turns(changed(CLEAR, loop(span("k", 0, 3), run, CLEAR), keep=("x", "b")))
    assert not turns(changed(CLEAR, loop(span("k", 0, 3), ADD, run), keep=("x", "b")))


def test_a_copy_in_between() -> None:
    assert turns(changed(loop(span("t", 0, 5), MAKE, one("y", (0,), 0.0), one("y", (N - 1,), at("b", 1)), BACK, *RIM),
                         keep=("x", "b")))


def test_elements_that_are_looked_at_first_are_copied() -> None:
    early = one("b", (3,), at("x", 3), "+")
    assert boxes(changed(loop(span("t", 0, 5), COPY, early, STEP, *RIM))) == [(1,), (1,)]
    assert boxes(changed(loop(span("t", 0, 5), COPY, STEP, RIM[0]))) == [(1,), (1,)]
    wide = each(span("i", 0, 4), put("b", ("i",), at("x", "i"), "+"))
    assert not turns(changed(loop(span("t", 0, 5), COPY, wide, STEP, *RIM)))


def test_two_pairs_take_turns_together() -> None:
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xyuv"}
    made = each(INNER, put("x", ("i",), at("y", LEFT) * 0.5 + at("v", RIGHT)))
    other = each(I, put("u", ("i",), at("v", "i") + at("x", "i")))
    for trips in (4, 5):
        run = loop(span("t", 0, trips), COPY, made, each(I, put("v", ("i",), at("u", "i"))), *RIM, other)
        before = Program("p", arrays, tuple(arrays), (run,))
        after = double_buffer(before.but(live_out=frozenset(tuple(arrays))), ALWAYS)
        check_same(before, after)
        assert turns(after) and boxes(after) == [(1,)] * 0


@pytest.mark.parametrize("body", [
    (loop(span("t", 0, 1), COPY, STEP, *RIM),),
    (loop(span("k", 0, 3), loop(span("t", 0, "k"), COPY, STEP, *RIM)),),
    (loop(span("t", 0, 4), each(span("i", 2, N - 1), put("y", ("i",), at("x", "i"))), STEP, *RIM),),
    (loop(span("t", 0, 4), each(I, put("y", ("i",), at("x", ix(N - 1) - "i"))), STEP, *RIM),),
    (loop(span("t", 0, 4), each(I, put("y", ("i",), at("x", "i"), "+")), STEP, *RIM),),
    (loop(span("t", 0, 4), when(at("b", 0).compare("gt", 0.5), (COPY,)), STEP, *RIM),),
    (loop(span("t", 0, 4), COPY, when(at("b", 0).compare("gt", 0.5), (STEP,)), *RIM),),
    (loop(span("t", 0, 4), COPY, loop(span("k", 0, "t"), STEP), *RIM),),
    (loop(span("t", 0, 4), COPY, each(span("i", 1, ix("t") + 2), put("x", ("i",), at("y", LEFT))), *RIM),),
    (loop(span("t", 0, 4), COPY, each(INNER, put("x", ("i",), at("y", "i"), "+"))),),
    (loop(span("t", 0, 4), COPY, ADD, STEP, *RIM),),
], ids=["one trip", "unknown trips", "part", "turned", "sum", "copy on condition", "made on condition",
        "made in a loop", "made in part", "changed in place", "looked at first"])
def test_what_needs_its_copy(body: tuple[Stmt, ...]) -> None:
    assert not turns(changed(*body))


def test_other_types_and_files_keep_their_copy() -> None:
    run = (loop(span("t", 0, 4), COPY, STEP, *RIM),)
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xyb"}
    for other in (Array("y", (N,), np.dtype("f4"), "argument"), Array("y", (N,), F8, "disk"),
                  Array("y", (N + 1,), F8, "argument")):
        program = Program("p", {**arrays, "y": other}, tuple(arrays), run)
        assert double_buffer(program.but(live_out=frozenset(tuple(arrays))), ALWAYS).body == program.body


def test_small_copies_stay() -> None:
    assert not turns(changed(loop(span("t", 0, 4), COPY, STEP, *RIM), limits=TurnLimits()))
    assert not turns(changed(loop(span("t", 0, 4), COPY, STEP, *RIM), limits=TurnLimits(points=0, share=0.6, trips=2)))
    few = TurnLimits(points=0, share=0, statements=3)
    assert not turns(changed(loop(span("t", 0, 4), COPY, STEP, *RIM), limits=few))


def _random(rng: np.random.Generator, depth: int = 0) -> tuple[Stmt, ...]:
    """Statements about two arrays that are copied, made and read in parts."""
    body: list[Stmt] = []
    for _ in range(rng.integers(2, 7)):
        x, y = ("x", "y") if rng.random() < 0.6 else ("y", "x")
        low, high = sorted(int(k) for k in rng.integers(0, N + 1, 2)) if rng.random() < 0.4 else (1, N - 1)
        inner = span("i", low, high)
        read: Ix = ix("i") if low == 0 or high == N else ix("i") + int(rng.integers(-1, 2))
        k, other = (int(p) for p in rng.integers(0, N, 2))
        choices: list[Stmt] = [
            each(I, put(y, ("i",), at(x, "i"))),
            each(inner, put(x, ("i",), at(y, read) * 0.5 + at("b", "i") * 0.25)),
            each(I, put(x, ("i",), at(y, "i") * 0.5 + 0.1)),
            each(inner, put(x, ("i",), at("b", "i") * 0.5)),
            one(x, (0,), at(x, 1)), one(x, (N - 1,), at(y, other)), one(x, (k,), at("b", k)),
            each(inner, put("b", ("i",), at(x, read) * 0.125, "+")),
            each(inner, put(x, ("i",), at("b", "i") * 0.5, "+")),
        ]
        if depth < 2:
            choices += [loop(span(f"t{depth}", 0, int(rng.integers(0, 6))), *_random(rng, depth + 1)),
                        when(at("b", k).compare("gt", 0.4), _random(rng, 2))]
        body.append(choices[rng.choice(len(choices), p=_weights(len(choices)))])
    return tuple(body)


def _weights(n: int) -> np.ndarray:
    weights = np.array([4.0, *[1.0] * (n - 1)])
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(300))
def test_random_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    run = loop(span("t", 0, int(rng.integers(2, 7))), *_random(rng, 1))
    around = (*_random(rng, 2), run, *_random(rng, 2))
    body = (loop(span("s", 0, 3), *around),) if rng.random() < 0.5 else around
    kept = [n for n in ("x", "y") if rng.random() < 0.5]
    changed(*body, keep=(*kept, "b"))


def test_random_loops_are_changed() -> None:
    """The programs above reach the pass."""
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found += turns(changed(loop(span("t", 0, 4), *_random(rng, 1)), keep=("b",)))
    assert found >= 5
