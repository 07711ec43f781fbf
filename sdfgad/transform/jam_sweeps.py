"""Sweeps that follow each other at a distance, several of them at a time: their recurrences wait side by side."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product

from sdfgad.analysis.access import Access, Site, reads_of, sites, writes_of
from sdfgad.analysis.block_local import block_locals
from sdfgad.ir.expr import Expr, Load, index_elems, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import all_reads, all_writes, children, range_elems, rename_symbols, statements, with_children
from sdfgad.names import fresh

TOGETHER = (4, 2)
"""So many sweeps run side by side: as many as a recurrence needs to hide behind the others."""
MOST_STORES = 12
"""Of all recurrences that run side by side: those of more do not fit into the registers."""
MOST_STATEMENTS = 32
"""In a row: there are up to seven copies of it."""
LEAST_TRIPS = 8
"""Of a recurrence that is worth it."""
MOST_BYTES = 1 << 15
"""Of an array that each of the sweeps gets for itself, so that it stays in the nearest cache."""


def jam_sweeps(program: Program, seen: Iterable[str]) -> Program:
    """for t = 0:8: for i = 1:n: for j = 1:m: x[i, j] = x[i, j - 1] / 2 + x[i - 1, j] + x[i + 1, j]
    ->   for t = 0:8:4: { for k = 0:3: for i = 1:7 - 2 * k: for j = 1:m: x[i, j] = ...
                          for i = 7:n: for j = 1:m: { x[i, j] = ... ; x[i - 2, j] = ... ; ... ; x[i - 6, j] = ... }
                          for k = 1:4: for i = n - 2 * k:n: for j = 1:m: x[i, j] = ... }

    For loops of numbers of iterations around nothing but loops of which each iteration, a row, has a recurrence, and
    where every array that changes is touched in rows at fixed distances from the row's own. A sweep that stays further
    behind the one before than the farthest of these (two rows above) meets nothing of what that one does meanwhile.
    Every element sees the same operations in the same order. What belongs to a row alone gets copies where rows would
    share it. `seen`: arrays somebody reads afterwards.
    """
    work = _Work(program, frozenset(seen))
    body = work.block(program.body, 0)
    return program if body == program.body else program.but(body=body, arrays=work.arrays)


@dataclass(frozen=True)
class _Nest:
    """sweeps, rows: the two loops around a row's `body`. lag: so many rows a sweep stays behind the one before, `count`
    of which run together. copied: arrays of which each of them needs its own."""

    sweeps: Range
    rows: Range
    body: Block
    lag: int
    count: int
    copied: frozenset[str]


class _Work:
    def __init__(self, program: Program, seen: frozenset[str]) -> None:
        self.program, self.seen = program, seen
        self.arrays = dict(program.arrays)
        self.variables = {r.var for r in _ranges(program.body)}

    def block(self, block: Block, depth: int) -> Block:
        """The block, inside `depth` loops, with its nests jammed."""
        return tuple(s for stmt in block for s in self.statement(stmt, depth))

    def statement(self, stmt: Stmt, depth: int) -> Block:
        # The private arrays of a parallel loop are declared there, and there is enough to do side by side.
        if not children(stmt) or isinstance(stmt, Loop) and stmt.parallel:
            return (stmt,)
        nest = self.nest(stmt, depth) if isinstance(stmt, Loop) else None
        if nest is not None:
            return self.jammed(nest)
        inside = depth + isinstance(stmt, (Loop, While))
        return (with_children(stmt, [self.block(b, inside) for b in children(stmt)]),)

    def nest(self, outer: Loop, depth: int) -> _Nest | None:
        """Two loops that can be jammed, where that pays; cheap questions first."""
        inner = outer.body[0] if len(outer.body) == 1 else None
        if not isinstance(inner, Loop) or not (_counted(outer) and _counted(inner)):
            return None
        moving = frozenset((outer.range.var, inner.range.var))
        if not any(_recurs(s, moving) for s in inner.body) or not _simple(inner.body, moving):
            return None
        private = self.private(inner.body, depth + 2)
        copied = private - _within_segments(inner.body, moving)
        lag = _lag(inner.body, inner.range, private)
        if lag is None or not self.may_copy(inner.body, copied):
            return None
        count = _count(outer.range, inner, lag, moving)
        return None if count is None else _Nest(outer.range, inner.range, inner.body, lag, count, copied)

    @cached_property
    def local_depths(self) -> Mapping[str, int]:
        """For arrays that live within a run of a block: the loops around it."""
        found = block_locals(self.program, sites(self.program.body), self.seen)
        return {name: len(local.path) for name, local in found.items()}

    def private(self, body: Block, depth: int) -> frozenset[str]:
        """Arrays that a row makes and nobody else looks at."""
        names = {n for n in all_writes(body) if self.program.arrays[n].role == "transient"}
        return frozenset(n for n in names if self.local_depths.get(n, 0) >= depth)

    def may_copy(self, body: Block, names: frozenset[str]) -> bool:
        """Whether arrays can have other names for other sweeps: small ones that no index looks into."""
        return names.isdisjoint(_looked_into(body)) and \
            all(self.arrays[n].bytes <= MOST_BYTES for n in names)

    def jammed(self, nest: _Nest) -> Block:
        """Groups of sweeps, each with the first rows one by one, then all sweeps together, then the last rows; and
        sweeps that are left over."""
        t, i = nest.sweeps, nest.rows
        whole = (t.trips or 0) // nest.count * nest.count
        groups = Range(t.var, t.start, t.start + t.step * whole, t.step * nest.count)
        first = i.start + i.step * nest.lag * (nest.count - 1)
        end = i.start + i.step * (i.trips or 0)
        parts = (self.single(nest, 0, Range(i.var, i.start, first, i.step)),
                 Loop(Range(i.var, first, end, i.step), self.together(nest)),
                 self.single(nest, 1, Range(i.var, end, end, i.step)))
        rest = Range(t.var, groups.stop, t.start + t.step * (t.trips or 0), t.step)
        left = (Loop(rest, (Loop(i, rename_symbols(nest.body, {})),)),) if rest.trips else ()
        return (Loop(groups, parts), *left)

    def single(self, nest: _Nest, last: int, rows: Range) -> Loop:
        """Rows that not all sweeps of a group have left: the first ones (last = 0), or the last ones (last = 1).

        Sweep k of a group is k times the lag behind: so much earlier its first rows end, and its last rows start.
        """
        t = nest.sweeps
        var = fresh(f"{t.var}_part", self.variables)
        self.variables.add(var)
        behind = ix(var) * (nest.lag * rows.step)
        rows = replace(rows, start=rows.start - behind) if last else replace(rows, stop=rows.stop - behind)
        body = rename_symbols(nest.body, {t.var: ix(t.var) + ix(var) * t.step})
        return Loop(Range(var, ix(last), ix(nest.count - 1 + last)), (Loop(rows, body),))

    def together(self, nest: _Nest) -> Block:
        """A row of each sweep of a group."""
        t, i = nest.sweeps, nest.rows
        copies = []
        for k in range(nest.count):
            names = {t.var: ix(t.var) + k * t.step, i.var: ix(i.var) - k * nest.lag * i.step}
            arrays = {n: self.copy(n) for n in sorted(nest.copied)} if k else {}
            copies.append(tuple(_on_arrays(s, arrays) for s in rename_symbols(nest.body, names)))
        return _woven(nest.body, copies, frozenset((t.var, i.var)))

    def copy(self, name: str) -> str:
        made = fresh(name, self.arrays)
        self.arrays[made] = replace(self.program.arrays[name], name=made)
        return made


def _ranges(block: Block) -> Iterator[Range]:
    for s in statements(block):
        yield from s.domain if isinstance(s, Map) else (s.range,) if isinstance(s, Loop) else ()


def _ordered(stmt: Loop) -> bool:
    return not (stmt.parallel or stmt.private or stmt.until is not None or stmt.range.early)


def _counted(stmt: Loop) -> bool:
    """Whether a loop runs through numbers, one after the other."""
    return _ordered(stmt) and stmt.range.start.const is not None and stmt.range.stop.const is not None


def _simple(body: Block, moving: frozenset[str]) -> bool:
    """Whether a row is made of maps and loops, few enough, with variables of their own."""
    inside = list(statements(body))
    return len(inside) <= MOST_STATEMENTS and \
        all(isinstance(s, Map) or isinstance(s, Loop) and _ordered(s) for s in inside) and \
        moving.isdisjoint(r.var for r in _ranges(body))


def _recurs(stmt: Stmt, moving: frozenset[str]) -> bool:
    """Whether a statement is a loop over single elements, or such a loop is in it, that is the same in every row."""
    if not isinstance(stmt, Loop) or not _ordered(stmt) or range_elems(stmt.range) or \
            not moving.isdisjoint(stmt.range.start.symbols | stmt.range.stop.symbols):
        return False
    return _innermost(stmt) or any(_recurs(s, moving) for s in stmt.body)


def _innermost(stmt: Loop) -> bool:
    enough = stmt.range.trips is None or stmt.range.trips >= LEAST_TRIPS
    return enough and all(isinstance(s, Map) and not s.domain for s in stmt.body)


def _segments(body: Block, moving: frozenset[str]) -> Iterator[tuple[bool, list[int]]]:
    """A block as loops that sweeps run together and stretches that they run one after the other."""
    for loops, run in groupby(range(len(body)), key=lambda k: _recurs(body[k], moving)):
        places = list(run)
        yield from ((True, [k]) for k in places) if loops else [(False, places)]


def _within_segments(body: Block, moving: frozenset[str]) -> frozenset[str]:
    """Arrays that only one stretch of a row touches."""
    users: dict[str, int] = {}
    for stretch in _stretches(body, moving):
        for name in all_reads(stretch) | all_writes(stretch):
            users[name] = users.get(name, 0) + 1
    return frozenset(n for n, count in users.items() if count == 1)


def _stretches(body: Block, moving: frozenset[str]) -> Iterator[Block]:
    for together, places in _segments(body, moving):
        stmt = body[places[0]]
        if together and isinstance(stmt, Loop):
            yield from _stretches(stmt.body, moving)
        else:
            yield tuple(body[k] for k in places)


def _woven(body: Block, copies: Sequence[Block], moving: frozenset[str]) -> Block:
    """Copies of a row that touch nothing in common: one loop in place of the copies of each that recurs."""
    out: list[Stmt] = []
    for together, places in _segments(body, moving):
        stmt = body[places[0]]
        if together and isinstance(stmt, Loop):
            inner = [s.body for c in copies if isinstance(s := c[places[0]], Loop)]
            out.append(replace(stmt, body=_woven(stmt.body, inner, moving)))
        else:
            out += [c[k] for c in copies for k in places]
    return tuple(out)


def _lag(body: Block, rows: Range, private: frozenset[str]) -> int | None:
    """How far sweeps have to be apart so that rows they do at the same time never touch what one of them writes.

    Two rows meet in an element only if they are as far apart as the places that they touch are from their own.
    """
    lag = 1
    touched, written = _indices(body)
    for name, changed in written.items():
        if name in private:
            continue
        found = [_gap(changed, touched[name], dim, rows.var) for dim in range(len(changed[0]))]
        gaps = [g for g in found if g is not None]
        if not gaps:
            return None
        lag = max(lag, min(gaps) // abs(rows.step) + 1)
    return lag


Indices = dict[str, list[tuple[Ix, ...]]]


def _indices(body: Block) -> tuple[Indices, Indices]:
    """The indices at which each array is touched, and at which each is written."""
    touched: Indices = {}
    written: Indices = {}
    here = Site((), 0, 1)
    for stmt in statements(body):
        _add(written, writes_of(stmt, here))
        _add(touched, [*writes_of(stmt, here), *reads_of(stmt, here)])
    return touched, written


def _add(found: Indices, accesses: Iterable[Access]) -> None:
    for a in accesses:
        found.setdefault(a.array, []).append(a.index)


def _gap(written: Sequence[tuple[Ix, ...]], touched: Sequence[tuple[Ix, ...]], dim: int, var: str) -> int | None:
    """The most by which two iterations of `var` differ that meet in an element one of them writes, as far as one
    dimension tells: all accesses move along it alike. None if they do not."""
    places = [[i[dim].affine for i in indices] for indices in (written, touched)]
    known = [a for indices in places for a in indices if a is not None]
    factor = known[0][0].get(var, 0) if known else 0
    if not factor or len(known) < len(written) + len(touched) or any(a[0] != {var: factor} for a in known):
        return None
    own, every = ([a[1] for a in indices if a is not None] for indices in places)
    return max(abs(a - b) for a, b in product((min(own), max(own)), (min(every), max(every)))) // abs(factor)


def _count(sweeps: Range, rows: Loop, lag: int, moving: frozenset[str]) -> int | None:
    """How many sweeps to run together: as many as leave half of the rows to be run so."""
    stores = max((_stores(s) for s in statements(rows.body) if isinstance(s, Loop) and _recurs(s, moving)), default=0)
    return next((n for n in TOGETHER if n <= (sweeps.trips or 0) and n * stores <= MOST_STORES
                 and 2 * lag * (n - 1) <= (rows.range.trips or 0)), None)


def _stores(stmt: Loop) -> int:
    return sum(isinstance(p, Store) for s in stmt.body if isinstance(s, Map) and not s.domain for p in s.body)


def _looked_into(body: Block) -> set[str]:
    """Arrays whose elements are indices or bounds."""
    ends = {e.array for r in _ranges(body) for e in range_elems(r)}
    parts = [p for s in statements(body) if isinstance(s, Map) for p in s.body]
    places = {e.array for p in parts if isinstance(p, Store) for i in p.index for e in i.elems}
    return ends | places | {e.array for p in parts for e in index_elems(p.expr)}


def _on_arrays(stmt: Stmt, names: Mapping[str, str]) -> Stmt:
    """The statement on other arrays."""
    if not names or not isinstance(stmt, Map):
        return with_children(stmt, [tuple(_on_arrays(s, names) for s in b) for b in children(stmt)])

    def other(n: Expr) -> Expr | None:
        return replace(n, array=names[n.array]) if isinstance(n, Load) and n.array in names else None

    parts = (replace(p, expr=rewrite(p.expr, other)) for p in stmt.body)
    return replace(stmt, body=tuple(replace(p, array=names.get(p.array, p.array)) if isinstance(p, Store) else p
                                    for p in parts))
