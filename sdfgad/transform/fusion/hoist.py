"""Compute before a loop what every iteration of it would compute alike."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.access import DURING, Access, overwrites_in, reads_of, sites, writes_of
from sdfgad.analysis.elements.boxes import Box, covered, hull_of, path_of
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Stmt, While
from sdfgad.ir.renamed import RenamedArrays
from sdfgad.ir.walk import all_writes, children, reads, rename_symbols, replaced_by, statements, with_children, writes
from sdfgad.names import fresh


def hoist_invariants(program: Program) -> Program:
    """for t: { p[0] = 0 ; for j: p[j] = f(p[j - 1]) ; for j: q[j] += p[j] ; p[0] = 1 ; ... }
    ->   p_1[0] = 0 ; for j: p_1[j] = f(p_1[j - 1]) ; for t: { for j: q[j] += p_1[j] ; p[0] = 1 ; ... }

    For temporaries that the loop alone reads. A value that the loop makes afresh in the same array further down is
    another one.
    """
    barred = program.live_out
    for loop in _loops(program.body):
        found = _Hoisting(program, loop, barred).result()
        if found is not None:
            # Inner loops are gone with the loop that was changed; what comes out of it may leave the next one as well.
            return hoist_invariants(found)
    return program


def _loops(block: Block) -> Iterator[Loop]:
    """Every loop that surely runs, inner ones first."""
    for stmt in block:
        for inner in children(stmt):
            yield from _loops(inner)
        if isinstance(stmt, Loop) and stmt.until is None and not stmt.parallel and (stmt.range.trips or 0) > 1:
            yield stmt


@dataclass(frozen=True)
class Value:
    """What an array holds from one statement of a loop's body up to another one, not included."""

    array: str
    start: int
    stop: int


@dataclass(frozen=True)
class _Touch:
    """An access by statement number `at` of the loop's body. alike: that computation could go before the loop."""

    access: Access
    at: int
    alike: bool


