"""Triangles whose points add to elements of their columns: blocks with copies of their own."""
from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from sdfgad.caches import LINE
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.cpu.order import parallel
from sdfgad.codegen.cpu.order.parallel import APART, SharedMap, share
from sdfgad.ir.index import ix, maximum, minimum
from sdfgad.ir.program import Array, Loop, Map, Packing, Program, Range, Store
from sdfgad.names import fresh
from tests.codegen.build_programs import F4, F8, Like, add, agree, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N = 40
X = mul(load("x", "i"), load("y", "j"))
ROWS = span("i", N)
ABOVE = (ROWS, span("j", ix("i") + 1, N))


def summing(domain: tuple[Range, ...], place: Like = "j", op: str = "+", size: int = N,
            dtype: np.dtype = F8) -> Program:
    """A program that adds to a column's element and to a row's one at each point."""
    value = mul(load("x", "i", dtype=dtype), load("y", "j", dtype=dtype))
    arrays = {n: ((N,), dtype) for n in ("x", "y", "row")} | {"column": ((size,), dtype)}
    return program([mapped(domain, store("column", [place], value, op), store("row", ["i"], value, "+"))], arrays)


def shared(made: Program) -> SharedMap | None:
    stmt = made.body[0]
    assert isinstance(stmt, Map)
    return share(stmt, Frame(made.arrays), lambda stem: fresh(stem, made.arrays))


def alone(made: Program, found: SharedMap) -> Program:
    """The blocks one after the other."""
    (block,) = found.ranges
    arrays = made.arrays | {a.name: a for a in found.added}
    return replace(made, arrays=arrays, body=(*found.before, Loop(block, found.body), *found.after))


DOMAINS = {
    "above": ABOVE,
    "with the diagonal": (ROWS, span("j", "i", N)),
    "below": (ROWS, span("j", 0, "i")),
    "up to the diagonal": (ROWS, span("j", 0, ix("i") + 1)),
    "rows from the last": (Range("i", ix(N - 1), ix(-1), -1), span("j", 0, "i")),
    "every other row": (span("i", 1, N, step=2), span("j", "i", N)),
    "band": (ROWS, span("j", maximum(ix("i") - 3, 0), minimum(ix("i") + 4, N))),
    "some rows are empty": (ROWS, span("j", ix("i") + 7, N)),
}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_columns_get_copies(domain: tuple[Range, ...]) -> None:
    made = summing(domain)
    found = shared(made)
    assert found is not None and len(found.added) == 1 and len(found.after) == 1
    check_same(made, alone(made, found), tolerance=1e-12)


@pytest.mark.parametrize(("op", "place"), [("min", ix("j")), ("max", ix("j")), ("*", ix("j")), ("+", ix("j") - 1),
                                           ("+", ix("j") * 2 + 3), ("+", N - ix("j"))])
def test_any_sum_and_place(op: str, place: Like) -> None:
    made = summing(ABOVE, place, op, size=2 * N + 3)
    found = shared(made)
    assert found is not None
    check_same(made, alone(made, found), tolerance=1e-12)


@pytest.mark.parametrize("place", ["j", ix("j") - 1])
def test_compiled_at_several_numbers_of_threads(place: Like) -> None:
    size = 200
    rows = (span("i", size), span("j", ix("i") + 1, size))
    value = add(mul(load("x", "i"), load("x", "j")), num(1.0))
    made = program([mapped(rows, store("column", [place], value, "+"), store("row", ["i"], value, "+"))],
                   {n: ((size,), F8) for n in ("x", "row", "column")})
    assert "#pragma omp parallel" in source(lower(made))
    agree(made, calls=1, threads=(2, 3))


