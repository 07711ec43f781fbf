"""Loops all of whose kernels are run by one team of threads, which starts once."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sdfgad.codegen.schedule import Group, Item, Kernel, Region, pieces
from sdfgad.ir.program import If, Lib, Pop, Push
from sdfgad.ir.walk import all_reads, all_writes, statements


def form_teams(items: tuple[Item, ...], tapes: Collection[str]) -> tuple[Item, ...]:
    """for t: { parallel i: a ; b ; parallel i: c }
    ->   parallel: for t: { share i: a ; wait ; one of them: b ; wait ; share i: c ; wait }

    To wait for each other takes threads a part of what it takes to start them and to have them all back. The outermost
    loop that can, with all that is inside. Not where an error may leave a piece, as it cannot leave a team: from a
    library operation, or from a tape that has no room left.
    """
    return tuple(_formed(item, tapes) for item in items)


def _formed(item: Item, tapes: Collection[str]) -> Item:
    if not isinstance(item, Region):
        return item
    if not isinstance(item.stmt, If) and all(_stays(p, tapes) for p in pieces((item,))):
        return replace(item, team=True)
    return replace(item, parts=tuple(form_teams(part, tapes) for part in item.parts))


def _stays(piece: Group | Kernel, tapes: Collection[str]) -> bool:
    """Whether no error can leave a piece."""
    fails = any(isinstance(s, (Lib, Push, Pop)) for s in statements(piece.body))
    return not fails and (all_reads(piece.body) | all_writes(piece.body)).isdisjoint(tapes)
