"""Lines of a strip of rows: what lies apart in memory, brought side by side for as long as the strip works on it."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from sdfgad.analysis.elements.access import interval_env
from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.analysis.loops.rows import stride
from sdfgad.analysis.loops.sweeps import looked_into
from sdfgad.codegen.cpu.schedule.layout.orient import orient_temporaries
from sdfgad.codegen.cpu.schedule.rows.lanes import Lanes, lanes_of, summed
from sdfgad.ir.expr import Expr, Load, loads, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import IN_MEMORY, Array, Block, Let, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, children, own_ranges, reads, statements, with_children, writes
from sdfgad.names import fresh, variable
from sdfgad.thresholds import LineLimits, thresholds

VECTOR = 64
"""Bytes of the widest vectors, and of lines of the cache."""
Index = tuple[Ix, ...]
Key = tuple[str, Index]
"""An array, and where a line lies in the dimensions that neither count lanes nor positions."""


@dataclass(frozen=True)
class _LineUse:
    """One access of a map: `inner` are the loops around it inside the block, and the map's own ranges."""

    array: str
    index: Index
    inner: tuple[Range, ...]
    stmt: Map
    part: Let | Store
    read: bool
    written: bool


@dataclass(frozen=True)
class _LinePlace:
    """Where an access goes: the line, its dimensions of lanes and positions, and its first and last position.

    ahead: how far its elements lie from the rows.
    """

    key: Key
    lane: int
    ahead: int
    position: int
    first: int
    last: int


@dataclass
class _LineAccesses:
    """All accesses of a block to one line."""

    name: str
    array: Array
    lane: int
    ahead: int
    position: int
    first: int
    last: int
    uses: list[tuple[_LineUse, _LinePlace]]

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    @property
    def written(self) -> bool:
        return any(u.written for u, _ in self.uses)


def pack_strips(program: Program, limits: LineLimits | None = None) -> Program:
    """parallel s: for k: map j = 8*s:8*s+8: { y[j, k] += x[j, k - 1] ; y[j, k - 1] += x[j, k] }
    ->   parallel s, private xs, ys:
           map k, j: xs[k, j - 8*s] = x[j, k] ; map k, j: ys[k, j - 8*s] = y[j, k]
           for k: map j: { ys[k, j - 8*s] += xs[k - 1, j - 8*s] ; ... } ; map k, j: y[j, k] = ys[k, j - 8*s]

    For arrays that the strip touches in its own rows alone, several times per element, along one dimension. Nothing is
    loaded beforehand of what the block assigns first. What an iteration has of its own lies that way from the start.
    """
    work = _Strips(dict(program.arrays), limits or thresholds().lines)
    body = tuple(work.parallel(s) for s in program.body)
    if len(work.arrays) == len(program.arrays):
        return program
    return orient_temporaries(program.but(body=body, arrays=work.arrays), 0, frozenset(work.private))


class _Strips:
    """Adds the lines it makes to `arrays`. private: what iterations with lines have of their own beside them."""

    def __init__(self, arrays: dict[str, Array], limits: LineLimits) -> None:
        self.arrays, self.limits = arrays, limits
        self.private: set[str] = set()

    def parallel(self, stmt: Stmt, path: tuple[Range, ...] = ()) -> Stmt:
        """path: the ranges of the loops around it."""
        if not isinstance(stmt, Loop) or not stmt.parallel:
            around = (*path, *own_ranges(stmt))
            return with_children(stmt, [tuple(self.parallel(s, around) for s in b) for b in children(stmt)])
        lanes = lanes_of(stmt)
        if lanes is None:
            return stmt
        own = _Strip(self, stmt, lanes)
        body = own.block(stmt.body, (*path, stmt.range))
        if own.made and lanes.row is not None:
            self.private.update(stmt.private)
        return replace(stmt, body=body, private=(*stmt.private, *own.made))


