"""What the device is not given: refused by name, with the line, before anything is planned or compiled."""
from __future__ import annotations

from collections.abc import Iterator

from sdfgad.codegen.cuda.libraries.operations import OPERATIONS
from sdfgad.errors import SourceLine, unsupported
from sdfgad.ir.program import Array, Lib, Program, Stmt
from sdfgad.ir.walk import reads, statements, writes

_HELP = 'run it with device="cpu"'


def check_supported(program: Program) -> None:
    """Raises UnsupportedError for the first statement that would be another program on the device."""
    for stmt in statements(program.body):
        for what in _missing(stmt, program):
            raise unsupported(_place(stmt, program), f"{what} on a graphics processor", _HELP)


def _missing(stmt: Stmt, program: Program) -> Iterator[str]:
    if isinstance(stmt, Lib) and stmt.op not in OPERATIONS and stmt.op != "fail":
        yield f"the library operation {stmt.op}"
    for name in sorted(reads(stmt) | writes(stmt)):
        array = program.arrays[name]
        if array.role == "disk" and not isinstance(stmt, Lib):
            yield "snapshots that change their place in the memory of the host"


def _place(stmt: Stmt, program: Program) -> SourceLine | None:
    """The line of a statement, or of what it touches, or of the function."""
    arrays = [program.arrays[n] for n in sorted(reads(stmt) | writes(stmt))]
    return stmt.source or next((a.source for a in arrays if _is_known(a)), None) or program.source


def _is_known(array: Array) -> bool:
    return array.source is not None
