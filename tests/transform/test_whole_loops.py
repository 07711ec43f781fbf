"""Loops whose arrays take turns are not taken apart into rows, where that moves fewer bytes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad.passes
from sdfgad.frontend import parse
from sdfgad.ir.program import Loop, Program, Range
from sdfgad.ir.walk import statements
from sdfgad.passes import optimise, prepare_program
from sdfgad.transform.rows import Limits, split_rows
from sdfgad.transform.whole_loops import loops_left_whole
from tests.support.oracle import check_same

N = 1000


def both(u: Any, v: Any, steps: int) -> Any:
    for _ in range(steps):
        a = u.copy()
        b = v.copy()
        u[1:-1, 1:-1] = a[1:-1, 1:-1] - 0.1 * a[1:-1, 1:-1] * (a[1:-1, 1:-1] - a[:-2, 1:-1]) \
            - 0.1 * b[1:-1, 1:-1] * (a[1:-1, 1:-1] - a[1:-1, :-2]) + 0.01 * (a[2:, 1:-1] + a[1:-1, 2:])
        v[1:-1, 1:-1] = b[1:-1, 1:-1] - 0.1 * a[1:-1, 1:-1] * (b[1:-1, 1:-1] - b[:-2, 1:-1]) \
            - 0.1 * b[1:-1, 1:-1] * (b[1:-1, 1:-1] - b[1:-1, :-2]) + 0.01 * (b[2:, 1:-1] + b[1:-1, 2:])
    return np.sum(u * u + v * v)


def no_copy(u: Any, v: Any, steps: int) -> Any:
    for _ in range(steps):
        a = u * v
        b = a + v
        u[1:-1, 1:-1] = 0.1 * a[1:-1, 1:-1] * b[1:-1, 1:-1]
        v[1:-1, 1:-1] = 0.1 * a[1:-1, :-2] * b[1:-1, 1:-1]
    return np.sum(u * u + v * v)


def prepared(fn: Callable[..., Any], n: int, steps: int) -> Program:
    return prepare_program(parse(fn, (np.ones((n, n)), np.ones((n, n)), steps)).program, ())


def parallel(program: Program) -> int:
    return sum(isinstance(s, Loop) and s.parallel for s in statements(program.body))


def test_rows_would_move_more(monkeypatch: pytest.MonkeyPatch) -> None:
    program = prepared(both, N, 6)
    made = optimise(program, ("total",))
    assert parallel(made) == 0 and any(isinstance(s, Loop) and s.range.step == 2 for s in made.body)
    monkeypatch.setattr(sdfgad.passes, "loops_left_whole", lambda *_: frozenset())
    assert parallel(optimise(program, ("total",))) > 0


@pytest.mark.parametrize(("fn", "n", "steps"), [(both, N, 3), (both, 64, 6), (no_copy, N, 6)],
                         ids=["few iterations", "small arrays", "no copy"])
def test_others_go_as_before(monkeypatch: pytest.MonkeyPatch, fn: Callable[..., Any], n: int, steps: int) -> None:
    program = prepared(fn, n, steps)
    made = optimise(program, ("total",))
    monkeypatch.setattr(sdfgad.passes, "loops_left_whole", lambda *_: frozenset())
    assert optimise(program, ("total",)) == made


def test_what_is_not_finished_with_fewer_bytes_is_taken_apart() -> None:
    program = prepared(both, N, 6)
    rows = split_rows(program, ("total",))
    assert parallel(rows) > 0
    assert loops_left_whole(program, rows, lambda p: p) == frozenset()


def test_a_loop_left_whole_keeps_its_body() -> None:
    program = prepared(both, 12, 4)
    limits = Limits(reuse=1, work=1, trips=2)
    ranges = {s.range for s in program.body if isinstance(s, Loop)}
    assert parallel(split_rows(program, ("total",), limits)) > 0
    for whole in (frozenset(ranges), frozenset[Range]()):
        made = split_rows(program, ("total",), limits, whole)
        assert (parallel(made) == 0) == bool(whole)
        check_same(program, made)
