"""What programs are made for: the seam between what holds for every machine and what holds for one."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sdfgad.analysis.lifetimes import Held
from sdfgad.checkpoint.outlook import DeviceWork
from sdfgad.checkpoint.roofline import Machine
from sdfgad.codegen.compiling.build import Meta, compile_source
from sdfgad.ir.program import Program
from sdfgad.transform.passes import Stage

Footprint: TypeAlias = Callable[[Program, Iterable[str], int], Held]
"""Bytes that a call holds, of a program behind its last stage, the arrays that the caller passes beside its arguments
and constants, and the number of threads."""


@dataclass(frozen=True)
class Code:
    """What a compiler is given. meta: what the caller of the code has to know. uses_blas: whether it calls BLAS or
    LAPACK. flags: for the compiler, where they are not the usual ones; `sdfgad.h` is included with the usual ones."""

    text: str
    meta: Meta
    uses_blas: bool = False
    flags: tuple[str, ...] | None = None


Generate: TypeAlias = Callable[[Program, tuple[str, ...], Collection[str]], Code]
"""The code of a program behind its last stage, of it, those arrays, and those whose last digits are free. It has the
entry points that `codegen.program.Executable` calls."""


def compile_code(folder: Path, code: Code) -> None:
    """A library for this processor, by the C++ compiler."""
    compile_source(folder, code.text, code.meta, code.uses_blas, how=code.flags)


@dataclass(frozen=True, eq=False)
class Target:
    """What a program is made for. Nothing above asks about a machine but through this.

    name: for people, and what tells programs of the package's own targets apart in the cache. stages: what every
    program passes last, derivative or not. footprint: the bytes of a call, which the limit on memory bounds. machine:
    its speeds, by which the planner weighs storing against computing again. generate: from a program to C++. compile:
    from C++ to a library in a folder. tools: what decides the library beside the C++ compiler; it is asked for before
    every compilation, and raises UsageError where programs cannot run. on_device: whether its programs take arrays in
    the memory of a graphics processor. work: what a call asks of one. memory: bytes that a call may take where nobody
    has said it, None for as many as there are.
    """

    name: str
    stages: tuple[Stage, ...]
    footprint: Footprint
    machine: Callable[[], Machine]
    generate: Generate
    compile: Callable[[Path, Code], None] = compile_code
    tools: Callable[[], tuple[str, ...]] = tuple
    on_device: bool = False
    work: Callable[[Program], DeviceWork | None] = lambda program: None
    memory: Callable[[], int | None] = lambda: None

    def optimised(self, program: Program) -> Program:
        """The program behind the last stage."""
        for stage in self.stages:
            program = stage(program)
        return program
