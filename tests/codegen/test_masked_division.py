"""Conditional divisions and square roots, as derivatives have them: gcc got them wrong (docs/decisions/0004)."""
from __future__ import annotations

import numpy as np

from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.program import compile_program
from sdfgad.ir.expr import Call, Const, Expr, Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Range, Store

F8 = np.dtype("f8")
SHAPE = (4, 5, 2)
HERE = tuple(ix(f"i{k}") for k in range(3))


def at(name: str) -> Expr:
    return Load(name, HERE, F8)


def number(value: float) -> Expr:
    return Const(value, F8)


def op(fn: str, *args: Expr) -> Expr:
    return Call(fn, args, np.dtype(bool) if fn == "eq" else F8)


def guarded(g: Expr, e: Expr) -> Expr:
    return op("select", op("eq", g, number(0.0)), number(0.0), op("mul", e, g))


def test_masked_divisions_are_right() -> None:
    arrays = {n: Array(n, SHAPE, F8, "argument") for n in ("g", "t", "total", "out")}
    first = guarded(at("g"), op("div", number(0.5), at("t")))
    root = op("sqrt", op("div", at("total"), number(3.0)))
    value = op("mul", number(1 / 3), guarded(first, op("div", number(0.5), root)))
    domain = tuple(Range(f"i{k}", ix(0), ix(n)) for k, n in enumerate(SHAPE))
    body = (Map(domain, (Store("out", HERE, value),)),)
    rng = np.random.default_rng(0)
    data = {"g": rng.integers(-1, 2, SHAPE).astype(float), "t": rng.random(SHAPE) + 0.5,
            "total": np.where(rng.random(SHAPE) < 0.1, 0.0, rng.random(SHAPE) + 1.0), "out": np.empty(SHAPE)}
    data["g"][data["total"] == 0] = 0
    compile_program(Program("masked", arrays, tuple(arrays), body))(data)
    with np.errstate(all="ignore"):
        a = np.where(data["g"] == 0, 0.0, 0.5 / data["t"] * data["g"])
        expected = np.where(a == 0, 0.0, 0.5 / np.sqrt(data["total"] / 3) * a) / 3
    np.testing.assert_allclose(data["out"], expected, rtol=1e-14)


def test_what_only_a_choice_in_a_branch_reads_may_lie_outside() -> None:
    """The first one is read at every point, as it is; the second one at some, and forced inside the array. Intervals
    show neither to be inside."""
    n = 9
    arrays = {name: Array(name, (size,), F8, "argument") for name, size in (("a", 17), ("b", n), ("out", n))}
    i = ix("i")
    first, second = Load("a", (i * 8 - i * i,), F8), Load("b", (i - 100,), F8)

    def positive(value: Expr) -> Expr:
        return Call("gt", (value, number(0.0)), np.dtype(bool))

    inner = op("select", positive(second), op("div", number(1.0), second), second)
    value = op("select", positive(first), op("add", op("div", number(2.0), first), inner), first)
    rows = Range("i", ix(0), ix(n))
    program = Program("choice", arrays, tuple(arrays), (Map((rows,), (Store("out", (i,), value),)),))
    text = source(lower(program))
    assert text.count("sg::greatest") == text.count("p_b[sg::greatest") == 1
    data = {"b": np.ones(n), "out": np.zeros(n), "a": np.full(17, -1.0)}
    compile_program(program)(data)
    np.testing.assert_array_equal(data["out"], -1.0)
