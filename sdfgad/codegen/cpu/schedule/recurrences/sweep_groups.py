"""Nests of sweeps written out in groups of several that run side by side."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.analysis.loops.sweeps import segments
from sdfgad.caches import LINE
from sdfgad.ir.expr import Call, Const, Index
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Behind, Block, If, Loop, Map, Range, Stmt, Store
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import rename_symbols
from sdfgad.names import fresh, variable
from sdfgad.thresholds import thresholds

_INT, _BOOL = np.dtype(np.int64), np.dtype(bool)
Names = Mapping[str, str]


@dataclass(frozen=True)
class SweepNest:
    """sweeps, rows: the two loops around a row's `body`. lag: so many rows a sweep stays behind the one before, `count`
    of which run together. own: what a row makes for itself; copied: those of it that rows side by side cannot share.
    blocks: so many parts of the rows, each long enough for a whole group to stay one part behind the group before."""

    sweeps: Range
    rows: Range
    body: Block
    lag: int
    count: int
    own: frozenset[str]
    copied: frozenset[str]
    blocks: int = 1

    @property
    def groups(self) -> int:
        return (self.sweeps.trips or 0) // self.count

    @property
    def rest(self) -> int:
        """Sweeps that are left over."""
        return (self.sweeps.trips or 0) % self.count

    @property
    def before(self) -> int:
        """Rows of the first sweep of a group before all sweeps of it run."""
        return self.lag * (self.count - 1)

    @property
    def block(self) -> int:
        """Rows in a block."""
        return ((self.rows.trips or 0) - self.before) // self.blocks

    @property
    def end(self) -> int:
        """The row of the first sweep up to which all sweeps of a group run together."""
        return self.before + self.block * self.blocks

    def row(self, number: Ix | int) -> Ix:
        """The value of the rows' variable that has a number."""
        return self.rows.start + ix(number) * self.rows.step

    def sweep(self, number: Ix) -> Ix:
        return self.sweeps.start + number * self.sweeps.step


