"""Expressions that share what they are made of cost as much as they have nodes, not as they have paths."""
from __future__ import annotations

import copy
import pickle

import pytest

from sdfgad.codegen.fingerprint import fingerprint
from sdfgad.ir import expr
from sdfgad.ir.expr import Call, Expr, Load, call, const, rewrite, walk
from sdfgad.ir.index import Elem, Ix, ix, minimum
from sdfgad.ir.program import Array, Map, Program, Range, Store
from sdfgad.ir.text import expr_text, program_text

DEPTH = 200


def ladder(depth: int, start: str = "x") -> Expr:
    """A node for each level, which uses the one below twice."""
    made: Expr = Load(start, (ix("i"),), const(0.0, "float64").dtype)
    for k in range(depth):
        made = call("mul", made, call("add", made, const(float(k), "float64")))
    return made


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes have been compared part by part."""
    count = [0]
    plain = Call._same

    def same(self: Call, other: Call) -> bool:
        count[0] += 1
        return plain(self, other)

    monkeypatch.setattr(Call, "_same", same)
    return count


def test_equal_ladders_are_compared_once_per_level(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, different = ladder(DEPTH), ladder(DEPTH), ladder(DEPTH, "y")
    count = counted(monkeypatch)
    assert one == other
    assert one != different
    assert count[0] <= 4 * DEPTH


def test_digests_are_made_once_per_node(monkeypatch: pytest.MonkeyPatch) -> None:
    count = [0]
    plain = expr._hashed

    def hashed(*parts: str | bytes) -> bytes:
        count[0] += 1
        return plain(*parts)

    monkeypatch.setattr(expr, "_hashed", hashed)
    one = ladder(DEPTH)
    assert one == ladder(DEPTH)
    assert len(one.digest) == 16
    assert count[0] <= 2 * (3 * DEPTH + 1)


def test_a_deep_expression_is_walked_and_rewritten() -> None:
    deep = ladder(3000)
    nodes = list(walk(deep))
    assert len(nodes) == len(set(nodes)) == 3 * 3000 + 1
    renamed = rewrite(deep, lambda n: Load("y", n.index, n.dtype) if isinstance(n, Load) else None)
    assert renamed == ladder(3000, "y")


def test_numbers_and_zeros_of_other_signs_differ() -> None:
    assert const(0.0, "float64") != const(-0.0, "float64")
    assert const(1, "int64") != const(True, "int64")
    assert call("neg", const(0.0, "float64")) != call("neg", const(-0.0, "float64"))
    assert const(float("nan"), "float64") == const(float("nan"), "float64")


def test_copies_are_equal() -> None:
    one = ladder(20)
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    index = minimum(ix("i") + 3, Ix((((Elem("table", (ix("i"),)),), 2),)))
    again = pickle.loads(pickle.dumps(index))
    assert again == index
    assert hash(again) == hash(index)


def test_texts_name_what_is_shared() -> None:
    assert expr_text(ladder(2)) == "((x[i] * (x[i] + 0.0)) * ((x[i] * (x[i] + 0.0)) + 1.0))"
    text = expr_text(ladder(DEPTH))
    assert len(text) < 100 * DEPTH
    assert "where %1 = (x[i] * (x[i] + 0.0)), %2 = (%1 * (%1 + 1.0))" in text
    assert text != expr_text(ladder(DEPTH, "y"))


def test_texts_and_fingerprints_of_programs_are_short() -> None:
    made = const(0.0, "float64").dtype
    arrays = {n: Array(n, (5,), made, "argument") for n in "xy"}
    body = (Map((Range("i", ix(0), ix(5)),), (Store("y", (ix("i"),), ladder(DEPTH)),)),)
    program = Program("deep", arrays, ("x", "y"), body)
    assert len(program_text(program)) < 100 * DEPTH
    assert len(fingerprint(program)) < 300 * DEPTH


def nested(depth: int) -> Ix:
    """An index whose parts are used twice at every level."""
    made = ix("i")
    for k in range(depth):
        made = Ix((((Elem("table", (made, made + k)),), 1),))
    return made


def test_nested_indices_are_compared_by_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = nested(60), nested(60)
    count, plain = [0], Ix.__eq__

    def equal(self: Ix, there: object) -> bool:
        count[0] += 1
        return plain(self, there)

    monkeypatch.setattr(Ix, "__eq__", equal)
    assert one == other
    assert one != nested(61)
    assert count[0] <= 200
    assert len(str(one)) < 5000
