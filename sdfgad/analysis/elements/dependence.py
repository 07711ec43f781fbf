"""Which statements of a loop body depend on which: what may be reordered, split, or run for all iterations at once."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sdfgad.analysis.elements.access import (
    Access,
    Site,
    index_accesses,
    load_accesses,
    meets_later,
    overlap_in,
    range_accesses,
)
from sdfgad.ir.program import Map, Range, Store
from sdfgad.ir.walk import range_elems

READ, WRITE = "read", "write"


@dataclass(frozen=True)
class Touch:
    """Elements a statement touches, and how: READ, WRITE or the sign of an accumulation."""

    access: Access
    how: str

    def commutes(self, other: Touch) -> bool:
        """Whether the order of the two never matters, even on one element."""
        if self.access.array != other.access.array or self.how == other.how == READ:
            return True
        return self.how == other.how != WRITE


@dataclass(frozen=True)
class Edge:
    """`before` touches an element before `after` does, in some run of the loop; carried: in an earlier iteration."""

    before: int
    after: int
    first: Touch
    second: Touch
    carried: bool


def touches(stmt: Map, path: Sequence[Range]) -> list[Touch]:
    """Everything a map touches, inside the loops `path`."""
    site = Site(tuple(path), 0, 1)
    found = [Touch(a, READ) for a in range_accesses(stmt.domain, site, 0)]
    for part in stmt.body:
        found += [Touch(a, READ) for a in load_accesses(part.expr, stmt.domain, site, 0)]
        if isinstance(part, Store):
            found += [Touch(a, READ) for a in index_accesses(part.index, stmt.domain, site, 0)]
            found.append(Touch(Access(part.array, part.index, stmt.domain, site, 0), part.op or WRITE))
    return found


def edges(body: Sequence[Map], path: Sequence[Range], pairs: Iterable[tuple[int, int]] | None = None) -> list[Edge]:
    """The dependences of a loop body, within one iteration and between iterations of the innermost loop of `path`; of
    some pairs of statements, or all of them."""
    pairs = product(range(len(body)), range(len(body))) if pairs is None else pairs
    return edges_between([touches(stmt, path) for stmt in body], pairs, len(path))


def edges_between(known: Sequence[list[Touch]], pairs: Iterable[tuple[int, int]], depth: int) -> list[Edge]:
    """The same for some pairs of statements of which everything they touch is known, inside `depth` common loops."""
    return [e for a, b in pairs for e in _between(a, b, known[a], known[b], depth)]


def _between(a: int, b: int, first: list[Touch], second: list[Touch], depth: int) -> Iterator[Edge]:
    for p in first:
        for q in second:
            if p.commutes(q):
                continue
            if meets_later(p.access, q.access, depth - 1):
                yield Edge(a, b, p, q, True)
            if a < b and overlap_in(p.access, q.access, depth):
                yield Edge(a, b, p, q, False)


def order(count: int, found: Sequence[Edge]) -> list[int] | None:
    """Statements one after the other, each for all iterations, in an order that keeps every edge, or None."""
    out: list[int] = []
    while len(out) < count:
        ready = [k for k in range(count) if k not in out and
                 not any(e.after == k and e.before not in out for e in found)]
        if not ready:
            return None
        out.append(ready[0])
    return out


def clash(stmt: Map, path: Sequence[Range]) -> bool:
    """Whether two different points of a map may touch one element in a way that matters: then it is no map."""
    written = {p.array for p in stmt.body if isinstance(p, Store)}
    if any(e.array in written for r in stmt.domain for e in range_elems(r)):
        return True
    whole = Map((), stmt.body, stmt.source)
    for level in range(len(stmt.domain)):
        inner = (*path, *stmt.domain)
        known = touches(whole, inner)
        pairs = [(p.access, q.access) for p in known for q in known if not p.commutes(q)]
        if any(meets_later(a, b, len(path) + level) for a, b in pairs):
            return True
    return False
