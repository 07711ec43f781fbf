"""What shifted copies hold is read where it came from, as long as it is still there."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Range, Stmt
from sdfgad.ir.walk import all_reads, all_writes
from sdfgad.thresholds import ShiftLimits
from sdfgad.transform.copies.propagate_shifted_copies import propagate_shifted_copies
from tests.support.build import F8, at, each, loop, put, span, when
from tests.support.oracle import check_same

N, M = 12, 5
I, J = ix("i"), ix("j")
ANY = ShiftLimits(size=1)
ROWS, COLUMNS = span("i", 0, M), span("j", 0, N)
MAIN = each((ROWS, span("j", 0, N - 1)), put("t", (I, J), at("x", I, J + 1)))
SEAM = each((ROWS,), put("t", (I, N - 1), at("x", I, 0)))
USE = each((ROWS, COLUMNS), put("y", (I, J), at("t", I, J) * at("x", I, J) + at("t", I, J)))


def build(*body: Stmt) -> Program:
    shapes = {"x": (M, N), "y": (M, N), "z": (M, N), "w": (N,), "s": ()}
    arrays = {n: Array(n, s, F8, "argument") for n, s in shapes.items()} | {"t": Array("t", (M, N), F8)}
    arrays |= {"c": Array("c", (M, N), F8)}
    return Program("p", arrays, tuple(shapes), body)


def goes(*body: Stmt, limits: ShiftLimits = ANY, keep: tuple[str, ...] = ()) -> bool:
    """Whether the copy goes; what the program leaves stays the same, to the bit."""
    before = build(*body)
    after = propagate_shifted_copies(before.but(live_out=frozenset(keep)), limits)
    check_same(before, after, tolerance=0.0)
    gone = "t" not in all_reads(after.body) | all_writes(after.body)
    assert gone or after.body == before.body
    return gone


def test_a_map_is_cut_at_the_seam() -> None:
    after = propagate_shifted_copies(build(MAIN, SEAM, USE).but(live_out=frozenset(())), ANY)
    assert [s.domain[1] for s in after.body if isinstance(s, Map)] == [span("j", 0, N - 1), span("j", N - 1, N)]
    assert goes(MAIN, SEAM, USE)


@pytest.mark.parametrize("body", [
    (each((ROWS, COLUMNS), put("t", (I, J), 0.0)), MAIN, SEAM, USE),
    (SEAM, MAIN, USE),
    (MAIN, SEAM, USE, each((span("q", 1, N),), put("w", (ix("q"),), at("t", 2, ix("q") - 1) + at("t", 0, 3)))),
    (MAIN, SEAM, each((ROWS, span("j", 3, N - 2)), put("y", (I, J), at("t", I, J + 1) - at("t", I, J + 2)))),
    (MAIN, SEAM, each((ROWS,), put("w", (I,), at("t", I, I)))),
    (MAIN, SEAM, each((ROWS, COLUMNS), put("y", (I, J), at("t", I, J), "+")), each((ROWS,), put("x", (I, 0), 2.0))),
    (loop(span("k", 0, 3), MAIN, SEAM, USE, each((ROWS, COLUMNS), put("x", (I, J), at("y", I, J)))),),
], ids=["zeros first", "seam first", "other places", "inside", "diagonal", "changed afterwards", "again and again"])
def test_what_can_be_read_elsewhere(body: tuple[Stmt, ...]) -> None:
    assert goes(*body)


@pytest.mark.parametrize("body", [
    (MAIN, SEAM, each((ROWS, COLUMNS), put("x", (I, J), at("t", I, J)))),
    (MAIN, each((ROWS,), put("x", (I, 0), 2.0)), SEAM, USE),
    (MAIN, SEAM, each((ROWS,), put("x", (I, 3), 2.0)), USE),
    (MAIN, SEAM, loop(span("k", 0, 2), each((ROWS,), put("x", (I, 3), 2.0))), USE),
    (MAIN, SEAM, USE, MAIN),
    (MAIN, USE, SEAM),
    (MAIN, USE),
    (MAIN, each((ROWS,), put("t", (I, N - 2), at("x", I, 0))), USE),
    (MAIN, SEAM, each((span("i", 0, M - 1),), put("t", (I, N - 1), at("x", I, 0))), USE),
    (MAIN, each((ROWS,), put("t", (I, N - 1), at("x", I, 0), "+")), USE),
    (MAIN, each((ROWS,), put("t", (I, N - 1), at("x", I, 0) * 2.0)), USE),
    (MAIN, SEAM, each((ROWS, COLUMNS), put("s", (), at("t", I, J), "+"))),
    (MAIN, SEAM, loop(span("k", 0, 2), USE)),
    (MAIN, SEAM, when(at("x", 0, 0).compare("gt", 0.5), (USE,))),
    (MAIN, SEAM, loop(span("k", 0, M), each((COLUMNS,), put("w", (J,), at("t", ix("k"), J), "+")))),
    (MAIN, SEAM, each((ROWS, span("j", "i", N)), put("y", (I, J), at("t", I, J)))),
    (MAIN, SEAM, each((ROWS, Range("j", ix(N - 1), ix(-1), -1)), put("y", (I, J), at("t", I, J)))),
    (MAIN, SEAM, each((ROWS, span("j", 0, N // 2)), put("y", (I, J), at("t", I, J * 2)))),
    (each((ROWS, span("j", 0, N - 1)), put("t", (I, N - 1 - J), at("x", I, J))), each(
        (ROWS,), put("t", (I, 0), at("x", I, N - 1))), USE),
    (MAIN, SEAM, USE, each((ROWS, COLUMNS), put("t", (I, J), at("y", I, J))), USE),
], ids=["source in the reader", "source between the pieces", "source before the reader", "source in a loop",
        "made again", "read in between", "in part", "twice the same", "too much", "a sum", "a product", "one sum",
        "read in a loop", "read in a branch", "row by row", "triangle", "downwards", "every other", "mirrored",
        "filled again"])
def test_what_cannot(body: tuple[Stmt, ...]) -> None:
    assert not goes(*body)


def test_results_and_small_copies_stay() -> None:
    assert not goes(MAIN, SEAM, USE, keep=("t",))
    assert not goes(MAIN, SEAM, USE, limits=ShiftLimits(size=M * N + 1))
    assert goes(MAIN, SEAM, USE, limits=ShiftLimits(size=M * N, more=1))
    assert not goes(MAIN, SEAM, USE, limits=ShiftLimits(size=1, more=0))
    assert not goes(MAIN, SEAM, USE, limits=ShiftLimits(size=1, whole=0.95))


def test_copies_of_copies() -> None:
    again = (each((ROWS, span("j", 0, N - 1)), put("c", (I, J), at("t", I, J + 1))),
             each((ROWS,), put("c", (I, N - 1), at("t", I, 0))),
             each((ROWS, COLUMNS), put("y", (I, J), at("c", I, J) + at("x", I, J))))
    before = build(MAIN, SEAM, *again)
    after = propagate_shifted_copies(before.but(live_out=frozenset(())), ANY)
    check_same(before, after, tolerance=0.0)
    assert all_reads(after.body) == {"x"}


def periodic(u, steps, c):
    for _ in range(steps):
        u = u + c * (np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1) + np.roll(u, -1, axis=0) - 3.0 * u) \
            + 0.1 * np.roll(u, 2, axis=0) * np.roll(u, (1, -1), axis=(0, 1))
    return np.sum(u * u)


def in_place(u, steps, c):
    for _ in range(steps):
        west = np.roll(u, 1, axis=1)
        u[1:-1, :] = u[1:-1, :] + c * (west[1:-1, :] - u[1:-1, :]) * west[2:, :]
        u[0, :] = west[1, :]
    return np.sum(u * u)


def linear(u, steps, c):
    for _ in range(steps):
        u = u - c * u * (u - np.roll(u, 3))
    return np.sum(u ** 2)


@pytest.mark.parametrize(("function", "shape"), [
    (periodic, (36, 40)), (in_place, (36, 40)), (linear, (1500,)), (linear, (40, 41))])
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_gradients_of_periodic_stencils(function: Callable[..., Any], shape: tuple[int, ...], steps: int) -> None:
    rng = np.random.default_rng(5)
    sdfgad.check_grads(function, rng.random(shape), steps, 0.1)


def test_single_precision_and_values() -> None:
    u = np.random.default_rng(6).random((36, 40)).astype(np.float32)
    value, _ = sdfgad.value_and_grad(periodic)(u, 2, np.float32(0.1))
    np.testing.assert_allclose(value, periodic(u.copy(), 2, np.float32(0.1)), rtol=1e-4)
