"""Remove what nobody asked for."""
from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import TypeAlias

from sdfgad.ir.expr import Load
from sdfgad.ir.program import Block, If, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.walk import children, reads, statements, with_children, within, writes

_Control: TypeAlias = Loop | While | If


def remove_dead_code(program: Program) -> Program:
    """Keep what some result depends on, by name of array, and the control around it: strong liveness, found backwards.

    y = f(x) ; z = g(x) ; z = z ; x = h(z), result z    ->   z = g(x)
    """
    return without_dead_code(program, program.live_out)


def without_dead_code(program: Program, wanted: Iterable[str]) -> Program:
    """The same for other arrays than those that are live behind the program."""
    wanted = frozenset(wanted)
    live, body = wanted, _Liveness().block(program.body, wanted)[0]
    # A tape is taken from after it was read: as long as anybody reads it, it is.
    while not (tapes := _read_in(body) & _tapes(program)) <= live:
        live |= tapes
        body = _Liveness().block(program.body, live)[0]
    used = _read_in(body) | {n for s in statements(body) for n in writes(s)} | wanted | set(program.arguments)
    arrays = {name: a for name, a in program.arrays.items() if name in used}
    constants = {name: value for name, value in program.constants.items() if name in arrays}
    return program.but(body=body, arrays=arrays, constants=constants, live=program.live & constants.keys())


def _tapes(program: Program) -> frozenset[str]:
    return frozenset(n for n, a in program.arrays.items() if a.role == "tape")


def _read_in(block: Block) -> frozenset[str]:
    return frozenset(n for s in statements(block) for n in reads(s))


class _Liveness:
    """around: what was found to be live at the end of an iteration of each loop. That only grows when more is live
    behind the loop: who comes back to it goes on from there."""

    def __init__(self) -> None:
        self.around: dict[int, frozenset[str]] = {}

    def block(self, block: Block, live: frozenset[str]) -> tuple[Block, frozenset[str]]:
        """What is left of a block, and what is live before it. live: arrays that are read behind it."""
        out: list[Stmt] = []
        now = set(live)  # one set that grows: a new one for each statement would take their square
        for stmt in reversed(block):
            kept: Stmt | None
            if isinstance(stmt, (Loop, While, If)):
                kept, found = self.control(stmt, frozenset(now))
                now |= found
            elif isinstance(stmt, Map):
                kept = _needed_parts(stmt, now)
            else:
                kept = None if now.isdisjoint(writes(stmt)) else stmt
            if kept is not None:
                out.append(kept)
                now |= reads(kept)
        return tuple(reversed(out)), frozenset(now)

    def control(self, stmt: _Control, live: frozenset[str]) -> tuple[Stmt | None, frozenset[str]]:
        """The same for a loop or a branch; of a loop, what an iteration reads and has not to itself is live behind the
        one before."""
        own = frozenset(stmt.private) if isinstance(stmt, Loop) else frozenset()
        inside = (live | self.around.get(id(stmt), frozenset())) - own
        while True:
            found = [self.block(b, inside) for b in children(stmt)]
            if not any(b for b, _ in found):
                return None, live
            before = inside.union(reads(stmt), _counter(stmt), *(names for _, names in found)) - own
            if isinstance(stmt, If) or before == inside:
                break
            inside = self.around[id(stmt)] = before
        return _without_lost_arrays(with_children(stmt, [b for b, _ in found])), before


def _needed_parts(stmt: Map, live: Set[str]) -> Map | None:
    """A map with the stores into live arrays, and those that they may read; None when there are none."""
    written = writes(stmt)
    needed = {n for n in written if n in live}
    while True:
        body = tuple(p for p in stmt.body if not isinstance(p, Store) or p.array in needed and not _is_there(p, stmt))
        if not any(isinstance(p, Store) for p in body):
            return None
        left = stmt if len(body) == len(stmt.body) else Map(stmt.domain, body, stmt.source)
        if reads(left).isdisjoint(written - needed):
            return left
        needed |= reads(left)


def _is_there(store: Store, stmt: Map) -> bool:
    """Whether a store puts back what it has just read, in the only statement of the map that writes the array."""
    e = store.expr
    same = isinstance(e, Load) and store.op is None and (e.array, e.index) == (store.array, store.index)
    return same and sum(isinstance(p, Store) and p.array == store.array for p in stmt.body) == 1


def _counter(stmt: _Control) -> set[str]:
    """What a loop says that its iterations are counted in: it is there as long as the loop is."""
    return set() if isinstance(stmt, If) or stmt.trips is None else {stmt.trips}


def _without_lost_arrays(stmt: Stmt) -> Stmt:
    """A parallel loop names only those private arrays that are left."""
    if not isinstance(stmt, Loop) or not stmt.private:
        return stmt
    left = tuple(n for n in stmt.private if any(n in names for names in within(stmt)))
    return stmt if left == stmt.private else replace(stmt, private=left)
