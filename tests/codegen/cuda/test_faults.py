"""What the runtime of the tests finds: programs in which one thing is wrong, each of them found."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cuda import joining, points
from sdfgad.errors import ToolchainError
from sdfgad.thresholds import changed, thresholds
from tests.codegen.cuda.device_programs import CASES
from tests.codegen.cuda.faulty import Sound, sound, without
from tests.support.on_cpu import on_cpu, running_here


def settle(x: np.ndarray) -> float:
    """Copies, kernels, a number for the host."""
    y = np.empty_like(x)
    y[1:] = x[1:] * x[:-1]
    y[0] = x[0]
    if np.sum(y) > 3.0:
        y[:] = y * x
    return np.sum(y * y)


X = np.linspace(0.1, 1.0, 300)


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    with changed(device=replace(thresholds().device, rounds=-1)):  # the branch is the host's
        return sound(settle, X, tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return np.asarray(sdfgad.grad(settle)(X))


@pytest.mark.parametrize("change, message", [
    (without(r"reinterpret_cast<double \*>\(at0\)", "static_cast<double *>(args[0])"), "not to the device's memory"),
    (without(r"if \(at < 300\)", "if (at < 1 << 20)"), "outside of the device's memory"),
    (without(r"p_y\[(s_point[^\]]+)\] = ", r"p_y[(\1) - (1 << 20)] = "), "outside of the device's memory"),
    (without(r"room\.bring\(at0, ", "room.bring(static_cast<char *>(args[0]), "), "a place of the wrong kind"),
    (without(r"p_y\[(s_point[^\]]+)\] = ", r"p_y[(\1) / 2] = "), "two threads touch"),
    (without(r"sum(\d+) = sg::together", r"if (threadIdx.x < 9) sum\1 = sg::together"), "left its block before"),
], ids=["host pointer", "behind the end", "before the start", "wrong copy", "race", "divergent barrier"])
def test_reported(settled: Sound, change: Callable[[str], str], message: str) -> None:
    with pytest.raises(ToolchainError, match=f"SG508.*{message}"):
        settled.found(change)


@pytest.mark.parametrize("change", [
    without(r"DACE_GPU_CHECK\(sg::fetch\(out, (\w+), [^()]+\)\)",
             r"*out = false; cudaMemcpyAsync(out, \1, sizeof(*out), cudaMemcpyDeviceToHost)"),
    without(r"room\.bring\(at0, args, 0, \d+\);"),
], ids=["no wait", "nothing written"])
def test_wrong_numbers(settled: Sound, expected: np.ndarray, change: Callable[[str], str]) -> None:
    """A branch that looks too early, and memory that nobody has filled."""
    assert not np.allclose(settled.found(change), expected)


def test_it_is_right_without_a_fault(settled: Sound, expected: np.ndarray) -> None:
    np.testing.assert_allclose(settled.found(lambda text: text), expected, rtol=1e-12)


def test_threads_that_look_at_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps of a stencil in one kernel."""
    case = CASES["stencil"]
    monkeypatch.setattr(joining, "at_own_points", lambda parts, others, count: True)
    with running_here(on_cpu(lambda text: text + "\n// all in one\n")), pytest.raises(ToolchainError, match="threads"):
        sdfgad.grad(case.function)(*case.own())


def test_sums_that_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements that data name as if they were told apart."""
    case = CASES["places"]
    monkeypatch.setattr(points, "_shared_place", lambda stmt, stores, var: True)
    with running_here(on_cpu(lambda text: text + "\n// no atomics\n")), pytest.raises(ToolchainError, match="threads"):
        sdfgad.grad(case.function)(*case.own())
