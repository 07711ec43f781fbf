"""What compiled programs of this process send and receive, written down while somebody wants to know."""
from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from sdfgad.codegen.mpi.table import FUNCTIONS, mpi_table
from sdfgad.ir.messages import SWEEPS

_NOTE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, *[ctypes.c_int64] * 4)
_KINDS = MappingProxyType({"Isend": "send", "Irecv": "receive", "Reduce_scatter_block": "reduce_scatter",
                           "Reduce_scatter": "reduce_scatterv"})
_FUNCTIONS = tuple(_KINDS.get(n, n.lower()) for n in FUNCTIONS)


@dataclass(frozen=True)
class MessageNote:
    """One message that was sent or received, or the part of this rank in a collective.

    sweep: of `ir.messages.SWEEPS`. kind: "send", "receive", or the name of a collective. peer: the other rank or the
    root, in the communicator with this handle. bytes: of the message; of a collective those that each rank gives to
    another one, or that are added up.
    """

    sweep: str
    kind: str
    communicator: int
    peer: int
    tag: int
    bytes: int


@contextmanager
def noted_messages(wanted: bool = True) -> Iterator[list[MessageNote]]:
    """A list that gets every message of this process, in the order they were done, if that is wanted. One at a time."""
    found: list[MessageNote] = []
    if not wanted:
        yield found
        return

    @_NOTE
    def note(sweep: int, function: int, *numbers: int) -> None:
        found.append(MessageNote(SWEEPS[sweep], _FUNCTIONS[function], *numbers))

    table = mpi_table()
    table[-1] = ctypes.cast(note, ctypes.c_void_p).value or 0
    try:
        yield found
    finally:
        table[-1] = 0
