"""Whether loops that communicate can be run again: in each iteration all that is sent is received.

A message that is under way from one iteration to the next would be received by the wrong one when iterations run again.
Between two ranks messages of one tag arrive in the order in which they were sent (MPI 4.1, 3.5), so where as many are
sent as received in every stretch of the program that begins or ends with a loop, none crosses its ends.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from sdfgad.ir.messages import EXCHANGE, NUMBERS, communicates, is_message, sent
from sdfgad.ir.program import Block, Lib, Loop, Program
from sdfgad.ranks import library, lineage, members

Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The ranks of a communicator, and how it was made: the same on all of them."""
Way: TypeAlias = tuple[Group, int, int, int]
"""Through which communicator; who sends, who receives, the tag. Ranks are those of the world; -1 in collectives."""
Stretch: TypeAlias = tuple[tuple[tuple[str, Way], int], ...]
"""How often messages go each way: "out", "in", "all"."""
Traffic: TypeAlias = tuple["Stretch | tuple[int, Traffic]", ...]
"""Stretches of a block, and between them the loops that communicate, with their numbers of iterations."""


class _Unknown(Exception):
    """Messages that nobody can count beforehand."""


def message_traffic(program: Program, communicators: Mapping[int, Any]) -> Traffic | None:
    """What a rank sends and receives; None where branches, data or wildcards decide. communicators: by handle."""
    try:
        found = _of_block(program.body, program.constants, _members(communicators))
    except _Unknown:
        return None
    return found if all(program.arrays[n].label == NUMBERS for n in _numbers(program.body)) else None


def _numbers(block: Block) -> set[str]:
    found: set[str] = set()
    for stmt in block:
        if is_message(stmt):
            found |= {v.array for v in stmt.ins[len(sent(stmt)):-1]}
        elif isinstance(stmt, Loop):
            found |= _numbers(stmt.body)
    return found


def _members(communicators: Mapping[int, Any]) -> dict[int, tuple[int, ...]]:
    """The ranks of each communicator, in its order; `_Unknown` where two of them have the same."""
    found = {handle: members(one) for handle, one in communicators.items()}
    if len({_group(handle, m) for handle, m in found.items()}) < len(found):
        raise _Unknown
    return found


def _group(handle: int, members: tuple[int, ...]) -> Group:
    return tuple(sorted(members)), lineage(handle)


def _of_block(block: Block, constants: Mapping[str, np.ndarray], ranks: Mapping[int, tuple[int, ...]]) -> Traffic:
    parts: list[Any] = []
    here: Counter[tuple[str, Way]] = Counter()
    for stmt in block:
        if is_message(stmt):
            here.update(_ways(stmt, constants, ranks))
        elif communicates((stmt,)):
            if not isinstance(stmt, Loop) or stmt.until is not None or stmt.range.trips is None:
                raise _Unknown
            parts += [tuple(sorted(here.items())), (stmt.range.trips, _of_block(stmt.body, constants, ranks))]
            here = Counter()
    return (*parts, tuple(sorted(here.items())))


def _ways(stmt: Lib, constants: Mapping[str, np.ndarray],
          of_handles: Mapping[int, tuple[int, ...]]) -> list[tuple[str, Way]]:
    """Of one operation."""
    numbers = [constants.get(v.array) for v in stmt.ins[len(sent(stmt)):-1]]
    if stmt.attrs.get("record") or any(n is None for n in numbers):
        raise _Unknown
    known = [[int(k) for k in n] for n in numbers if n is not None]
    mpi, ranks = library(), of_handles[known[0][0]]
    assert mpi is not None
    me, group = mpi.COMM_WORLD.Get_rank(), _group(known[0][0], ranks)
    if stmt.attrs["kind"] != EXCHANGE:
        return [("all", (group, -1, -1, 0))]
    (_, *to), (_, *frm) = known
    return [*(("out", (group, me, ranks[p], tag)) for p, tag in zip(to[::2], to[1::2], strict=True)),
            *(("in", (group, ranks[p], me, tag)) for p, tag in zip(frm[::2], frm[1::2], strict=True))]


def all_received(every: Sequence[Traffic | None]) -> bool:
    """Whether no message crosses an end of an iteration, of the traffic of all ranks: all of them have the same loops,
    and in each stretch as many messages go out each way as come in."""
    known = [t for t in every if t is not None]
    if len(known) < len(every) or len({len(t) for t in known}) > 1:
        return False
    for k, parts in enumerate(zip(*known, strict=True)):
        if k % 2:
            trips, inner = zip(*parts, strict=True)
            if len(set(trips)) > 1 or not all_received(inner):
                return False
        elif not _balanced(parts):
            return False
    return True


def _balanced(stretches: Sequence[Any]) -> bool:
    left: Counter[Way] = Counter()
    joined: dict[Group, list[int]] = {}
    for stretch in stretches:
        for (how, way), count in stretch:
            if how == "all":
                joined.setdefault(way[0], []).append(count)
            else:
                left[way] += count if how == "out" else -count
    return not any(left.values()) and all(len(counts) == len(ranks) and len(set(counts)) == 1
                                          for (ranks, _), counts in joined.items())
