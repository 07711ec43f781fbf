"""Loops are not taken apart into rows that save little of what whole arrays move."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
import sdfgad.codegen.cpu.schedule.stage
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.schedule.rows.rows import split_rows
from sdfgad.codegen.cpu.schedule.rows.whole_loops import loops_left_whole
from sdfgad.codegen.targets import CPU
from sdfgad.commands.subject import load_subject
from sdfgad.frontend import parse
from sdfgad.ir.program import Loop, Program, Range
from sdfgad.ir.walk import statements
from sdfgad.thresholds import RowLimits
from sdfgad.transform.stages import prepare_program
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


def in_rows(u: Any, v: Any, steps: int) -> Any:
    for _ in range(steps):
        a = u * v
        b = np.sum(a, axis=1)
        u[:] = np.sin(a) * b[:, None]
    return np.sum(u * u + v * v)


def sweeps(u: Any, v: Any, steps: int) -> Any:
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        for j in range(1, u.shape[0] - 1):
            v[j, 1:-1] = 0.3 * v[j - 1, 1:-1] + 0.2 * u[1:-1, j]
        for j in range(u.shape[0] - 2, 0, -1):
            u[j, 1:-1] = 0.4 * u[j + 1, 1:-1] + v[j, 1:-1]
    return np.sum(u * u)


def prepared(fn: Callable[..., Any], n: int, steps: int) -> Program:
    return prepare_program(parse(fn, (np.ones((n, n)), np.ones((n, n)), steps)).program, ())


def parallel(program: Program) -> int:
    return sum(isinstance(s, Loop) and s.parallel for s in statements(program.body))


def test_rows_would_move_more(monkeypatch: pytest.MonkeyPatch) -> None:
    program = prepared(both, N, 6)
    made = CPU.optimised(program.but(live_out=frozenset(("total",))))
    assert parallel(made) == 0 and any(isinstance(s, Loop) and s.range.step == 2 for s in made.body)
    monkeypatch.setattr(sdfgad.codegen.cpu.schedule.stage, "loops_left_whole", lambda *_: frozenset())
    assert parallel(CPU.optimised(program.but(live_out=frozenset(("total",))))) > 0


@pytest.mark.parametrize(("fn", "n", "steps"), [(both, 64, 6), (in_rows, N, 6), (sweeps, 400, 5)],
                         ids=["small arrays", "rows save", "sweeps"])
def test_others_go_as_before(monkeypatch: pytest.MonkeyPatch, fn: Callable[..., Any], n: int, steps: int) -> None:
    program = prepared(fn, n, steps)
    made = CPU.optimised(program.but(live_out=frozenset(("total",))))
    monkeypatch.setattr(sdfgad.codegen.cpu.schedule.stage, "loops_left_whole", lambda *_: frozenset())
    assert CPU.optimised(program.but(live_out=frozenset(("total",)))) == made


def test_rows_that_save_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear stencil back: clearing and adding, which rows bring together, becomes an assignment afterwards."""
    found = load_subject("npbench:heat_3d", sizes={"N": 100, "TSTEPS": 7}, preset="S", data=False)

    def rows() -> int:
        gradient = sdfgad.grad(found.program, wrt=found.wrt, output=found.output, reduce="sum")
        program = gradient._derivative(bind(gradient.fn, found.arguments, {}), False).program
        return sum(parallel(program.but(body=s.body)) for s in program.body if isinstance(s, Loop) and not s.parallel)

    assert rows() == 0
    monkeypatch.setattr(sdfgad.codegen.cpu.schedule.stage, "loops_left_whole", lambda *_: frozenset())
    assert rows() > 0


def test_what_is_not_finished_with_fewer_bytes_is_taken_apart() -> None:
    program = prepared(both, N, 6)
    rows = split_rows(program, ("total",))
    assert parallel(rows) > 0
    assert loops_left_whole(program, rows, lambda p: p) == frozenset()


def test_a_loop_left_whole_keeps_its_body() -> None:
    program = prepared(both, 12, 4)
    limits = RowLimits(reuse=1, work=1, trips=2)
    ranges = {s.range for s in program.body if isinstance(s, Loop)}
    assert parallel(split_rows(program, ("total",), limits)) > 0
    for whole in (frozenset(ranges), frozenset[Range]()):
        made = split_rows(program, ("total",), limits, whole)
        assert (parallel(made) == 0) == bool(whole)
        check_same(program, made)
