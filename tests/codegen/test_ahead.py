"""What the next iteration turns is asked for while this one computes, each line once, and values stay what they are."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.ahead import FAR, Ahead, plan_ahead
from sdfgad.ir.index import Ix, ix, minimum
from sdfgad.ir.program import Loop, Map, Program, Range, Stmt
from tests.codegen.build_programs import F8, add, agree, load, mapped, mul, num, program, span, store

I, J, K = 40, 64, 64
SHAPE = (I + 1, J, K)
PLANES = span("i", 0, I)


def turn_in(plane: Ix | str = "i", name: str = "x", to: str = "t", width: int = 8) -> Map:
    return mapped([span("k", K), span("j", width)], store(to, ["k", "j"], load(name, plane, "j", "k")))


def turn_out(plane: Ix | str = "i", name: str = "y", source: str = "t", width: int = 8) -> Map:
    return mapped([span("k", K), span("j", width)], store(name, [plane, "j", "k"], load(source, "k", "j")))


def sweep(hosts: Range | None = None) -> Loop:
    """t[k, j] += t[k - 1, j] / 2"""
    r = hosts or span("m", 1, K)
    back = ix(r.var) - r.step
    return Loop(r, (mapped([span("j", 8)], store("t", [r.var, "j"], mul(load("t", back, "j"), num(0.5)), "+")),))


def build(*body: Stmt, around: Range = PLANES, shape: tuple[int, ...] = SHAPE) -> Program:
    return program([Loop(around, body)], {"x": (shape, F8), "y": (shape, F8)}, {"t": ((K, 8), F8), "u": ((K, 8), F8)})


def asked(*body: Stmt, around: Range = PLANES, shape: tuple[int, ...] = SHAPE) -> list[list[Ahead]]:
    """What each loop of the body asks for."""
    made = build(*body, around=around, shape=shape)
    found = plan_ahead(Frame(made.arrays).inside([around]), around, body)
    return [list(found.get(k, ())) for k, s in enumerate(body) if isinstance(s, Loop)]


def described(ahead: Sequence[Ahead]) -> list[tuple[str, int, bool, int]]:
    return [(a.box.array, a.box.by, a.box.written, a.each) for a in ahead]


def test_what_copies_touch_is_asked_for():
    found, = asked(turn_in(), sweep(), turn_out())
    assert described(found) == [("x", J * K, False, 1), ("y", J * K, True, 1)]
    assert [(a.box.rows, a.box.lines, a.box.step) for a in found] == [(8, 8, K)] * 2


def test_loops_share_the_work():
    first, second = asked(turn_in(), sweep(), sweep(span("m", K - 2, -1, step=-1)), turn_out())
    assert described([*first, *second]) == [("x", J * K, False, 1), ("y", J * K, True, 1)]
    assert first and second


def test_downwards_in_steps():
    around = span("i", I - 1, 0, step=-2)
    found, = asked(turn_in(), sweep(), around=around)
    assert described(found) == [("x", -2 * J * K, False, 1)]


def test_each_line_once():
    """What this iteration has brought for the next one, and what is read and written."""
    found, = asked(turn_in(ix("i") + 1), turn_in("i", to="u"), sweep())
    assert described(found) == [("x", J * K, False, 1)]
    assert found[0].box.first[0] == ix("i") + 1
    found, = asked(turn_in(name="y"), sweep(), turn_out())
    assert described(found) == [("y", J * K, True, 1)]


def test_strips_whose_last_is_short():
    low = ix("i") * 8
    lanes = span("j", low, minimum(ix(J - 3), low + 8))
    turned = mapped([span("k", K), lanes], store("t", ["k", ix("j") - low], load("x", 3, "j", "k")))
    found, = asked(turned, sweep(), around=span("i", J // 8))
    assert [(a.box.rows, a.box.by) for a in found] == [(8, 8 * K)]


def test_few_iterations_ask_for_several_lines():
    found, = asked(turn_in(), sweep(span("m", 1, 33)))
    assert described(found) == [("x", J * K, False, 2)]
    assert asked(turn_in(), sweep(span("m", 1, 9))) == [[]]


@pytest.mark.parametrize(("body", "around", "shape"), [
    ((turn_in(), sweep()), PLANES, (4, 8, K)),
    ((turn_in(), sweep()), span("i", 1), SHAPE),
    ((turn_in(ix(3)), sweep()), PLANES, SHAPE),
    ((turn_in(ix("i") * "i"), sweep()), span("i", 6), SHAPE),
    ((turn_in(width=7), sweep()), PLANES, SHAPE),
    ((turn_in(), sweep(span("m", 1, "i"))), PLANES, SHAPE),
    ((turn_in(), sweep(span("m", 2, K, step=2))), PLANES, SHAPE),
], ids=["small", "one iteration", "always the same", "squares", "no turn", "unknown trips", "steps"])
def test_nothing_is_asked_for(body: tuple[Stmt, ...], around: Range, shape: tuple[int, ...]):
    assert np.prod(SHAPE) * 8 >= FAR
    assert not any(asked(*body, around=around, shape=shape))


@pytest.mark.parametrize("around", [PLANES, span("i", I - 1, -1, step=-1), span("i", 1, I, step=3), span("i", 2)])
def test_values_stay(around: Range):
    agree(build(turn_in(), sweep(), sweep(span("m", K - 2, -1, step=-1)), turn_out(), around=around), calls=1,
          threads=(1,))
    both = turn_in(ix("i") + 1), turn_in("i", to="u"), sweep(), mapped(
        [span("k", K), span("j", 8)], store("t", ["k", "j"], add(load("t", "k", "j"), load("u", "k", "j")))), turn_out()
    agree(build(*both, around=around), calls=1, threads=(1,))
