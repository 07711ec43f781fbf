"""Roundings may differ only where nobody looks, and nothing is decided."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from sdfgad.analysis.rounding import roundable
from sdfgad.ir.expr import Expr, Local, call
from sdfgad.ir.program import If, Let, Lib, Loop, Program, Stmt, view_of
from tests.codegen.build_programs import B1, F8, I8, add, compare, load, mapped, mul, num, program, span, store

N = 4
ARRAYS: Mapping[str, tuple[tuple[int, ...], np.dtype]] = {
    **{n: ((N,), F8) for n in "abcxyz"}, "k": ((), F8), "flags": ((N,), B1), "counts": ((N,), I8)}
A, B = load("a", "i"), load("b", "i")


def to(name: str, value: Expr, op: str | None = None) -> Stmt:
    return mapped([span("i", N)], store(name, ["i"], value, op))


def loose(*body: Stmt, seen: tuple[str, ...] = ()) -> set[str]:
    made: Program = program(body, ARRAYS)
    return set(roundable(made, seen))


def choice(test: Expr, one: Expr, other: Expr) -> Expr:
    return call("select", test, one, other, dtype=F8)


PASSED_ON = {
    "a sum": add(A, B), "a product": mul(A, B), "the dividend": call("div", A, B), "a sign": call("neg", A),
    "a square": call("pow", A, num(2.0)), "a value chosen": choice(compare("lt", B, num(1.0)), A, num(2.0)),
    "a guarded product": choice(compare("eq", A, num(0.0)), num(0.0), mul(B, A)),
    "a guarded product with a sign": choice(compare("eq", call("neg", A), num(0.0)), num(0.0), call("neg", mul(A, B))),
}
LOOKED_AT = {
    "the divisor": call("div", B, A), "a root": call("sqrt", A), "a function": call("exp", A),
    "an exponent": call("pow", B, A), "a root as a power": call("pow", A, num(0.5)),
    "an inverse": call("pow", A, num(-1.0)), "a choice": choice(compare("lt", A, num(1.0)), B, num(2.0)),
    "the greater one": call("maximum", A, B), "inside": mul(B, call("floor", add(A, num(1.0)))),
    "a guard of something else": choice(compare("eq", A, num(0.0)), num(0.0), mul(B, B)),
    "a guard of a sum": choice(compare("eq", A, num(0.0)), num(0.0), add(A, B)),
    "a guard with one": choice(compare("eq", A, num(0.0)), num(1.0), mul(B, A)),
    "another comparison": choice(compare("ne", A, num(0.0)), num(0.0), mul(B, A)),
    "a comparison with one": choice(compare("eq", A, num(1.0)), num(0.0), mul(B, A)),
}


@pytest.mark.parametrize("value", PASSED_ON.values(), ids=PASSED_ON)
@pytest.mark.parametrize("op", [None, "+"])
def test_arithmetic_passes_roundings_on(value: Expr, op: str | None) -> None:
    assert {"a", "x"} <= loose(to("x", value, op))


@pytest.mark.parametrize("value", LOOKED_AT.values(), ids=LOOKED_AT)
def test_what_anything_else_looks_at_stays(value: Expr) -> None:
    found = loose(to("x", value))
    assert "a" not in found
    assert "x" in found


def test_conversions_and_flags_look_closely() -> None:
    assert "a" not in loose(to("flags", compare("lt", A, B)))
    assert "a" not in loose(to("counts", call("cast", A, dtype=I8)))


def test_what_is_seen_stays_with_all_that_it_is_made_of() -> None:
    body = to("b", A), to("c", B), to("x", load("c", "i")), to("y", load("b", "i"))
    assert loose(*body, seen=("x",)) & set("abcxyz") == {"y", "z"}
    assert loose(*body, seen=("y",)) & set("abcxyz") == {"c", "x", "z"}


def test_what_comes_back_in_a_loop_counts() -> None:
    loop = Loop(span("t", 3), (to("x", load("y", "i")), to("y", load("z", "i")), to("z", load("a", "i"))))
    assert loose(loop, to("c", call("sqrt", load("x", "i")))) & set("axyz") == set()


def test_lets_hide_nothing() -> None:
    hidden = mapped([span("i", N)], Let("t", A), store("x", ["i"], call("sqrt", Local("t", F8))))
    assert "a" not in loose(hidden)
    stored = mapped([span("i", N)], Let("t", A), store("x", ["i"], Local("t", F8)))
    assert "a" not in loose(stored, seen=("x",))
    assert "a" in loose(stored)


def test_conditions_and_library_calls_look_closely() -> None:
    test = If(compare("lt", load("a", 0), num(1.0)), (to("x", B),), ())
    assert "a" not in loose(test)
    arrays = program((), ARRAYS).arrays
    assert "a" not in loose(Lib("sort", (view_of(arrays["x"]),), (view_of(arrays["a"]),)))


def test_integers_are_never_rounded() -> None:
    assert loose().isdisjoint({"counts", "flags"})
