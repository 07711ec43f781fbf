"""What of the arrays that a finished gradient program holds belongs to which block of the planner's schedule.

The schedule is made of the program's forward sweep before the passes that come last, the arrays live in what these
passes made of it. The two meet in the tapes: where those of a loop are written is its forward sweep, where they are
read afterwards its reverse.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sdfgad.analysis.lifetimes import Held

Window = tuple[int, int]
"""The first and the last one of some items of the finished program; empty when the last one comes first."""


@dataclass(frozen=True)
class Bases:
    """What is held besides tapes in the blocks of a schedule. loops: of each forward block the outermost loop around.
    tapes: of each outermost loop, by its name, and of the top (None)."""

    held: Held
    loops: Sequence[str | None]
    tapes: Mapping[str | None, frozenset[str]]

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Of each forward block, then of each reverse block, which come in the opposite order."""
        rest = {n: size for n, size in self.held.own.items() if n not in frozenset().union(*self.tapes.values())}
        ahead, back = zip(*self._windows(), strict=True)
        for window in ahead:
            yield self._base(rest, self._fullest(rest, window))
        for loop, first, then in reversed(list(zip(self.loops, ahead, back, strict=True))):
            names = self._fullest(rest, then)
            if loop is not None:
                # Iterations may run again there, beside what the reverse sweep carries from one to the next.
                again = self._fullest(rest, first) | self._throughout(rest, then)
                names = max(names, again, key=lambda found: sum(rest[n] for n in found))
            yield self._base(rest, names)

    def _base(self, rest: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
        return {**self.held.always, **{n: rest[n] for n in sorted(names)}}

    def _windows(self) -> Iterator[tuple[Window, Window]]:
        """Of each forward block, and of its reverse."""
        last = max((s.top for s in self.held.lives.steps), default=-1)
        spans = {loop: self._span(loop) for loop in self.tapes if loop is not None}
        turn = max([w[1] for w, _ in spans.values()] + [self._span(None)[0][1]])
        for k, loop in enumerate(self.loops):
            if loop is not None:
                yield spans[loop]
                continue
            before = next((spans[n] for n in reversed(self.loops[:k]) if n is not None), None)
            after = next((spans[n] for n in self.loops[k:] if n is not None), None)
            yield ((before[0][1] + 1 if before else 0, after[0][0] - 1 if after else turn),
                   (after[1][1] + 1 if after else turn + 1, before[1][0] - 1 if before else last))

    def _span(self, loop: str | None) -> tuple[Window, Window]:
        """Where tapes are written, and where they are read after that: the same place when both are one item."""
        tapes = self.tapes.get(loop, frozenset())
        written = [s.top for s in self.held.lives.steps if s.writes & tapes]
        there = (min(written, default=0), max(written, default=-1))
        read = [s.top for s in self.held.lives.steps if s.reads & tapes and s.top > there[1]]
        return there, ((min(read), max(read)) if read else there)

    def _steps(self, window: Window) -> list[int]:
        first, last = window
        return [k for k, s in enumerate(self.held.lives.steps) if first <= s.top <= last]

    def _fullest(self, sizes: Mapping[str, int], window: Window) -> frozenset[str]:
        return self.held.lives.fullest(sizes, self._steps(window))

    def _throughout(self, sizes: Mapping[str, int], window: Window) -> frozenset[str]:
        steps = sum(1 << k for k in self._steps(window))
        moments = self.held.lives.moments
        return frozenset(n for n in sizes if steps and moments.get(n, 0) & steps == steps)