class _Strip:
    """The blocks of one parallel loop; `made` are its lines."""

    def __init__(self, work: _Strips, loop: Loop, lanes: Lanes) -> None:
        self.work, self.loop, self.lanes = work, loop, lanes
        self.made: list[str] = []
        self.room = work.limits.stack
        self.barred = _barred(loop.body) | set(loop.private)
        self.all = list(_uses(loop.body, ()))
        self.written = all_writes(loop.body)

    def block(self, block: Block, path: tuple[Range, ...]) -> Block:
        """The block with lines of its own, and those of the loops in it."""
        lines = self._widened(block, self._worth(block, self._lines(block, path)))
        self.barred |= {name for name, _ in lines}
        before, body, after = self._with(block, lines)
        rest = (with_children(s, [self.block(s.body, (*path, s.range))]) if isinstance(s, Loop) else s for s in body)
        return (*before, *rest, *after)

    def _lines(self, block: Block, path: tuple[Range, ...]) -> dict[Key, _LineAccesses]:
        """The lines of a block, for arrays of which every access fits into one."""
        found: dict[str, list[_LineUse]] = {}
        for use in _uses(block, ()):
            if use.array not in self.barred:
                found.setdefault(use.array, []).append(use)
        lines: dict[Key, _LineAccesses] = {}
        for name, uses in found.items():
            lines.update(self._of_array(name, uses, path) or {})
        return lines

    def _of_array(self, name: str, uses: Sequence[_LineUse],
                  path: tuple[Range, ...]) -> dict[Key, _LineAccesses] | None:
        array = self.work.arrays[name]
        moved = {d for u in uses for d, i in enumerate(u.index) if self._inside(u, i) and self._lane(u, i) is None}
        if array.role not in IN_MEMORY or array.packing or len(moved) != 1:
            return None
        position, = moved
        lines: dict[Key, _LineAccesses] = {}
        for use in uses:
            place = self._place(use, position, path)
            if place is None:
                return None
            line = lines.setdefault(place.key, _LineAccesses("", array, place.lane, place.ahead, position, place.first,
                                                        place.last, []))
            line.first, line.last = min(line.first, place.first), max(line.last, place.last)
            line.uses.append((use, place))
            if (place.lane, place.ahead) != (line.lane, line.ahead):
                return None
        if len({line.lane for line in lines.values()}) != 1:
            return None
        return lines if name not in self.written or self._owned(name, lines) else None

    def _inside(self, use: _LineUse, i: Ix) -> bool:
        return not i.symbols.isdisjoint(r.var for r in use.inner)

    def _lane(self, use: _LineUse, i: Ix) -> Range | None:
        """The range that counts lanes when an index is its variable, but for a number."""
        return next((r for r in use.stmt.domain if (i - r.var).const is not None and self.lanes.counts(r)), None)

    def _ahead(self, use: _LineUse, i: Ix) -> int | None:
        """How far from its row an access is along a dimension; None where that counts no rows."""
        r = self._lane(use, i)
        return None if r is None else ((i - r.var).const or 0) + (self.lanes.ahead(r) or 0)

    def _place(self, use: _LineUse, position: int, path: tuple[Range, ...]) -> _LinePlace | None:
        lane = [d for d, i in enumerate(use.index) if self._lane(use, i) is not None]
        rest = tuple(i for d, i in enumerate(use.index) if d not in (*lane, position))
        if len(lane) != 1 or lane[0] == position or any(i.elems or self._inside(use, i) for i in rest):
            return None
        own, ahead = self._lane(use, use.index[lane[0]]), self._ahead(use, use.index[lane[0]])
        if own is None or ahead is None or own.var in use.index[position].symbols or use.index[position].elems:
            return None
        # Copies run even where the loops around the access do not: all that they touch has to be there.
        env = interval_env((*path, *use.inner))
        bounds = [i.bounds(env) for i in use.index]
        for (low, high), size in zip(bounds, self.work.arrays[use.array].shape, strict=True):
            if low is None or high is None or not 0 <= low <= high < size:
                return None
        first, last = bounds[position]
        return _LinePlace((use.array, rest), lane[0], ahead, position, first or 0, last or 0)

    def _owned(self, name: str, lines: Mapping[Key, _LineAccesses]) -> bool:
        """Whether no two lines have an element in common, and no other iteration of the loop touches these rows."""
        keys = [rest for _, rest in lines]
        apart = all(any((i - j).const for i, j in zip(a, b, strict=True))
                    for k, a in enumerate(keys) for b in keys[:k])
        first, uses = next(iter(lines.values())), [u for u in self.all if u.array == name]
        return apart and self._by_rows(uses) and all(self._ahead(u, u.index[first.lane]) == first.ahead for u in uses)

    def _by_rows(self, uses: Sequence[_LineUse]) -> bool:
        """Whether iterations have rows of their own, be it that lanes count them."""
        row = self.lanes.row
        if row is None:
            return True
        shifts = [{d: (i - row).const for d, i in enumerate(u.index)} for u in uses]
        return any(shift is not None and all(other[d] == shift for other in shifts) for d, shift in shifts[0].items())

    def _worth(self, block: Block, lines: Mapping[Key, _LineAccesses]) -> dict[Key, _LineAccesses]:
        """The lines that pay, as long as there is room."""
        chosen: dict[Key, _LineAccesses] = {}
        gain = {key: sum(self._cost(u) for u, _ in line.uses) / line.length for key, line in lines.items()}
        for key, line in sorted(lines.items(), key=lambda pair: -gain[pair[0]]):
            size = line.length * self.lanes.width * line.array.dtype.itemsize
            copies = self._seen_before(block, line) + line.written
            if gain[key] >= self.work.limits.uses * copies and size <= self.room:
                self.room -= size
                chosen[key] = line
        return {key: line for key, line in lines.items() if key in chosen}

    def _widened(self, block: Block, lines: dict[Key, _LineAccesses]) -> dict[Key, _LineAccesses]:
        """The lines with all of the vectors that they begin and end in, as long as there is room.

        Whole vectors turn at once, and none lies in two lines of the cache. What is loaded beyond the ends is stored as
        it was; lines that are only stored have nothing there.
        """
        for line in lines.values():
            vector, size = VECTOR // line.array.dtype.itemsize, line.array.shape[line.position]
            neighbours = line.position == len(line.array.shape) - 1 and size % vector == 0 and line.length >= vector
            before, after = line.first % vector, -(line.last + 1) % vector
            more = (before + after) * self.lanes.width * line.array.dtype.itemsize
            if neighbours and 0 < more <= self.room and self._seen_before(block, line):
                line.first, line.last = line.first - before, line.last + after
                self.room -= more
        return lines

    def _cost(self, use: _LineUse) -> int:
        """Scattered accesses, in vectors of lanes."""
        array = self.work.arrays[use.array]
        steps = [stride(array, use.index, r.var) for r in use.stmt.domain]
        if any(s is not None and abs(s) == 1 for s in steps):
            return 0
        return (use.read + use.written) * prod(r.trips or 1 for r in use.inner if not self.lanes.counts(r))

    def _with(self, block: Block, lines: dict[Key, _LineAccesses]) -> tuple[Block, Block, Block]:
        """What comes before the block, the block with lines, and what comes after it."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        for (name, rest), line in lines.items():
            line.name = fresh(f"{name}_line", self.work.arrays)
            shape = (line.length, self.lanes.width)
            self.work.arrays[line.name] = Array(line.name, shape, line.array.dtype)
            self.made.append(line.name)
            self.barred.add(line.name)
            if self._seen_before(block, line):
                before.append(self._copy(line, rest, load=True))
            if line.written:
                after.append(self._copy(line, rest, load=False))
        return tuple(before), tuple(_moved(s, lines, self.lanes) for s in block), tuple(after)

    def _copy(self, line: _LineAccesses, rest: Index, load: bool) -> Map:
        taken = {s for i in (*rest, self.lanes.start) for s in i.symbols}
        k = variable("c", taken)
        j = variable("c", {*taken, k})
        start = self.lanes.start + line.ahead
        ranges = Range(k, ix(line.first), ix(line.last + 1)), Range(j, start, summed(self.lanes.stop + line.ahead))
        there = list(rest)
        for d, i in sorted(((line.position, ix(k)), (line.lane, ix(j)))):
            there.insert(d, i)
        here = ix(k) - line.first, ix(j) - start
        dtype = line.array.dtype
        if load:
            return Map(ranges, (Store(line.name, here, Load(line.array.name, tuple(there), dtype)),))
        return Map(ranges, (Store(line.array.name, tuple(there), Load(line.name, here, dtype)),))

    def _seen_before(self, block: Block, line: _LineAccesses) -> bool:
        """Whether somebody may look at an element before the block has assigned it, be it the copy back."""
        first = end = line.first
        for stmt in block:
            mine = {id(m) for m in statements((stmt,))}
            here = [(u, p) for u, p in line.uses if id(u.stmt) in mine]
            if any(u.read and not first <= p.first <= p.last < end for u, p in here):
                return True
            for use, place in here:
                if use.stmt is stmt and self._fills(use, line) and place.first <= end and place.last >= first - 1:
                    first, end = min(first, place.first), max(end, place.last + 1)
        return end <= line.last

    def _fills(self, use: _LineUse, line: _LineAccesses) -> bool:
        """Whether a map assigns all elements from its first to its last position."""
        i = use.index[line.position]
        plain = isinstance(use.part, Store) and use.written and use.part.op is None
        rest = [r for r in use.stmt.domain if not self.lanes.counts(r)]
        sure = all(r.step == 1 and (r.trips or 0) > 0 and r.start.const is not None for r in rest)
        steps = i.symbols <= {r.var for r in rest} and all(abs(i.coefficient(v) or 0) == 1 for v in i.symbols)
        return plain and sure and steps and len(i.symbols) == len(rest) and is_pointwise(use.stmt.domain, use.index)


def _barred(block: Block) -> set[str]:
    """Arrays that statements other than maps touch, that maps look up indices in, or that not every run touches."""
    found: set[str] = set()
    for stmt in block:
        if isinstance(stmt, Map):
            found |= looked_into((stmt,))
        elif isinstance(stmt, Loop) and not stmt.parallel:
            found |= reads(stmt) | writes(stmt) | _barred(stmt.body)
        else:
            found |= all_reads((stmt,)) | all_writes((stmt,))
    return found


def _uses(block: Block, loops: tuple[Range, ...]) -> Iterator[_LineUse]:
    """Every access of the maps of a block, those inside loops included."""
    for stmt in block:
        if isinstance(stmt, Loop):
            yield from _uses(stmt.body, (*loops, stmt.range))
        elif isinstance(stmt, Map):
            inner = (*loops, *stmt.domain)
            for part in stmt.body:
                for n in dict.fromkeys(loads(part.expr)):
                    yield _LineUse(n.array, n.index, inner, stmt, part, True, False)
                if isinstance(part, Store):
                    yield _LineUse(part.array, part.index, inner, stmt, part, part.op is not None, True)


def _moved(stmt: Stmt, lines: Mapping[Key, _LineAccesses], lanes: Lanes) -> Stmt:
    """The statement with lines in place of the arrays they are of."""
    if not isinstance(stmt, Map):
        return with_children(stmt, [tuple(_moved(s, lines, lanes) for s in b) for b in children(stmt)])
    dims = {name: (line.lane, line.position) for (name, _), line in lines.items()}

    def place(name: str, index: Index) -> tuple[str, Index]:
        if name not in dims:
            return name, index
        lane, position = dims[name]
        line = lines.get((name, tuple(i for d, i in enumerate(index) if d not in (lane, position))))
        there = (index[position] - line.first, index[lane] - line.ahead - lanes.start) if line else index
        return (line.name if line else name), there

    def one(n: Expr) -> Expr | None:
        return Load(*place(n.array, n.index), n.dtype) if isinstance(n, Load) else None

    body = tuple(Let(p.name, rewrite(p.expr, one)) if isinstance(p, Let) else
                 Store(*place(p.array, p.index), rewrite(p.expr, one), p.op) for p in stmt.body)
    return replace(stmt, body=body)
