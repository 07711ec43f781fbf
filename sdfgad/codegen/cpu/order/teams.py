"""Loops all of whose kernels are run by one team of threads, which starts once."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.cost import domain_points
from sdfgad.codegen.cpu.order.bands import one_band
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel, pieces, private_arrays
from sdfgad.ir.program import If, Lib, Loop, Pop, Push
from sdfgad.ir.walk import all_reads, all_writes, statements
from sdfgad.thresholds import thresholds

STACK = 1 << 20
"""Bytes of arrays of all kernels on the stack of a thread, which might not share any."""
ENTRIES = 16
"""Iterations of a while loop, as far as anybody knows."""


def form_teams(items: tuple[Item, ...], frame: Frame) -> tuple[Item, ...]:
    """for t: { parallel i: a ; b ; parallel i: c }
    ->   parallel: for t: { share i: a ; wait ; one of them: b ; wait ; share i: c ; wait }

    The outermost loop that can, with all that is inside. Not where an error may leave a piece, as it cannot leave a
    team: from a library operation, or from a tape that has no room left. And not where kernels are rare among what one
    thread does, for which others only wait in a team.
    """
    return tuple(_formed(item, frame) for item in items)


def share_in_teams(items: tuple[Item, ...], frame: Frame, fresh: Callable[[str], str]) -> tuple[Item, ...]:
    """share i: a ; wait ; one of them: { i: b ; i: c } ; wait
    ->   share i: a ; wait ; share bands of i: { b ; c } ; wait

    What would not be worth starting threads for: those of a team are there, and wait for each other in any case.
    """
    return tuple(_shared(item, frame, fresh, False) for item in items)


def _shared(item: Item, frame: Frame, fresh: Callable[[str], str], team: bool) -> Item:
    if isinstance(item, ControlFlow):
        inner, team = _inside(item, frame), team or item.team
        return replace(item, parts=tuple(tuple(_shared(i, inner, fresh, team) for i in part) for part in item.parts))
    made = one_band(item.body, frame, fresh, thresholds().team_share) if team and isinstance(item, Group) else None
    return item if made is None else made


def _formed(item: Item, frame: Frame) -> Item:
    if not isinstance(item, ControlFlow):
        return item
    if not isinstance(item.stmt, If) and _can(item, frame) and _pays(item, frame):
        return replace(item, team=True)
    inner = _inside(item, frame)
    return replace(item, parts=tuple(form_teams(part, inner) for part in item.parts))


def _inside(item: ControlFlow, frame: Frame) -> Frame:
    return frame.inside([item.stmt.range]) if isinstance(item.stmt, Loop) else frame


def _can(item: ControlFlow, frame: Frame) -> bool:
    """Whether no error can leave a piece, and a thread has room for all of them."""
    own = {n for p in pieces((item,)) for n in private_arrays(p)}
    return all(_stays(p, frame) for p in pieces((item,))) and sum(frame.arrays[n].bytes for n in own) <= STACK


def _stays(piece: Group | Kernel, frame: Frame) -> bool:
    fails = any(isinstance(s, (Lib, Push, Pop)) for s in statements(piece.body))
    return not fails and all(frame.arrays[n].role != "tape" for n in all_reads(piece.body) | all_writes(piece.body))


@dataclass
class _Count:
    """How often all threads start, or else wait for each other."""

    forks: float = 0.0
    waits: float = 0.0

    def items(self, items: tuple[Item, ...], frame: Frame, times: float) -> None:
        for item in items:
            if isinstance(item, ControlFlow):
                self.region(item, frame, times)
                continue
            self.forks += times * isinstance(item, Kernel)
            self.waits += times

    def region(self, item: ControlFlow, frame: Frame, times: float) -> None:
        """Of two branches, each is taken as often."""
        stmt, decided = item.stmt, isinstance(item.start, str) + isinstance(item.stop, str)
        if isinstance(stmt, Loop):
            self.waits += times * decided
            times *= domain_points((stmt.range,), frame.bounds)
            self.waits += times * (stmt.until is not None)
        else:
            times *= 1 / 2 if isinstance(stmt, If) else ENTRIES
            self.waits += times * (2 if isinstance(stmt, If) else 1)
        for part in item.parts:
            self.items(part, _inside(item, frame), times)


def _pays(item: ControlFlow, frame: Frame) -> bool:
    count = _Count()
    count.region(item, frame, 1.0)
    return count.waits <= thresholds().team_waits * count.forks
