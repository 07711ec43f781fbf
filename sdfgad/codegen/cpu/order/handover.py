"""Cache lines that change cores: which thread has what a piece of a schedule touches, and which one had it last.

Loops are looked at in the middle of those around them.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, prod
from typing import TypeAlias

from sdfgad.analysis.loops.rows import touches
from sdfgad.caches import LINE
from sdfgad.codegen.cpu.nests.cost import UNKNOWN_TRIPS, expr_work
from sdfgad.codegen.cpu.order.pieces import Extent, Group, Kernel
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Lib, Loop, Map, Range
from sdfgad.ir.walk import children

FRACTIONS = (0.25, 0.5, 0.75)
"""Where two ways to share rows are compared."""
Middle = Mapping[str, int]


@dataclass(frozen=True)
class Owner:
    """Which thread has which elements.

    "one": a single thread all of them. "all": every thread all of them. "any": nobody knows. "parts": every thread a
    part of dimension `dim`; those at FRACTIONS of the work begin at `limits`.
    """

    kind: str
    dim: int = -1
    limits: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[str, int, bool]:
        """The same for neighbouring elements of the same rows."""
        return self.kind, self.dim, self.limits[:1] < self.limits[-1:]


ONE, ALL, ANY = Owner("one"), Owner("all"), Owner("any")


def apart(now: Owner, last: Owner, written: bool, length: int) -> float:
    """The share of the elements that one of two threads has to wait for, where `last` had them and `now` has them next,
    to change them or to read them. length: of the dimension that is shared."""
    if now.kind == last.kind and (now.kind == "one" or now == last != ANY):
        return 0.0
    if "one" in (now.kind, last.kind):
        return 1.0 if now == ALL else 0.0 if last == ALL and not written else 0.5
    if last == ALL or now == ALL:
        return 0.5 if written or now == ALL else 0.0
    if now.dim != last.dim or now == ANY:
        return 0.25
    return min(0.25, max(abs(a - b) for a, b in zip(now.limits, last.limits, strict=True)) / max(1, length))


@dataclass
class Touched:
    """Bytes of lines that a piece reads and writes of one array with one owner, by where in the array they lie."""

    array: str
    owner: Owner
    length: int
    read: dict[tuple[Ix, ...], float] = field(default_factory=dict)
    written: dict[tuple[Ix, ...], float] = field(default_factory=dict)

    @property
    def bytes(self) -> tuple[float, float]:
        """What is only read, and what is written."""
        written = sum(self.written.values())
        return max(0.0, sum(self.read.values()) - written), written


@dataclass(frozen=True)
class Facts:
    """What a piece does: elementary operations, and what it touches."""

    work: float
    touched: tuple[Touched, ...]


@dataclass(frozen=True)
class _Middle:
    """Where statements stand: the middle of the loops around, where the parts of threads begin there, how many values
    each variable inside the piece has, and which others its ends depend on."""

    middle: Middle
    corners: tuple[Middle, ...] = ()
    trips: Mapping[str, int] = field(default_factory=dict)
    roots: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def inside(self, ranges: Iterable[Range]) -> _Middle:
        middle, trips, corners = dict(self.middle), dict(self.trips), [dict(c) for c in self.corners]
        roots = dict(self.roots)
        for r in ranges:
            trips[r.var] = enter(r, middle)
            roots[r.var] = frozenset((r.var,)).union(*(roots.get(s, ()) for s in r.start.symbols | r.stop.symbols))
            for corner in corners:
                corner[r.var] = _number(r.start, corner)
        return _Middle(middle, tuple(corners), trips, roots)

    def moving(self, i: Ix) -> frozenset[str]:
        """The variables inside the piece that a position depends on."""
        return frozenset().union(*(self.roots.get(s, ()) for s in i.symbols))

    def points(self, names: Iterable[str]) -> int:
        return prod(self.trips[s] for s in names)

    def shared(self, extents: tuple[Extent, ...]) -> _Middle:
        """Inside a kernel, whose outermost loop with several iterations the threads share."""
        made = self.inside(x.var for x in extents)
        first = next((x.var for x in extents if made.trips[x.var.var] > 1), None)
        if first is None:
            return made
        trips, start = made.trips[first.var], _number(first.start, made.middle)
        corners = tuple({**made.middle, first.var: start + first.step * ceil(f * trips)} for f in FRACTIONS)
        return replace(made, corners=corners)


def enter(r: Range, middle: dict[str, int]) -> int:
    """The iterations of a range in the middle of the loops around, and its own middle."""
    if r.start.elems or r.stop.elems or not middle.keys() >= r.start.symbols | r.stop.symbols:
        middle[r.var] = UNKNOWN_TRIPS // 2
        return UNKNOWN_TRIPS
    values = range(_number(r.start, middle), _number(r.stop, middle), r.step)
    middle[r.var] = values[len(values) // 2] if values else values.start
    return len(values)


def _number(i: Ix, env: Middle) -> int:
    """A position; what only data know is the first one."""
    if i.const is not None:
        return i.const
    unknown = i.symbols - env.keys()
    return (i.subs(dict.fromkeys(unknown, 0)) if unknown else i).evaluate(env, lambda *_: 0)


def facts(item: Group | Kernel, arrays: Mapping[str, Array], middle: Middle) -> Facts:
    """What a piece does in one run."""
    place = _Middle(middle)
    reader = _FactReader(arrays, "one" if isinstance(item, Group) else "any" if item.uneven else "parts")
    if isinstance(item, Kernel):
        reader.hidden |= set(item.private)
        place = place.shared(item.extents)
    reader.block(item.body, place)
    return Facts(reader.work, tuple(reader.found.values()))


class _FactReader:
    """Collects the facts of one piece. hidden: arrays that belong to one iteration."""

    def __init__(self, arrays: Mapping[str, Array], kind: str) -> None:
        self.arrays, self.kind = arrays, kind
        self.work = 0.0
        self.hidden: set[str] = set()
        self.found: dict[tuple[str, tuple[str, int, bool]], Touched] = {}

    def block(self, block: Block, place: _Middle) -> None:
        for stmt in block:
            if isinstance(stmt, Map):
                self.map(stmt, place.inside(stmt.domain))
            elif isinstance(stmt, Lib):
                for view in (*stmt.ins, *stmt.outs):
                    self.add(view.array, ONE if self.kind == "one" else ANY, (),
                             float(self.arrays[view.array].bytes), view in stmt.outs)
            elif isinstance(stmt, Loop):
                self.hidden |= set(stmt.private)
                self.block(stmt.body, place.inside((stmt.range,)))
            else:
                for inner in children(stmt):
                    self.block(inner, place)

    def map(self, stmt: Map, place: _Middle) -> None:
        self.work += place.points(place.trips) * sum(1 + expr_work(p.expr) for p in stmt.body)
        for t in touches(stmt):
            if t.array not in self.hidden and t.index:
                fixed = tuple(i for i in t.index if not place.moving(i))
                size = _bytes(self.arrays[t.array], t.index, place)
                self.add(t.array, self.owner(t.index, place), fixed, size, t.written)

    def owner(self, index: tuple[Ix, ...], place: _Middle) -> Owner:
        if self.kind == "one":
            return ONE
        if self.kind == "any" or not place.corners or any(i.elems for i in index):
            return ANY
        for dim, i in enumerate(index):
            limits = tuple(_number(i, corner) for corner in place.corners)
            if limits[0] != limits[-1]:
                return Owner("parts", dim, limits)
        return ALL

    def add(self, array: str, owner: Owner, fixed: tuple[Ix, ...], size: float, written: bool) -> None:
        length = self.arrays[array].shape[owner.dim] if owner.kind == "parts" else 1
        entry = self.found.setdefault((array, owner.key), Touched(array, owner, length))
        sizes = entry.written if written else entry.read
        sizes[fixed] = max(sizes.get(fixed, 0.0), size)


def _bytes(array: Array, index: tuple[Ix, ...], place: _Middle) -> float:
    """Bytes of the lines with the elements that an access reaches."""
    item = array.dtype.itemsize
    if any(i.elems for i in index):
        return float(min(array.bytes, place.points(place.trips) * LINE))
    moving = [place.moving(i) for i in index]
    counts = [min(n, place.points(found)) for n, found in zip(array.shape, moving, strict=True)]
    elements = min(prod(counts), place.points(frozenset().union(*moving)))
    near = any(abs(index[-1].coefficient(s) or 0) * item < LINE for s in index[-1].symbols & moving[-1])
    lines = max(elements * item, elements / max(1, counts[-1]) * LINE) if near else elements * LINE
    return float(min(array.bytes, lines))


Holders: TypeAlias = list[tuple[float, frozenset[Owner]]]
"""Bytes of an array with those who have had them since they were last changed."""


@dataclass
class Holdings:
    """Who had what last."""

    held: dict[str, Holders] = field(default_factory=dict)

    def run(self, found: Facts) -> float:
        """Lines that one of two threads waits for while a piece runs."""
        return sum(self._touch(t, size, written) for t in found.touched
                   for size, written in zip(t.bytes, (False, True), strict=True) if size) / LINE

    def _touch(self, t: Touched, size: float, written: bool) -> float:
        held = self.held.get(t.array, [])
        total = sum(b for b, _ in held)
        part = min(1.0, size / total) if total else 1.0
        pick = max if written else min
        waits = sum(b * part * pick(apart(t.owner, o, written, t.length) for o in owners) for b, owners in held)
        mine = frozenset((t.owner,))
        if written or not total:
            rest = [(b * (1 - part), owners) for b, owners in held if part < 1 and owners != mine]
            same = sum(b * (1 - part) for b, owners in held if owners == mine)
            self.held[t.array] = [*rest, (size + same, mine)]
        elif part > 0.5:
            self.held[t.array] = [(b, owners | mine) for b, owners in held]
        return waits
