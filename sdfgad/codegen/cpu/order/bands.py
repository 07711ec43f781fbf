"""Bands of rows: neighbouring maps that pass from thread to thread nothing but what stays within a few rows.

A thread runs all of them for its own rows, one after the other: there is nothing to wait for between them, the rows are
still in the cache of the same core, and what is too small for all threads is no pause for the others.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from sdfgad.analysis.loops.rows import touches
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.tiles import plan_tile
from sdfgad.codegen.cpu.order.loop_heads import guarded, guarded_range, head_of
from sdfgad.codegen.cpu.order.parallel import MOST_BLOCKS
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Extent, Group, Item, Kernel
from sdfgad.codegen.cpu.order.row_blocks import block_rows
from sdfgad.codegen.cpu.order.row_order import MOST_GLUED, Origins, Rowed, in_rows, origins_of, tied
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Block, Loop, Map, Range
from sdfgad.ir.walk import all_writes, conflicts, writes
from sdfgad.thresholds import thresholds

FEWEST_BLOCKS = 8
UNEVEN = 1.5
"""The row with most work may have so many times that of all rows on average."""


def join_bands(items: tuple[Item, ...], frame: Frame, fresh: Callable[[str], str]) -> tuple[Item, ...]:
    """parallel i = 0:9: x[i] = y[i] ; x[9] = 0 ; parallel i = 0:10: z[i] = x[i]
    ->   parallel b = 0:5: { i = 2b:min(9, 2b + 2): x[i] = y[i] ; i = max(9, 2b):min(10, 2b + 2): x[i] = 0 ; ... }

    A small map that has to wait for all rows does so behind those that follow it and need not: they change places.
    """
    return _in_bands(_pieces(items, frame, fresh), frame, fresh)


def _in_bands(pieces: Iterable[_BandPiece | Item], frame: Frame, fresh: Callable[[str], str]) -> tuple[Item, ...]:
    """Pieces as bands as far as they can be taken together."""
    done: list[Item] = []
    rows = _Rows(frame, fresh)
    run, queue = _BandRun(rows), deque(pieces)
    while queue or run.later:
        piece = queue.popleft() if queue else None
        if isinstance(piece, _BandPiece) and (run.takes(piece) or run.puts_off(piece)):
            continue
        if run.later:
            queue.extendleft(reversed([*run.later, *([piece] if piece is not None else [])]))
            done.extend(run.items())
            run = _BandRun(rows)
        elif isinstance(piece, _BandPiece):
            done_with, run = run.cut(piece)
            done.extend(done_with)
        elif piece is not None:
            done.extend((*run.items(), piece))
            run = _BandRun(rows)
    done.extend(run.items())
    return tuple(_together(done))


def one_band(body: Block, frame: Frame, fresh: Callable[[str], str], least: float) -> Kernel | None:
    """All maps of a block as one kernel over bands of rows; None where that cannot be, or is less work than `least`."""
    pieces = [p for p in _pieces((Group(body),), frame, fresh) if isinstance(p, _BandPiece) and p.stmt.domain]
    run = _BandRun(_Rows(frame, fresh))
    if len(pieces) < len(body) or not all(run.takes(p) for p in pieces) or sum(m.work for m, _ in run.taken) < least:
        return None
    blocks = run.blocks()
    return None if blocks is None else run.kernel(blocks)


@dataclass(frozen=True)
class _BandPiece:
    """A map with the item that runs it. runs: 0 where it does not run, at least 1 where it does; None: it always does.
    """

    stmt: Map
    item: Group | Kernel
    runs: Ix | None = None

    @property
    def origin(self) -> Map:
        return self.stmt if self.runs is None else guarded(self.stmt, self.runs)


def _pieces(items: tuple[Item, ...], frame: Frame, fresh: Callable[[str], str]) -> Iterator[_BandPiece | Item]:
    for item in items:
        if isinstance(item, ControlFlow):
            yield from _region(item, frame, fresh)
        elif isinstance(item, Kernel):
            stmt = item.origin[0]
            if isinstance(stmt, Map) and _whole(item, stmt) and _banded(frame, stmt):
                yield _BandPiece(stmt, item)
            else:
                yield item
        else:
            for stmt in item.body:
                one = Group((stmt,))
                yield _BandPiece(stmt, one) if isinstance(stmt, Map) and _banded(frame, stmt) else one


def _region(item: ControlFlow, frame: Frame, fresh: Callable[[str], str]) -> Iterator[_BandPiece | Item]:
    """Control flow with bands inside; what a loop begins with goes to the end of the iteration before where its last
    kernel can take it."""
    inner = frame.inside([item.stmt.range]) if isinstance(item.stmt, Loop) else frame
    made = replace(item, parts=tuple(join_bands(part, inner, fresh) for part in item.parts))
    head = head_of(item.stmt, made.parts[0]) if isinstance(item.stmt, Loop) else None
    if head is not None and isinstance(item.stmt, Loop):
        rest = (Group(head.without(i.body)) if isinstance(i, Group) else i for i in item.parts[0])
        again = tuple(_BandPiece(m, Group((guarded(m, head.runs),)), head.runs) for m in head.again)
        body = _in_bands((*_pieces(tuple(rest), inner, fresh), *again), inner, fresh)
        if not isinstance(body[0], Group) and isinstance(body[-1], Kernel):
            stmt = replace(item.stmt, body=(*head.without(item.stmt.body), *(p.origin for p in again)))
            yield from _pieces((Group(head.first),), frame, fresh)
            made = replace(item, stmt=stmt, parts=(body,))
    yield made


def _whole(item: Kernel, stmt: Map) -> bool:
    """Whether a kernel is one map, without partial results of its own."""
    return len(item.origin) == 1 and all_writes(item.body) == writes(stmt)


def _together(items: Iterable[Item]) -> Iterator[Item]:
    """The items with neighbouring groups as one."""
    held: Group | None = None
    for item in items:
        if isinstance(item, Group):
            if not item.body:
                continue
            held = Group((*held.body, *item.body)) if held is not None else item
            continue
        if held is not None:
            yield held
        held = None
        yield item
    if held is not None:
        yield held


@dataclass
class _Rows:
    """Maps of a sequence row by row. Runs begin again and again with what others did not take: each map is looked at
    once per arrangement of the rows of what it touches. All have one name for their rows: none is inside another."""

    frame: Frame
    fresh: Callable[[str], str]
    known: dict[tuple[object, ...], Rowed | None] = field(default_factory=dict)

    @cached_property
    def row(self) -> str:
        return self.fresh("row")

    def of(self, stmt: Map, origins: Origins, alone: bool) -> Rowed | None:
        arrays = dict.fromkeys(t.array for t in touches(stmt))
        key = (stmt, alone, *(origins.get(name) for name in arrays))
        if key not in self.known:
            self.known[key] = in_rows(stmt, self.frame, origins, self.row, alone)
        return self.known[key]


@dataclass
class _BandRun:
    """Maps that can be taken in bands so far; `ahead` are scalars that can as well be computed before all of them,
    `later` are small maps that have to wait for them."""

    rows: _Rows
    ahead: list[_BandPiece] = field(default_factory=list)
    later: list[_BandPiece] = field(default_factory=list)
    taken: list[tuple[Rowed, _BandPiece]] = field(default_factory=list)
    order: list[_BandPiece] = field(default_factory=list)
    origins: dict[str, tuple[int, int]] = field(default_factory=dict)
    joints: frozenset[int] = frozenset()
    """Rows that stay with the one before them."""

    def takes(self, piece: _BandPiece) -> bool:
        """Add a piece if it can go with what is here, and need not come after what waits."""
        if any(conflicts(p.stmt, piece.stmt) for p in self.later):
            return False
        done = self._ahead(piece) if not piece.stmt.domain else self._inside(piece)
        if done:
            self.order.append(piece)
        return done

    def puts_off(self, piece: _BandPiece) -> bool:
        """Let a small map wait that would part what comes after it from a kernel which it could go with."""
        if not isinstance(piece.item, Group) or not any(isinstance(p.item, Kernel) for p in self.order):
            return False
        if not self.later and self._waits_for(piece) < len(self.order):
            return False
        self.later.append(piece)
        return True

    def cut(self, piece: _BandPiece) -> tuple[tuple[Item, ...], _BandRun]:
        """What runs before another run that begins with the piece, or a little earlier: a small map is kept with the
        kernel before it rather than what is small ahead of that."""
        later = self._begun(self.order[self._waits_for(piece):], piece)
        if isinstance(piece.item, Group) and any(isinstance(p.item, Kernel) for p in later.order):
            return tuple(p.item for p in self.order[:-len(later.order) + 1]), later
        run = self._begun((), piece)
        return (*self.items(), *(() if run.order else (piece.item,))), run

    def _begun(self, before: Iterable[_BandPiece], piece: _BandPiece) -> _BandRun:
        """A run of all of these; an empty one if they cannot be one."""
        run = _BandRun(self.rows)
        return run if all(run.takes(p) for p in (*before, piece)) else _BandRun(self.rows)

    def _waits_for(self, piece: _BandPiece) -> int:
        """How many of the pieces have to be over before this one may start; all of them if one is a kernel."""
        made = self._placed(piece)
        tight = [p for before, p in self.taken if made is None or tied(before, made) is None]
        ahead = 1 + self.order.index(tight[-1]) if tight else len(self.order)
        return len(self.order) if any(isinstance(p.item, Kernel) for p in self.order[:ahead]) else ahead

    def _placed(self, piece: _BandPiece) -> Rowed | None:
        return self.rows.of(piece.stmt, self.origins, isinstance(piece.item, Kernel))

    def _ahead(self, piece: _BandPiece) -> bool:
        if not self.taken or any(conflicts(p.stmt, piece.stmt) for _, p in self.taken):
            return False
        self.ahead.append(piece)
        return True

    def _inside(self, piece: _BandPiece) -> bool:
        made = self._placed(piece)
        if made is None or not _even([*(m for m, _ in self.taken), made]):
            return False
        joints: set[int] = set()
        for before, _ in self.taken:
            rows = tied(before, made)
            if rows is None:
                return False
            joints.update(rows)
        self.joints |= joints
        self.taken.append((made, piece))
        self.origins = origins_of(made, self.origins)
        return True

    def items(self) -> Iterator[Item]:
        """What runs the maps: a kernel over the bands if at least one of them was a kernel by itself."""
        blocks = self.blocks() if any(isinstance(p.item, Kernel) for _, p in self.taken) else None
        if len(self.taken) < 2 or blocks is None:
            yield from (p.item for p in self.order)
            return
        yield Group(tuple(p.stmt for p in self.ahead))
        yield self.kernel(blocks)

    def blocks(self) -> _Blocks | None:
        """As many as pay, such that no rows are parted that belong together."""
        rows, work = _span(m for m, _ in self.taken), sum(m.work for m, _ in self.taken)
        middle = rows[len(rows) // 2]
        first = max((r for r in self.joints if r < middle), default=rows.start) - rows.start
        last = rows.stop - min((r for r in self.joints if r >= middle), default=rows.stop)
        inner = range(rows.start + first, rows.stop - last)
        worth = int(work / (thresholds().block_work * len(self.taken)))
        most = min(MOST_BLOCKS, len(inner), max(FEWEST_BLOCKS, worth))
        fits = first + last <= 2 * MOST_GLUED and most >= FEWEST_BLOCKS
        return _Blocks(inner, first, last, most - most % FEWEST_BLOCKS) if fits else None

    def kernel(self, blocks: _Blocks) -> Kernel:
        """The maps over the bands, one map after the other in each."""
        block = Range(self.rows.fresh("block"), ix(0), ix(blocks.count))
        body = tuple(_clipped(m, p.runs, *blocks.limits(ix(block.var))) for m, p in self.taken)
        return Kernel((Extent(block, blocks.count),), body, False, tuple(p.origin for _, p in self.taken))


@dataclass(frozen=True)
class _Blocks:
    """`count` blocks of `inner` rows; the first one has `first` more at its start, the last one `last` at its end."""

    inner: range
    first: int
    last: int
    count: int

    def limits(self, block: Ix) -> tuple[Ix, Ix]:
        """The rows of a block from the first one up to one past the last."""
        start, stop = ((block + k) * len(self.inner) // self.count + self.inner.start for k in (0, 1))
        return (start - maximum(0, 1 - block) * self.first,
                stop + maximum(0, block + 2 - self.count) * self.last)


def _banded(frame: Frame, stmt: Map) -> bool:
    """Whether nothing is lost when a block has only some of the rows, and does not know how many."""
    return not stmt.domain or plan_tile(frame, stmt) is None and len(block_rows(frame, stmt)) == 1


def _even(maps: list[Rowed]) -> bool:
    """Whether all rows have about as much work, as soon as there is enough for threads at all."""
    total = sum(m.work for m in maps)
    if total < thresholds().parallel_work:
        return True
    alike: dict[range, float] = {}
    for m in maps:
        alike[m.rows] = alike.get(m.rows, 0.0) + m.work / len(m.rows)
    most = max(sum(work for rows, work in alike.items() if row in rows) for row in {rows.start for rows in alike})
    return most * len(_span(maps)) <= UNEVEN * total


def _span(maps: Iterable[Rowed]) -> range:
    """All rows that maps have."""
    rows = [m.rows for m in maps]
    return range(min(r.start for r in rows), max(r.stop for r in rows))


def _clipped(made: Rowed, runs: Ix | None, start: Ix, stop: Ix) -> Map:
    """The part of a map in the rows of a block."""
    whole = made.row if runs is None else guarded_range(made.row, runs)
    row = replace(whole, start=maximum(whole.start, start), stop=minimum(whole.stop, stop))
    return replace(made.stmt, domain=(row, *made.stmt.domain[1:]))
