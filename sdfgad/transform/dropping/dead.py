"""Remove what nobody asked for."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sdfgad.ir.program import Block, If, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.walk import children, reads, rebuild, statements, within, writes


def remove_dead_code(program: Program) -> Program:
    """Keep the statements some result depends on, by name of array, and the control around them.

    y = f(x) ; z = g(x), result z    ->   z = g(x)
    """
    return without_dead_code(program, program.live_out)


def without_dead_code(program: Program, wanted: Iterable[str]) -> Program:
    """The same for other arrays than those that are live behind the program."""
    wanted = frozenset(wanted)
    live = _live(program.body, set(wanted))
    body = _prune(program.body, live)
    used = wanted | {n for s in statements(body) for n in reads(s) | writes(s)} | set(program.arguments)
    arrays = {name: a for name, a in program.arrays.items() if name in used}
    constants = {name: value for name, value in program.constants.items() if name in arrays}
    return program.but(body=body, arrays=arrays, constants=constants, live=program.live & constants.keys())


def _live(body: Block, live: set[str]) -> set[str]:
    size = -1
    while size != len(live):
        size = len(live)
        _grow(body, live, set())
    return live


def _grow(block: Block, live: set[str], control: set[str]) -> None:
    for stmt in block:
        if isinstance(stmt, (Loop, While, If)):
            here = control | reads(stmt) | _counter(stmt)
            for inner in children(stmt):
                _grow(inner, live, here)
        elif not live.isdisjoint(writes(stmt)):
            live |= control | _read_for(stmt, live)


def _counter(stmt: Loop | While | If) -> set[str]:
    """What a loop says that its iterations are counted in: it is there as long as the loop is."""
    return set() if isinstance(stmt, If) or stmt.trips is None else {stmt.trips}


def _read_for(stmt: Stmt, live: set[str]) -> frozenset[str]:
    if isinstance(stmt, Map):
        return reads(_without_dead_stores(stmt, live))
    return reads(stmt)


def _without_dead_stores(stmt: Map, live: set[str]) -> Map:
    body = tuple(p for p in stmt.body if not isinstance(p, Store) or p.array in live)
    return stmt if len(body) == len(stmt.body) else Map(stmt.domain, body, stmt.source)


def _without_lost_arrays(stmt: Loop | While | If) -> Stmt:
    """A parallel loop names only those private arrays that are left."""
    if not isinstance(stmt, Loop) or not stmt.private:
        return stmt
    left = tuple(n for n in stmt.private if any(n in names for names in within(stmt)))
    return stmt if left == stmt.private else replace(stmt, private=left)


def _prune(block: Block, live: set[str]) -> Block:
    def change(stmt: Stmt) -> Block:
        if isinstance(stmt, (Loop, While, If)):
            return (_without_lost_arrays(stmt),) if any(children(stmt)) else ()
        if live.isdisjoint(writes(stmt)):
            return ()
        return (_without_dead_stores(stmt, live) if isinstance(stmt, Map) else stmt,)

    return rebuild(block, change)
