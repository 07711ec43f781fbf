"""The MPI library of this process, as far as the program has loaded it: nothing here loads it."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class ObjectWay:
    """The way of a message of numbers or an array in lower case. ranks: of the communicator, as ranks of the world;
    lineage: how it was made. source, target: ranks in it, tag; None: any, or not known before the call. of: what such
    tags count; messages of one rank to another have none."""

    ranks: tuple[int, ...]
    lineage: tuple[int, ...]
    source: int | None
    target: int | None
    tag: int | None
    of: str = ""

    def meets(self, other: ObjectWay) -> bool:
        """Whether a message that is sent one way may be received on the other."""
        pairs = ((self.source, other.source), (self.target, other.target), (self.tag, other.tag))
        return (self.ranks, self.lineage, self.of) == (other.ranks, other.lineage, other.of) and all(
            None in pair or pair[0] == pair[1] for pair in pairs)


@dataclass(frozen=True)
class ObjectForm:
    """What is sent: the name of the dtype, the shape, and whether NumPy takes it for a number of Python. value: of an
    integer, a few of them or a plain object that its rank knows before the call."""

    dtype: str
    shape: tuple[int, ...]
    weak: bool
    value: Any = None

    def takes(self, other: ObjectForm) -> bool:
        """Whether what is made for this form is good for another one, too."""
        if self == other:
            return True
        same = (self.dtype, self.shape, self.weak) == (other.dtype, other.shape, other.weak)
        return same and hasattr(self.value, "takes") and self.value.takes(other.value)


Objects = tuple[tuple[ObjectWay, ObjectForm], ...]
"""Messages in lower case, in the order of the program."""


NOBODY_SAYS: Objects = ((ObjectWay((), (), None, None, None, "nobody"), ObjectForm("", (), False)),)
"""In place of what all ranks say: they are not asked, and what they know does not count."""


class CommunicatorNeeded(Exception):
    """A translation has come to a call that makes a communicator, which all ranks have to make at the same time.

    `make` makes it; the translation then begins again and finds it. objects: what has been sent in lower case so far.
    """

    def __init__(self, name: str, make: Callable[[], None], objects: Objects = ()) -> None:
        super().__init__(name)
        self.name, self.make, self.objects = name, make, objects


class AnswersNeeded(CommunicatorNeeded):
    """A plan has come to a question that every rank has to answer before it goes on. ask: asks them, through a
    communicator of all; the plan is then made again and finds what was said."""

    def __init__(self, name: str, ask: Callable[[Any], None], objects: Objects = ()) -> None:
        super().__init__(name, lambda: None, objects)
        self.ask = ask


class ObjectsNeeded(CommunicatorNeeded):
    """A translation receives something in lower case, of which it does not know the shape: all ranks say what they
    send. The translation then begins again, and finds it among the `objects_sent`."""

    def __init__(self, objects: Objects) -> None:
        super().__init__("recv", lambda: None, objects)


class IntegersNeeded(ObjectsNeeded):
    """The same for an integer that others may know before the call. A rank that plans alone goes on without."""


@lru_cache(maxsize=1)
def objects_sent() -> list[Objects]:
    """What all ranks have said that they send in lower case, if anybody has asked in this call."""
    return []


def settled(times: int) -> bool:
    """Whether all ranks have said the same so many times, and know no more. Who may go on without an answer does so
    before others give up, as it may have more to say then. Something else may have been said in between: where two
    ways of translating a loop ask in turn, each forgets what the other one was told."""
    said = objects_sent()
    return bool(said) and said.count(said[-1]) >= times


@contextmanager
def nobody_asked() -> Iterator[None]:
    """For programs that one rank makes alone: what integers others know does not count."""
    objects_sent()[:] = [NOBODY_SAYS]
    try:
        yield
    finally:
        objects_sent().clear()


@lru_cache(maxsize=1)
def made_communicators() -> dict[Any, tuple[Any, Any]]:
    """Those made by calls in programs, with the one they were made from. They live as long as the process."""
    return {}


def lineage(handle: int) -> tuple[int, ...]:
    """Which of those made from which a communicator is, counted from one that programs were given. As ranks make them
    together, it is the same on all ranks of it."""
    every = [(handle_of(parent), handle_of(made)) for parent, made in made_communicators().values()]
    parent = next((p for p, made in every if made == handle), None)
    return () if parent is None else (*lineage(parent), [made for p, made in every if p == parent].index(handle))


def members(communicator: Any) -> tuple[int, ...]:
    """The ranks of a communicator, in its order, as ranks of the world."""
    return ranks_of(communicator.Get_group())


def ranks_of(group: Any) -> tuple[int, ...]:
    """The ranks of a group, in its order, as ranks of the world."""
    mpi = library()
    assert mpi is not None
    return tuple(mpi.Group.Translate_ranks(group, list(range(group.Get_size())), mpi.COMM_WORLD.Get_group()))


def is_group(value: Any) -> bool:
    """Whether a value is a group of mpi4py."""
    mpi = library()
    return mpi is not None and isinstance(value, mpi.Group)


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
