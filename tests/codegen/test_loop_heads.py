"""Small maps at the head of a loop go with the last kernel of the iteration before, but for the first and last time."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.footprint import scheduled
from sdfgad.codegen.cpu.order import together
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Kernel
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Range, Stmt
from tests.codegen.build_programs import F8, add, agree, load, mapped, mul, num, program, span, store
from tests.support.thresholds import change

N = 24
ROW, COLUMN = span("i", N), span("j", N)
INNER = [span("i", 1, N - 1), COLUMN]


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, parallel_work=512)


SIDE = mapped([ROW], store("z", ["i", 1], mul(load("z", "i", 0), num(0.5)), "+"), store("z", ["i", 0], num(0.0)))
TOP = mapped([COLUMN], store("z", [1, "j"], mul(load("z", 0, "j"), num(0.5)), "+"), store("z", [0, "j"], num(0.0)))
THERE = mapped(INNER, store("y", ["i", "j"], add(load("z", ix("i") - 1, "j"), load("z", ix("i") + 1, "j"))))
BACK = mapped(INNER, store("z", ["i", "j"], mul(add(load("y", ix("i") - 1, "j"), load("x", "i", "j")), num(0.25))))
LATER = mapped([ROW], store("z", ["i", 1], load("x", "i", "t"), "+"))


def pieces(steps: Range, *body: Stmt) -> tuple[list[type], list[type]]:
    """What the loop is made of, and what the program is; native code leaves what the interpreter does."""
    before = program((Loop(steps, body),), {n: ((N, N), F8) for n in ("x", "y", "z")}, {})
    agree(before)
    items = scheduled(before).items
    (region,) = (i for i in items if isinstance(i, ControlFlow))
    return [type(i) for i in region.parts[0]], [type(i) for i in items]


@pytest.mark.parametrize("steps", [span("t", 2), span("t", 7), span("t", 9, 0, step=-2), span("t", 9, -1, step=-1),
                                   span("t", 1, 9, step=3)])
@pytest.mark.parametrize("head", [(SIDE,), (TOP, SIDE), (LATER,)], ids=["one", "two", "of the step"])
def test_the_head_goes_with_the_last_kernel(steps: Range, head: tuple[Stmt, ...]) -> None:
    assert pieces(steps, *head, THERE, BACK) == ([Kernel, Kernel], [Group, ControlFlow])


@pytest.mark.parametrize("steps", [span("t", 1), span("t", 0)])
def test_no_step_comes_after(steps: Range) -> None:
    assert pieces(steps, SIDE, THERE, BACK)[0] == [Group, Kernel, Kernel]


def test_not_past_rows_that_it_has_to_wait_for() -> None:
    turned = mapped([ROW], store("z", ["i", 1], load("z", 1, "i"), "+"))
    assert pieces(span("t", 3), turned, THERE, BACK)[0][0] is Group


def test_one_thread_runs_what_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that stays with one thread after all has its head where it was moved to."""
    monkeypatch.setattr(together._Settler, "loses", lambda *_: True)
    before = program((Loop(span("t", 5), (TOP, SIDE, THERE, BACK)),), {n: ((N, N), F8) for n in ("x", "y", "z")}, {})
    agree(before)
    assert not any(isinstance(i, ControlFlow) for i in scheduled(before).items)
