"""Sums that loops add to, kept for each point until the loop is over: program to program.

    for t: map i: s += f(t, i)   ->   map i: k[i] = 0 ; for t: map i: k[i] += f(t, i) ; map i: s += k[i]

The sum of all points takes a kernel or two of its own in each iteration, which has to look again at everything that the
points have in their hands elsewhere, and all threads wait for it. What a point adds up for itself is part of the kernel
that it stands beside (a privatised reduction; Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 5.3).
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from sdfgad.ir import algebra
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_variables, expr_reads, rebuild, statements, within, writes
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds

FEWEST = 4
"""Iterations for which that is worth an array."""


def sums_kept(program: Program) -> Program:
    """The program with such sums behind their loops; the same one where there are none."""
    work = _Keeping(program)
    body = rebuild(program.body, work.change)
    return program.but(body=body, arrays=work.arrays) if work.kept else program


@dataclass(frozen=True)
class _KeptSum:
    """Where the points of a domain keep what they add to an element."""

    target: Store
    domain: tuple[Range, ...]
    array: Array

    @property
    def place(self) -> tuple[Ix, ...]:
        return tuple(ix(r.var) - r.start for r in self.domain)

    @property
    def clear(self) -> Map:
        return Map(self.domain, (Store(self.array.name, self.place, algebra.zero(self.array.dtype)),))

    @property
    def end(self) -> Map:
        value = Load(self.array.name, self.place, self.array.dtype)
        return Map(self.domain, (Store(self.target.array, self.target.index, value, "+"),))


class _Keeping:
    def __init__(self, program: Program) -> None:
        self.arrays = dict(program.arrays)
        self.taken = all_variables(program.body)
        self.kept = 0

    def change(self, stmt: Stmt) -> Block:
        """A loop, and what is before and behind it."""
        if not isinstance(stmt, Loop) or stmt.until is not None or stmt.parallel or (stmt.range.trips or 0) < FEWEST:
            return (stmt,)
        found: dict[tuple[object, ...], _KeptSum] = {}
        body = tuple(self._kept_in(s, stmt, found) if isinstance(s, Map) else s for s in stmt.body)
        self.kept += len(found)
        return *(k.clear for k in found.values()), replace(stmt, body=body) if found else stmt, *(
            k.end for k in found.values())

    def _kept_in(self, stmt: Map, loop: Loop, found: dict[tuple[object, ...], _KeptSum]) -> Map:
        """A map of the loop, whose points keep what they add to one element."""
        domain = self._points(stmt, loop)
        if not domain:
            return stmt
        body = []
        for p in stmt.body:
            if isinstance(p, Store) and self._is_sum(p, loop):
                key = p.array, p.index, domain
                if key not in found:
                    found[key] = _KeptSum(p, domain, self._array(p, domain))
                p = replace(p, array=found[key].array.name, index=found[key].place)
            body.append(p)
        return replace(stmt, body=tuple(body))

    def _points(self, stmt: Map, loop: Loop) -> tuple[Range, ...]:
        """The ranges of points that keep something, without short ones where there are enough points; none where there
        are few, or others in each iteration."""
        if any(r.start.const is None or r.stop.const is None or r.step != 1 for r in stmt.domain):
            return ()
        limits, left = thresholds().device, list(stmt.domain)
        for r in sorted(stmt.domain, key=lambda r: r.trips or 0):
            if (r.trips or 0) <= limits.terms and _size([o for o in left if o is not r]) >= limits.points:
                left.remove(r)
        largest = max((self.arrays[n].bytes for n in frozenset.union(*within(loop))), default=0)
        return tuple(left) if limits.points <= _size(left) and 8 * _size(left) <= largest else ()

    def _is_sum(self, store: Store, loop: Loop) -> bool:
        """Whether a store adds to one element, and nothing in the loop does anything else with the array."""
        name = store.array
        fixed = all(i.const is not None for i in store.index) and self.arrays[name].dtype.kind in "fc"
        if store.op != "+" or not fixed or name in _ends(loop):
            return False
        return all(_only_adds(s, name) for s in statements(loop.body) if name in frozenset.union(*within(s)))

    def _array(self, store: Store, domain: tuple[Range, ...]) -> Array:
        name = fresh(f"kept_{store.array}", self.arrays)
        dtype = self.arrays[store.array].dtype
        self.arrays[name] = Array(name, tuple(r.trips or 0 for r in domain), dtype)
        return self.arrays[name]


def _size(domain: list[Range]) -> int:
    return prod(r.trips or 0 for r in domain)


def _ends(loop: Loop) -> frozenset[str]:
    """Arrays that decide how long a loop is."""
    return frozenset(e.array for e in (*loop.range.start.elems, *loop.range.stop.elems))


def _only_adds(stmt: Stmt, name: str) -> bool:
    """Whether a map adds to an array, or a region holds others, and looks at nothing of it."""
    if not isinstance(stmt, Map):
        return name not in writes(stmt) and isinstance(stmt, Loop) and name not in _ends(stmt)
    looks = any(name in expr_reads(p.expr) for p in stmt.body)
    elems = {e.array for p in stmt.body if isinstance(p, Store) for i in p.index for e in i.elems}
    ends = {e.array for r in stmt.domain for e in (*r.start.elems, *r.stop.elems)}
    return not looks and name not in elems | ends and all(
        p.op == "+" for p in stmt.body if isinstance(p, Store) and p.array == name)
