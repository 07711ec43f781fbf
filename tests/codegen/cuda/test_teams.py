"""Loops that one block runs: their results, their barriers, and how many kernels programs start with them."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import load
from sdfgad.arrays import Spec
from sdfgad.calls.arguments import bind
from sdfgad.codegen.compiling.build import LIBRARY
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.codegen.cuda.work import DeviceItems, launches
from sdfgad.errors import ToolchainError
from sdfgad.thresholds import changed, thresholds
from sdfgad.verbs.pipeline import Request, derive
from tests.codegen.cuda.faulty import Sound, sound, without
from tests.support.on_cpu import counts, in_order, on_cpu, running_here

MANY = np.random.default_rng(3)
A, B = MANY.normal(size=(20, 20)) + 20.0 * np.eye(20), MANY.normal(size=20)


def solved(a: np.ndarray, b: np.ndarray) -> float:
    """Sums and elements that wait for each other, in a loop of changing length inside a loop."""
    x = np.zeros_like(b)
    for _ in range(2):
        for i in range(b.shape[0]):
            x[i] = (b[i] - np.sum(a[i, :i] * x[:i])) / a[i, i]
        b[:] = x[::-1] * b
    return np.sum(x * b)


def gradients(target: Any = None) -> tuple[list[np.ndarray], int]:
    """By CUDA text, and how many kernels one more call has started."""
    with running_here() if target is None else running_here(target):
        gradient = sdfgad.grad(solved)
        gradient(A.copy(), B.copy())
        library = next(iter(gradient._known.values()))[0].compiled().folder / LIBRARY
        counts(library)
        with in_order(2):
            found = gradient(A.copy(), B.copy())
        return list(found.values()), counts(library)[0]


def test_a_loop_in_a_block() -> None:
    found, started = gradients()
    for one, other in zip(found, sdfgad.grad(solved)(A.copy(), B.copy()).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    assert started <= 8


def test_a_missing_barrier_is_found() -> None:
    def without(text: str) -> str:
        changed = re.sub(r"^ *__syncthreads\(\);\n", "", text, flags=re.MULTILINE)
        assert changed != text
        return changed

    with pytest.raises(ToolchainError, match="two threads touch"):
        gradients(on_cpu(without))


def spread(x: np.ndarray) -> float:
    """Neighbours in a loop that is too large for one block."""
    y = np.zeros_like(x)
    for _ in range(3):
        y[1:-1] = x[:-2] * x[2:] + np.sin(x[1:-1])
        x[1:-1] = y[:-2] - 0.3 * y[1:-1] * y[2:] + np.mean(y)
    return np.sum(x * x)


SPREAD = MANY.normal(size=1500)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """Its gradient in loops that all blocks run: there are six of them, and room for three."""
    usual = thresholds().device
    with changed(device=replace(usual, rounds=0, points=256, terms=8, long_sum=1 << 20)):
        return sound(spread, SPREAD, tmp_path_factory.mktemp("shared"))


def test_blocks_wait_for_each_other(shared: Sound) -> None:
    """Maps and sums of all blocks, the same bits in all orders."""
    assert len(re.findall(r"->launch_together\(", shared.code.text)) == 2
    assert re.search(r"sum\d+ = sg::together(.|\n)*?sg::wait_for_all\(\)", shared.code.text)
    found = [shared.found(lambda text: text, order) for order in (1, 2, 3)]
    np.testing.assert_allclose(found[0], sdfgad.grad(spread)(SPREAD.copy()), rtol=1e-11, atol=1e-13)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("change, message", [
    (without(r"^ *sg::wait_for_all\(\);\n", times=1), "two threads touch"),
    (without(r"sg::wait_for_all\(\);", "if (threadIdx.x) sg::wait_for_all();"), "left its block before"),
    (without(r"^(__global__ .* grid_.*)$", r"\1 if (!blockIdx.x) return;"), "a block has left before"),
    (without(r"->launch_together\(", "->launch("), "not started at once"),
    (without(r"__state->gpu_context->launch_together\((.*)\);",
             r"cudaLaunchCooperativeKernel(\1, 0, __state->gpu_context->stream);"), "another error"),
], ids=["no barrier", "a thread less", "a block less", "one after the other", "too many blocks"])
def test_what_goes_wrong_between_blocks(shared: Sound, change: Callable[[str], str], message: str) -> None:
    with pytest.raises(ToolchainError, match=message):
        shared.found(change)


@pytest.mark.parametrize("name, sizes, most", [
    ("lu", {"N": 2000}, 20_000), ("cholesky", {"N": 2000}, 20_000), ("ludcmp", {"N": 2000}, 20_000),
    ("gramschmidt", {"M": 240, "N": 200}, 20_000), ("durbin", {"N": 16_000}, 20_000),
    ("nbody", {"N": 100, "tEnd": 10.0, "dt": 0.01, "softening": 0.1, "G": 1.0}, 65),
    ("cavity_flow", {"ny": 101, "nx": 101, "nt": 700, "nit": 50, "rho": 1.0, "nu": 0.1}, 5),
    ("trisolv", {"N": 2000}, 20), ("hdiff", {"I": 64, "J": 64, "K": 60}, 3),
])
def test_kernels_of_a_call(name: str, sizes: Mapping[str, Any], most: int) -> None:
    """At paper size, but for the last two; of 1000 and 700 time steps of nbody and cavity_flow."""
    assert 0 < kernels_of(name, sizes) <= most


@pytest.mark.parametrize("name, sizes, steps, most", [
    ("jacobi_2d", {"N": 2800}, "TSTEPS", 2), ("heat_3d", {"N": 120}, "TSTEPS", 2),
    ("fdtd_2d", {"NX": 1000, "NY": 1200}, "TMAX", 3),
])
def test_kernels_of_a_step(name: str, sizes: Mapping[str, Any], steps: str, most: int) -> None:
    several = [kernels_of(name, {**sizes, steps: count}) for count in (10, 20)]
    assert 0 < several[1] - several[0] <= 10 * most


def kernels_of(name: str, sizes: Mapping[str, Any]) -> int:
    """That the gradient of a program of NPBench starts."""
    return launches(items_of(name, sizes))


def items_of(name: str, sizes: Mapping[str, Any]) -> DeviceItems:
    """What the host does for the gradient of a program of NPBench."""
    kernel = load(name)
    arguments = {n: Spec(v.shape, v.dtype) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v
                 for n, v in kernel.initialize(**sizes).items()}
    with sdfgad.config(device="gpu"):
        bound = bind(kernel.program, tuple(arguments.values()), {})
        made = derive(kernel.program, bound, Request(kernel.wrt, kernel.output, "sum", False))
        return scheduled(made.program).items
