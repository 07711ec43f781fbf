"""What the runtime of the tests finds: programs in which one thing is wrong, each of them found."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda import joining, points
from sdfgad.codegen.program import Executable
from sdfgad.codegen.target import Code
from sdfgad.errors import ToolchainError
from sdfgad.ir.program import Program
from sdfgad.pipeline import Request, derive
from tests.codegen.cuda.device_programs import CASES
from tests.support.on_cpu import ON_CPU, compile_here, in_order, on_cpu, running_here


def settle(x: np.ndarray) -> float:
    """Copies, kernels, a number for the host."""
    y = np.empty_like(x)
    y[1:] = x[1:] * x[:-1]
    y[0] = x[0]
    if np.sum(y) > 3.0:
        y[:] = y * x
    return np.sum(y * y)


X = np.linspace(0.1, 1.0, 300)


@dataclass(frozen=True)
class Sound:
    """A gradient program without a fault, and its code."""

    program: Program
    result: str
    code: Code
    folder: Path

    def found(self, change: Callable[[str], str]) -> np.ndarray:
        """The gradient by a changed text."""
        folder = Path(mkdtemp(dir=self.folder))
        compile_here(folder, replace(self.code, text=change(self.code.text)))
        run = Executable(self.program, folder)
        arrays = {n: np.empty(self.program.arrays[n].shape) for n in run.arguments}
        arrays.update(dict.fromkeys(self.program.arguments, X.copy()))
        with in_order(1):
            run(arrays)
        return arrays[self.result]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    with running_here():
        bound = bind(settle, (X,), {})
        made = derive(settle, bound, Request(("x",), None, None, False))
        code = ON_CPU.generate(made.program, made.keep, ())
    gradient = made.made.gradients[made.parsed.traced["x"]]
    assert gradient is not None and made.program.arguments == ("x",)
    return Sound(made.program, gradient, code, tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return np.asarray(sdfgad.grad(settle)(X))


def _without(pattern: str, becomes: str = "") -> Callable[[str], str]:
    def changed(text: str) -> str:
        found = re.sub(pattern, becomes, text)
        assert found != text
        return found

    return changed


@pytest.mark.parametrize("change, message", [
    (_without(r"reinterpret_cast<double \*>\(at0\)", "static_cast<double *>(args[0])"), "not to the device's memory"),
    (_without(r"if \(at < 300\)", "if (at < 1 << 20)"), "outside of the device's memory"),
    (_without(r"(const int64_t at = [^;]+);", r"\1 - (1 << 20);"), "outside of the device's memory"),
    (_without(r"room\.bring\(at0, ", "room.bring(static_cast<char *>(args[0]), "), "a place of the wrong kind"),
    (_without(r"p_y\[(s_point[^\]]+)\] = ", r"p_y[(\1) / 2] = "), "two threads touch"),
    (_without(r"sum(\d+) = sg::together", r"if (threadIdx.x < 9) sum\1 = sg::together"), "left its block before"),
], ids=["host pointer", "behind the end", "before the start", "wrong copy", "race", "divergent barrier"])
def test_reported(sound: Sound, change: Callable[[str], str], message: str) -> None:
    with pytest.raises(ToolchainError, match=f"SG508.*{message}"):
        sound.found(change)


@pytest.mark.parametrize("change", [
    _without(r"DACE_GPU_CHECK\(sg::fetch\(out, (\w+), [^()]+\)\)",
             r"*out = false; cudaMemcpyAsync(out, \1, sizeof(*out), cudaMemcpyDeviceToHost)"),
    _without(r"room\.bring\(at0, args, 0, \d+\);"),
], ids=["no wait", "nothing written"])
def test_wrong_numbers(sound: Sound, expected: np.ndarray, change: Callable[[str], str]) -> None:
    """A branch that looks too early, and memory that nobody has filled."""
    assert not np.allclose(sound.found(change), expected)


def test_it_is_right_without_a_fault(sound: Sound, expected: np.ndarray) -> None:
    np.testing.assert_allclose(sound.found(lambda text: text), expected, rtol=1e-12)


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
