"""What the runtime of the tests finds: programs in which one thing is wrong, each of them found."""
from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cuda import joining
from sdfgad.errors import ToolchainError
from tests.codegen.cuda.device_programs import CASES
from tests.support.on_cpu import in_order, on_cpu, running_here


def settle(x: np.ndarray) -> float:
    """Copies, kernels, a number for the host."""
    y = np.empty_like(x)
    y[1:] = x[1:] * x[:-1]
    y[0] = x[0]
    if np.sum(y) > 3.0:
        y[:] = y * x
    return np.sum(y * y)


X = np.linspace(0.1, 1.0, 300)


def _found(change: Callable[[str], str], seed: int = 1) -> np.ndarray:
    """The gradient by a changed text; the change must be one."""
    def made(text: str) -> str:
        changed = change(text)
        assert changed != text
        return changed

    with running_here(on_cpu(made)), in_order(seed):
        return np.asarray(sdfgad.grad(settle)(X))


def _without(pattern: str, becomes: str = "") -> Callable[[str], str]:
    return lambda text: re.sub(pattern, becomes, text)


@pytest.mark.parametrize("change, message", [
    (_without(r"room\.at<double>\(\d+\)(?=[,)])", "static_cast<double *>(args[0])"), "not to the device's memory"),
    (_without(r"if \(at < 300\)", "if (at < 1 << 20)"), "outside of the device's memory"),
    (_without(r"(const int64_t at = [^;]+);", r"\1 - (1 << 20);"), "outside of the device's memory"),
    (_without(r"sg::must\(cudaMemcpy\(room\.at<char>\((\d+)\), args\[0\]", r"sg::must(cudaMemcpy(args[0], args[0]"),
     "a place of the wrong kind"),
    (_without(r"sum(\d+) = sg::together", r"if (threadIdx.x < 9) sum\1 = sg::together"), "left its block before"),
], ids=["host pointer", "behind the end", "before the start", "wrong copy", "divergent barrier"])
def test_reported(change: Callable[[str], str], message: str) -> None:
    with pytest.raises(ToolchainError, match=f"SG508.*{message}"):
        _found(change)


@pytest.mark.parametrize("change", [
    _without(r"DACE_GPU_CHECK\(sg::fetch\(out, (\w+)\)\)",
             r"cudaMemcpyAsync(out, \1, sizeof(*out), cudaMemcpyDeviceToHost)"),
    _without(r"sg::must\(cudaMemcpy\(room\.at<char>\(\d+\), args\[0\], \d+, cudaMemcpyHostToDevice\)\);"),
], ids=["no wait", "nothing written"])
def test_wrong_numbers(change: Callable[[str], str]) -> None:
    """A branch that looks too early, and memory that nobody has filled."""
    expected = sdfgad.grad(settle)(X)
    assert not np.allclose(_found(change), expected)


def test_it_is_right_without_a_fault() -> None:
    np.testing.assert_allclose(_found(lambda text: text + "\n"), sdfgad.grad(settle)(X), rtol=1e-12)


def test_threads_that_look_at_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps of a stencil in one kernel: some order of threads shows it."""
    case = CASES["stencil"]
    expected = sdfgad.grad(case.function, wrt=(0, 1))(*case.own())
    monkeypatch.setattr(joining, "at_own_points", lambda parts, others, count: True)
    with running_here(on_cpu(lambda text: text + "\n// all in one\n")), in_order(1):
        found = sdfgad.grad(case.function, wrt=(0, 1))(*case.own())
    assert not np.allclose(found["a"], expected["a"])
