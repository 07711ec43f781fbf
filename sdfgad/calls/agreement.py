"""What the ranks that call a program together agree on, before one of them sends anything: one small allreduce.

Errors on one rank are errors on all then, and nobody waits for a rank that has stopped.
"""
from __future__ import annotations

import builtins
import sys
from dataclasses import astuple, dataclass
from types import TracebackType
from typing import Any

import numpy as np

from sdfgad.analysis.uniform import Provenance
from sdfgad.errors import OutputError, SdfgadError, UsageError
from sdfgad.ranks import AnswersNeeded, CommunicatorNeeded, ObjectsNeeded, handle_of, library

READY, NEEDS, ASKS, OBJECTS, FAILED = 0, 1, 2, 3, 4
_NOBODY = 2**40
OBJECTIVES = (None, "same", "sum")
QUESTION = ('is it one number that every rank has (objective="same"), or a part of a sum over the ranks '
            '(objective="sum")?')


@dataclass
class Agreement:
    """Of all ranks of a communicator: `with Agreement(communicator, objective): ...` lets nobody go on where anybody
    has failed. In it a rank says what its objective depends on (`origin`), whether it has any (`returns`), which
    communicator has to be made first (`needs`), of which serial program it has a part (`program`, a digest), and
    whether it can do without the messages of the function (`silent`); and a digest of what has to be alike
    on all ranks (`alike`).

    plans: a digest of what the ranks decided about the program when they planned it; told: of what all ranks said that
    they send in lower case; anybody: whether it receives what comes first, from whatever rank.

    share: afterwards, what this rank multiplies its seed by. silent: whether all ranks can; torn: some can. anybody:
    whether any rank does so. outdated:
    the ranks have plans of different calls, or some have none, and have to plan anew. telling: somebody has to know
    what others send in lower case, so that all ranks say it.
    """

    communicator: Any
    objective: str | None = None
    origin: Provenance | None = None
    returns: bool = False
    needs: CommunicatorNeeded | None = None
    program: str = "0"
    share: float = 1.0
    alike: str = "0"
    silent: bool = False
    torn: bool = False
    plans: str = "0"
    told: str = "0"
    outdated: bool = False
    telling: bool = False
    anybody: bool = False

    def __enter__(self) -> Agreement:
        return self

    def __exit__(self, form: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        needs = ASKS if isinstance(self.needs, AnswersNeeded) else OBJECTS if isinstance(
            self.needs, ObjectsNeeded) else NEEDS
        state = FAILED if error is not None else READY if self.needs is None else needs
        least, most = self._extremes(state)
        if most.state == FAILED:
            told = self.communicator.bcast(_told(error), least.failed)
            if error is None:
                raise _same_error(least.failed, *told)
        elif most.state == OBJECTS or most.state == READY and least.told != most.told:
            self.telling = True
        elif most.state == ASKS and least.state == READY or most.state == READY and least.plans != most.plans:
            self.outdated = True
        elif most.state in (NEEDS, ASKS):
            if least.state != most.state or least.mark != most.mark:
                raise UsageError("a communicator is made on some ranks alone, or by different calls", code="SG211",
                                 help="make it before, with a call that every rank comes by")
        elif least.program != most.program:
            raise UsageError("the ranks have parts of different programs: their arguments have other shapes, types or "
                             "constants, or their machines other caches", code="SG211",
                             help="give every rank whole arrays of one shape, and the same numbers")
        elif least.alike != most.alike:
            raise UsageError("arguments that replicated= names, or that distribute= leaves whole, do not hold the same "
                             "on all ranks", code="SG211", help="broadcast them before the call")
        else:
            self.silent, self.torn = bool(least.silent), least.silent != most.silent
            self.anybody = bool(most.anybody)
            if self.origin is not None and self.communicator.Get_size() > 1:
                self.share = self._decide(least, most)

    def _extremes(self, state: int) -> tuple[_Said, _Said]:
        """The least and the most of what any rank says."""
        rank, origin = self.communicator.Get_rank(), self.origin or Provenance()
        mark = int(origin.mark or "0", 16) if self.needs is None else int.from_bytes(self.needs.name.encode()[:7])
        said = _Said(state, rank if state == FAILED else _NOBODY, self.returns, rank if self.returns else _NOBODY,
                     origin.own and self.returns, origin.common and self.returns, mark, int(self.program, 16),
                     self.silent, int(self.alike, 16), int(self.plans, 16), int(self.told, 16), self.anybody)
        numbers = np.array([*astuple(said), *(-n for n in astuple(said))], np.int64)
        most = np.empty_like(numbers)
        self.communicator.Allreduce(numbers, most, op=library().MAX)  # type: ignore[union-attr]
        values = [int(n) for n in most]
        count = len(values) // 2
        return _Said(*(-n for n in values[count:])), _Said(*values[:count])

    def _decide(self, least: _Said, most: _Said) -> float:
        """1 where this rank counts, 0 where another one counts the same number."""
        if self.objective == "sum" or self.objective is None and not (least.returns and most.common):
            return 1.0
        alike = least.mark == most.mark
        if self.objective == "same" or not most.own and alike:
            return float(self.communicator.Get_rank() == least.first)
        why = "it depends on results that all ranks have, and on numbers of each rank's own" if most.own else \
            "it is made of results that all ranks have, but not alike on all of them"
        raise OutputError(f"the objective of a program that communicates is not clear: {why}", help=QUESTION)


@dataclass(frozen=True)
class _Said:
    """What a rank says of itself. failed: its rank if it has; first: its rank if it returns something."""

    state: int
    failed: int
    returns: int
    first: int
    own: int
    common: int
    mark: int
    program: int
    silent: int
    alike: int
    plans: int
    told: int
    anybody: int


def check_objective(objective: str | None) -> None:
    if objective not in OBJECTIVES:
        raise UsageError(f"objective={objective!r}", code="SG205", help='objective is None, "same" or "sum"')


def whole_handles(communicator: Any, used: Any) -> frozenset[int]:
    """Handles of those of the communicators that have all ranks of the first one; UsageError if one has others."""
    mpi = library()
    assert mpi is not None
    found = set()
    for one in used:
        alike = mpi.Comm.Compare(one, communicator)
        if alike in (mpi.IDENT, mpi.CONGRUENT, mpi.SIMILAR):
            found.add(handle_of(one))
            continue
        mine, group = one.Get_group(), communicator.Get_group()
        if mpi.UNDEFINED in mpi.Group.Translate_ranks(mine, list(range(mine.Get_size())), group):
            raise UsageError("the program communicates with ranks that do not take part in this call", code="SG211",
                             help="give the communicator of all ranks that call it as an argument")
    return frozenset(found)


def _told(error: BaseException | None) -> tuple[str, str, str] | None:
    """What the other ranks are told of an error: its class and its code."""
    form = type(error)
    return None if error is None else (form.__module__, form.__qualname__, getattr(error, "code", "") or "")


def _same_error(rank: int, module: str, name: str, code: str) -> Exception:
    """An error of the same class, which says where the message is."""
    form = getattr(sys.modules.get(module, builtins), name, None)
    text = f"rank {rank} stopped this call with {name}, and no rank goes on: its message is there"
    if isinstance(form, type) and issubclass(form, SdfgadError):
        return form(text, code=code)
    if isinstance(form, type) and issubclass(form, Exception) and module == "builtins":
        return form(text)
    return UsageError(text, code="SG211")
