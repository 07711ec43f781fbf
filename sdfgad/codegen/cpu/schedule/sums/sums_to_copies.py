"""Sums that the next iteration copies: added where the copy lies, and what was copied stays what it was."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.ir import algebra
from sdfgad.ir.expr import Load, index_elems, loads, rewrite
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import children, map_stmt_indices, range_elems, with_children
from sdfgad.transform.clearing.clearings import stored_box
from sdfgad.transform.clearing.stale import After, unseen_later

FEWEST = 2
"""Iterations: the first one only copies."""


def sum_to_copies(program: Program) -> Program:
    """for j = 1:n: map i: { q[j, i] = v[j, i] ; v[j + 1, i] += p[j] * v[j, i] }
    ->   map i: q[1, i] = v[1, i] ; for j = 1:n-1: map i: q[j + 1, i] = v[j + 1, i] + p[j] * q[j, i]

    For loops that do nothing else, where nobody looks at the sums in v, a transient, before they are replaced: the
    array is read once and never written. Every element of both belongs to one point of one iteration.
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
    def begun(self) -> Map:
        """The first element."""
        first = replace(self.stmt, body=(self.copy,))
        changed = map_stmt_indices(first, lambda i: i.subs({self.range.var: self.range.start}))
        assert isinstance(changed, Map)
        return changed

    @property
    def loop_range(self) -> Range:
        """All iterations but the last, which only adds to what is copied no more."""
        r = self.range
        return replace(r, stop=r.start + ((r.trips or 0) - 1) * r.step)

    @property
    def iteration(self) -> Map:
        """An iteration that makes the next element of the copy from its own."""
        kept = Load(self.copy.array, self.copy.index, self.source.dtype)
        further = tuple(i.subs({self.range.var: ix(self.range.var) + self.range.step}) for i in self.copy.index)
        added = rewrite(self.sum.expr, lambda e: kept if e == self.source else None)
        there = Load(self.source.array, self.sum.index, self.source.dtype)
        return replace(self.stmt, body=(Store(self.copy.array, further, algebra.add(there, added)),))


def _chain(stmt: Stmt) -> _Chain | None:
    """A loop over numbers that does nothing but to copy elements and to add to the next ones."""
    if not isinstance(stmt, Loop) or stmt.parallel or stmt.private or stmt.until is not None or len(stmt.body) != 1:
        return None
    r, inner = stmt.range, stmt.body[0]
    parts = inner.body if isinstance(inner, Map) else ()
    counted = not r.early and not range_elems(r) and (r.trips or 0) >= FEWEST
    if not isinstance(inner, Map) or not counted or len(parts) != 2 or any(
            range_elems(d) or r.var in d.start.symbols | d.stop.symbols for d in inner.domain):
        return None
    copy, added = parts
    if not isinstance(copy, Store) or not isinstance(added, Store) or not isinstance(copy.expr, Load):
        return None
    chain = _Chain(r, inner, copy, copy.expr, added)
    return chain if _follows(chain) and _alone(chain) else None


def _follows(chain: _Chain) -> bool:
    """Whether what gets something added is what the next iteration copies, one element at each point."""
    r, copy, added = chain.range, chain.copy, chain.sum
    further = tuple(i.subs({r.var: ix(r.var) + r.step}) for i in chain.source.index)
    points = (r, *chain.stmt.domain)
    return (copy.op, added.op) == (None, "+") and added.array == chain.source.array != copy.array \
        and added.index == further and is_pointwise(points, copy.index) and is_pointwise(points, added.index)


def _alone(chain: _Chain) -> bool:
    """Whether nothing but the element itself, of both arrays, is looked at, and no index is looked up."""
    copy, added = chain.copy, chain.sum
    looked = {n for n in loads(added.expr) if n.array in (copy.array, added.array)}
    places = (*copy.index, *chain.source.index, *added.index)
    return looked <= {chain.source} and not index_elems(added.expr) and not any(i.elems for i in places) \
        and copy.expr.dtype == added.expr.dtype


@dataclass(frozen=True)
class _ToCopies:
    arrays: Mapping[str, Array]
    keep: frozenset[str]

    def block(self, block: Block, outer: After | None) -> Block:
        out: list[Stmt] = []
        for k, stmt in enumerate(block):
            here = After(block[k + 1:], (), outer)
            chain = _chain(stmt)
            if chain is not None and isinstance(stmt, Loop) and self._plain(chain) and self._unseen(chain, here):
                out += (chain.begun, replace(stmt, range=chain.loop_range, body=(chain.iteration,)))
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

    def _unseen(self, chain: _Chain, then: After) -> bool:
        """Whether nobody looks at what was added up."""
        box = stored_box(replace(chain.stmt, domain=(chain.range.upwards, *chain.stmt.domain)), chain.sum)
        source = self.arrays[chain.source.array]
        return box is not None and unseen_later(source, (box,), then, self.arrays, self.keep)
