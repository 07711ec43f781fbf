"""Messages between ranks as library operations: what they send, receive and are told, and their duals.

`(received..., [record], order) = mpi(sent..., numbers, order)`; an exchange has two arrays of numbers, of what it sends
and of what it receives.

* numbers of an exchange: the communicator, then rank and tag of each message, `ANYBODY` for a wildcard
* numbers of a collective: the communicator and the root; then, where parts differ in size (`VECTORS`), the elements of
  the part of each rank, which lie one behind the other; of an alltoallv those it sends, then those it receives
* record: who sent the messages received, and their tags, in the form of the numbers; where that is not known before
* order: the array `ORDER`, which keeps messages in turn
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeGuard

import numpy as np

from sdfgad.ir.index import ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import ORDER, Array, Block, Lib, Stmt, View
from sdfgad.ir.walk import statements

OP = "mpi"
NUMBERS = "message numbers"
"""The label of constants that only say whom a message goes to: no part of the code."""
SHARE = "objective share"
"""The label of the constant by which a rank's seed is multiplied: 0 where another rank seeds the same number."""
EXCHANGE = "exchange"
DUALS: Mapping[str, str] = MappingProxyType({
    EXCHANGE: EXCHANGE, "allreduce": "allreduce", "bcast": "reduce", "reduce": "bcast", "scatter": "gather",
    "gather": "scatter", "allgather": "reduce_scatter", "reduce_scatter": "allgather", "alltoall": "alltoall",
    "scatterv": "gatherv", "gatherv": "scatterv", "allgatherv": "reduce_scatterv", "reduce_scatterv": "allgatherv",
    "alltoallv": "alltoallv_back", "alltoallv_back": "alltoallv", "barrier": "barrier"})
"""The transpose of each kind, as a map of what all ranks send to what all receive (Utke et al.: Toward adjoinable MPI,
IPDPS 2009)."""
FORWARD, REVERSE, TANGENTS, CONSTANTS = SWEEPS = ("forward", "reverse", "tangents", "constants")
"""What a message is part of: the function itself, the transposed sweep, the tangents beside a function. Constants are
messages of the function to which no derivative belongs."""
VECTORS = frozenset(("scatterv", "gatherv", "allgatherv", "reduce_scatterv", "alltoallv", "alltoallv_back"))
"""Collectives of parts that differ in size. `alltoallv_back` sends what its numbers say is received."""
PART, START, FINISH = "part", "start", "finish"
"""An exchange or a posted collective in two halves, for the code alone: START has its operands and results; FINISH has
the results as operands, too, ahead of them."""
TURNED = "turned"
"""The mark of an exchange whose messages go in the opposite order of the lists, as those of a transposed one do: what
arrives first in one direction arrives last in the other."""
SHORT = "short"
"""The mark of an exchange whose one message that comes in may be shorter than its place: the record says behind the
numbers how many elements have come, and as many go back."""
PAIRS = "pairs"
"""The mark of an exchange of numbers with tangents beside them: there are twice as many."""
POSTED = "posted"
"""The mark of a collective that does not block on any rank, as the program says there: MPI takes one that blocks for
another one."""
GROUP = "group"
"""The number of the wait that an exchange and posted collectives are for: all of them have to be under way before any
is waited for, as other ranks may wait for them in another order."""
BESIDE = "beside"
"""The mark of a message that blocks while others of its group are under way: those ahead of it are posted before it and
waited for behind it, in the transposed sweep those behind it."""
MEMBER = "member"
"""The number of a message in its group: a loop that is written out has them again."""
SLOT = "slot"
"""Of the second half of a message: how many others that are under way have been posted before it."""
OF_RANK = "of rank"
"""The mark of a collective of whose result each rank takes another part, as of a scan: no number of all ranks."""
ANYBODY = -2**40
"""In numbers: any source, any tag."""
FLAG = np.dtype(np.int64)


def order_array() -> Array:
    """The array whose element stands for what has been sent so far."""
    return Array(ORDER, (1,), FLAG)


def order_view() -> View:
    return View(ORDER, (ix(1),), (ix(axis(0)),), FLAG)


def is_message(stmt: Stmt) -> TypeGuard[Lib]:
    return isinstance(stmt, Lib) and stmt.op == OP


def is_finish(stmt: Stmt) -> bool:
    """Whether this is the wait for messages that have started before."""
    return isinstance(stmt, Lib) and stmt.attrs.get(PART) == FINISH


def messages(block: Block) -> Iterator[Lib]:
    """Every message of a block, in program order."""
    return (s for s in statements(block) if isinstance(s, Lib) and s.op == OP)


def communicates(block: Block) -> bool:
    return next(messages(block), None) is not None


def sent(stmt: Lib) -> tuple[View, ...]:
    """What goes out."""
    return stmt.ins[:-3] if stmt.attrs["kind"] == EXCHANGE else stmt.ins[:-2]


def received(stmt: Lib) -> tuple[View, ...]:
    """What comes in."""
    return stmt.outs[:-2] if stmt.attrs.get("record") else stmt.outs[:-1]


def told(stmt: Lib) -> tuple[View, ...]:
    """The numbers, with the record in place of wildcards."""
    numbers = stmt.ins[len(sent(stmt)):-1]
    return (*numbers[:-1], stmt.outs[-2]) if stmt.attrs.get("record") else numbers


def carries_derivatives(stmt: Stmt) -> TypeGuard[Lib]:
    """Whether the derivative sends a message for this one: of floating or complex numbers that are no constants."""
    return isinstance(stmt, Lib) and stmt.op == OP and not stmt.attrs.get("passive") and (
        stmt.attrs["dtype"].kind in "fc")


def sweep_of(stmt: Lib) -> str:
    """What a message is part of, of `SWEEPS`."""
    return str(stmt.attrs.get("sweep") or (FORWARD if carries_derivatives(stmt) else CONSTANTS))


def of_function(stmt: Stmt) -> TypeGuard[Lib]:
    """Whether this is a message of the function itself, not one of its derivative."""
    return is_message(stmt) and "sweep" not in stmt.attrs


def dual(stmt: Lib, held: tuple[View, ...], cotangents: tuple[View, ...]) -> Lib:
    """The transposed message: it takes the cotangents of what was received to `held`, where it was sent from."""
    numbers = stmt.ins[len(sent(stmt)):-1]
    attrs = {**stmt.attrs, "kind": DUALS[stmt.attrs["kind"]], "sweep": REVERSE}
    if stmt.attrs["kind"] == EXCHANGE and not attrs.pop(TURNED, False):
        attrs[TURNED] = True
    return Lib(OP, (*held, order_view()), (*cotangents, *reversed(numbers), order_view()), MappingProxyType(attrs),
               stmt.source)
