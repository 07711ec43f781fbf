"""Functions that stay Python: the library operation `python`, and what calls them from native code.

`(result..., failed) = python(address, operand..., failed)`, which gives numbers to the function and takes its results.
The address lies in a constant that is handed to the code, as that of another process is another one. It reads and
writes `FAILED`: calls keep their order, and none is left out.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from sdfgad.ir.program import Block, Lib
from sdfgad.ir.walk import statements

PYTHON = "python"
ADDRESS = "function address"
"""The label of constants that say where a function is: no part of the code."""

Kind = tuple[tuple[int, ...], np.dtype]
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
"""ctypes takes the lock of the interpreter before it calls one of these, on whatever thread."""


class PythonCall:
    """A Python function as compiled programs call it: it gets copies of its operands, and its results are copied.

    An exception ends the program, and is raised by its call as it is, with its own trace.
    """

    def __init__(self, run: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]], takes: Sequence[Kind],
                 gives: Sequence[Kind]) -> None:
        self.run, self._takes, self._gives = run, tuple(takes), tuple(gives)
        self._raised: BaseException | None = None
        self._entry = _ENTRY(self._called)
        self.address = ctypes.cast(self._entry, ctypes.c_void_p).value or 0

    def _called(self, places: Any) -> int:
        kept = _Caught()
        with kept:
            arrays = [_array(places[k], kind) for k, kind in enumerate((*self._takes, *self._gives))]
            self.on(arrays[:len(self._takes)], arrays[len(self._takes):])
        self._raised = kept.error
        return int(kept.error is not None)

    def on(self, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """Call it, and fill `results`."""
        for target, value in zip(results, self.run([a.copy() for a in operands]), strict=True):
            target[...] = value

    def error(self) -> BaseException:
        """The exception that ended the last call."""
        found, self._raised = self._raised, None
        return found or RuntimeError("a function that stays Python has failed")


class _Caught:
    """`with kept: ...` ends with no exception, which cannot go through native code: it is in `error`."""

    error: BaseException | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, form: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        self.error = error
        return True


def _array(place: int | None, kind: Kind) -> np.ndarray:
    shape, dtype = kind
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(place or 0)), dtype).reshape(shape)


def calls_of(block: Block) -> Iterator[Lib]:
    """Every call of a function that stays Python."""
    return (s for s in statements(block) if isinstance(s, Lib) and s.op == PYTHON)
