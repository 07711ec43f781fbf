"""Records of a few bits share wide numbers, row by row, and say the same."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.schedule.layout.decision_words import widen_decisions
from sdfgad.ir import algebra
from sdfgad.ir.algebra import Term
from sdfgad.ir.expr import Call, Expr
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Program, Range, Stmt, Store
from tests.support.build import at, each, loop, one, program, put, span
from tests.support.oracle import check_same
from tests.support.thresholds import change

BYTE, BOOL, DOUBLE, SINGLE = (np.dtype(t) for t in (np.uint8, bool, np.float64, np.float32))
T, N = 3, 5
U, V = ix("u"), ix("v")


def value(name: str, *index: Ix | str | int, dtype: np.dtype = DOUBLE) -> Expr:
    return at(name, *index, dtype=dtype).expr


def bit(fn: str, first: Expr, second: Expr, weight: int) -> Expr:
    found = Call("cast", (Call(fn, (first, second), BOOL),), BYTE)
    return found if weight == 1 else Call("mul", (found, algebra.number(weight, BYTE)), BYTE)


def code_of(first: Expr, second: Expr) -> Expr:
    return Call("add", (bit("le", first, second, 1), bit("ge", first, second, 2)), BYTE)


def asked(record: Expr, number: int, mask: int = 3, fn: str = "eq") -> Expr:
    masked = Call("bitand", (record, algebra.number(mask, BYTE)), BYTE)
    return Call(fn, (masked, algebra.number(number, BYTE)), BOOL)


def chosen(condition: Expr, x: Expr) -> Term:
    return Term(Call("select", (condition, x, algebra.zero(x.dtype)), x.dtype))


def rows(extent: int, var: str = "i", first: int = 0) -> tuple[Range, Range]:
    return span(var, first, first + extent), span("j", 0, N)


def written(extent: int, *, dtype: np.dtype = DOUBLE, first: int = 0, code: Expr | None = None,
            index: Sequence[Ix | str | int] | None = None, domain: Sequence[Range] | None = None,
            reader: Stmt | None = None, late: Sequence[Stmt] = (), shape: tuple[int, ...] | None = None) -> Program:
    """A loop that records how x and y compare and changes x; another one that goes back and reads the record."""
    here, there = (partial(value, dtype=dtype) for _ in range(2))
    record = Store("code", tuple(map(ix, index or (U, ix("i") - first, "j"))),
                   code or code_of(here("x", "i", "j"), here("y", U, "j")))
    change = put("x", ("i", "j"), Term(here("x", "i", "j")) * 0.75 - Term(here("y", U, "j")) * 0.5)
    read = reader or each(rows(extent, "m"), reading("m", dtype=dtype), put(
        "total", (), chosen(asked(record_at("m"), 0, 2, "ne"), there("g", "m", "j")), "+"))
    arrays = {"x": (first + extent, N), "y": (T, N), "g": (extent, N), "total": (), "h": (N,), "k": (extent, N, 4)}
    body = [loop(span("u", 0, T), each(domain or rows(extent, first=first), record, change), *late),
            loop(span("v", T - 1, -1, -1), read)]
    given = {n: np.zeros(s, dtype) for n, s in arrays.items()}
    return program(given, body, "g", code=(shape or (T, extent, N), BYTE))


def record_at(*index: Ix | str | int) -> Expr:
    return value("code", V, *index, *(("j",) if len(index) == 1 else ()), dtype=BYTE)


def reading(row: str, dtype: np.dtype = DOUBLE, fn: str = "eq") -> Store:
    g = value("g", row, "j", dtype=dtype)
    return put("g", (row, "j"), chosen(asked(record_at(row), 1, fn=fn), g) + chosen(
        asked(record_at(row), 3), g) * 0.5)


def widened(before: Program) -> np.dtype:
    """The type of the record after the pass, which leaves the same in all arguments."""
    after = widen_decisions(before.but(live_out=frozenset(before.arguments)), 0)
    shape = (T, before.arrays["x"].shape[0], N)
    near = np.random.default_rng(3).integers(-2, 3, shape).astype(before.arrays["x"].dtype)
    near[0, ::7, ::3] = np.nan
    given = {"x": near[0], "y": near[:, 0]}
    check_same(before, after, {n: a[:, :N] for n, a in given.items()},
               tolerance=1e-12 if near.dtype == DOUBLE else 1e-4)
    return after.arrays["code"].dtype


@pytest.mark.parametrize("extent", [8, 9, 16, 17, 61, 63, 64, 65, 127, 128, 131, 250, 257, 400])
@pytest.mark.parametrize("dtype, word", [(DOUBLE, np.uint64), (SINGLE, np.uint32)])
def test_rows_share_numbers_as_wide_as_what_is_compared(extent, dtype, word):
    assert widened(written(extent, dtype=dtype)) == word


def test_a_few_rows_do_not_fill_a_number():
    assert stays(written(7))


def test_rows_that_are_left_over_get_maps_of_their_own():
    after = widen_decisions(written(131).but(live_out=frozenset(())), 0)
    assert after.arrays["code"].shape[1] * 31 >= 131
    assert [len(s.body) for s in after.body] == [3, 2]


def test_a_range_that_starts_later():
    assert widened(written(64, first=2)) == np.uint64


def test_conditions_that_are_not_equal():
    assert widened(written(64, reader=each(rows(64, "m"), reading("m", fn="ne")))) == np.uint64


def test_one_bit_for_each_row():
    one_bit = bit("lt", value("x", "i", "j"), value("y", U, "j"), 1)
    read = put("g", ("m", "j"), chosen(asked(record_at("m"), 0, 1, "ne"), value("g", "m", "j")))
    after = widen_decisions(written(512, code=one_bit, reader=each(rows(512, "m"), read)), 0)
    assert after.arrays["code"].shape == (T, 8, N)
    assert widened(written(512, code=one_bit, reader=each(rows(512, "m"), read))) == np.uint64


def stays(before: Program) -> bool:
    return widened(before) == BYTE


def test_small_records_stay():
    before = written(64)
    assert widen_decisions(p := before.but(live_out=frozenset(()))) is p


def test_records_that_somebody_reads_afterwards_stay():
    before = written(64)
    assert widen_decisions(p := before.but(live_out=frozenset(("code",))), 0) is p


def test_other_looks_at_the_record_stay():
    cast = Term(Call("cast", (record_at("m"),), DOUBLE))
    plain = put("g", ("m", "j"), cast)
    beside = put("total", (), cast, "+")
    unmasked = put("g", ("m", "j"), chosen(Call("eq", (record_at("m"), algebra.number(1, BYTE)), BOOL),
                                           value("g", "m", "j")))
    number = put("g", ("m", "j"), Term(Call("cast", (Call("bitand", (record_at("m"), algebra.number(3, BYTE)), BYTE),),
                                            DOUBLE)))
    for parts in ((plain,), (reading("m"), beside), (unmasked,), (number,)):
        assert stays(written(64, reader=each(rows(64, "m"), *parts)))


def test_bits_that_nobody_made_stay():
    for number, mask in (1, 4), (5, 3), (1, 7):
        read = put("g", ("m", "j"), chosen(asked(record_at("m"), number, mask), value("g", "m", "j")))
        assert stays(written(64, reader=each(rows(64, "m"), read)))


def test_codes_that_are_no_sums_of_conditions_stay():
    decided = bit("lt", value("x", "i", "j"), value("y", U, "j"), 1)
    for code in (algebra.number(3, BYTE), Call("bitxor", (decided, decided), BYTE),
                 Call("cast", (value("x", "i", "j"),), BYTE)):
        x = {"code": code}
        assert widen_decisions(written(64, **x).but(live_out=frozenset(())), 0).arrays["code"].dtype == BYTE


def test_records_of_one_dimension_per_iteration_stay():
    record = Store("code", (U, ix("i")), code_of(value("x", "i", 0), value("y", U, 0)))
    read = put("g", ("m", 0), chosen(asked(value("code", V, "m", dtype=BYTE), 1), value("g", "m", 0)))
    before = written(64, shape=(T, 64))
    body = (loop(span("u", 0, T), each(span("i", 0, 64), record)), loop(span("v", 0, T), each(span("m", 0, 64), read)))
    assert widen_decisions(before.but(body=body).but(live_out=frozenset(())), 0).arrays["code"].dtype == BYTE


def test_readers_with_other_rows_stay():
    fewer = each(rows(63, "m"), reading("m"))
    turned = each(rows(64, "m"), put("g", ("m", "j"), chosen(
        asked(value("code", V, ix(63) - ix("m"), "j", dtype=BYTE), 1), value("g", "m", "j"))))
    triangle = each((span("m", 0, 64), span("j", ix("m"), 64)), put("total", (), chosen(
        asked(value("code", V, "m", 0, dtype=BYTE), 1), value("g", "m", 0)), "+"))
    for reader in turned, triangle, one("total", (), chosen(asked(value("code", V, 7, 0, dtype=BYTE), 1),
                                                            value("g", 7, 0))):
        assert stays(written(64, reader=reader))
    assert stays(written(64, reader=fewer))


def test_readers_that_look_at_an_element_often_stay():
    product = put("k", ("m", "j", "n"), chosen(asked(record_at("m"), 1), value("k", "m", "j", "n")))
    assert stays(written(64, reader=each((*rows(64, "m"), span("n", 0, 4)), product)))


def test_records_made_twice_stay():
    again = each(rows(64), Store("code", (U, ix("i"), ix("j")), code_of(value("x", "i", "j"), value("y", U, "j"))))
    assert stays(written(64, late=[again]))


def test_numbers_of_several_widths_stay():
    narrow = Call("cast", (value("y", U, "j"),), SINGLE)
    mixed = code_of(Call("cast", (value("x", "i", "j"),), SINGLE), narrow)
    assert stays(written(64, code=mixed))


def paths(path):
    path = path.copy()
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return np.sum(path * path)


def bounded(x, low):
    x = x.copy()
    for t in range(low.shape[0]):
        x[:] = np.maximum(0.9 * x + 0.1 * np.sin(x), low[t])
    return np.sum(x * x)


@pytest.mark.parametrize("n, dtype", [(37, DOUBLE), (64, DOUBLE), (48, SINGLE)])
def test_the_gradient_is_the_same_number(monkeypatch, n, dtype):
    rng = np.random.default_rng(n)
    # Whole numbers: many paths are equally long.
    path, low = rng.integers(1, 9, (n, n)).astype(dtype), rng.integers(-2, 2, (6, n)).astype(dtype)
    for f, args in (paths, (path,)), (bounded, (rng.integers(-2, 2, (n, n)).astype(dtype), low)):
        found = []
        for least in 0, 1 << 60:
            change(monkeypatch, word_bytes=least)
            with sdfgad.config(num_threads=2):
                found.append(sdfgad.grad(f, wrt=(*f.__code__.co_varnames[:len(args)],))(*args))
        for mine, other in zip(*found, strict=True) if len(args) > 1 else (found,):
            np.testing.assert_allclose(mine, other, rtol=1e-12 if dtype == DOUBLE else 1e-4)