class SweepWriter:
    """Writes nests; `arrays` gets what rows need of their own, `variables` those of new loops."""

    def __init__(self, arrays: dict[str, Array], variables: set[str]) -> None:
        self.arrays, self.variables = arrays, variables
        self.shared: dict[tuple[str, int], str] = {}

    def written(self, nest: SweepNest) -> Block:
        """The groups of a nest, and the sweeps that are left over, which run together where there are several."""
        if nest.blocks > 1:
            return self.at_once(nest)
        t = nest.sweeps
        rest = Range(t.var, nest.sweep(ix(nest.groups * nest.count)), nest.sweep(ix(t.trips or 0)), t.step)
        over = replace(nest, sweeps=rest, body=rename_symbols(nest.body, {}), count=nest.rest or 1)
        left = self.in_turn(over) if over.count > 1 else Loop(rest, (Loop(nest.rows, over.body),))
        return (self.in_turn(nest), *((left,) if rest.trips else ()))

    def in_turn(self, nest: SweepNest) -> Loop:
        """Group after group: the first rows one by one, then all sweeps together, then the last rows."""
        copies: list[Names] = [{n: self._shared(n, k) for n in sorted(nest.copied)} if k else {}
                               for k in range(nest.count)]
        r, stop = nest.rows, nest.sweep(ix(nest.groups * nest.count))
        middle = Range(r.var, nest.row(nest.before), nest.row(nest.end), r.step)
        groups = replace(nest.sweeps, stop=stop, step=nest.sweeps.step * nest.count)
        return Loop(groups, self._parts(nest, ix(groups.var), middle, copies))

    def at_once(self, nest: SweepNest) -> Block:
        """Groups at the same time, the sweeps left over as one more, each two blocks behind the one before: that one
        stays a block ahead even where its last sweep, so much behind its first, is where this one's first sweep is."""
        group, block = self._variable("group"), self._variable("block")
        groups = Range(group, ix(0), ix(nest.groups + bool(nest.rest)))
        own = {n: self._copy(n) for n in sorted(nest.own)}
        copies = [own, *({**own, **{n: self._copy(n) for n in sorted(nest.copied)}} for _ in range(nest.count - 1))]
        body = self._in_block(nest, group, block, copies)
        if nest.rest:
            fewer = self._in_block(nest, group, block, copies[:nest.rest])
            body = (_where(group, nest.groups, fewer, body),)
        private = tuple(dict.fromkeys(n for names in copies for n in names.values()))
        progress = self._progress(nest, groups)
        behind = Behind(ix(group), thresholds().blocks_ahead, progress)
        inner = Loop(Range(block, ix(0), ix(nest.blocks)), body, behind=behind)
        none = Map((Range(group, ix(1), groups.stop + 1),), (_set(progress, ix(group), 0),))
        everything = Map((), (_set(progress, ix(0), nest.blocks),))
        return none, everything, Loop(groups, (inner,), parallel=True, private=private)

    def _in_block(self, nest: SweepNest, group: str, block: str, copies: Sequence[Names]) -> Block:
        """What a group does in a block of rows."""
        low = nest.row(ix(block) * nest.block + nest.before)
        middle = Range(nest.rows.var, low, low + nest.block * nest.rows.step, nest.rows.step)
        lead, body, trail = self._parts(nest, nest.sweep(ix(group) * nest.count), middle, copies)
        return _where(block, 0, (lead,)), body, _where(block, nest.blocks - 1, (trail,))

    def _progress(self, nest: SweepNest, groups: Range) -> str:
        """An array for how many blocks each group has done."""
        name = fresh("progress", self.arrays)
        self.arrays[name] = Array(name, ((groups.trips or 0) + 1, LINE // _INT.itemsize), _INT)
        return name

    def _parts(self, nest: SweepNest, first: Ix, middle: Range, copies: Sequence[Names]) -> tuple[Loop, Loop, Loop]:
        """A group of sweeps from `first` on: rows that not all of them do at the same time, and all of them together.

        Sweep k of a group is k times the lag behind: so much earlier its first rows end, and its last rows start.
        There are as many sweeps as copies, which may be fewer than in other groups.
        """
        t, r = nest.sweeps, nest.rows
        body = renamed(nest.body, copies[0])
        var = self._variable("part")
        names = {t.var: first + ix(var) * t.step}
        lead = replace(r, stop=nest.row(nest.before - ix(var) * nest.lag))
        trail = Range(r.var, nest.row(nest.end - ix(var) * nest.lag), nest.row(r.trips or 0), r.step)
        rows = []
        for k, names_of in enumerate(copies):
            here = {t.var: first + k * t.step, r.var: ix(r.var) - k * nest.lag * r.step}
            rows.append(renamed(rename_symbols(nest.body, here), names_of))
        together = _woven(nest.body, rows, frozenset((t.var, r.var)))
        early = min(nest.count - 1, len(copies))
        return (Loop(Range(var, ix(0), ix(early)), (Loop(lead, rename_symbols(body, names)),)),
                Loop(middle, together),
                Loop(Range(var, ix(0), ix(len(copies))), (Loop(trail, rename_symbols(body, names)),)))

    def _variable(self, stem: str) -> str:
        name = variable(stem, self.variables)
        self.variables.add(name)
        return name

    def _shared(self, name: str, sweep: int) -> str:
        """The copy for one sweep of each group that runs by itself."""
        if (name, sweep) not in self.shared:
            self.shared[name, sweep] = self._copy(name)
        return self.shared[name, sweep]

    def _copy(self, name: str) -> str:
        made = fresh(name, self.arrays)
        self.arrays[made] = replace(self.arrays[name], name=made)
        return made


def _where(var: str, number: int, then: Block, orelse: Block = ()) -> If:
    return If(Call("eq", (Index(ix(var), _INT), Const(number, _INT)), _BOOL), then, orelse)


def _set(progress: str, row: Ix, value: int) -> Store:
    return Store(progress, (row, ix(0)), Const(value, _INT))


def _woven(body: Block, copies: Sequence[Block], moving: frozenset[str]) -> Block:
    """Copies of a row that touch nothing in common: one loop in place of the copies of each that recurs."""
    out: list[Stmt] = []
    for together, places in segments(body, moving):
        stmt = body[places[0]]
        if together and isinstance(stmt, Loop):
            inner = [s.body for c in copies if isinstance(s := c[places[0]], Loop)]
            out.append(replace(stmt, body=_woven(stmt.body, inner, moving)))
        else:
            out += [c[k] for c in copies for k in places]
    return tuple(out)
