"""What follows a branch that may end its loop, moved into both sides: tail duplication (Chang, Mahlke, Hwu 1991)."""
from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace

import numpy as np

from sdfgad.analysis.elements.cover import exposed
from sdfgad.ir.expr import const
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Stmt, Store
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import all_writes, reads, rebuild, statements, within, writes
from sdfgad.names import fresh

_LONGEST = 8
"""Statements that stand in both sides of a branch, at most: they are code twice."""
_FALSE = const(False, np.dtype(bool))


def sink_tails(program: Program) -> Program:
    """for t until done: { s ; if c: { done = True ; y = x } else: y = f(x) ; x = y }
    ->   for t until done: { s ; if c: { done = True ; z = x ; x = z } else: { y = f(x) ; x = y } }

    A `break` leaves names that are bound behind it with two values, which copies merge. In the side that goes on, such
    a copy is computed with what it copies; in the other one it is none. What comes before the branch is behind it in
    the sweep back, and runs with the rest there.
    """
    sunk: list[If] = []
    counters = {s.trips for s in statements(program.body) if isinstance(s, Loop) and s.until}
    body = rebuild(program.body, lambda s: (_sunk(s, counters, sunk) if isinstance(s, Loop) else s,))
    return _named_apart(program.but(body=body), sunk) if sunk else program


def _sunk(loop: Loop, counters: Set[str | None], sunk: list[If]) -> Loop:
    """The loop with what follows its branch in the branch, which `sunk` gets. counters: of loops that may end early."""
    back = any(e.array in counters for e in loop.range.start.elems)
    place = next((k for k, s in enumerate(loop.body) if isinstance(s, If) and (back or _ends(loop, s))), len(loop.body))
    branch, rest = loop.body[place:place + 1], loop.body[place + 1:]
    count = next((k for k, s in enumerate(rest) if not _goes_with(branch, s)), len(rest))
    if not 0 < count <= _LONGEST or not isinstance(branch[0], If):
        return loop
    then, orelse = branch[0].then, branch[0].orelse
    if loop.until is not None and loop.until not in all_writes(loop.body[:place]):
        then, orelse = _without_reset(then, loop.until), _without_reset(orelse, loop.until)
    both = replace(branch[0], then=(*then, *rest[:count]), orelse=(*orelse, *map(replace, rest[:count])))
    sunk.append(both)
    return replace(loop, body=(*loop.body[:place], both, *rest[count:]))


def _without_reset(side: Block, until: str) -> Block:
    """A side that goes on without saying so: an iteration that has begun goes on."""
    plain = [s for s in side if isinstance(s, Map) and s.body == (Store(until, (), _FALSE),)]
    others = tuple(s for s in side if s not in plain)
    return side if until in all_writes(others) else others


def _ends(loop: Loop, branch: If) -> bool:
    return loop.until is not None and loop.until in all_writes((branch,))


def _goes_with(branch: Block, stmt: Stmt) -> bool:
    """Whether a statement goes over points of what the branch touches."""
    touched = frozenset().union(*(n for s in branch for n in within(s)))
    return isinstance(stmt, Map) and bool(stmt.domain) and not touched.isdisjoint(reads(stmt) | writes(stmt))


def _named_apart(program: Program, sunk: list[If]) -> Program:
    """Other names on one side of each branch for what both sides make for themselves: each may go then."""
    arrays, touched = dict(program.arrays), _touches(program.body)

    def change(stmt: Stmt) -> Block:
        if not isinstance(stmt, If) or not any(stmt is s for s in sunk):
            return (stmt,)
        then, orelse = stmt.then, stmt.orelse
        seen = program.live_out | exposed(then, arrays) | exposed(orelse, arrays)
        first, second = _touches(then), _touches(orelse)
        own = [n for n in sorted(first.keys() & second.keys() - seen)
               if arrays[n].role == "transient" and arrays[n].shape and touched[n] == first[n] + second[n]]
        names = {n: _added(arrays, n) for n in own}
        return (replace(stmt, then=renamed(then, names)) if names else stmt,)

    return program.but(body=rebuild(program.body, change), arrays=arrays)


def _added(arrays: dict[str, Array], like: str) -> str:
    """The name of another array of a kind."""
    name = fresh(like, arrays)
    arrays[name] = replace(arrays[like], name=name)
    return name


def _touches(block: Block) -> Counter[str]:
    """How many statements touch each array."""
    return Counter(n for s in statements(block) for n in reads(s) | writes(s))
