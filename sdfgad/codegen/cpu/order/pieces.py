"""What runs where: pieces of a program run by one thread, parallel kernels, and the control flow around them.

This is the target-neutral half of lowering: everything is still in terms of the program representation.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sdfgad.caches import LINE
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.cost import block_work, map_work
from sdfgad.codegen.cpu.order.parallel import share
from sdfgad.ir.expr import Index
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Range, Stmt, While
from sdfgad.ir.walk import assigned, children, own_ranges, statements
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds

_INT, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)


@dataclass(frozen=True)
class Group:
    """Statements run in order by one thread."""

    body: Block


@dataclass(frozen=True)
class Extent:
    """A parallel loop: variable `var` takes `trips` values, a number or the name of an int64 scalar."""

    var: Range
    trips: int | str


@dataclass(frozen=True)
class Kernel:
    """`body` once for every point of `extents`, in parallel; each has its own `private` containers.

    origin: the statements of the program that it runs.
    """

    extents: tuple[Extent, ...]
    body: Block
    uneven: bool
    origin: Block
    private: tuple[str, ...] = ()

    @property
    def in_turn(self) -> bool:
        """Whether points wait for those before them: neighbouring ones belong to different threads."""
        return any(isinstance(s, Loop) and s.behind is not None for s in statements(self.body))


@dataclass(frozen=True)
class ControlFlow:
    """Control flow around `parts`. Bounds and condition are numbers or names of scalars computed just before.

    team: the same threads run all of it, each its share of every kernel (`teams.py`).
    """

    stmt: Loop | While | If
    parts: tuple[tuple[Item, ...], ...]
    start: int | str = 0
    stop: int | str = 0
    cond: str = ""
    team: bool = False


Item: TypeAlias = Group | Kernel | ControlFlow


class Scheduler:
    """Takes blocks apart and collects the containers it adds to `arrays`."""

    def __init__(self, arrays: Mapping[str, Array], variables: Iterable[str] = ()) -> None:
        self.arrays = dict(arrays)
        self._taken: set[str] = {*arrays, *variables}

    def block(self, frame: Frame, block: Block) -> tuple[Item, ...]:
        """The items of a block, neighbouring sequential statements together."""
        items: list[Item] = []
        for stmt in block:
            for item in self._statement(replace(frame, arrays=self.arrays), stmt):
                if isinstance(item, Group) and not item.body:
                    continue
                if isinstance(item, Group) and items and isinstance(items[-1], Group):
                    items[-1] = Group((*items[-1].body, *item.body))
                else:
                    items.append(item)
        return tuple(items)

    def _statement(self, frame: Frame, stmt: Stmt) -> list[Item]:
        if isinstance(stmt, Map):
            return self._map(frame, stmt)
        if isinstance(stmt, Loop) and stmt.parallel:
            return self._rows(frame, stmt)
        if not isinstance(stmt, (Loop, While, If)) or not any(self._pays(frame, b) for b in children(stmt)):
            return [Group((stmt,))]
        inner = frame.inside([stmt.range]) if isinstance(stmt, Loop) else frame
        parts = tuple(self.block(inner, b) for b in children(stmt))
        if not any(isinstance(i, (Kernel, ControlFlow)) for part in parts for i in part):
            return [Group((stmt,))]
        if isinstance(stmt, While):
            return [ControlFlow(stmt, parts)]
        if isinstance(stmt, If):
            cond = self.scalar("cond", _BOOL)
            return [Group((assigned(cond, stmt.cond),)), ControlFlow(stmt, parts, cond=cond)]
        (start, first), (stop, last) = self._number(stmt.range.start), self._number(stmt.range.stop)
        return [Group((*first, *last)), ControlFlow(stmt, parts, start, stop)]

    def _pays(self, frame: Frame, block: Block) -> bool:
        """Whether a map below may be worth a kernel; bounds of inner loops are taken as they come."""
        for stmt in statements(block):
            if isinstance(stmt, Loop):
                frame = frame.inside([stmt.range])
            if isinstance(stmt, Map) and stmt.domain and map_work(stmt, frame.bounds) >= thresholds().parallel_work:
                return True
            worth = thresholds().parallel_work
            if isinstance(stmt, Loop) and stmt.parallel and block_work((stmt,), frame.bounds) >= worth:
                return True
        return False

    def _rows(self, frame: Frame, stmt: Loop) -> list[Item]:
        """A parallel loop, and those that make up its whole body, as one kernel."""
        if block_work((stmt,), frame.bounds) < thresholds().parallel_work:
            return [Group((stmt,))]
        ranges, body, private = [stmt.range], stmt.body, stmt.private
        while len(body) == 1 and isinstance(inner := body[0], Loop) and inner.parallel and not private:
            ranges, body, private = [*ranges, inner.range], inner.body, inner.private
        extents, setup = self._extents(tuple(ranges))
        return [Group(setup), Kernel(extents, body, _ragged(ranges, body), (stmt,), private)]

    def _extents(self, ranges: tuple[Range, ...]) -> tuple[tuple[Extent, ...], Block]:
        """Ranges with their numbers of iterations, and what computes those."""
        extents: list[Extent] = []
        setup: list[Stmt] = []
        for r in ranges:
            trips = r.stop - r.start if r.step > 0 else r.start - r.stop
            count, computed = self._number((trips + abs(r.step) - 1) // abs(r.step))
            extents.append(Extent(r, count))
            setup.extend(computed)
        return tuple(extents), tuple(setup)

    def _map(self, frame: Frame, stmt: Map) -> list[Item]:
        if not stmt.domain or map_work(stmt, frame.bounds) < thresholds().parallel_work:
            return [Group((stmt,))]
        shared = share(stmt, frame, self.fresh)
        if shared is None:
            return [Group((stmt,))]
        self.arrays.update((a.name, a) for a in shared.added)
        extents, setup = self._extents(shared.ranges)
        inner = {v for m in shared.body for r in m.domain for v in r.start.symbols | r.stop.symbols}
        uneven = any(r.var in inner and r.step and not r.var.startswith("block") for r in shared.ranges)
        return [Group((*shared.before, *setup)), Kernel(extents, shared.body, uneven, (stmt,)), Group(shared.after)]

    def _number(self, value: Ix) -> tuple[int | str, Block]:
        """The value itself, or a scalar and the statement that computes it."""
        if value.const is not None:
            return value.const, ()
        name = self.scalar("bound", _INT)
        return name, (assigned(name, Index(value, _INT)),)

    def scalar(self, stem: str, dtype: np.dtype) -> str:
        """The name of a new scalar."""
        name = self.fresh(stem)
        self.arrays[name] = Array(name, (), dtype)
        return name

    def fresh(self, stem: str) -> str:
        """A name that nothing has yet."""
        name = fresh(stem, self._taken)
        self._taken.add(name)
        return name


def _ragged(blocks: Iterable[Range], body: Block) -> bool:
    """Whether rows of a block differ in length: a block may then take several times as long as another one."""
    inner = [r for s in statements(body) for r in own_ranges(s)]
    outer = {b.var for b in blocks}
    rows = {r.var for r in inner if outer & (r.start.symbols | r.stop.symbols)}
    return any(rows & (r.start.symbols | r.stop.symbols) for r in inner)


def kernel_frame(frame: Frame, kernel: Kernel) -> Frame:
    """The frame of a kernel's body."""
    return frame.inside([e.var for e in kernel.extents])


