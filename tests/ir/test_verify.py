"""Each rule is broken once, by a program that breaks nothing else."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.analysis.verify import every_fault, verify
from sdfgad.errors import InvariantError, SourceLine
from sdfgad.frontend import parse
from sdfgad.ir import algebra
from sdfgad.ir.algebra import Term
from sdfgad.ir.expr import Call, Const, Load, Local
from sdfgad.ir.index import elem, ix
from sdfgad.ir.layout import Packing
from sdfgad.ir.program import Array, Behind, Let, Lib, Loop, Map, Pop, Program, Push, Store, View, axis, view_of
from sdfgad.ir.verify import DERIVED, OPTIMISED, PREPARED, SOURCE, STAGES
from tests.support.build import BOOL, F8, I8, at, each, loop, one, position, put, repeat, span, when
from tests.support.passes import replace_pass

SHAPES: Mapping[str, Any] = {
    "x": Array("x", (4,), F8, "argument"), "A": Array("A", (4, 4), F8, "argument"),
    "k": Array("k", (4,), I8, "argument"),
    "y": Array("y", (4,), F8), "B": Array("B", (4, 4), F8), "s": Array("s", (), F8), "flag": Array("flag", (), BOOL),
    "n": Array("n", (), I8), "c": Array("c", (4,), I8, "constant"),
    "z": Array("z", (4,), np.dtype("f4"))}
CONSTANTS = {"c": np.array([0, 1, 2, 4])}
I, J = span("i", 0, 4), span("j", 0, 4)
A, B, X, Y = (view_of(SHAPES[n]) for n in "ABxy")
COUNT = one("n", (), position(elem("n", ()) + 1))
COUNT = replace(COUNT, body=(Store("n", (), position(elem("n", ()) + 1, I8).expr),))
NONE = Map((), (Store("n", (), Const(0, I8)),))


def program(*body: Any, **changes: Any) -> Program:
    """With a tape where there is something for it."""
    tapes = {"tape": Array("tape", (4,), F8, "tape")} if any(isinstance(s, (Push, Pop)) for s in body) else {}
    return Program("p", {**SHAPES, **tapes}, ("x", "A", "k"), body, constants=CONSTANTS).but(**changes)


def arrays(**changes: Any) -> dict[str, Array]:
    return {**SHAPES, **{n: replace(SHAPES[n], **c) for n, c in changes.items()}}


def packed(low: Any, high: Any) -> dict[str, Array]:
    return arrays(y={"packing": Packing(((ix(low), ix(high)),))})


def below(one: Any, other: Any) -> Term:
    return Term(Call("lt", (position(one, I8).expr, position(other, I8).expr), BOOL))


def next_or_nothing() -> Term:
    """x[i + 1] where there is one."""
    return Term(algebra.select(below("i", 3).expr, Load("x", (ix("i") + 1,), F8), algebra.zero(F8)))


SHARED = each(I, put("y", ("i",), 1.0))
BROKEN: dict[str, tuple[str, str, Callable[[], Program]]] = {
    "an array by another name": ("names", SOURCE, lambda: program(arrays={**SHAPES, "q": SHAPES["y"]})),
    "no such array": ("names", SOURCE, lambda: program(each(I, put("q", ("i",), 1.0)))),
    "no such array in an index": ("names", SOURCE, lambda: program(one("y", (elem("q", ()),), 1.0))),
    "no argument": ("names", SOURCE, lambda: program(arguments=("x", "A", "k", "q"))),
    "no counter": ("names", SOURCE, lambda: program(
        one("q", (), 1.0), loop(I, one("q", (), 1.0), until="flag", trips="q"))),
    "nothing private": ("names", OPTIMISED, lambda: program(Loop(I, (), parallel=True, private=("q",)))),
    "a strange role": ("roles", SOURCE, lambda: program(arrays=arrays(y={"role": "tmp"}))),
    "an argument that is none": ("roles", SOURCE, lambda: program(arguments=("x", "A", "k", "y"))),
    "a constant that changes": ("roles", SOURCE, lambda: program(Map((I,), (Store("c", (ix("i"),), Const(0, I8)),)))),
    "a private argument": ("roles", OPTIMISED, lambda: program(Loop(I, (), parallel=True, private=("x",)))),
    "an entry of no tape": ("roles", DERIVED, lambda: program(Push("y", (ix(4),)), Pop("y", (ix(4),)))),
    "less than no elements": ("shapes", SOURCE, lambda: program(arrays=arrays(y={"shape": (-1,)}))),
    "packed in one dimension": ("shapes", OPTIMISED, lambda: program(
        arrays=arrays(B={"packing": Packing(((ix(0), ix(4)),))}))),
    "no constant": ("constants", SOURCE, lambda: program(constants={})),
    "a constant of another shape": ("constants", SOURCE, lambda: program(constants={"c": np.zeros(5, int)})),
    "no live constant": ("constants", SOURCE, lambda: program(live=frozenset({"y"}))),
    "a loop in its own": ("shadowing", SOURCE, lambda: program(loop(I, loop(I, one("y", ("i",), 1.0))))),
    "a map in a loop": ("shadowing", SOURCE, lambda: program(loop(I, each(I, put("y", ("i",), 1.0))))),
    "a range twice": ("shadowing", SOURCE, lambda: program(each((I, I), put("B", ("i", "i"), 1.0)))),
    "an index of nothing": ("symbols", SOURCE, lambda: program(one("y", ("i",), 1.0))),
    "behind its loop": ("symbols", SOURCE, lambda: program(loop(I, one("y", ("i",), 1.0)), one("y", ("i",), 1.0))),
    "a later range": ("symbols", SOURCE, lambda: program(each((span("j", 0, "i"), I), put("B", ("i", "j"), 1.0)))),
    "a range of itself": ("symbols", SOURCE, lambda: program(each(span("i", 0, "i"), put("y", ("i",), 1.0)))),
    "a view of nothing": ("symbols", SOURCE, lambda: program(Lib("inv", (B,), (replace(A, index=(ix("i"), ix(0))),)))),
    "a position of no dimension": ("symbols", SOURCE, lambda: program(
        Lib("inv", (B,), (replace(A, index=(ix(axis(0)), ix(axis(2)))),)))),
    "too many indices": ("ranks", SOURCE, lambda: program(one("y", (0, 0), 1.0))),
    "too few indices of a load": ("ranks", SOURCE, lambda: program(one("y", (0,), at("A", 0)))),
    "an element of a matrix row": ("ranks", SOURCE, lambda: program(one("y", (elem("k", (0, 0)),), 1.0))),
    "a view of fewer dimensions": ("ranks", SOURCE, lambda: program(
        Lib("inv", (B,), (replace(A, index=(ix(axis(0)),)),)))),
    "an entry of another rank": ("ranks", DERIVED, lambda: program(Push("tape", ()), Pop("tape", (ix(4),)))),
    "a double in a float": ("dtypes", SOURCE, lambda: program(one("z", (0,), 1.0))),
    "a float read as double": ("dtypes", SOURCE, lambda: program(one("y", (0,), at("z", 0)))),
    "an index that is no integer": ("dtypes", SOURCE, lambda: program(one("y", (elem("x", (0,)),), 1.0))),
    "a sum of two types": ("dtypes", SOURCE, lambda: program(Map((), (Store("s", (), Call(
        "add", (at("s").expr, at("z", 0, dtype=np.dtype("f4")).expr), F8)),)))),
    "a comparison that is a number": ("dtypes", SOURCE, lambda: program(Map((), (Store("s", (), Call(
        "lt", (at("s").expr, at("s").expr), F8)),)))),
    "a choice by a number": ("dtypes", SOURCE, lambda: program(Map((), (Store("s", (), Call(
        "select", (at("s").expr,) * 3, F8)),)))),
    "a branch by a number": ("dtypes", SOURCE, lambda: program(when(at("s"), (SHARED,)))),
    "a view of another type": ("dtypes", SOURCE, lambda: program(Lib("inv", (B,), (replace(A, dtype=I8),)))),
    "no such function": ("functions", SOURCE, lambda: program(Map((), (Store("s", (), Call("mean", (), F8)),)))),
    "too few operands": ("functions", SOURCE, lambda: program(Map((), (Store("s", (), Call(
        "add", (at("s").expr,), F8)),)))),
    "accumulation by division": ("functions", SOURCE, lambda: program(one("s", (), 1.0, "/"))),
    "a value that nobody binds": ("locals", SOURCE, lambda: program(Map((), (Store("s", (), Local("v", F8)),)))),
    "a value bound later": ("locals", SOURCE, lambda: program(
        Map((), (Store("s", (), Local("v", F8)), Let("v", at("x", 0).expr))))),
    "a value bound twice": ("locals", SOURCE, lambda: program(
        Map((), (Let("v", at("x", 0).expr), Let("v", at("x", 1).expr), Store("s", (), Local("v", F8)))))),
    "a value of another type": ("locals", SOURCE, lambda: program(
        Map((), (Let("v", at("k", 0, dtype=I8).expr), Store("s", (), Local("v", F8)))))),
    "a range that stands still": ("ranges", SOURCE, lambda: program(loop(span("i", 0, 4, 0)))),
    "a product that does not fit": ("operands", SOURCE, lambda: program(
        Lib("matmul", (B,), (A, replace(A, shape=(ix(3), ix(4))))))),
    "a result that does not fit": ("operands", SOURCE, lambda: program(Lib("matmul", (Y,), (A, A)))),
    "a rectangle inverted": ("operands", SOURCE, lambda: program(
        Lib("inv", (replace(B, shape=(ix(4), ix(3))),), (replace(A, shape=(ix(4), ix(3))),)))),
    "no such operation": ("operands", SOURCE, lambda: program(Lib("mean", (Y,), (X,)))),
    "an operation with too many operands": ("operands", SOURCE, lambda: program(Lib("inv", (B,), (A, A)))),
    "a result that is an operand": ("operands", SOURCE, lambda: program(Lib("inv", (B,), (B,)))),
    "a result that overlaps one": ("operands", SOURCE, lambda: program(Lib(
        "inv", (View("B", (ix(2), ix(2)), (ix(axis(0)), ix(axis(1))), F8),),
        (View("B", (ix(2), ix(2)), (ix(axis(0)) + 1, ix(axis(1)) + 1), F8),)))),
    "a flag that is a number": ("counting", SOURCE, lambda: program(NONE, repeat("s", "n", COUNT))),
    "a counter that is a float": ("counting", SOURCE, lambda: program(
        one("s", (), 0.0), repeat("flag", "s", one("s", (), 1.0, "+")))),
    "an end without a counter": ("counting", SOURCE, lambda: program(loop(J, SHARED, until="flag"))),
    "nobody counts": ("counting", SOURCE, lambda: program(NONE, repeat("flag", "n", SHARED))),
    "counted from anywhere": ("counting", SOURCE, lambda: program(repeat("flag", "n", COUNT))),
    "taken off an empty tape": ("tapes", DERIVED, lambda: program(Pop("tape", (ix(4),)))),
    "pushed for nobody": ("tapes", DERIVED, lambda: program(
        Push("tape", (ix(4),)), Pop("tape", (ix(4),)), Push("tape", (ix(4),)))),
    "one statement twice": ("identity", SOURCE, lambda: program(SHARED, SHARED)),
    "a tape in a source program": ("stage", SOURCE, lambda: program(arrays=arrays(y={"role": "tape"}))),
    "an entry before differentiation": ("stage", PREPARED, lambda: program(
        Push("tape", (ix(4),)), Pop("tape", (ix(4),)))),
    "a snapshot in a source program": ("stage", SOURCE, lambda: program(
        Lib("seal", (Y, view_of(SHAPES["n"])), (X,)))),
    "a parallel loop too soon": ("stage", DERIVED, lambda: program(Loop(I, (), parallel=True))),
    "a private array too soon": ("stage", DERIVED, lambda: program(Loop(I, (), private=("y",)))),
    "a loop behind another too soon": ("stage", DERIVED, lambda: program(Loop(I, (), behind=Behind(ix(0), 1, "B")))),
    "packed too soon": ("stage", DERIVED, lambda: program(arrays=packed(0, 4))),
    "beyond the end": ("inside", SOURCE, lambda: program(each(I, put("y", (ix("i") + 1,), 1.0)))),
    "before the beginning": ("inside", SOURCE, lambda: program(
        loop(J, each(I, put("B", ("j", "i"), at("x", ix("i") - "j")))))),
    "beyond a triangle": ("inside", SOURCE, lambda: program(
        each((I, span("j", 0, ix("i") + 2)), put("B", ("i", "j"), 1.0)))),
    "beyond by a constant": ("inside", SOURCE, lambda: program(loop(I, one("y", (elem("c", ("i",)),), 1.0)))),
    "beyond where a branch is sure": ("inside", SOURCE, lambda: program(
        loop(I, when(below(2, "i"), (one("y", (ix("i") + 1,), 1.0),))))),
    "an operand beyond the end": ("inside", SOURCE, lambda: program(
        Lib("inv", (B,), (replace(A, index=(ix(axis(0)) + 1, ix(axis(1)))),)))),
    "where nothing is packed": ("inside", OPTIMISED, lambda: program(
        each(I, put("y", ("i",), 1.0)), arrays=packed(0, 2))),
    "one element for all": ("independent", SOURCE, lambda: program(each(I, put("s", (), at("x", "i"))))),
    "one column for all": ("independent", SOURCE, lambda: program(each((I, J), put("y", ("j",), at("A", "i", "j"))))),
    "the next one is read": ("independent", SOURCE, lambda: program(
        each(span("i", 0, 3), put("y", ("i",), at("y", ix("i") + 1))))),
    "a sum is read": ("independent", SOURCE, lambda: program(
        each(I, put("s", (), at("x", "i"), "+"), put("y", ("i",), at("s"))))),
    "private, and read afterwards": ("private", OPTIMISED, lambda: program(
        Loop(I, (each(J, put("y", ("j",), at("A", "i", "j"))),), parallel=True, private=("y",)),
        one("s", (), at("y", 0)))),
    "rows that meet": ("independent", OPTIMISED, lambda: program(
        Loop(span("i", 0, 3), (one("y", ("i",), 1.0), one("y", (ix("i") + 1,), 2.0)), parallel=True))),
    "one sum of all rows": ("independent", OPTIMISED, lambda: program(
        Loop(I, (each(J, put("y", ("j",), at("A", "i", "j"), "+")),), parallel=True))),
}
SOUND: dict[str, tuple[str, Callable[[], Program]]] = {
    "a tape filled again by a replay": (DERIVED, lambda: program(
        *(kind("tape", (ix(4),)) for kind in (Push, Pop, Push, Pop)))),
    "a choice that is not taken": (SOURCE, lambda: program(each(I, put("y", ("i",), next_or_nothing())))),
    "a branch that is not taken": (SOURCE, lambda: program(
        loop(I, when(below("i", 3), (one("y", (ix("i") + 1,), 1.0),))))),
    "a loop that does not run": (SOURCE, lambda: program(loop(span("i", 4, 4), one("y", (ix("i") + 9,), 1.0)))),
    "data decide": (SOURCE, lambda: program(loop(I, one("y", (elem("k", ("i",)) + 9,), 1.0)))),
    "a loop that data end": (SOURCE, lambda: program(NONE, repeat("flag", "n", COUNT, one("y", (9,), 1.0)))),
    "sums meet": (SOURCE, lambda: program(each(I, put("s", (), at("x", "i"), "+")))),
    "an element for itself": (SOURCE, lambda: program(each(I, put("y", ("i",), at("y", "i") * 2.0)))),
    "private rows": (OPTIMISED, lambda: program(Loop(I, (
        each(J, put("y", ("j",), at("A", "i", "j"))), each(replace(J, var="l"), put("B", ("i", "l"), at("y", "l")))),
        parallel=True, private=("y",)))),
    "operands side by side": (SOURCE, lambda: program(Lib(
        "inv", (View("B", (ix(2), ix(2)), (ix(axis(0)), ix(axis(1))), F8),),
        (View("B", (ix(2), ix(2)), (ix(axis(0)) + 2, ix(axis(1))), F8),)))),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_found(case: str) -> None:
    rule, stage, make = BROKEN[case]
    assert {f.rule for f in every_fault(make(), stage)} == {rule}


@pytest.mark.parametrize("case", SOUND)
def test_what_keeps_all_rules_is_left_alone(case: str) -> None:
    stage, make = SOUND[case]
    assert list(every_fault(make(), stage)) == []


def test_what_a_later_stage_may_hold() -> None:
    whole = program(Push("tape", (ix(4),)), Pop("tape", (ix(4),)))
    found = {stage: [f.rule for f in every_fault(whole, stage)] for stage in STAGES}
    assert found[DERIVED] == found[OPTIMISED] == [] and set(found[SOURCE]) == set(found[PREPARED]) == {"stage"}


def test_a_statement_that_was_right_is_wrong_with_another_array() -> None:
    """What has been looked at is not looked at again, unless what it names is another array now."""
    right = program(SHARED)
    assert list(every_fault(right)) == []
    assert [f.rule for f in every_fault(right.but(arrays=arrays(y={"dtype": np.dtype("f4")})))] == ["dtypes"]


def test_the_report_names_the_pass_the_statement_and_the_users_line() -> None:
    line = SourceLine(__file__, 1, function="loss")
    wrong = replace(each(I, put("y", (ix("i") + 1,), 1.0)), source=line)
    with pytest.raises(InvariantError) as caught:
        verify(program(one("s", (), 1.0), wrong, one("s", (), 2.0)), "some_pass")
    assert all(part in str(caught.value) for part in (
        "after some_pass: inside: y[4] lies outside [4] at i = 3",
        "    s = 1.0\n  > map i = 0:4\n  >   y[i + 1] = 1.0\n    s",
        "test_verify.py:1:1", "in loss()", "Each rule is broken once"))


def test_a_pass_that_breaks_a_rule_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return np.sum(x * x)

    def remove_dead_code(program):
        return program.but(body=(*program.body, *program.body))

    replace_pass(monkeypatch, "remove_dead_code", remove_dead_code)
    with pytest.raises(InvariantError, match="after remove_dead_code: identity"):
        sdfgad.grad(f)(np.ones(3))


def test_only_who_asks_gets_every_element_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return np.sum(x * x)

    whole = parse(f, (np.ones(3),)).program
    wrong = whole.but(body=(Map((), (Store(whole.returns.array, (), Load("x", (ix(7),), F8)),)),))
    verify(wrong, "parse", SOURCE, thorough=False)
    with pytest.raises(InvariantError, match="inside"):
        verify(wrong, "parse", SOURCE)
