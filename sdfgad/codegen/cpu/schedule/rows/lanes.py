"""Lanes of an iteration of a parallel loop: the points beside each other that vectors take at once."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sdfgad.analysis.elements.access import interval_env
from sdfgad.analysis.loops.rows import timed, trips
from sdfgad.ir.index import Ix, Min, ix, minimum
from sdfgad.ir.program import Loop, Range
from sdfgad.thresholds import thresholds


@dataclass(frozen=True)
class Lanes:
    """Those of one iteration: at least one, at most `width`.

    row: the variable of the loop, where all iterations have the same lanes; else no two have one in common.
    """

    start: Ix
    stop: Ix
    width: int
    row: str | None = None

    def ahead(self, r: Range) -> int | None:
        """How far the values of a range that counts lanes lie from the rows; None when it counts none."""
        gap = (r.start - self.start).const
        return gap if gap is not None and r.step == 1 and summed(r.stop - gap) == self.stop else None

    def counts(self, r: Range) -> bool:
        return self.ahead(r) is not None


def lanes_of(loop: Loop) -> Lanes | None:
    """The lanes that most maps of a loop have: rows of a strip, or else a dimension of each of its rows."""
    count: Counter[Lanes] = Counter()
    whole: Counter[Lanes] = Counter()
    for stmt, times in timed(loop.body):
        count.update(lanes for r in stmt.domain if (lanes := _of_strip(r, loop)) is not None)
        for r in stmt.domain:
            if r.start.const is not None and r.step == 1 and trips(r) >= thresholds().vector_variable and r.trips:
                whole[Lanes(r.start, r.stop, r.trips, loop.range.var)] += times
    chosen = count or whole
    return max(chosen, key=lambda c: chosen[c], default=None)


def _of_strip(r: Range, loop: Loop) -> Lanes | None:
    """The lanes a range counts: as many as lie between the starts of neighbouring iterations, fewer at the end."""
    width = r.start.coefficient(loop.range.var) or 0
    if r.step != 1 or width < 2 or r.start.symbols != {loop.range.var} or r.start.elems:
        return None
    env = interval_env((loop.range,))
    last, end = r.start.bounds(env)[1], r.stop.bounds(env)[1]
    if last is None or end is None or last >= end:
        return None
    full, stop = r.start + width, summed(r.stop)
    return Lanes(r.start, stop, width) if stop in (full, minimum(ix(end), full)) else None


def summed(i: Ix) -> Ix:
    """min(a, b) + c   ->   min(a + c, b + c)"""
    for atom in i.atoms:
        if isinstance(atom, Min) and (rest := i - minimum(*atom.parts)).const is not None:
            return minimum(*(p + rest for p in atom.parts))
    return i
