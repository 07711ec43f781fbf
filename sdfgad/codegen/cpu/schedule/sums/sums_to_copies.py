"""Sums that the next iteration copies: added where the copy lies, and what was copied stays what it was."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Load, index_elems, loads, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Let, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import children, map_stmt_indices, range_elems, with_children
from sdfgad.transform.clearing.clearings import stored_box
from sdfgad.transform.clearing.stale import After, unseen_later

FEWEST = 2
"""Iterations: the first one only copies."""


def sum_to_copies(program: Program) -> Program:
    """for j = 1:n: map i: { q[j, i] = v[j, i] ; c[j, i] = v[j, i] * x[j, i] ; v[j + 1, i] += p[j] * v[j, i] }
    ->   map i: q[1, i] = v[1, i]
         for j = 1:n-1: map i: { c[j, i] = q[j, i] * x[j, i] ; q[j + 1, i] = v[j + 1, i] + p[j] * q[j, i] }
         map i: { c[n-1, i] = q[n-1, i] * x[n-1, i] ; v[n, i] += p[n-1] * q[n-1, i] }

    The way back through a substitution, as of a tridiagonal system: an iteration copies what the one before has added
    up. Where nobody looks at the sums in v, a transient, before they are replaced, or where the iteration replaces them
    itself, the array is read once and no sum is written to it. Every element of both belongs to one point of one
    iteration.
    """
    work = _ToCopies(program.arrays, program.live_out)
    body = work.block(program.body, None)
    return program.but(body=body) if body != program.body else program


@dataclass(frozen=True)
class _Chain:
    """One iteration: at every point an element of an array is copied, and the next one gets something added."""

    range: Range
    stmt: Map
    copy: Store
    source: Load
    sum: Store

    @property
    def cleared(self) -> Store | None:
        """What an iteration puts where it has copied from."""
        return next((p for p in self.stmt.body if isinstance(p, Store) and p.array == self.source.array
                     and p is not self.sum), None)

    @property
    def uncleared(self) -> _Chain:
        """The same without that."""
        return replace(self, stmt=replace(self.stmt, body=tuple(p for p in self.stmt.body if p is not self.cleared)))

    @property
    def begun(self) -> Stmt:
        """The first element."""
        return self._at(self.range.start, replace(self.stmt, body=(self.copy,)))

    @property
    def summed_range(self) -> Range:
        """All iterations but the last, whose sum is copied no more."""
        r = self.range
        return replace(r, stop=r.start + ((r.trips or 0) - 1) * r.step)

    @property
    def iteration(self) -> Map:
        """An iteration that makes the next element of the copy from its own."""
        there = Load(self.source.array, self.sum.index, self.source.dtype)
        added = Store(self.copy.array, _further(self.copy.index, self.range),
                      algebra.add(there, self._read(self.sum.expr)))
        return replace(self.stmt, body=tuple(self._parts(added)))

    def last(self, sums: bool) -> Stmt | None:
        """The last iteration. sums: somebody looks at what it adds."""
        parts = tuple(self._parts(replace(self.sum, expr=self._read(self.sum.expr)) if sums else None))
        return self._at(self.summed_range.stop, replace(self.stmt, body=parts)) if parts else None

    def _parts(self, added: Store | None) -> Iterator[Let | Store]:
        for part in self.stmt.body:
            if part is self.sum:
                yield from () if added is None else (added,)
            elif part is not self.copy:
                yield replace(part, expr=self._read(part.expr))

    def _read(self, expr: Expr) -> Expr:
        kept = Load(self.copy.array, self.copy.index, self.source.dtype)
        return rewrite(expr, lambda e: kept if e == self.source else None)

    def _at(self, place: Ix, stmt: Map) -> Stmt:
        return map_stmt_indices(stmt, lambda i: i.subs({self.range.var: place}))


def _further(index: tuple[Ix, ...], r: Range) -> tuple[Ix, ...]:
    """The same place, an iteration later."""
    return tuple(i.subs({r.var: ix(r.var) + r.step}) for i in index)


def _chain(stmt: Stmt) -> _Chain | None:
    """A loop over numbers whose iterations are one map that copies elements and adds to the next ones."""
    if not isinstance(stmt, Loop) or stmt.parallel or stmt.private or stmt.until is not None or len(stmt.body) != 1:
        return None
    r, inner = stmt.range, stmt.body[0]
    counted = not r.early and not range_elems(r) and (r.trips or 0) >= FEWEST
    if not isinstance(inner, Map) or not counted or any(
            range_elems(d) or r.var in d.start.symbols | d.stop.symbols for d in inner.domain):
        return None
    stores = [p for p in inner.body if isinstance(p, Store)]
    found = (_Chain(r, inner, copy, copy.expr, added) for copy in stores if isinstance(copy.expr, Load)
             for added in stores if added.array == copy.expr.array != copy.array)
    return next((c for c in found if _follows(c) and _alone(c)), None)


def _follows(chain: _Chain) -> bool:
    """Whether what gets something added is what the next iteration copies, one element at each point."""
    r, copy, added = chain.range, chain.copy, chain.sum
    points = (r, *chain.stmt.domain)
    return (copy.op, added.op) == (None, "+") and added.index == _further(chain.source.index, r) \
        and is_pointwise(points, copy.index) and is_pointwise(points, added.index)


def _alone(chain: _Chain) -> bool:
    """Whether of both arrays nothing but the element itself is looked at, before it may be replaced, and no index is
    looked up."""
    copy, source, added = chain.copy, chain.source, chain.sum
    both = (copy.array, source.array)
    replaced = False
    for part in chain.stmt.body:
        looked = {n for n in loads(part.expr) if n.array in both}
        if not looked <= {source} or looked and replaced or index_elems(part.expr):
            return False
        if isinstance(part, Store) and part.array in both and part is not copy and part is not added:
            if part.array == copy.array or (part.op, part.index) != (None, source.index):
                return False
            replaced = True
    places = (*copy.index, *source.index, *added.index)
    return not any(i.elems for i in places) and copy.expr.dtype == added.expr.dtype


@dataclass(frozen=True)
class _ToCopies:
    arrays: Mapping[str, Array]
    keep: frozenset[str]

    def block(self, block: Block, outer: After | None) -> Block:
        out: list[Stmt] = []
        for k, stmt in enumerate(block):
            here = After(block[k + 1:], (), outer)
            chain = _chain(stmt)
            if chain is not None and isinstance(stmt, Loop) and self._plain(chain) and (
                    chain.cleared or self._unseen(chain, chain.sum, chain.summed_range, here)):
                out += self._summed(stmt, chain, here)
            elif children(stmt) and not (isinstance(stmt, Loop) and stmt.parallel):
                inner = [After((), b if isinstance(stmt, (Loop, While)) else (), here) for b in children(stmt)]
                out.append(with_children(stmt, [self.block(b, a) for b, a in zip(children(stmt), inner, strict=True)]))
            else:
                out.append(stmt)
        return tuple(out)

    def _plain(self, chain: _Chain) -> bool:
        """Whether both are the program's own arrays of the same kind of numbers, each element with a place."""
        both = self.arrays[chain.copy.array], self.arrays[chain.source.array]
        return all(a.role == "transient" and a.packing is None and a.dtype.kind in "fc"
                   and a.dtype == chain.copy.expr.dtype for a in both)

    def _summed(self, loop: Loop, chain: _Chain, then: After) -> Iterator[Stmt]:
        """What becomes of a loop."""
        if chain.cleared and self._unseen(chain, chain.cleared, chain.range, then):
            chain = chain.uncleared
        yield chain.begun
        yield replace(loop, range=chain.summed_range, body=(chain.iteration,))
        last = chain.last(not self._unseen(chain, chain.sum, chain.range, then))
        yield from () if last is None else (last,)

    def _unseen(self, chain: _Chain, store: Store, r: Range, then: After) -> bool:
        """Whether nobody looks at what is stored there in these iterations."""
        box = stored_box(replace(chain.stmt, domain=(r.upwards, *chain.stmt.domain)), store)
        source = self.arrays[chain.source.array]
        return box is not None and unseen_later(source, (box,), then, self.arrays, self.keep)
