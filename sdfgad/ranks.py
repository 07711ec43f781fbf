"""The MPI library of this process, as far as the program has loaded it: nothing here loads it."""
from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class CommunicatorNeeded(Exception):
    """A translation has come to a call that makes a communicator, which all ranks have to make at the same time.

    `make` makes it; the translation then begins again and finds it.
    """

    def __init__(self, name: str, make: Callable[[], None]) -> None:
        super().__init__(name)
        self.name, self.make = name, make


class AnswersNeeded(CommunicatorNeeded):
    """A plan has come to a question that every rank has to answer before it goes on. ask: asks them, through a
    communicator of all; the plan is then made again and finds what was said."""

    def __init__(self, name: str, ask: Callable[[Any], None]) -> None:
        super().__init__(name, lambda: None)
        self.ask = ask


def library() -> ModuleType | None:
    """The module `mpi4py.MPI`; None where nobody has imported it, so that there is no communicator either."""
    return sys.modules.get("mpi4py.MPI")


def is_communicator(value: Any) -> bool:
    """Whether a value is a communicator of mpi4py."""
    mpi = library()
    return mpi is not None and isinstance(value, mpi.Comm)


def is_datatype(value: Any) -> bool:
    """Whether a value is a datatype of mpi4py."""
    mpi = library()
    return mpi is not None and isinstance(value, mpi.Datatype)


def handle_of(communicator: Any) -> int:
    """The handle as a number of 64 bits with a sign."""
    mpi = library()
    assert mpi is not None
    number = int(mpi._handleof(communicator)) & (2**64 - 1)
    return number - 2**64 if number >= 2**63 else number