@pytest.mark.parametrize("stop", [ix(200), 200 - (ix("d") + 1) // 100 * 100], ids=["even", "half a row"])
def test_sums_along_diagonals_get_copies(stop: Like) -> None:
    rows = (span("d", 100), span("i", 0, stop))
    value = add(mul(load("x", "i"), load("a", "d", "i")), num(1.0))
    stmt = mapped(rows, store("far", [ix("i") + "d" + 1], value, "+"), store("row", ["i"], value, "+"))
    made = program([stmt], {"x": ((200,), F8), "row": ((200,), F8), "far": ((300,), F8), "a": ((100, 200), F8)})
    assert "#pragma omp parallel" in source(lower(made))
    agree(made, calls=1, threads=(2, 3))


def test_single_precision() -> None:
    made = summing(ABOVE, dtype=F4)
    found = shared(made)
    assert found is not None and found.added[0].dtype == F4
    check_same(made, alone(made, found), tolerance=1e-4)


@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize(("stop", "cells"), [(N, N - 1), (N - 8, N - 9)])
def test_copies_lie_apart(stop: int, cells: int, dtype: np.dtype) -> None:
    """Threads that write into the same cache line, or into one that another fetches ahead, wait for each other."""
    made = summing((ROWS, span("j", ix("i") + 1, stop)), dtype=dtype)
    found = shared(made)
    assert found is not None
    (copies,) = found.added
    pitch = copies.bytes // copies.shape[0]
    assert pitch % LINE == 0 and APART <= pitch - cells * dtype.itemsize < APART + LINE
    check_same(made, alone(made, found), tolerance=1e-4 if dtype == F4 else 1e-12)


@pytest.mark.parametrize(("shape", "taken"), [((100,), (168,)), ((3, 3), (32, 3)), ((3, 101), (4, 101)), ((), ()),
                                              ((2, 4, 101), (3, 4, 101)), ((0, 5), (0, 5))])
def test_copies_of_long_rows_take_little_more_than_these(shape: tuple[int, ...], taken: tuple[int, ...]) -> None:
    assert parallel._apart(shape, F8) == taken


@pytest.mark.parametrize(("sums", "blocks"), [(1, 12), (4, 4), (8, 2)])
def test_many_sums_get_few_blocks(sums: int, blocks: int) -> None:
    """Every block clears and adds the copies of all sums, which takes as long as some rows for each of them."""
    names = [f"far{k}" for k in range(sums)]
    rows = (span("d", 48), span("i", 100))
    parts = [store(name, [ix("i") + "d"], mul(load("x", "i"), load("x", "d")), "+") for name in names]
    made = program([mapped(rows, *parts)], {"x": ((100,), F8)} | {n: ((147,), F8) for n in names})
    stmt, number = made.body[0], count()
    assert isinstance(stmt, Map)
    found = share(stmt, Frame(made.arrays), lambda stem: f"{stem}{next(number)}")
    assert found is not None and found.ranges[0].trips == blocks
    check_same(made, alone(made, found), tolerance=1e-12)


def test_columns_beyond_the_array_are_not_copied() -> None:
    """The rows that would reach them are empty, but that takes more than the ends of the ranges to see."""
    narrow = (ROWS, span("j", 0, minimum(ix("i") - 5, 20)))
    assert shared(summing(narrow, ix("j") + N - 20, size=N)) is not None
    assert shared(summing(narrow, ix("j") + N - 19, size=N)) is None


@pytest.mark.parametrize("part", [store("column", ["j"], mul(load("column", "j"), num(2.0)), "+"),
                                  store("x", ["j"], mul(load("x", "i"), num(2.0)), "+")])
def test_sums_that_are_looked_at_are_not_copied(part: Store) -> None:
    made = program([mapped(ABOVE, part)], {n: ((N,), F8) for n in ("x", "column")})
    assert shared(made) is None


def test_packed_sums_are_not_copied() -> None:
    made = summing(ABOVE)
    packed = Array("column", (N,), F8, "argument", packing=Packing(((ix(0), ix(N)),)))
    assert shared(replace(made, arrays=made.arrays | {"column": packed})) is None


UNEVEN = {"above": ABOVE, "below": (ROWS, span("j", 0, "i")), "some rows are empty": DOMAINS["some rows are empty"],
          "last row alone": (ROWS, span("j", 0, maximum(ix("i") * 40 - 39 * (N - 1), 0)))}


@pytest.mark.parametrize("domain", UNEVEN.values(), ids=UNEVEN)
def test_both_of_two_blocks_hold_half_of_the_points(domain: tuple[Range, ...]) -> None:
    made = summing(domain)
    found = shared(made)
    assert found is not None
    (core,) = (s for s in found.body if isinstance(s, Map) and len(s.domain) == 2)
    ((block,), (rows, inner)) = found.ranges, core.domain
    assert block.trips == 2
    ends = [[e.subs({block.var: ix(b)}).const or 0 for e in (rows.start, rows.stop)] for b in range(2)]
    points = [[max(0, (inner.stop - inner.start).subs({rows.var: ix(k)}).const or 0) for k in range(*end)]
              for end in ends]
    assert sum(map(len, points)) == N
    assert abs(sum(points[0]) - sum(points[1])) <= max(map(max, points))


@pytest.mark.parametrize(("start", "dynamic"), [("i", True), (0, False), ("k", False)])
def test_blocks_of_rows_of_many_lengths_go_to_whoever_is_free(start: Like, dynamic: bool) -> None:
    size = 1024
    rows = Range("i", ix("block") * 32, ix("block") * 32 + 32)
    again = span("k", 0, 2)  # its rows are as many in every block
    stmt = mapped((again, rows, Range("j", ix(start), ix(size))), store("t", ["i", "j"], load("x", "j"), "+"))
    loop = Loop(span("block", size // 32), (stmt,), parallel=True)
    text = source(lower(program([loop], {"x": ((size,), F8), "t": ((size, size), F8)})))
    assert "#pragma omp parallel" in text and ("schedule(dynamic)" in text) == dynamic
