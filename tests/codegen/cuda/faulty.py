"""A gradient by CUDA text, and the same text with one thing changed."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from sdfgad.calls.arguments import bind
from sdfgad.codegen.program import Executable
from sdfgad.codegen.target import Code
from sdfgad.ir.program import Program
from sdfgad.verbs.pipeline import Request, derive
from tests.support.on_cpu import ON_CPU, compile_here, in_order, running_here


@dataclass(frozen=True)
class Sound:
    """A gradient program of one argument without a fault, and its code."""

    program: Program
    argument: np.ndarray
    result: str
    code: Code
    folder: Path

    def found(self, change: Callable[[str], str], order: int = 1) -> np.ndarray:
        """The gradient by a changed text."""
        folder = Path(mkdtemp(dir=self.folder))
        compile_here(folder, replace(self.code, text=change(self.code.text)))
        run = Executable(self.program, folder)
        arrays = {n: np.empty(self.program.arrays[n].shape) for n in run.arguments}
        arrays.update(dict.fromkeys(self.program.arguments, self.argument.copy()))
        with in_order(order):
            run(arrays)
        return arrays[self.result]


def sound(function: Callable[[np.ndarray], float], argument: np.ndarray, folder: Path) -> Sound:
    """The program of the gradient of a function of `x`."""
    with running_here():
        bound = bind(function, (argument,), {})
        made = derive(function, bound, Request(("x",), None, None, False))
        code = ON_CPU.generate(made.program, made.keep, ())
    gradient = made.made.gradients[made.parsed.traced["x"]]
    assert gradient is not None and made.program.arguments == ("x",)
    return Sound(made.program, argument, gradient, code, folder)


def without(pattern: str, becomes: str = "", times: int = 0) -> Callable[[str], str]:
    """The change of every place, or of the first ones, in which a text matches."""

    def changed(text: str) -> str:
        found = re.sub(pattern, becomes, text, count=times, flags=re.MULTILINE)
        assert found != text
        return found

    return changed
