"""Which threads share sums, by the sectors of memory that they touch; and the estimate of what kernels move."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.device.registers import derived
from npbench_suite.device.sectors import LARGE, MOST, Moved, moved_by
from sdfgad.arrays import Spec
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda.layout import moved_by as moved_in_all
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.thresholds import changed, thresholds
from sdfgad.verbs.pipeline import Request, derive
from tests.npbench.calls import DIFFERENTIABLE
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


def sweep(x: np.ndarray) -> float:
    """A recurrence along rows."""
    y = np.zeros(x.shape)
    y[:, 0] = x[:, 0]
    for k in range(1, x.shape[1]):
        y[:, k] = 0.5 * np.sin(y[:, k - 1]) * x[:, k]
    return np.sum(y[:, -1] ** 2)


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
    worst = max(moved(sweep, 60_000, 160), key=lambda m: m.ratio)
    assert worst.ratio > 2 and worst.worst in ("x", "grad_x")


def test_a_warp_covers_rows_and_columns() -> None:
    assert all(m.ratio == 1.0 for m in moved(turned, 4096, 4096))
    with changed(turned_cost=0.0):
        assert max(m.ratio for m in moved(turned, 4096, 4096)) == 2.5


def of_rows(x: np.ndarray) -> float:
    return np.sum(x[0] * x[1] * x[2])


def of_columns(x: np.ndarray) -> float:
    return np.sum(x[:, 0] * x[:, 1] * x[:, 2])


def looked_up(x: np.ndarray, places: np.ndarray) -> float:
    return np.sum(x[places] * np.sin(x))


MILLION = 1_000_000


@pytest.mark.parametrize("function, arguments, megabytes", [
    (of_rows, (Spec((3, MILLION), np.dtype("f8")),), 48.0),
    (of_columns, (Spec((MILLION, 3), np.dtype("f8")),), 48.186),  # in each other's sectors, ends of blocks in two
    (of_columns, (Spec((MILLION, 16), np.dtype("f8")),), 160.0),  # a sector of each row read, all written
    (looked_up, (Spec((MILLION,), np.dtype("f8")), np.arange(MILLION)), 48.0),
], ids=["rows", "columns of three", "columns of sixteen", "looked up"])
def test_accesses_that_differ_in_a_row_count_each(function: Callable[..., Any], arguments: tuple[Any, ...],
                                                  megabytes: float) -> None:
    """As the runtime of the tests counts the sectors of blocks; numbers that lie in one sector count once."""
    with sdfgad.config(device="gpu"):
        made = derive(function, bind(function, arguments, {}), Request(("x",), None, None, False))
        device = scheduled(made.program)
    assert moved_in_all(device.items, device.arrays) / 1e6 == pytest.approx(megabytes, rel=1e-3)


def below_in_rows(x: np.ndarray) -> float:
    """Products of rows with what is found of a row before: sums that look at other elements of what they add to."""
    for i in range(1, x.shape[0]):
        for j in range(i):
            x[i, j] -= np.sum(x[i, j + 1:] * x[j, j + 1:])
    return np.sum(x * x)


MORE = {"deriche": {"grad_y2"}, "vadv": {"wcon", "grad_utens_stage"}}
"""Arrays for which kernels move too much, as docs/gpu.md says: a loop along rows inside of a thread."""


@pytest.mark.parametrize("name", [n if n in ("lu", "conv2d_bias", "stockham_fft") else
                                  pytest.param(n, marks=pytest.mark.slow) for n in DIFFERENTIABLE])
def test_npbench_moves_what_it_has_to(name: str) -> None:
    """Rows that a thread has a sum each of, windows of images that lie far apart, numbers that lie between others."""
    found = [m for m in moved_by(scheduled(derived(name).program)) if m.moved > LARGE and m.ratio > MOST]
    assert {m.worst for m in found} == MORE.get(name, set())


def test_sums_that_look_at_other_elements() -> None:
    """Of the array that they add to: those before, of the same row."""
    x = np.random.default_rng(6).normal(size=(9, 9)) * 0.3
    found, texts = [], list[str]()
    with changed(device=replace(thresholds().device, points=4, terms=2)), \
            running_here(on_cpu(lambda text: texts.append(text) or text)):
        gradient = sdfgad.grad(below_in_rows)
        for seed in (1, 2, 3):
            with in_order(seed):
                found.append(gradient(x.copy()))
    assert "sg::together" in texts[0]
    np.testing.assert_allclose(found[0], sdfgad.grad(below_in_rows)(x.copy()), rtol=1e-11, atol=1e-13)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def stack(x: np.ndarray) -> float:
    """Planes that are looked at the other way round, beside numbers that all of them share."""
    y = np.empty((x.shape[0], x.shape[2], x.shape[1]))
    y[:] = np.transpose(x, (0, 2, 1)) * x[0, 0, 0]
    return np.sum(np.sin(y) * y * np.transpose(np.cos(x), (0, 2, 1)))


@pytest.mark.parametrize("function, shape", [(turned, (37, 37)), (stack, (3, 21, 14))])
def test_points_of_patches_are_all_met(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """Neither side is a multiple of what a warp covers."""
    x = np.random.default_rng(4).normal(size=shape)
    texts, found = list[str](), []
    with changed(device=replace(thresholds().device, points=1), turned_cost=1.0), \
            running_here(on_cpu(lambda t: texts.append(t) or t)):
        gradient = sdfgad.grad(function)
        for seed in (1, 2, 3):
            with in_order(seed):
                found.append(gradient(x))
    assert "warp = uint32_t(at) / 32;" in texts[0]
    np.testing.assert_allclose(found[0], sdfgad.grad(function)(x), rtol=1e-12)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_temporaries_lie_as_threads_go_through_them() -> None:
    """Rows are read with a sector for each number, but what the program keeps in between is not."""
    found = moved(sweep, 60_000, 160)
    with changed(turned_bytes=1 << 40):
        usual = moved(sweep, 60_000, 160)
    assert max(m.ratio for m in usual) > 3 and {m.worst for m in found} <= {"x", "grad_x", "nothing"}
    assert sum(m.moved for m in found) < sum(m.moved for m in usual)


def test_what_lies_otherwise_has_the_same_digits() -> None:
    x = np.random.default_rng(2).normal(size=(37, 11))
    found = []
    for least in (1, 1 << 40):
        with changed(turned_bytes=least), running_here():
            for seed in (1, 2, 3):
                with in_order(seed):
                    found.append(sdfgad.grad(sweep)(x))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


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
