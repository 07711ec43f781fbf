"""Blocks that the next iteration of a loop turns come to the cache while this one computes."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sdfgad.caches import LINE
from sdfgad.codegen.cpp import Frame, Writer, access, flat, index_text
from sdfgad.codegen.cpu.nests.turned import Turn, plan_turn
from sdfgad.ir.index import Ix, Min, ix
from sdfgad.ir.program import IN_MEMORY, Block, Loop, Map, Range

FAR = 1 << 20
"""Bytes of an array that the caches of a core do not hold beside others."""
MOST = 4
"""Lines that one iteration asks for: more of them only wait for each other."""
REST = 16
"""This part of the lines may be left to the copy."""


@dataclass(frozen=True)
class FetchedBox:
    """Rows of an array, `step` elements apart and `lines` lines long each, which the next iteration finds `by` elements
    further on. first: their first element, and where it is in memory."""

    array: str
    first: tuple[Ix, ...]
    place: Ix
    by: int
    step: int
    rows: int
    lines: int
    written: bool

    @property
    def count(self) -> int:
        return self.rows * self.lines


@dataclass(frozen=True)
class Ahead:
    """Every iteration of a loop asks for `each` more lines of a box."""

    box: FetchedBox
    each: int


def plan_ahead(frame: Frame, around: Range, block: Block) -> Mapping[int, tuple[Ahead, ...]]:
    """for i: { turn a[i] into t ; for k: f(t) }
    ->   for i: { turn a[i] into t ; for k: { fetch line k of a[i + 1] ; f(t) } }

    What the loops of a block, by their places in it, ask for on behalf of the next iteration of the loop around it.
    Copies that do not find their data wait for it with nothing else to do; these loops work in the cache.
    """
    loops = {k: s.range for k, s in enumerate(block) if isinstance(s, Loop) and s.until is None
             and abs(s.range.step) == 1 and s.range.trips and not s.range.start.elems}
    boxes = _boxes(frame, around, block) if loops and around.trips != 1 else []
    share = sum(b.count for b in boxes) / max(1, sum(r.trips or 0 for r in loops.values()))
    free = {k: share * (r.trips or 0) for k, r in loops.items()}
    found: dict[int, list[Ahead]] = {}
    for box in boxes:
        k = max(free, key=lambda k: free[k])
        each = -(-(box.count - box.count // REST) // (loops[k].trips or 1))
        free[k] -= box.count
        if each <= MOST:
            found.setdefault(k, []).append(Ahead(box, each))
    return {k: tuple(a) for k, a in found.items()}


def _boxes(frame: Frame, around: Range, block: Block) -> Sequence[FetchedBox]:
    """What the copies of a block touch and has not come to the cache already in the iteration before."""
    every: dict[tuple[str, Ix], FetchedBox] = {}
    for stmt in block:
        turn = plan_turn(frame, stmt) if isinstance(stmt, Map) else None
        for box in sides(frame, around, turn) if turn is not None else ():
            if box.written and box.array in frame.past:
                continue
            # A line that is asked for in order to write it serves reading, too.
            if box.written or (box.array, box.place) not in every:
                every[box.array, box.place] = box
    return [b for b in every.values() if (b.array, b.place + b.by) not in every]


def sides(frame: Frame, around: Range, turn: Turn) -> Iterator[FetchedBox]:
    """Both sides of a copy, as far as they move through an array that is far away."""
    first = {turn.row.var: turn.row.start, turn.column.var: turn.column.start}
    for name, index, step, far, near, written in (
            (turn.load.array, turn.load.index, turn.from_step, turn.row, turn.column, False),
            (turn.store.array, turn.store.index, turn.to_step, turn.column, turn.row, True)):
        array = frame.arrays[name]
        start = tuple(i.subs(first) for i in index)
        place = flat(array, start)
        by = (place.coefficient(around.var) or 0) * around.step
        rows, length = most(far), most(near)
        if array.role in IN_MEMORY and array.bytes >= FAR and by and rows and length:
            lines = -(-length * array.dtype.itemsize // LINE)
            yield FetchedBox(name, start, place, by, step, rows, lines, written)


def most(r: Range) -> int | None:
    """The number of iterations, or of those where the smaller of two ends is not in the way."""
    if r.trips is not None:
        return r.trips
    atom = next(iter(r.stop.atoms), None)
    ends = atom.parts if isinstance(atom, Min) and len(r.stop.terms) == 1 else ()
    return min((n for e in ends if (n := (e - r.start).const) is not None), default=None)


def emit_ahead(writer: Writer, frame: Frame, host: Range, ahead: Sequence[Ahead]) -> None:
    """Ask for the lines that belong to this iteration of a loop."""
    done = ix(host.var) - host.start if host.step > 0 else host.start - host.var
    for a in ahead:
        box = a.box
        for k in range(a.each):
            line = index_text(frame, done * a.each + k)
            writer.line(f"sg::fetch<{'true' if box.written else 'false'}, {box.rows}, {box.lines}>("
                        f"&{access(frame, box.array, box.first)}, {box.by}, {box.step}, {line});")