def pieces(items: Iterable[Item]) -> Iterator[Group | Kernel]:
    """Everything that runs, whatever control flow is around it."""
    for item in items:
        if isinstance(item, ControlFlow):
            for part in item.parts:
                yield from pieces(part)
        else:
            yield item


def private_arrays(piece: Group | Kernel) -> set[str]:
    """Containers that belong to one iteration of a piece or of a loop in it."""
    inner = {n for s in statements(piece.body) if isinstance(s, Loop) for n in s.private}
    return inner | set(piece.private) if isinstance(piece, Kernel) else inner


@dataclass(frozen=True)
class PrivateRoom:
    """Where the private arrays of a piece lie. stack: bytes on the stack of a thread. places: of those that have none
    there in the room of each thread. bytes: of that room."""

    stack: int
    places: Mapping[str, int]
    bytes: int


def private_room(piece: Group | Kernel, arrays: Mapping[str, Array]) -> PrivateRoom:
    """The small ones on the stack, up to what a thread of others may be trusted to have, the rest in the room."""
    stack, places, end = 0, dict[str, int](), 0
    for array in sorted((arrays[n] for n in private_arrays(piece) if arrays[n].shape), key=lambda a: (a.bytes, a.name)):
        if stack + array.bytes <= thresholds().rows.stack:
            stack += array.bytes
        else:
            places[array.name] = end
            end += -(-array.bytes // LINE) * LINE
    return PrivateRoom(stack, places, end)
