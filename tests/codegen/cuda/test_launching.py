"""Kernels in one launch: blocks of their own, or one block for those that follow from each other."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import load
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda import launching
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.codegen.cuda.work import DeviceItems, HostControl, Launch, launches, waits
from sdfgad.errors import ToolchainError
from sdfgad.thresholds import changed, thresholds
from sdfgad.verbs.pipeline import Request, derive
from tests.codegen.cuda.faulty import Sound, sound, without
from tests.codegen.cuda.test_teams import items_of, kernels_of
from tests.support.on_cpu import in_order, running_here

X = np.random.default_rng(5).normal(size=(41, 33))
USUAL = thresholds().device
HOST = replace(USUAL, rounds=0, shared=600)
"""Loops stay with the host; rims are small, the interior is not."""


def framed(x: np.ndarray) -> float:
    """An interior, a frame that shares its corners, and a frame made of the interior."""
    y = np.zeros_like(x)
    for _ in range(3):
        y[1:-1, 1:-1] = np.sin(x[1:-1, 1:-1]) * x[:-2, 1:-1] - 0.3 * x[1:-1, 2:]
        y[0, :] = x[0, :] * x[1, :]
        y[:, 0] = x[:, 1]
        y[-1, :] = 0.5
        x[:, :] = y * y
        x[:, -1] = x[:, -2]
        x[0, :] = x[1, :] * 0.7
    return np.sum(x * x)


def made_of(limits: object) -> DeviceItems:
    with sdfgad.config(device="gpu"), changed(device=limits):
        made = derive(framed, bind(framed, (X.copy(),), {}), Request(("x",), None, None, False))
        return scheduled(made.program).items


def launched(items: DeviceItems) -> list[Launch]:
    found = []
    for item in items:
        if isinstance(item, Launch):
            found.append(item)
        elif isinstance(item, HostControl):
            found += [one for part in item.parts for one in launched(part)]
    return found


def test_rims_run_beside_the_interior() -> None:
    items = made_of(HOST)
    assert all(not item.team for item in items if isinstance(item, HostControl))
    shapes = [sorted(len(chain) for chain in one.chains) for one in launched(items)]
    assert any(len(shape) > 1 and shape[-1] > 1 for shape in shapes), shapes
    alone = launches(made_of(replace(HOST, beside=0)))
    assert launches(items) <= 0.6 * alone  # 26 and 50


def steps_of_halos(mode: str) -> list[int]:
    """Kernels that a step starts, in the forward sweep and in the reverse one."""
    def steps(x: np.ndarray, count: int) -> float:
        for _ in range(count):
            p = np.pad(x, 1, mode=mode)
            x = x + 0.1 * x * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)
        return np.sum(x * x)

    return launches_of_steps(steps, np.ones((1024, 1024)))


def launches_of_steps(function: Callable[..., float], x: np.ndarray) -> list[int]:
    """Kernels that a step of ten starts, in each loop of the host."""
    with sdfgad.config(device="gpu"):
        made = derive(function, bind(function, (x, 10), {}), Request(("x",), None, None, False))
    return [launches(one.parts[0]) for one in scheduled(made.program).items if isinstance(one, HostControl)]


@pytest.mark.parametrize("mode, most", [("wrap", [2, 3]), ("reflect", [2, 3]), ("symmetric", [2, 3]),
                                        ("constant", [2, 3]), ("edge", [3, 4])])
def test_halos_are_filled_by_the_kernel_of_the_interior(mode: str, most: list[int]) -> None:
    """Of borders that repeat what is inside it were 3 and 6."""
    assert steps_of_halos(mode) == most


def streamed(x: np.ndarray, count: int) -> float:
    """Directions that are rolled twice each, one after the other, and meet in the end; what looks at neighbours there
    may not go past."""
    y = np.zeros_like(x[0])
    for _ in range(count):
        x[0] = np.roll(np.roll(x[0], 1, axis=0), -1, axis=1)
        x[1] = np.roll(np.roll(x[1], -1, axis=0), 1, axis=1)
        x[2] = np.roll(np.roll(x[2], 1, axis=0), 1, axis=1)
        y[1:] = y[1:] + 0.1 * x[0, :-1] * x[1, 1:]
        x[0] = x[0] + 0.1 * x[1] * x[2]
    return np.sum(x * x) + np.sum(y * y)


def test_kernels_go_past_those_of_other_elements() -> None:
    """The second roll of a direction writes what the first one of the next direction does not touch: 12 before."""
    assert launches_of_steps(streamed, np.ones((3, 512, 512))) == [4, 3]
    x = np.random.default_rng(3).normal(size=(3, 40, 41))
    expected = sdfgad.grad(streamed, wrt="x")(x.copy(), 2)
    with changed(device=replace(USUAL, rounds=0, shared=0)), running_here(), in_order(2):
        np.testing.assert_allclose(sdfgad.grad(streamed, wrt="x")(x.copy(), 2), expected, rtol=1e-12)


def through_rows(x: np.ndarray) -> float:
    """A thread goes through the rows of what others clear: a row is no rim at a fixed place."""
    y = np.zeros_like(x)
    for t in range(1, x.shape[0]):
        y[t] = 0.5 * y[t - 1] + x[t] * x[t, 2]
    y[5] *= 2.0
    y[:, 3] = y[:, 4] * x[:, 1]
    return np.sum(y * x)


def test_rims_of_what_a_thread_goes_through() -> None:
    expected = sdfgad.grad(through_rows)(X.copy())
    with running_here(), in_order(2):
        np.testing.assert_allclose(sdfgad.grad(through_rows)(X.copy()), expected, rtol=1e-12)


def rows_in_turn(a: np.ndarray, b: np.ndarray) -> float:
    """What comes back to a row, and what it then gives to rows of others, are rims of different arrays."""
    a[3, 1:-1] += 0.1 * (a[0, 2:] - a[0, 1:-1] * a[0, 2:])
    a[1] = np.where(b[2] > 0.5, a[1] * 0.9, a[3] * b[2])
    b[3, 1:-1] += 0.1 * (a[1, 1:-1] - a[2, 2:] * b[3, :-2])
    return np.sum(a * b)


def test_parts_of_one_thread_on_different_rims_stay_in_turn() -> None:
    """Threads of two rows touched one element, and the gradient depended on which was first."""
    given = np.random.default_rng(5).random((2, 4, 300))
    expected = sdfgad.grad(rows_in_turn)(*given.copy())
    with changed(device=replace(USUAL, rounds=0)), running_here(), in_order(1):
        for found, there in zip(sdfgad.grad(rows_in_turn)(*given.copy()), expected, strict=True):
            np.testing.assert_allclose(found, there, rtol=1e-12)


@pytest.fixture(scope="module", params=["host", "blocks", "block"])
def right(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """Loops of the host, of all blocks together, and of one block."""
    limits = {"host": HOST, "blocks": replace(USUAL, rounds=0), "block": USUAL}[request.param]
    with changed(device=limits):
        made = sound(framed, X, tmp_path_factory.mktemp("launching"))
    assert ("blockIdx.x < 1)" in made.code.text or "gridDim.x - 1" in made.code.text) == (request.param != "block")
    return made


def test_the_same_digits_in_all_orders(right: Sound) -> None:
    found = [right.found(lambda text: text, order) for order in (1, 2, 3)]
    np.testing.assert_allclose(found[0], sdfgad.grad(framed)(X.copy()), rtol=1e-11, atol=1e-13)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_a_chain_without_its_barriers_is_found(right: Sound) -> None:
    with pytest.raises(ToolchainError, match="two threads touch"):
        right.found(without(r"^ *__syncthreads\(\);\n"))


def test_what_depends_on_each_other_side_by_side_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(launching._Launches, "apart", lambda self, first, other: True)
    with changed(device=HOST):
        wrong = sound(framed, X, tmp_path)
    with pytest.raises(ToolchainError, match="two threads touch"):
        wrong.found(lambda text: text)


@pytest.mark.parametrize("name, most", [("nbody", [3, 5]), ("cavity_flow", [5, 8])])
def test_waits_of_a_step(name: str, most: list[int]) -> None:
    """In the loops that all blocks run at paper size, of the sweep forwards and of the one backwards."""
    loops = [i for i in items_of(name, load(name).sizes("paper")) if isinstance(i, HostControl) and i.team]
    assert [waits(loop.parts[0]) for loop in loops] == most


@pytest.mark.parametrize("name, sizes, most", [
    ("nbody", {"N": 512, "tEnd": 0.02, "dt": 0.01, "softening": 0.1, "G": 1.0}, 74),
    ("cavity_flow", {"ny": 512, "nx": 512, "nt": 2, "nit": 5, "rho": 1.0, "nu": 0.1}, 76),
])
def test_launches_of_loops_that_are_too_large_for_that(name: str, sizes: dict[str, Any], most: int) -> None:
    assert kernels_of(name, sizes) <= most


def test_pieces_stay_apart_where_more_is_joined_then() -> None:
    """Pieces that touch different elements, in one kernel, kept what follows from each in others: 22 kernels."""
    assert kernels_of("channel_flow", load("channel_flow").sizes("paper")) <= 20
