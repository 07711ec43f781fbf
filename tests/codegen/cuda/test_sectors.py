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
from tests.support.on_cpu import in_order, on_cpu, running_here


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


def below(x: np.ndarray) -> float:
    """Columns of a triangle: sums that differ in length."""
    y = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        for i in range(j, x.shape[0]):
            y[j] += x[i, j] * x[i, j]
    return np.sum(y ** 2)


SHAPES = [(rows, (20_000, 512)), (columns, (512, 20_000)), (columns, (20_000, 512)), (columns, (3000, 1999))]


@pytest.mark.parametrize("function, shape", SHAPES)
def test_sums_move_what_they_have_to(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    found = moved(function, *shape)
    assert found and all(m.ratio <= 1.3 for m in found), found


def test_what_moves_too_much_is_told() -> None:
    worst = max(moved(turned, 4096, 4096), key=lambda m: m.ratio)
    assert worst.ratio == 2.5 and worst.worst == "grad_y"


@pytest.mark.parametrize("function, shape, limits, kernels", [
    (rows, (6, 40), {"points": 4}, "sg::together"),
    (columns, (40, 19), {}, "sg::beside"),  # of three groups the last one is ragged
    (columns, (90, 11), {"long_sum": 64, "pieces": 6}, "partial"),
    (below, (90, 11), {"long_sum": 64, "pieces": 6}, "partial"),
    (below, (17, 19), {}, "sg::beside"),  # two of the sums are empty
])
def test_shared_sums_are_right(function: Callable[..., Any], shape: tuple[int, ...], limits: dict[str, int],
                               kernels: str) -> None:
    """Of rows, where there are enough points for a thread each, and of columns: the same bits in all orders."""
    x = np.random.default_rng(3).normal(size=shape)
    kept = np.tril(np.ones(shape)) if function is below else 1.0
    sums = np.sum(x * x * kept, axis=1 if function is rows else 0, keepdims=True)
    found, texts = [], list[str]()
    with changed(device=replace(thresholds().device, terms=8, **limits)), \
            running_here(on_cpu(lambda text: texts.append(text) or text)):
        gradient = sdfgad.grad(function)
        for seed in (1, 2):
            with in_order(seed):
                found.append(gradient(x))
    assert kernels in texts[0]
    np.testing.assert_allclose(found[0], 4 * x * kept * sums, rtol=1e-12)
    np.testing.assert_array_equal(found[1], found[0])
