"""Loops that run again in parts because their records would stream through memory, whatever the limit.

A record that is too large for the cache is written to memory and read back from it. Where running the iterations again
takes less time than that, the loop goes in segments: their records, and the snapshots between them, stay in the cache.
Iterations that start from nothing the ones before them made go one by one, however much each of them records.
"""
from __future__ import annotations

from sdfgad.caches import STREAM_BYTES
from sdfgad.checkpoint.modes import SEGMENTS, Mode, each, offered_modes, price
from sdfgad.checkpoint.problem import Problem
from sdfgad.checkpoint.schedule import SNAPSHOT, ScheduledLoop, ScheduleProblem


def may_stream(problem: Problem) -> bool:
    """Whether the records of loops are that large: a quick look, before anything is weighed."""
    return sum(i.bytes or 0 for i in problem.items if i.loop) > STREAM_BYTES


def cached_modes(problem: ScheduleProblem) -> dict[str, Mode]:
    """Outermost loop -> segments that keep as little as possible at a time, where that is no more than stays in the
    cache, or where no snapshots are needed."""
    found = {p.name: _segments(problem, p) for p in problem.children(None)}
    return {name: mode for name, mode in found.items() if mode is not None}


def _segments(problem: ScheduleProblem, loop: ScheduledLoop) -> Mode | None:
    record = _record(problem, loop.name)
    if record * loop.trips <= STREAM_BYTES:
        return None

    def footprint(mode: Mode) -> int:
        cost = price(mode, loop)
        return cost.snapshots * loop.state_bytes + cost.working_records * record

    if not loop.state_bytes:
        return each(loop)
    modes = [m for m in offered_modes(loop, SNAPSHOT) if m.kind == SEGMENTS]
    best = min(modes, key=footprint, default=None)
    return best if best is not None and footprint(best) <= STREAM_BYTES else None


def _record(problem: ScheduleProblem, name: str) -> int:
    """Bytes stored in one iteration of a loop, those of inner loops included."""
    own = sum(i.stored_bytes for i in problem.items if i.loop == name)
    return own + sum(p.trips * _record(problem, p.name) for p in problem.children(name))
