"""The public functions without a compiler: within `interpreted()` programs run by the reference semantics."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import sdfgad
from sdfgad.ir.program import Program
from sdfgad.ir.walk import all_writes
from sdfgad.verbs import pipeline
from tests.support.vectors import run


class InterpretedProgram:
    """In the place of `codegen.program.Executable`."""

    on_device, threads, tape_limit, transient_bytes, tape_peak, tape_needed = False, None, None, 0, 0, 0

    def __init__(self, program: Program, *, results: Iterable[str] = (), **_: Any) -> None:
        self.program = program
        self.arguments = tuple(dict.fromkeys((*program.arguments, *results)))
        self.written = frozenset(program.arguments) & all_writes(program.body)
        self.constant_bytes = sum(c.nbytes for c in program.constants.values())
        self.peak_bytes = sum(a.bytes for a in program.arrays.values() if a.role == "transient")

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> None:
        given = (*self.program.arguments, *self.program.constants)
        memory = self.computed({n: arrays[n] for n in given if n in arrays})
        for name in self.arguments:
            if name in self.written or name not in self.program.arguments:
                arrays[name][...] = memory[name]

    def computed(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Every array behind the program."""
        return run(self.program, given)

    def run(self, addresses: Sequence[Any], threads: int | None) -> None:
        forms = (self.program.arrays[n] for n in self.arguments)
        self({f.name: _at(address, f.shape, f.dtype) for address, f in zip(addresses, forms, strict=True)})


def _at(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array of the host that begins at an address."""
    count = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer((ctypes.c_char * count).from_address(address), dtype).reshape(shape)


@contextmanager
def interpreted() -> Iterator[None]:
    """Functions that are called for the first time within are derived and planned as ever, and not compiled."""
    with patch.object(pipeline, "compile_program", InterpretedProgram), sdfgad.config(target="reference"):
        yield