class _Hoisting:
    """One loop, and what may leave it."""

    def __init__(self, program: Program, loop: Loop, seen: frozenset[str]) -> None:
        self.program, self.loop = program, loop
        self.changed = frozenset(all_writes(loop.body))
        self.names = self._alike(self._own() - seen) if self.changed else frozenset()
        if self.names:
            self.place = sites(program.body)
            self.depth = len(self.place[id(loop)].path) + 1

    def result(self) -> Program | None:
        """The program with everything out of the loop that can leave it; None when nothing can."""
        values = self._leaving() if self.names else ()
        if not values:
            return None
        arrays = dict(self.program.arrays)
        names = {v: self._name(v, arrays) for v in values}
        before, rest = self._parted(names)
        made = (*before, replace(self.loop, body=rest))
        return self.program.but(body=replaced_by(self.program.body, self.loop, made), arrays=arrays)

    def _own(self) -> frozenset[str]:
        """Temporaries that are written in the loop and read nowhere else; none that says how long a loop runs."""
        inside = {id(s) for s in statements((self.loop,))}
        outside = {n for s in statements(self.program.body) if id(s) not in inside or isinstance(s, (Loop, While))
                   for n in reads(s)}
        return frozenset(n for n in self.changed - outside if self.program.arrays[n].role == "transient")

    def _alike(self, names: frozenset[str]) -> frozenset[str]:
        """Those among some arrays that are written only by what is the same in every iteration, going by names."""
        while True:
            spoilt = {n for s in self.loop.body for n in self._spoilt(s, names)}
            if not spoilt & names:
                return names
            names -= spoilt

    def _spoilt(self, stmt: Stmt, names: frozenset[str]) -> set[str]:
        """Arrays written by what may differ from one iteration to the next."""
        if isinstance(stmt, Loop) and stmt.until is None:
            if not reads(stmt) and self.loop.range.var not in stmt.range.start.symbols | stmt.range.stop.symbols:
                return {n for s in stmt.body for n in self._spoilt(s, names)}
        elif isinstance(stmt, Map) and writes(stmt) <= names and reads(stmt).isdisjoint(self.changed - names) and \
                rename_symbols((stmt,), {self.loop.range.var: 0}) == (stmt,):
            return set()
        return all_writes((stmt,))

    def _leaving(self) -> tuple[Value, ...]:
        """Values whose makers look at nothing else that the loop changes."""
        values = {v for n in self.names for v in self._values(n)}
        makers = [(k, s) for k, top in enumerate(self.loop.body) for s in statements((top,))
                  if isinstance(s, Map) and writes(s) & self.names]
        while True:
            lost = {v for k, s in makers for v in values if v.array in writes(s) and v.start <= k < v.stop
                    and not all(_at(values, n, k) for n in (writes(s) | reads(s)) & self.changed)}
            if not lost:
                return tuple(sorted(values, key=lambda v: (v.array, v.start)))
            values -= lost

    def _values(self, name: str) -> list[Value]:
        """The values that an iteration gives to an array one after the other; none when it looks at an older one."""
        touches = list(self._touches(name))
        found: list[Value] = []
        stop = len(self.loop.body)
        for k in sorted({t.at for t in touches}, reverse=True):
            part = [t for t in touches if k <= t.at < stop]
            if self._made_first(part):
                found.append(Value(name, k, stop))
                stop = k
        return found if found and found[-1].start <= min(t.at for t in touches) else []

    def _touches(self, name: str) -> Iterator[_Touch]:
        for k, top in enumerate(self.loop.body):
            for s in statements((top,)):
                here = self.place[id(s)]
                found = [a for a in (*writes_of(s, here), *reads_of(s, here)) if a.array == name]
                yield from (_Touch(a, k, name in writes(s)) for a in found)

    def _made_first(self, part: Sequence[_Touch]) -> bool:
        """Whether something is read, and each element of it was written before, in the same iteration, not afterwards.

        The makers of the value run in the same order before the loop: they may overwrite what they have read.
        """
        made = [t for t in part if t.access.moment == DURING]
        boxes = [(t.at, b) for t in made if (b := self._box(t.access, surely=True)) is not None]
        for t in part:
            if t in made:
                continue
            box = self._box(t.access)
            last = not any(overwrites_in(t.access, m.access, self.depth) for m in made)
            if box is None or not (last and covered(box, [b for _, b in boxes]) or
                                   t.alike and covered(box, [b for at, b in boxes if at < t.at])):
                return False
        return 0 < len(made) < len(part)

    def _box(self, access: Access, surely: bool = False) -> Box | None:
        """The elements touched in one iteration; those surely touched, or all that may be."""
        ranges = (*access.site.path[self.depth:], *access.domain)
        used = [r for r in ranges if any(r.var in i.symbols for i in access.index)]
        own = {r.var for r in ranges}
        if any(i.elems for i in access.index) or (surely and not all(r.trips for r in ranges if r not in used)):
            return None
        if any(own & (r.start.symbols | r.stop.symbols) for r in ranges):
            return None if surely else hull_of(access.array, access.index, [r.upwards for r in ranges])
        found = path_of(access.array, self.program.arrays[access.array].shape, access.index,
                        [r.upwards for r in used], {})
        return found.box if found else hull_of(access.array, access.index, [r.upwards for r in used], surely)

    def _name(self, value: Value, arrays: dict[str, Array]) -> str:
        """The array's own name where it holds nothing else."""
        makers = (s for s in statements(self.program.body) if value.array in writes(s))
        inside = {id(s) for s in statements(self.loop.body)}
        if all(id(s) in inside for s in makers) and self._values(value.array) == [value]:
            return value.array
        made = fresh(value.array, arrays)
        arrays[made] = replace(arrays[value.array], name=made)
        return made

    def _parted(self, names: Mapping[Value, str]) -> tuple[Block, Block]:
        """What goes before the loop, and what stays of its body."""
        before: list[Stmt] = []
        rest: list[Stmt] = []
        for k, top in enumerate(self.loop.body):
            here = {v.array: n for v, n in names.items() if v.start <= k < v.stop}
            before += _part(top, here, leaving=True)
            rest += _part(top, here, leaving=False)
        return tuple(before), tuple(rest)


def _at(values: Collection[Value], name: str, k: int) -> bool:
    """Whether one of some values is what an array holds at statement number k."""
    return any(v.array == name and v.start <= k < v.stop for v in values)


def _part(stmt: Stmt, names: Mapping[str, str], leaving: bool) -> Block:
    """The part of a statement that makes arrays with another name from now on, or the other part."""
    own = RenamedArrays(lambda n: names.get(n, n)).own
    if not children(stmt):
        return (own(stmt),) if (not writes(stmt).isdisjoint(names)) == leaving else ()
    blocks = [tuple(p for s in b for p in _part(s, names, leaving)) for b in children(stmt)]
    if not any(blocks) and (leaving or any(children(stmt))):
        return ()
    return (with_children(own(stmt), blocks),)
