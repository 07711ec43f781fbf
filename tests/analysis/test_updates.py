"""Integer updates: what is said to be undone is undone, for every number; and what can be, is found."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sdfgad.analysis.reversal import inverse, updates
from sdfgad.analysis.reversal.updates import _Solver
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, call, const, loads
from sdfgad.ir.index import Ix, elem, ix, mod
from sdfgad.ir.program import Array, Map, Program, Range, Store
from tests.support.undoing import complaints, found_in, run

N = 5
I, B, F = np.dtype(np.int64), np.dtype(bool), np.dtype(float)
D = ix("d")
ROW = (Range("d", ix(0), ix(N)),)


def arrays(dtype: np.dtype) -> dict[str, Array]:
    """x is updated, the others are looked at."""
    return {"x": Array("x", (N,), dtype, "argument"), "y": Array("y", (N,), dtype), "m": Array("m", (N,), B),
            "f": Array("f", (N,), F), "i": Array("i", (), I), "p": Array("p", (N,), I)}


def program(e: Expr, dtype: np.dtype = I, at: Ix = D, op: str | None = None) -> Program:
    known = arrays(np.dtype(dtype))
    domain = ROW if "d" in at.symbols else ()
    return Program("update", known, tuple(known), (Map(domain, (Store("x", (at,), e, op),)),))


def scalar(e: Expr) -> Program:
    known = arrays(I)
    return Program("update", known, tuple(known), (Map((), (Store("i", (), e),)),))


def memory(made: Program, number: int) -> dict[str, np.ndarray]:
    """Numbers from the whole range of each type, the smallest and the largest among them."""
    rng = np.random.default_rng(number)
    found = {}
    for n, a in made.arrays.items():
        if a.dtype.kind in "iu":
            info = np.iinfo(a.dtype)
            drawn = rng.integers(info.min, info.max, a.shape, a.dtype, endpoint=True)
            extreme = np.array([info.min, info.max, 0], a.dtype)[rng.integers(0, 3, a.shape)]
            found[n] = np.where(rng.random(a.shape) < 0.3, extreme, drawn)
        else:
            found[n] = rng.random(a.shape) < 0.5 if a.dtype == B else rng.random(a.shape)
    return {**found, "i": np.asarray(number % N), "p": rng.permutation(N)}


def check(made: Program, starts: int = 3) -> bool:
    """Whether the update can be undone; an AssertionError when it cannot, but is said to."""
    known = found_in(made)
    for number in range(starts if known.units else 0):
        wrong = complaints(made, known.undoing(known.units), memory(made, number))
        assert not wrong, wrong[0]
    return bool(known.units)


def x(dtype: np.dtype = I, at: Ix = D) -> Load:
    return Load("x", (at,), np.dtype(dtype))


def y(dtype: np.dtype = I) -> Load:
    return Load("y", (D,), np.dtype(dtype))


def select(mask: Expr, yes: Expr, no: Expr) -> Expr:
    return Call("select", (mask, yes, no), yes.dtype)


M = Load("m", (D,), B)
U32, I8, U8 = (np.dtype(n) for n in ("u4", "i1", "u1"))
LESS = call("lt", Load("f", (D,), F), const(0.5, F), dtype=B)
YES = [
    program(call("add", x(), y())), program(call("sub", x(), y())), program(call("sub", y(), x())),
    program(call("neg", x())), program(call("bitxor", x(), y())), program(call("invert", x())),
    program(call("add", call("mul", x(), const(-1, I)), y())), program(call("mul", x(U32), const(1664525, U32)), U32),
    program(call("add", call("mul", x(U32), const(1664525, U32)), const(1013904223, U32)), U32),
    program(call("add", x(I8), y(I8)), I8), program(call("mul", x(U8), const(77, U8)), U8),
    program(call("bitxor", x(B), y(B)), B), program(call("not", x(B)), B), program(call("ne", x(B), M), B),
    program(select(M, call("add", x(), y()), call("sub", x(), const(7, I)))),
    program(select(LESS, call("add", x(), const(3, I)), x())),
    program(call("cast", call("add", call("cast", x(I8), dtype=I), Load("i", (), I)), dtype=I8), I8),
    program(y(), op="+"), program(call("add", x(at=ix(2)), x(at=ix(3))), at=ix(2)),
    program(call("add", x(at=elem("p", (D,))), y()), at=elem("p", (D,))),
    scalar(Index(elem("i", ()) + 2, I)), scalar(Index(1 - elem("i", ()), I)),
    scalar(Index(elem("i", ()) * 3 - elem("p", (ix(1),)), I)),
]
NO = {
    "an even factor": program(call("mul", x(), const(6, I))),
    "an unknown factor": program(call("mul", x(), y())),
    "itself twice": program(call("add", x(), x())),
    "itself as an index": scalar(Index(elem("i", ()) + elem("p", (elem("i", ()),)), I)),
    "its own place": scalar(Index(elem("i", ()) * elem("i", ()), I)),
    "a place it decides": program(call("add", x(at=elem("x", (ix(0),))), const(1, I)), at=elem("x", (ix(0),))),
    "a neighbour": program(call("add", x(), x(at=(D + 1) % N))),
    "a mask of its own": program(select(call("lt", x(), const(5, I), dtype=B),
                                      call("add", x(), const(3, I)), x())),
    "another value": program(select(M, call("add", x(), const(3, I)), y())),
    "a narrow sum": program(call("cast", call("add", call("cast", x(), dtype=I8), const(1, I8)), dtype=I)),
    "by way of floats": program(call("cast", call("add", call("cast", x(), dtype=F), const(1.0, F)), dtype=I)),
    "a mask of sums": program(select(call("lt", call("add", Load("f", (D,), F), const(0.1, F)), const(0.5, F),
                                                  dtype=B), call("add", x(), const(3, I)), x())),
    "a rounded number": program(call("add", x(), call("cast", Load("f", (D,), F), dtype=I))),
    "a shift": program(call("shl", x(), const(3, I))), "a quotient": program(call("floordiv", x(), const(3, I))),
    "a remainder": program(call("mod", call("add", x(), const(3, I)), const(10, I))),
    "a sum of truths": program(call("or", x(B), M), B), "a product": program(y(), op="*"),
    "a sum of itself": program(x(at=ix(0)), op="+"), "floats": program(call("add", x(F), const(1.0, F)), F),
    "as often as it says": scalar(const(1, I)).but(body=(
        Map((Range("d", ix(0), elem("i", ())),), (Store("i", (), const(1, I), "+"),)),)),
    "two stores": program(y()).but(body=(Map(ROW, (Store("x", (D,), call("add", x(), y())), Store("y", (D,), x()))),)),
}


@pytest.mark.parametrize("made", YES, ids=lambda p: str(p.body[0].body[0].expr)[-40:])
def test_what_is_found(made):
    assert check(made, 20)


@pytest.mark.parametrize("why", NO)
def test_what_is_not(why):
    assert not check(NO[why])


# Modulo a number, of a value known to be below it.

def congruence(factor: int, shift: int, m: int, start: int = 1, index: bool = True, **more: int) -> Program:
    """i = start ; i = (factor i + shift) mod m, and perhaps i = `other`."""
    inner = mod(elem("i", ()) * factor + shift, m)
    plain = call("add", call("mul", Load("i", (), I), const(factor, I)), const(shift, I))
    update = Index(inner, I) if index else Call("mod", (plain, const(m, I)), I)
    body = [Store("i", (), e) for e in (const(start, I), update, *(const(v, I) for v in more.values()))]
    known = arrays(I)
    return Program("congruence", known, tuple(n for n in known if n != "i"), tuple(Map((), (s,)) for s in body))


def taken_back(made: Program, seed: int) -> bool:
    """Run the update from a seed and back."""
    known = found_in(made)
    if not known.units:
        return False
    way = next(iter(known.units.values())).way
    start = {**memory(made, 1), "i": np.asarray(seed)}
    after = {n: np.array(a) for n, a in start.items()}
    run((made.body[1],), after)
    run((way.restore,), after)
    assert after["i"] == seed
    return True


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("factor, shift, m", [
    (1103515245, 12345, 2**31), (16807, 0, 2**31 - 1), (1, 1, 5), (1, -1, 5), (-1, 3, 7), (3, 10**6, 10)])
def test_congruences(factor, shift, m, index):
    made = congruence(factor, shift, m, index=index)
    assert all(taken_back(made, seed % m) for seed in (0, 1, 2, 3, m - 1, m // 2, 123456789))


@pytest.mark.parametrize("made", [
    congruence(2, 1, 10), congruence(5, 1, 15), congruence(1, 1, 5, start=7), congruence(1, 1, 5, start=-1),
    congruence(25214903917, 11, 2**48), congruence(1, 1, 5, other=9), congruence(1, 1, -5),
    congruence(3, 2**62, 10)],
    ids="even divisor large negative drand48 elsewhere negative-divisor overflow".split())
def test_congruences_that_lose_something_or_may_overflow(made):
    assert not found_in(made).units


def test_a_congruence_of_an_argument_is_unknown():
    made = congruence(1, 1, 5)
    role = {**made.arrays, "i": Array("i", (), I, "argument")}
    assert not found_in(made.but(arrays=role)).units


# Whatever else there may be.

FUNCTIONS = ("add", "sub", "bitxor", "mul", "neg", "invert", "select", "cast", "bitand", "shl")


def _some(draw: random.Random, dtype: np.dtype, depth: int) -> Expr:
    if depth == 0 or draw.random() < 0.15:
        at = draw.choice((D, D, D, (D + 1) % N, ix(0), elem("p", (D,))))
        return draw.choice((Load("x", (D,), dtype), Load("x", (D,), dtype), Load("x", (at,), dtype),
                            Load("y", (at,), dtype), const(draw.randint(-3, 9) % 2**7, dtype)))
    fn = draw.choice(FUNCTIONS)
    if fn == "cast":
        other = np.dtype(draw.choice(("i1", "i2", "i4", "i8", "u2", "u4")))
        return Call("cast", (_some(draw, other, depth - 1),), dtype) if draw.random() < 0.2 else \
            Call("cast", (Call("cast", (_some(draw, dtype, depth - 1),), other),), dtype)
    if fn == "select":
        mask = draw.choice((M, LESS, call("lt", _some(draw, dtype, 0), const(5, dtype), dtype=B)))
        return Call("select", (mask, _some(draw, dtype, depth - 1), _some(draw, dtype, depth - 1)), dtype)
    count = 1 if fn in ("neg", "invert") else 2
    return Call(fn, tuple(_some(draw, dtype, depth - 1) for _ in range(count)), dtype)


def some_programs(count: int) -> Iterator[Program]:
    for number in range(count):
        draw = random.Random(number)
        dtype = np.dtype(draw.choice(("i8", "i4", "u4", "i1", "u1", "u8")))
        op = "+" if draw.random() < 0.1 else None
        made = program(_some(draw, dtype, draw.randint(1, 4)), dtype, op=op)
        if not any(n.array == "x" and n.dtype != dtype for n in loads(made.body[0].body[0].expr)):
            yield made


def check_many(count: int) -> int:
    return sum(check(made) for made in some_programs(count))


def test_random_updates():
    assert check_many(3000) > 400


# A check that nothing gets past would pass these tests as well: each condition left out has to be noticed.

def test_numbers_that_are_no_integers_have_no_bounds():
    mask = call("lt", const(0.0, "f8"), Load("f", (D,), np.dtype("f8")), dtype="?")
    for number in (np.inf, -np.inf, np.nan, 0.5):
        e = Call("select", (mask, const(number, "f8"), const(1.0, "f8")), np.dtype("f8"))
        assert updates.held(const(number, "f8"), {}) is None
        assert updates.held(e, {}) is None
    assert updates.held(Call("select", (mask, const(2, "i8"), const(7, "i8")), np.dtype("i8")), {}) == (2, 7)


def always(answer: object) -> Callable[..., object]:
    return lambda *_: answer


def half_divided(y_: Expr, factor: int) -> Expr:
    return Call("floordiv", (y_, Const(abs(factor), y_.dtype)), y_.dtype)


MUTANTS = {
    "any factor": (updates, "_divided", half_divided),
    "any width": (_Solver, "_wide_enough", always(True)),
    "overlapping reads": (updates, "same_instance_overlap", always(False)),
    "places": (updates, "_decisive", always(set())),
    "only direct use": (_Solver, "touches", lambda self, e: e == self.own),
    "any mask": (_Solver, "_select", lambda self, e, y_: self._solved(e.args[1], y_)),
    "another way back": (updates, "_in_ring", lambda e, dtype: const(1, updates._ring(dtype))),
    "any sum": (updates, "_subtracted", lambda part, array: Call("neg", (part.expr,), array.dtype)),
    "any interval": (updates, "held", always((0, 1))),
    "common divisors": (updates, "gcd", always(1)),
    "no overflow": (updates, "_is_large", always(False)),
    "same bits": (updates, "_same_again", always(True)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_condition_left_out_is_noticed(name, monkeypatch):
    where, what, instead = MUTANTS[name]
    monkeypatch.setattr(where, what, instead)
    if what == "held":
        monkeypatch.setattr(inverse, what, instead)
    with pytest.raises((AssertionError, IndexError, ValueError)):
        for made in NO.values():
            assert not check(made)
        for made in (congruence(2, 1, 10), congruence(1, 1, 5, start=7), congruence(3, 2**62, 10)):
            assert not found_in(made).units
        check_many(3000)
