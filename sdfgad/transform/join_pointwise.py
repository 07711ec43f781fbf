"""Neighbouring statements over the same points: one pass over their data in place of several."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.cover import is_pointwise
from sdfgad.analysis.rows import points, stride, touches
from sdfgad.ir.expr import index_elems
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, range_elems, rebuild_blocks, rename_symbols
from sdfgad.transform.dead import remove_dead_code
from sdfgad.transform.forward_values import forward_values, own_names


@dataclass(frozen=True)
class Limits:
    """points: of a map, from which a pass over them counts. arrays: that a processor can follow at once. far: most
    statements between two maps. stride: the longest way from neighbour to neighbour that caches do not mind."""

    points: int = 512
    arrays: int = 20
    far: int = 24
    stride: int = 4


def join_pointwise(program: Program, keep: Iterable[str], limits: Limits | None = None) -> Program:
    """map i: t[i] = f(x[i]) ; map j: y[j] = g(t[j], x[j])   ->   map i: { v = f(x[i]) ; y[i] = g(v, x[i]) }

    For maps that write each element once and share data; what one writes the other touches at its own point only, or
    not at all. What stands between them may change places with one of the two. Stores that nobody reads are left out.
    """
    joiner = _Joiner(program.arrays, limits or Limits())
    body = rebuild_blocks(program.body, joiner.block)
    if body == program.body:
        return program
    return _without_lost_arrays(remove_dead_code(program.but(body=body), {*keep, *program.arguments}))


def _without_lost_arrays(program: Program) -> Program:
    """Parallel loops name only the private arrays that are left."""
    def change(block: list[Stmt]) -> Block:
        return tuple(replace(s, private=tuple(n for n in s.private if n in program.arrays))
                     if isinstance(s, Loop) and s.private else s for s in block)

    return program.but(body=rebuild_blocks(program.body, change))


class _Joiner:
    def __init__(self, arrays: Mapping[str, Array], limits: Limits) -> None:
        self.arrays = arrays
        self.limits = limits

    def block(self, block: list[Stmt]) -> Block:
        done: list[Stmt] = []
        for stmt in block:
            found = self._partner(done, stmt) if isinstance(stmt, Map) and self._fits(stmt) else None
            if found is None:
                done.append(stmt)
                continue
            place, up, joined = found
            if up:
                done[place] = joined
            else:
                del done[place]
                done.append(joined)
        return tuple(done)

    def _partner(self, done: Sequence[Stmt], stmt: Map) -> tuple[int, bool, Map] | None:
        """The nearest earlier map to run this one with, whether this one moves up to it, and both together."""
        up = True
        for k in range(len(done) - 1, max(-1, len(done) - 1 - self.limits.far), -1):
            first = done[k]
            if isinstance(first, Map) and self._fits(first) and \
                    (up or all(_apart(first, s) for s in done[k + 1:])) and \
                    (joined := self._joined(first, stmt)) is not None:
                return k, up, joined
            up = up and _apart(first, stmt)
        return None

    def _fits(self, stmt: Map) -> bool:
        """Whether every point of a large map writes elements of its own, at places that no array decides."""
        if not stmt.domain or points(stmt) < self.limits.points or any(range_elems(r) for r in stmt.domain):
            return False
        stores = [p for p in stmt.body if isinstance(p, Store)]
        return all(is_pointwise(stmt.domain, p.index) and not any(i.elems for i in p.index) for p in stores)

    def _joined(self, first: Map, second: Map) -> Map | None:
        """Both maps as one, where they agree on the points, the order of loops, and what they touch."""
        moved = in_terms_of(first.domain, second)
        if moved is None or self._inner(first).isdisjoint(self._inner(moved)):
            return None
        both = replace(first, body=(*first.body, *own_names(first, moved).body))
        names = {t.array for t in touches(both)}
        if len(names) > self.limits.arrays or not _shares(first, moved) or not self._point_by_point(first, both):
            return None
        return forward_values(both, self.arrays)

    def _inner(self, stmt: Map) -> set[str]:
        """The variables along which every access stays near the one before."""
        steps = {r.var: [stride(self.arrays[t.array], t.index, r.var) for t in touches(stmt)] for r in stmt.domain}
        return {v for v, found in steps.items() if all(s is not None and abs(s) <= self.limits.stride for s in found)}

    def _point_by_point(self, first: Map, both: Map) -> bool:
        """Whether what one map writes the other one touches at the very element of its point, if at all."""
        written = {t.array for t in touches(both) if t.written}
        places: dict[str, set[tuple]] = {n: set() for n in written}
        for t in touches(both):
            if t.array in written:
                places[t.array].add(t.index)
        shared = {t.array for t in touches(first)} & {t.array for p in both.body[len(first.body):]
                                                      for t in touches(replace(both, body=(p,)))}
        looked_up = {e.array for p in both.body for e in index_elems(p.expr)}
        plain = all(p.expr.dtype == self.arrays[p.array].dtype for p in both.body if isinstance(p, Store))
        return plain and looked_up.isdisjoint(written) and all(len(places[n]) == 1 for n in written & shared)


def in_terms_of(domain: tuple[Range, ...], stmt: Map) -> Map | None:
    """The statement in the variables of a domain with as many points in each direction; None where there are others."""
    if len(domain) != len(stmt.domain):
        return None
    names: dict[str, Ix] = {}
    for here, there in zip(domain, stmt.domain, strict=True):
        gap = (there.start.subs(names) - here.start).const
        if gap is None or (there.stop.subs(names) - here.stop).const != gap or there.step != here.step:
            return None
        names[there.var] = ix(here.var) + gap
    body = rename_symbols((replace(stmt, domain=()),), names)[0]
    return replace(body, domain=domain) if isinstance(body, Map) else None


def _shares(first: Map, second: Map) -> bool:
    """Whether both touch one element at every point, another one at each."""
    here = {(t.array, t.index) for t in touches(first) if is_pointwise(first.domain, t.index)}
    return any((t.array, t.index) in here for t in touches(second))


def _apart(first: Stmt, other: Stmt) -> bool:
    """Whether two statements may change places."""
    mine, others = all_writes((first,)), all_writes((other,))
    return mine.isdisjoint(others | all_reads((other,))) and others.isdisjoint(all_reads((first,)))
