"""Drop copies of which nobody looks at an element again."""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from sdfgad.analysis.afresh import looked_at_before_made
from sdfgad.analysis.elements.access import DURING, Access, meets_later, overlap_in, reads_of, sites
from sdfgad.analysis.elements.cover import exposed
from sdfgad.ir.expr import Load, Local, loads
from sdfgad.ir.program import Block, Loop, Map, Pop, Program, Push, Stmt, Store, While
from sdfgad.ir.walk import children, reads, rebuild, statements, writes


def remove_unseen_copies(program: Program) -> Program:
    """for t: { map i = t + 1:n: { a = tape[t, i] ; y += a ; x[i] = a } ; z = x[t] }, t falling
    ->   for t: { map i = t + 1:n: { a = tape[t, i] ; y += a } ; z = x[t] }

    Copies into elements that nobody looks at before the program ends, although others of the array are read.
    """
    look, apart = _looks(program)
    unseen = {(id(s), k) for s in look.maps for k in range(len(s.body)) if look.unseen(s, k)}
    if not unseen:
        return program

    def change(stmt: Stmt) -> Block:
        if not isinstance(stmt, Map) or not any((id(stmt), k) in unseen for k in range(len(stmt.body))):
            return (stmt,)
        body = tuple(p for k, p in enumerate(stmt.body) if (id(stmt), k) not in unseen)
        return (replace(stmt, body=body),) if any(isinstance(p, Store) for p in body) else ()

    return program.but(body=rebuild(apart, change))


def has_unseen_copies(program: Program, name: str) -> bool:
    """Whether one array has copies that `remove_unseen_copies` drops."""
    look, _ = _looks(program)
    return any(isinstance(p, Store) and p.array == name and look.unseen(s, k)
               for s in look.maps for k, p in enumerate(s.body))


def _looks(program: Program) -> tuple[_Looks, Block]:
    """What a program looks at, and its statements, each an object of its own: one that stands at two places may be
    needed at one of them only."""
    barred = {*program.live_out, *(n for n, a in program.arrays.items() if a.role in ("disk", "tape"))}
    barred |= {n for s in statements(program.body) if isinstance(s, (Push, Pop)) for n in reads(s) | writes(s)}
    apart = rebuild(program.body, lambda s: (replace(s),))
    return _Looks(program.but(body=apart), frozenset(barred)), apart


class _Looks:
    """What a program looks at, and when. `loops`: those around a statement, as objects: two may count by one name."""

    def __init__(self, program: Program, barred: frozenset[str]) -> None:
        self.arrays, self.barred = program.arrays, barred
        self.place = sites(program.body)
        self.bodies: dict[int, Block] = {}
        self.passed_on: dict[int, frozenset[str]] = {}
        self.loops: dict[int, tuple[int, ...]] = {}
        self.maps: list[Map] = []
        self.reads: dict[str, list[tuple[Stmt, Access]]] = {}
        self._enter(program.body, ())

    def _enter(self, block: Block, loops: tuple[int, ...]) -> None:
        for stmt in block:
            self.loops[id(stmt)] = loops
            if isinstance(stmt, Map):
                self.maps.append(stmt)
            for access in reads_of(stmt, self.place[id(stmt)]):
                self.reads.setdefault(access.array, []).append((stmt, access))
            inside = (*loops, id(stmt)) if isinstance(stmt, (Loop, While)) else loops
            if isinstance(stmt, (Loop, While)):
                self.bodies[id(stmt)] = stmt.body
            for block_ in children(stmt):
                self._enter(block_, inside)

    def unseen(self, stmt: Map, position: int) -> bool:
        """Whether a part of a map stores a copy, and no look may see it."""
        store = stmt.body[position]
        if not isinstance(store, Store) or not isinstance(store.expr, (Load, Local)) or not store.index \
                or store.array in self.barred:
            return False
        if any(n.array == store.array for p in stmt.body[position + 1:] for n in loads(p.expr)):
            return False
        made = Access(store.array, store.index, stmt.domain, self.place[id(stmt)], DURING)
        return not any(self._sees(stmt, made, other, look) for other, look in self._candidates(stmt, made))

    def _candidates(self, stmt: Map, made: Access) -> Iterator[tuple[Stmt, Access]]:
        """The looks that may come after a store: those behind it, the next one first, and before it those in the
        outermost loop that they have in common."""
        looks, around = self.reads.get(made.array, []), self.loops[id(stmt)]
        here = bisect_right(looks, made.site.order, key=_order)
        yield from islice(looks, here, None)
        if around:
            yield from looks[bisect_left(looks, self.place[around[0]].order, key=_order):here]

    def _sees(self, stmt: Map, made: Access, other: Stmt, look: Access) -> bool:
        """Whether a look may come after the store and find the same element."""
        mine, others = self.loops[id(stmt)], self.loops[id(other)]
        common = next((k for k, (a, b) in enumerate(zip(mine, others, strict=False)) if a != b),
                      min(len(mine), len(others)))
        if look.site.order > made.site.order and overlap_in(made, look, common):
            return True
        return any(meets_later(made, look, level) and made.array in self._passed_on(mine[level])
                   for level in range(common))

    def _passed_on(self, loop: int) -> frozenset[str]:
        """Arrays of which an iteration may look at what was there before it."""
        if loop not in self.passed_on:
            body = self.bodies[loop]
            found = [self.arrays[n] for n in exposed(body, self.arrays)]
            self.passed_on[loop] = looked_at_before_made(found, body)
        return self.passed_on[loop]


def _order(look: tuple[Stmt, Access]) -> int:
    return look[1].site.order
