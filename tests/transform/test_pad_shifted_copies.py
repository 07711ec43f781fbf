"""What is rolled has halos, or is copied once with them, in place of a copy for each neighbour."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend.parse import parse
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Loop, Map, Program, Stmt
from sdfgad.ir.walk import all_reads, all_writes, statements, writes
from sdfgad.thresholds import PadLimits
from sdfgad.transform.copies.pad_shifted_copies import pad_shifted_copies
from sdfgad.transform.stages import prepare_program
from tests.support.build import F8, at, each, loop, put, span, when
from tests.support.oracle import check_same

N, M = 12, 5
I, J = ix("i"), ix("j")
ANY = PadLimits(size=1, room=4.0)
ROWS, COLUMNS = span("i", 0, M), span("j", 0, N)
MAKE = each((ROWS, COLUMNS), put("u", (I, J), at("x", I, J) * 3.0))
EAST = (each((ROWS, span("j", 0, N - 1)), put("t", (I, J), at("u", I, J + 1))),
        each((ROWS,), put("t", (I, N - 1), at("u", I, 0))))
WEST = (each((ROWS, span("j", 0, N - 2)), put("c", (I, J + 2), at("u", I, J))),
        each((ROWS, span("j", 0, 2)), put("c", (I, J), at("u", I, J + N - 2))))
NORTH_EAST = (each((span("i", 0, M - 1), COLUMNS), put("c", (I, J), at("t", I + 1, J))),
              each((COLUMNS,), put("c", (M - 1, J), at("t", 0, J))))
USE = each((ROWS, COLUMNS), put("y", (I, J), at("t", I, J) * at("u", I, J) + at("t", I, J)))
BOTH = each((ROWS, COLUMNS), put("y", (I, J), at("t", I, J) * at("u", I, J) + at("c", I, J)))
STEP = each((ROWS, COLUMNS), put("u", (I, J), at("t", I, J) * at("u", I, J) + at("c", I, J)))
SHOW = each((ROWS, COLUMNS), put("y", (I, J), at("u", I, J)))

PRODUCT = Lib("matmul", (Array("w", (N,), F8).whole,), (Array("r", (M,), F8).whole, Array("t", (M, N), F8).whole))


def build(*body: Stmt) -> Program:
    shapes = {"x": (M, N), "y": (M, N), "z": (M, M), "w": (N,), "r": (M,), "s": ()}
    arrays = {n: Array(n, s, F8, "argument") for n, s in shapes.items()}
    arrays |= {n: Array(n, (M, N), F8) for n in ("u", "t", "c")} | {"v": Array("v", (M, N, 3), F8)}
    return Program("p", arrays, tuple(shapes), body)


def padded(*body: Stmt, limits: PadLimits = ANY, keep: tuple[str, ...] = ()) -> Program | None:
    """The program with halos, which leaves the same to the bit; None where it stays as it is."""
    before = build(*body).but(live_out=frozenset(keep))
    after = pad_shifted_copies(before, limits)
    check_same(before, after)
    if after.body == before.body:
        return None
    assert not {"t"} & (all_reads(after.body) | all_writes(after.body))
    return after


def maps(program: Program | None) -> int:
    assert program is not None
    return sum(isinstance(s, Map) for s in statements(program.body))


def test_an_array_has_halos_on_the_sides_that_are_looked_at() -> None:
    after = padded(MAKE, *EAST, USE)
    assert after is not None and after.arrays["u"].shape == (M, N + 1)
    assert maps(after) == 3
    after = padded(MAKE, *EAST, *WEST, BOTH)
    assert after is not None and after.arrays["u"].shape == (M, N + 3)
    assert maps(after) == 4


def test_what_changes_before_the_last_look_is_copied_once() -> None:
    after = padded(MAKE, loop(span("k", 0, 3), *EAST, *WEST, STEP), SHOW)
    assert after is not None and after.arrays["u"].shape == (M, N)
    assert after.arrays["u_halos"].shape == (M, N + 3)
    assert maps(after) == 6


def test_shifts_along_two_axes_meet_in_a_corner() -> None:
    after = padded(MAKE, *EAST, *NORTH_EAST, BOTH)
    assert after is not None and after.arrays["u"].shape == (M + 1, N + 1)
    assert maps(after) == 5


def test_contents_that_differ_have_copies_of_their_own() -> None:
    again = each((ROWS, COLUMNS), put("u", (I, J), at("y", I, J)))
    after = padded(MAKE, *EAST, USE, again, *WEST, each((ROWS, COLUMNS), put("y", (I, J), at("c", I, J) - 1.0)))
    assert after is not None and after.arrays["u"].shape == (M, N + 3)
    between = each((ROWS,), put("u", (I, 3), 2.0))
    after = padded(MAKE, *EAST, between, *WEST, BOTH)
    assert after is not None and "c" not in all_reads(after.body)
    assert maps(after) == 1 + 2 + 1 + 1 + 1


def test_a_copy_that_is_shifted_again_elsewhere() -> None:
    again = each((ROWS, COLUMNS), put("y", (I, J), at("c", I, J) + at("t", I, J)))
    after = padded(MAKE, *EAST, USE, loop(span("k", 0, 2), *NORTH_EAST, again))
    assert after is not None and after.arrays["u"].shape == (M, N + 1) and after.arrays["t"].shape == (M, N)
    assert "c" in all_reads(after.body)


def test_a_part_of_an_array_that_has_more_axes() -> None:
    fill = each((ROWS, COLUMNS, span("k", 0, 3)), put("v", (I, J, ix("k")), at("x", I, J) + 1.0))
    copy = (each((ROWS, span("j", 0, N - 1)), put("t", (I, J), at("v", I, J + 1, 2))),
            each((ROWS,), put("t", (I, N - 1), at("v", I, 0, 2))))
    use = each((ROWS, COLUMNS), put("y", (I, J), at("t", I, J) * at("v", I, J, 1)))
    after = padded(fill, *copy, use)
    assert after is not None and after.arrays["v"].shape == (M, N + 1, 3)


@pytest.mark.parametrize("body", [
    (MAKE, *EAST, loop(span("k", 0, 2), USE)),
    (MAKE, *EAST, when(at("x", 0, 0).compare("gt", 0.5), (USE,))),
    (MAKE, *EAST, each((ROWS, COLUMNS), put("s", (), at("t", I, J), "+"))),
    (MAKE, *EAST, each((ROWS, span("j", 0, N // 2)), put("y", (I, J), at("t", I, J * 2) * 2.0))),
    (MAKE, each((ROWS, COLUMNS), put("t", (I, J), 0.0)), *EAST, USE),
    (each((ROWS, COLUMNS), put("t", (I, J), 0.0)), MAKE, *EAST, USE),
    (each((ROWS, COLUMNS), put("t", (I, J), 0.0)), MAKE, *EAST, STEP, SHOW),
    (MAKE, *EAST, USE, each((ROWS,), put("u", (I, 0), 2.0)), SHOW),
], ids=["in a loop", "in a branch", "a sum", "every other", "zeros first", "zeros before all", "zeros before a copy",
        "changed afterwards"])
def test_any_map_may_look(body: tuple[Stmt, ...]) -> None:
    assert padded(*body) is not None


@pytest.mark.parametrize("body", [
    (MAKE, EAST[0], USE),
    (MAKE, EAST[0], USE, EAST[1]),
    (MAKE, EAST[0], each((ROWS,), put("t", (I, N - 1), at("u", I, 1))), USE),
    (MAKE, EAST[0], each((ROWS,), put("t", (I, N - 1), at("u", I, 0) * 2.0)), USE),
    (MAKE, each((ROWS, span("j", 0, N - 1)), put("t", (I, N - 1 - J), at("u", I, J))), each(
        (ROWS,), put("t", (I, 0), at("u", I, N - 1))), USE),
    (MAKE, *EAST, PRODUCT, USE),
    (each((ROWS, COLUMNS), put("u", (I, J), at("x", I, J))), *EAST, USE),
    (MAKE, *EAST, each((ROWS, COLUMNS), put("y", (I, J), at("t", I, J)))),
    (MAKE, *EAST, USE, loop(span("k", 0, 2), each((ROWS, COLUMNS), put("u", (I, J), at("y", I, J))), *EAST, USE)),
], ids=["in part", "read in between", "another end", "a product", "mirrored", "a matrix product", "a copy itself",
        "only copied on", "in two blocks"])
def test_what_stays(body: tuple[Stmt, ...]) -> None:
    assert padded(*body) is None


def test_results_small_arrays_and_wide_halos_stay() -> None:
    assert padded(MAKE, *EAST, USE, keep=("t",)) is None
    assert padded(MAKE, *EAST, USE, keep=("u",)) is None
    assert padded(MAKE, *EAST, USE, limits=PadLimits(size=M * N + 1)) is None
    assert padded(MAKE, *EAST, USE, limits=PadLimits(size=1, room=1.05)) is None


def reaction(u, v, steps):
    for _ in range(steps):
        du = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        dv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        met = u * v * v
        u += 0.16 * du - met + 0.04 * (1 - u)
        v += 0.08 * dv + met - 0.1 * v
    return np.sum(u * v)


def fluxes(u, v, steps):
    for _ in range(steps):
        h = u / (1.0 + v * v)
        left, right = h + 0.5 * (np.roll(h, -1, 0) - np.roll(h, 1, 0)), np.roll(h, (-1, 2), (0, 1))
        flux = np.maximum(left, right) * np.roll(v, 1, 1)
        u = u - 0.1 * (flux - np.roll(flux, 1, 0))
        v = v + 0.01 * np.roll(np.roll(u, 1, 0), -1, 1) * v
    return np.sum(u * u) + np.sum(v)


def cyclic(u, v, steps):
    def slope(x):
        return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + 8.0
    a, b = u[0], v[0]
    for _ in range(steps):
        k = slope(a)
        a = a + 0.01 * slope(a + 0.01 * k) * b
    return np.sum(a * a)


@pytest.mark.parametrize("function", [reaction, fluxes, cyclic])
def test_gradients_of_periodic_programs(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(3)
    for steps in (0, 3):
        sdfgad.check_grads(function, rng.random((6, 40)), rng.random((6, 40)), steps)


def test_each_neighbour_is_read_where_it_is() -> None:
    """However many neighbours a state has, a time step fills its halos and then the state."""
    program = prepare_program(parse(reaction, (np.ones((6, 40)), np.ones((6, 40)), 3)).program, ())
    time = next(s for s in program.body if isinstance(s, Loop))
    filled = Counter(n for s in time.body for n in writes(s))
    assert filled == {"u": 1, "v": 1, "u_halos": 5, "v_halos": 5, "met": 1}
