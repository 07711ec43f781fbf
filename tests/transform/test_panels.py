"""Products of matrices that are cut, panel by panel: equal to the serial ones, in the room of blocks and panels."""
from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np
import pytest

from sdfgad.ir.messages import EXCHANGE, is_message, messages
from sdfgad.ir.program import Program
from sdfgad.ir.walk import rebuild
from sdfgad.transform.cutting import maps
from sdfgad.transform.cutting.blocks import Distribution, RankGrid
from tests.support.simulated import CutRun, SerialGradient, cut_and_run, serial_gradient
from tests.transform.test_cutting import blocks, checked, kernel

RNG = np.random.default_rng(4)
GRIDS = ((2, 2), (2, 3), (3, 2), (4,), (3,))


@pytest.fixture
def panelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "PANELLED", 0)


def product(A: Any, B: Any, w: Any) -> Any:
    C = A @ B
    return np.sum(C * C * w)


def in_turn(A: Any, B: Any, w: Any) -> Any:
    C = np.tanh(A @ B.T)
    return np.sum((C @ B * w) ** 2)


def repeated(A: Any, B: Any, w: Any) -> Any:
    for _ in range(3):
        B = np.tanh(A @ B)
    return np.sum(B * w)


def serial(fn: Any, m: int, n: int, k: int, dtype: str = "f8") -> SerialGradient:
    shapes = ((m, k), (n, k) if fn is in_turn else (k, n), (m, k) if fn is in_turn else (m, n))
    arrays = [RNG.random(s) for s in shapes]
    return serial_gradient(fn, (arrays[0].astype(dtype), *arrays[1:]), ("A", "B"))


def cut(grid: tuple[int, ...]) -> dict[str, tuple[int | None, ...]]:
    return dict.fromkeys("ABw", (0, 1 if len(grid) > 1 else None))


def panels(done: CutRun) -> int:
    return sum(name.startswith("panel_") for program in done.programs for name in program.arrays)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("fn, sizes", [
    (product, (8, 7, 12)), (in_turn, (5, 9, 6)), (product, (3, 2, 3)), (product, (8, 7, 8))])
def test_products(panelled: None, fn: Any, sizes: tuple[int, ...], grid: tuple[int, ...]) -> None:
    """Blocks of other sizes than the panels, and none on some ranks."""
    done = cut_and_run(serial(fn, *sizes), cut(grid), grid, checked)
    assert done.error < 1e-13 and panels(done)


@pytest.mark.parametrize("name", ["gemm", "k2mm", "covariance", "softmax", "doitgen", "mlp"])
def test_kernels(panelled: None, name: str) -> None:
    one, shapes = kernel(name)
    for grid in GRIDS[:2]:
        assert cut_and_run(one, blocks(shapes, 2), grid, checked).error < 1e-13, grid


def test_several_types(panelled: None) -> None:
    done = cut_and_run(serial(product, 8, 6, 9, "f4"), cut((2, 3)), (2, 3), checked)
    assert done.error < 1e-6 and panels(done)


@pytest.mark.parametrize("grid", [(4,), (2, 2), (4, 4)])
def test_room_of_blocks(panelled: None, grid: tuple[int, ...]) -> None:
    """No rank has more of an array than its block, and a panel is a block at most."""
    one = serial(product, 16, 16, 16)
    for rank in range(prod(grid)):
        made = one.cut(Distribution(RankGrid(grid), rank, cut(grid), gather=False))
        assert max(prod(a.shape) for a in made.arrays.values()) <= 16 * 16 // prod(grid)


def test_at_once_where_little_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels send about as much."""
    one = serial(product, 8, 8, 8)
    at_once = cut_and_run(one, cut((2, 2)), (2, 2))
    monkeypatch.setattr(maps, "PANELLED", 0)
    apart = cut_and_run(one, cut((2, 2)), (2, 2))
    assert not panels(at_once) and at_once.world.bytes <= apart.world.bytes < 1.1 * at_once.world.bytes


def squared(A: Any, B: Any, w: Any) -> Any:
    """A factor that each step makes of the one before, and their product with what stays as it is."""
    for _ in range(3):
        A = 0.1 * A @ A + B
    return np.sum(A * w)


def inverted(A: Any, B: Any, w: Any) -> Any:
    """The iteration of Newton, Schulz and Hotelling."""
    X = A.T / np.sum(A * A)
    for _ in range(3):
        X = 2 * X - X @ (A @ X)
    return np.sum(X * w * B)


def in_pairs(A: Any, B: Any, w: Any) -> Any:
    for _ in range(3):
        A, B = np.tanh(A @ B), np.tanh(B @ A)
    return np.sum(A * w * B)


def until_small(A: Any, B: Any, w: Any) -> Any:
    r = 1.0
    while r > 1e-3:
        A = 0.05 * A @ (A * B)
        r = np.max(np.abs(A))
    return np.sum(A * w)


@pytest.mark.parametrize("grid", [(2, 2), (3, 2), (3,)])
@pytest.mark.parametrize("fn", [squared, inverted, repeated, in_pairs, until_small])
def test_products_in_loops(panelled: None, fn: Any, grid: tuple[int, ...]) -> None:
    done = cut_and_run(serial(fn, 7, 7, 7), cut(grid), grid, checked)
    assert done.error < 1e-13 and panels(done)


def window_by_window(A: Any, B: Any, w: Any) -> Any:
    C, W = np.zeros_like(w), w[:6] * B[:6]
    for b in range(A.shape[1] - 5):
        C += np.sum(A[:, b:b + 6, None] * W, axis=1)
        W = np.tanh(W)
    return np.sum(C ** 2)


def test_what_a_loop_reads_at_other_places_of_a_cut_axis_comes_as_a_whole(panelled: None) -> None:
    one = serial_gradient(window_by_window, tuple(RNG.random((3, 8, 8))), ("B",))
    done = cut_and_run(one, cut((2, 2)), (2, 2), checked)
    assert done.error < 1e-13 and not any("panel_A" in p.arrays for p in done.programs)


def test_room_in_loops(panelled: None) -> None:
    """What a loop changes takes no more than its block, and records a block for each step."""
    one = serial(in_pairs, 16, 16, 16)
    for rank in range(4):
        made = one.cut(Distribution(RankGrid((2, 2)), rank, cut((2, 2)), gather=False))
        assert max(prod(a.shape[-2:]) for a in made.arrays.values()) <= 16 * 16 // 4


def test_a_missing_panel_shows(panelled: None) -> None:
    def without_one(program: Program) -> Program:
        first = next(m for m in messages(program.body) if m.attrs["kind"] == EXCHANGE)
        return program.but(body=rebuild(program.body, lambda s: () if is_message(s) and s.ins == first.ins else (s,)))

    assert math.isnan(cut_and_run(serial(product, 8, 8, 8), cut((4,)), (4,), without_one).error)
