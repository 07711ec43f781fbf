"""What is left to do when a growable tape has outgrown the limit: snapshots of the loops that fill it.

The outermost loops come first. When that is not enough, fewer of their iterations are recorded at a time; then it is
the turn of the loops inside them.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isqrt
from typing import TYPE_CHECKING

from sdfgad.checkpoint.modes import BINOMIAL, ONLINE, SEGMENTS, Mode
from sdfgad.errors import MemoryLimitError
from sdfgad.memory import format_bytes
from sdfgad.plans.emission import Emission
from sdfgad.plans.plan import Plan

if TYPE_CHECKING:
    from sdfgad.reverse.problem import OpenLoop

MOST_ONLINE = 256
"""Snapshots of a loop of unknown length."""
TAPE_FULL = "SG302"
"""Code of the error of a growable tape that reached its limit."""
_FULL = "measure() of the gradient without a limit says what is enough to store everything"
_DONATED = "raise memory_limit, or give no arrays away: a call that may overwrite them cannot begin again with less"


def smaller_modes(loops: Mapping[str, OpenLoop], modes: Mapping[str, Mode], free: int,
                  spill: bool) -> dict[str, Mode] | None:
    """The next modes to try; None when there is nothing left.

    Half of what a program leaves of the limit (free) is for snapshots, half for tapes. spill: snapshots lie on disk.
    """
    running = [p for p in loops.values() if p.name in modes]
    outermost = [p for p in loops.values() if p.name not in modes and p.trips != 1
                 and modes.keys() >= {n for n in p.around if loops[n].trips != 1}]
    finer = {p.name: _finer(p, modes[p.name], _budget(running, free, spill)) for p in running}
    first = {p.name: _first(p, _budget(outermost, free, spill and not p.inside)) for p in outermost}
    for made in (finer, first):
        found = {name: mode for name, mode in made.items() if mode is not None}
        if found:
            return {**modes, **found}
    return None


def _budget(loops: list[OpenLoop], free: int, spill: bool) -> int:
    """How many snapshots each of the loops can have."""
    return MOST_ONLINE if spill else free // 2 // max(1, sum(p.state for p in loops))


def _first(loop: OpenLoop, most: int) -> Mode | None:
    """Snapshots for a loop that has recorded everything; None where there is no room for two of them."""
    if loop.trips is None:
        count = min(MOST_ONLINE, most) // 2 * 2
        return Mode(ONLINE, count) if count else None
    # Inside a loop of unknown length each of its iterations has snapshots of its own, on tapes.
    count = min(loop.trips, most, isqrt(loop.trips) + 1 if loop.inside and loop.state else most)
    return Mode(SEGMENTS, count) if count > 1 else None


def _finer(loop: OpenLoop, mode: Mode, most: int) -> Mode | None:
    """As many snapshots, and fewer iterations recorded at a time; None when that cannot be."""
    if mode.kind == ONLINE:
        pieces = min(MOST_ONLINE, most)
        return replace(mode, length=pieces) if mode.length == 1 < pieces else None
    single = Mode(BINOMIAL, min(mode.count, (loop.trips or 1) - 1))
    wide = mode.kind == SEGMENTS and mode.count < (loop.trips or 0) or mode.kind == BINOMIAL and mode.length > 1
    return single if loop.uniform and wide and single.count > 0 else None


def outgrown(plan: Plan, made: Emission, needed: int, limit: int, donated: bool) -> MemoryLimitError:
    """What a user is told when no program leaves enough of the limit to growable tapes, which needed so many bytes."""
    predicted = plan.predicted.peak_bytes
    tapes = sorted({f"{i.array} (line {i.line})" for i in plan.problem.items if i.name in made.stored
                    and i.bytes is None})
    return MemoryLimitError(
        "the tape of a loop with an unknown number of iterations outgrew its limit: the gradient of "
        f"{plan.target} needs {format_bytes(predicted)}, and at least {format_bytes(needed)} for what such "
        f"loops keep of {', '.join(tapes)}, the limit is {format_bytes(limit)}",
        minimum_bytes=predicted + needed, limit_bytes=limit, code=TAPE_FULL,
        help=_DONATED if donated else f"raise memory_limit to more than {predicted + needed}; " + _FULL)
