"""Which threads share sums, by the sectors of memory that they touch; and the estimate of what kernels move."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.device.sectors import Moved, moved_by
from sdfgad.arrays import Spec
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.pipeline import Request, derive
from sdfgad.thresholds import changed, thresholds
from tests.support.on_cpu import in_order, running_here


def rows(x: np.ndarray) -> float:
    return np.sum(np.sum(x * x, axis=1) ** 2)


def columns(x: np.ndarray) -> float:
    return np.sum(np.sum(x * x, axis=0) ** 2)


def turned(x: np.ndarray) -> float:
    y = np.empty_like(x)
    y[:] = x.T
    return np.sum(np.sin(y) * x)


def moved(function: Callable[..., Any], *shape: int) -> list[Moved]:
    """By the kernels of a gradient."""
    with sdfgad.config(device="gpu"):
        made = derive(function, bind(function, (Spec(shape, np.dtype("f8")),), {}), Request(("x",), None, None, False))
        return [m for m in moved_by(scheduled(made.program)) if m.moved > 1e6]


@pytest.mark.parametrize("function, shape", [(rows, (20_000, 512)), (columns, (512, 20_000))])
def test_sums_move_what_they_have_to(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    found = moved(function, *shape)
    assert found and all(m.ratio <= 1.3 for m in found), found


def test_what_moves_too_much_is_told() -> None:
    worst = max(moved(turned, 4096, 4096), key=lambda m: m.ratio)
    assert worst.ratio == 2.5 and worst.worst == "grad_y"


def test_sums_of_rows_are_right() -> None:
    """Enough points for a thread each, but their terms lie beside each other: the same bits in all orders."""
    x = np.random.default_rng(3).normal(size=(6, 40))
    found = []
    with changed(device=replace(thresholds().device, points=4, terms=8)), running_here():
        gradient = sdfgad.grad(rows)
        for seed in (1, 2):
            with in_order(seed):
                found.append(gradient(x))
    np.testing.assert_allclose(found[0], 4 * x * np.sum(x * x, axis=1)[:, np.newaxis], rtol=1e-12)
    np.testing.assert_array_equal(found[1], found[0])
