"""The C files of this folder: compiled once, kept with the compiled programs, called on NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sdfgad.codegen.compiling.cache import key_of, publish
from sdfgad.codegen.compiling.toolchain import cpu_model, find_compiler, run

HERE = Path(__file__).parent
LIBRARY = "library.so"
# The last two give the compiler the freedom it has with generated code: nobody looks at errno or at traps.
FLAGS = ("-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Interface:
    """What a hand-written adjoint wants to know: sizes, floating parameters and arrays by their names.

    A size is an argument, or an array's name and one of its axes.
    """

    sizes: tuple[str | tuple[str, int], ...]
    numbers: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()

    def integers(self, arguments: Arguments) -> list[int]:
        """The sizes, in the order of the C file."""
        return [int(arguments[size] if isinstance(size, str) else arguments[size[0]].shape[size[1]])
                for size in self.sizes]


class Adjoint:
    """A hand-written gradient at these arguments; `gradients` holds what the last call found."""

    def __init__(self, name: str, interface: Interface, arguments: Arguments, wrt: Sequence[str]) -> None:
        self._function = library(f"adjoints/{name}").gradient
        self._function.restype = None
        sizes = interface.integers(arguments)
        self._sizes = (ctypes.c_int64 * len(sizes))(*sizes)
        self._numbers = (ctypes.c_double * max(1, len(interface.numbers)))(*(arguments[n] for n in interface.numbers))
        self._inputs = [np.ascontiguousarray(arguments[name], np.float64) for name in interface.inputs]
        self.gradients = {name: np.full(arguments[name].shape, np.nan) for name in wrt}
        self._from, self._to = _pointers(self._inputs), _pointers(list(self.gradients.values()))

    def __call__(self, threads: int) -> Mapping[str, np.ndarray]:
        self._function(self._sizes, self._numbers, self._from, self._to, ctypes.c_int(threads))
        return self.gradients


def _pointers(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))


@cache
def library(name: str) -> ctypes.CDLL:
    """The C file of that name in this folder as a library. The C++ compiler that sdfgad uses compiles it, as C."""
    source = HERE / f"{name}.c"
    headers = "".join(file.read_text() for file in sorted(HERE.glob("**/*.h")))
    compiler = find_compiler()
    key = key_of("hand-written", source.read_text(), headers, FLAGS, compiler.path, compiler.version, cpu_model())

    def build(folder: Path) -> None:
        run((compiler.path, "-x", "c", *FLAGS, str(source), "-o", str(folder / LIBRARY)), code="SG505")

    return ctypes.CDLL(str(publish(key, build) / LIBRARY))


def triad(elements: int, threads: int) -> float:
    """Bytes per second of one STREAM triad, a = b + s c, over three arrays of that many numbers."""
    function = library("stream").triad
    function.restype = ctypes.c_double
    return 24.0 * elements / float(function(ctypes.c_int64(elements), ctypes.c_int(threads)))
