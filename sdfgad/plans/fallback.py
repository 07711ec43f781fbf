"""What is left to do when a growable tape has outgrown the limit: snapshots of the loops that fill it.

The outermost loops come first. When that is not enough, fewer of their iterations are recorded at a time; then it is
the turn of the loops inside them.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isqrt

from sdfgad.checkpoint.modes import BINOMIAL, ONLINE, SEGMENTS, Mode
from sdfgad.reverse.problem import OpenLoop

MOST_ONLINE = 256
"""Snapshots of a loop of unknown length."""


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
