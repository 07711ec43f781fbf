"""Lines of a strip hold whole vectors, of which what nobody touches stays what it was."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.rows.strip_lines import pack_strips
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt
from sdfgad.ir.walk import statements, writes
from sdfgad.thresholds import LineLimits
from tests.support.build import F8, at, each, lit, loop, put, span
from tests.support.oracle import check_same, execute

F4 = np.dtype("f4")
N, W = 8, 4
J, T, LOW = ix("j"), ix("t"), ix("s") * W
LANES = span("j", LOW, LOW + W)


def solve(low: int, high: int, dtype: np.dtype = F8) -> Stmt:
    x, y, before = at("x", J, T, dtype=dtype), at("y", J, T - 1, dtype=dtype), at("x", J, T - 1, dtype=dtype)
    value = x * y + before * x
    return loop(span("t", low + 1, high), each((LANES,), put("y", (J, "t"), value, "+")))


def build(body: tuple[Stmt, ...], size: int, dtype: np.dtype = F8) -> Program:
    arrays = {n: Array(n, (N, size), dtype, "argument") for n in ("x", "y")}
    return Program("p", arrays, ("x", "y"), (Loop(span("s", 0, N // W), body, parallel=True),))


def ends(*body: Stmt, size: int = 24, dtype: np.dtype = F8, limits: LineLimits | None = None) -> dict[str, int]:
    """How long the lines are; what the program leaves stays the same, to the bit."""
    before = build(body, size, dtype)
    after = pack_strips(before, limits)
    check_same(before, after, tolerance=0.0)
    return {n: after.arrays[n].shape[0] for n in sorted(set(after.arrays) - set(before.arrays))}


@pytest.mark.parametrize(("low", "high", "size", "length"), [
    (1, 24, 24, 24), (0, 23, 24, 24), (3, 21, 24, 24), (8, 23, 24, 16), (8, 24, 24, 16), (9, 24, 24, 16),
    (1, 23, 23, 22), (1, 20, 20, 19), (1, 8, 24, 7), (1, 9, 24, 16),
])
def test_vectors_are_whole(low: int, high: int, size: int, length: int):
    assert ends(solve(low, high), size=size) == {"x_line": length, "y_line": length}


def test_vectors_of_small_numbers_are_longer():
    assert ends(solve(1, 23, F4), dtype=F4) == {"x_line": 22, "y_line": 22}
    assert ends(solve(1, 31, F4), size=32, dtype=F4) == {"x_line": 32, "y_line": 32}


def test_lines_that_are_only_stored_stay_short():
    """Beyond their ends there is nothing to store."""
    clear = each((LANES, span("d", 1, 24)), put("y", (J, "d"), lit(0.0)))
    assert ends(clear, solve(1, 24)) == {"x_line": 24, "y_line": 23}


def test_no_more_than_there_is_room_for():
    exact = 2 * 23 * W * 8
    assert ends(solve(1, 24), limits=LineLimits(stack=exact)) == {"x_line": 23, "y_line": 23}
    assert sorted(ends(solve(1, 24), limits=LineLimits(stack=exact + W * 8)).values()) == [23, 24]
    assert ends(solve(1, 24), limits=LineLimits(stack=exact + 2 * W * 8)) == {"x_line": 24, "y_line": 24}


def test_what_nobody_touches_may_be_anything():
    """NaN and infinities beyond the ends go nowhere else, and stay."""
    made = build((solve(2, 22),), 24)
    after = pack_strips(made)
    y = np.ones((N, 24))
    y[:, :2], y[:, 22:] = np.nan, np.inf
    first, second = (execute(p, {"x": y / 2, "y": y})[1] for p in (made, after))
    np.testing.assert_array_equal(second["y"], first["y"])
    np.testing.assert_array_equal(second["y"][:, :2], y[:, :2])
    assert np.isfinite(second["y"][:, 2:22]).all()


def test_lines_along_another_dimension_stay_as_they_are():
    turned = loop(span("t", 2, 24), each((LANES,), put("y", (ix("t"), J), at("x", J, T) * at("y", T - 1, J)
                                                       + at("x", J, T - 1), "+")))
    arrays = {"x": Array("x", (24, 24), F8, "argument"), "y": Array("y", (24, 24), F8, "argument")}
    made = Program("p", arrays, ("x", "y"), (Loop(span("s", 0, 6), (turned,), parallel=True),))
    after = pack_strips(made)
    check_same(made, after, tolerance=0.0)
    assert not any("y_line" in writes(s) for s in statements(after.body) if isinstance(s, Map))
