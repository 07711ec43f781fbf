"""Numbers that recorded bits choose are chosen among bytes, and are the same numbers."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Range, Store
from sdfgad.ir.text import program_text
from sdfgad.transform.storage.narrow_choices import narrow_choices
from tests.support.oracle import check_same

BYTE, BOOL, DOUBLE = np.dtype(np.uint8), np.dtype(bool), np.dtype(np.float64)
CODES = np.array([0, 1, 2, 3, 4, 5, 7, 255], np.uint8)
VALUES = np.array([1.5, -2.0, np.inf, 0.0, -0.0, np.nan, 5e-324, -np.inf])


def bit(k: int, code: Expr = Load("a", (ix("i"),), BYTE)) -> Call:
    masked = Call("bitand", (code, algebra.number(k, code.dtype)), code.dtype)
    return Call("ne", (masked, algebra.zero(code.dtype)), BOOL)


def chosen(first: object, second: object, last: object, dtype: np.dtype = DOUBLE,
           conditions: tuple[Expr, Expr] = (bit(1), bit(2))) -> Expr:
    inner = Call("select", (conditions[1], Const(second, dtype), Const(last, dtype)), dtype)
    return Call("select", (conditions[0], Const(first, dtype), inner), dtype)


def check(choice: Expr, wide: type = np.int64) -> bool:
    """The pass keeps every bit of `y = choice * x`; returns whether it chose among bytes."""
    dtype = choice.dtype
    product = Call("mul", (choice, Load("x", (ix("i"),), dtype)), dtype)
    arrays = {"a": Array("a", (8,), BYTE, "argument"), "w": Array("w", (8,), np.dtype(wide), "argument"),
              "x": Array("x", (8,), dtype, "argument"), "y": Array("y", (8,), dtype, "argument")}
    body = Map((Range("i", ix(0), ix(8)),), (Store("y", (ix("i"),), product),))
    before = Program("p", arrays, ("a", "w", "x", "y"), (body,))
    after = narrow_choices(before)
    with np.errstate(all="ignore"):
        check_same(before, after, {"a": CODES, "w": CODES.astype(wide), "x": VALUES.astype(dtype),
                                   "y": np.zeros(8, dtype)}, tolerance=0.0)
    return f"{dtype.name}(select" in program_text(after)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("numbers", [(1.0, 0.5, 0.0), (0.0, 2.0, 255.0), (0.75, 0.0078125, 1.0), (0.0, 0.0, 1.0)])
def test_small_multiples_of_a_power_of_two_are_chosen_among_bytes(numbers, dtype):
    assert check(chosen(*numbers, dtype=np.dtype(dtype)))


def test_choices_in_both_branches():
    both = Call("select", (bit(4), chosen(1.0, 0.5, 0.0), chosen(3.0, 0.25, 1.0)), DOUBLE)
    assert check(both)


@pytest.mark.parametrize("last", [-0.0, -1.0, 0.1, 256.0, 2.0**-8, np.inf, np.nan])
def test_other_numbers_stay(last):
    assert not check(chosen(1.0, 0.5, last))


def test_numbers_that_fit_only_apart_stay():
    assert not check(chosen(255.0, 0.5, 0.0))


def test_values_are_no_numbers():
    inner = Call("select", (bit(2), Load("x", (ix("i"),), DOUBLE), Const(0.0, DOUBLE)), DOUBLE)
    assert not check(Call("select", (bit(1), Const(1.0, DOUBLE), inner), DOUBLE))


def test_one_choice_stays():
    assert not check(Call("select", (bit(1), Const(1.0, DOUBLE), Const(0.0, DOUBLE)), DOUBLE))


def test_conditions_on_wider_numbers_stay():
    wide = Load("w", (ix("i"),), np.dtype(np.int64))
    assert not check(chosen(1.0, 0.5, 0.0, conditions=(bit(1), bit(2, wide))))
    cast = Call("cast", (wide,), BYTE)
    assert not check(chosen(1.0, 0.5, 0.0, conditions=(bit(1), bit(2, cast))))


def test_conditions_on_no_data_stay():
    known = Call("lt", (algebra.zero(BYTE), algebra.number(3, BYTE)), BOOL)
    assert not check(chosen(1.0, 0.5, 0.0, conditions=(bit(1), known)))
