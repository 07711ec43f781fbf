"""Copies in pieces become copies of whole arrays, where nobody sees a difference; then arrays take turns."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.copies.double_buffer import double_buffer
from sdfgad.ir.program import Array, Loop, Program, Stmt
from sdfgad.ir.walk import rebuild, statements
from sdfgad.thresholds import TurnLimits
from tests.support.build import F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

N = 16
ALWAYS = TurnLimits(points=0, share=0, trips=2)
I, INNER = span("i", 0, N), span("i", 1, N - 1)
MADE = each(INNER, put("y", ("i",), at("x", "i") * 0.5 + at("b", "i")))
FIRST, LAST = one("y", (0,), at("x", 1) * 0.5), one("y", (N - 1,), at("x", N - 2) * 0.25)
COPY = each(INNER, put("x", ("i",), at("y", "i")))
ADD_FIRST, ADD_LAST = one("x", (0,), at("y", 0), "+"), one("x", (N - 1,), at("y", N - 1), "+")
STEP = (MADE, FIRST, LAST, COPY, ADD_FIRST, ADD_LAST)
CLEAR = each(I, put("y", ("i",), 0.0))
LOOK = each(I, put("b", ("i",), at("y", "i"), "+"))


def changed(*body: Stmt, keep: Sequence[str] = ("x", "b"), length: int = N) -> Program:
    """The program after the pass, which leaves the same in what is kept."""
    arrays = {n: Array(n, (length if n == "y" else N,), F8, "argument") for n in ("x", "y", "b")}
    before = Program("p", arrays, tuple(arrays), rebuild(body, lambda s: (replace(s),)))
    after = double_buffer(before.but(live_out=frozenset(keep)), ALWAYS)
    values = {n: np.random.default_rng(k).uniform(0.2, 0.8, a.shape)
              for k, (n, a) in enumerate(arrays.items())}
    check_same(before, after, values, keep=list(keep))
    assert len({id(s) for s in statements(after.body)}) == sum(1 for _ in statements(after.body))
    return after


def turns(program: Program) -> bool:
    """Whether a loop goes two by two."""
    return any(isinstance(s, Loop) and s.range.step % 2 == 0 for s in statements(program.body))


@pytest.mark.parametrize("trips", range(2, 8))
@pytest.mark.parametrize("step", [1, -1, 3])
def test_a_copy_with_sums_at_its_rim(trips: int, step: int) -> None:
    assert turns(changed(loop(span("t", 2, 2 + trips * step, step), *STEP)))


def test_pieces_in_any_order_and_others_in_between() -> None:
    other = one("b", (2,), at("b", 3), "+")
    assert turns(changed(loop(span("t", 0, 5), MADE, FIRST, LAST, ADD_LAST, other, COPY, other, ADD_FIRST)))
    assert turns(changed(loop(span("t", 0, 5), COPY, ADD_FIRST, ADD_LAST, MADE, FIRST, LAST), keep=("x", "b")))


def test_what_is_not_copied_goes_there_and_back() -> None:
    assert turns(changed(loop(span("t", 0, 5), MADE, COPY)))
    assert turns(changed(loop(span("t", 0, 5), MADE, FIRST, COPY, ADD_FIRST)))
    assert turns(changed(loop(span("t", 0, 5), MADE, COPY, one("x", (0,), at("x", 3) * 0.5, "+"))))


def test_nothing_else_between_the_pieces_may_touch_the_arrays() -> None:
    for between in (one("b", (2,), at("x", 0)), one("b", (2,), at("y", 0)), one("x", (0,), 0.5), one("y", (0,), 0.5)):
        assert not turns(changed(loop(span("t", 0, 5), MADE, FIRST, LAST, COPY, between, ADD_FIRST, ADD_LAST)))


@pytest.mark.parametrize("body", [
    (MADE, LAST, COPY, ADD_FIRST, ADD_LAST),
    (MADE, FIRST, LAST, COPY, ADD_FIRST, ADD_LAST, LOOK),
    (LOOK, MADE, FIRST, LAST, COPY, ADD_FIRST, ADD_LAST),
    (MADE, one("y", (0,), at("x", 1), "+"), LAST, COPY, ADD_FIRST, ADD_LAST),
    (MADE, one("b", (0,), at("y", N - 1)), COPY),
    (*STEP, one("b", (0,), at("y", 0))),
    (MADE, FIRST, LAST, COPY, one("x", (1,), at("y", 1), "+"), ADD_FIRST, ADD_LAST),
    (MADE, FIRST, LAST, COPY, ADD_FIRST, ADD_FIRST, ADD_LAST),
    (MADE, FIRST, LAST, COPY, one("x", (0,), at("y", 0), "*"), ADD_LAST),
    (MADE, FIRST, LAST, COPY, one("x", (0,), at("y", N - 1), "+"), ADD_LAST),
    (MADE, FIRST, LAST, COPY, when(at("b", 1).compare("gt", 0.5), (ADD_FIRST,)), ADD_LAST),
    (MADE, when(at("b", 1).compare("gt", 0.5), (FIRST,)), LAST, COPY, ADD_FIRST, ADD_LAST),
    (MADE, FIRST, LAST, each(span("i", 3, N - 2), put("x", ("i",), at("y", "i"))), ADD_FIRST, ADD_LAST),
    (MADE, FIRST, LAST, each(I, put("x", ("i",), at("y", "i"), "+"))),
], ids=["never made afresh", "all looked at behind", "all looked at before", "made by a sum", "the rest looked at",
        "rim looked at", "twice", "added twice", "product", "from elsewhere", "on condition", "made on condition",
        "too much of a rim", "all added"])
def test_what_stays(body: tuple[Stmt, ...]) -> None:
    assert not turns(changed(loop(span("t", 0, 5), *body)))


def test_what_comes_after_the_loop() -> None:
    run = loop(span("t", 0, 5), *STEP)
    assert turns(changed(run, CLEAR, LOOK))
    assert not turns(changed(run, LOOK))
    assert not turns(changed(run, one("b", (0,), at("y", N - 1))))
    assert not turns(changed(run, keep=("x", "y", "b")))
    assert turns(changed(loop(span("s", 0, 3), run)))
    assert not turns(changed(loop(span("s", 0, 3), LOOK, run)))


def test_two_pairs_of_which_one_is_looked_at_afterwards() -> None:
    other = (each(I, put("v", ("i",), at("u", "i") * 0.5)), each(I, put("u", ("i",), at("v", "i"))))
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xybuv"}
    for look in (one("b", (0,), at("y", 0)), one("b", (0,), at("b", 1))):
        before = Program("p", arrays, tuple(arrays), (loop(span("t", 0, 4), *STEP, *other), look))
        after = double_buffer(before.but(live_out=frozenset(("x", "u", "b"))), ALWAYS)
        check_same(before, after, {n: np.random.default_rng(k).uniform(0.2, 0.8, N) for k, n in enumerate(arrays)},
                   keep=["x", "u", "b"])
        assert turns(after)


def test_arrays_that_are_not_alike() -> None:
    assert not turns(changed(loop(span("t", 0, 5), *STEP), length=N + 2))


def _random(rng: np.random.Generator) -> tuple[Stmt, ...]:
    """The step above with other bounds, other statements between its own, and some left out."""
    low, high = (int(k) for k in (rng.integers(0, 3), N - rng.integers(0, 3)))
    inner = span("i", low, high)
    k = int(rng.choice([0, 1, low, N - 1, 5]))
    body: list[Stmt] = [
        each(span("i", 1, N - 1), put("y", ("i",), at("x", "i") * 0.5 + at("b", "i") * 0.25)),
        *(one("y", (p,), at("x", 5) * 0.5) for p in (0, N - 1) if rng.random() < 0.8),
        each(inner, put("x", ("i",), at("y", "i"))),
        *(one("x", (p,), at("y", p), "+" if rng.random() < 0.8 else None) for p in (*range(low), *range(high, N))
          if rng.random() < 0.8)]
    for _ in range(rng.integers(0, 3)):
        x, y = ("x", "y") if rng.random() < 0.5 else ("y", "x")
        body.insert(int(rng.integers(0, len(body) + 1)), [
            one("b", (3,), at(x, k) * 0.125, "+"), one(x, (k,), at(y, 4)), one(x, (k,), at("b", 2), "+"),
            each(inner, put("b", ("i",), at(x, "i") * 0.125, "+"))][rng.integers(4)])
    return tuple(body)


@pytest.mark.parametrize("seed", range(200))
def test_random_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    run = loop(span("t", 0, int(rng.integers(2, 7))), *_random(rng))
    then = (one("b", (0,), at("y", int(rng.integers(0, N)))),) if rng.random() < 0.3 else ()
    changed(loop(span("s", 0, 2), run, *then) if rng.random() < 0.3 else run, *then,
            keep=("x", "b", "y") if rng.random() < 0.2 else ("x", "b"))


def test_random_loops_are_changed() -> None:
    """The programs above reach the pass."""
    assert sum(turns(changed(loop(span("t", 0, 4), *_random(np.random.default_rng(s))))) for s in range(100)) > 10
