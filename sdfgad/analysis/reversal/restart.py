"""What it takes to run iterations of a loop again: the state to save before one, and what must be intact besides.

An array is *exposed* when an iteration may look at an element before it has filled it. Of the exposed arrays, those
that the loop overwrites after it looked at them belong to the state; the others are there again as long as nothing
that comes after the loop destroys them. What an iteration adds up for others, and neither it nor its reverse looks at,
does not count: sums come out wrong when it runs again, and nobody sees them.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sdfgad.analysis.elements.access import AFTER, Access, Site, meets_later, overwrites, reads_of, run_range, writes_of
from sdfgad.analysis.elements.cover import exposed
from sdfgad.ir.expr import Call, Expr, Load, walk
from sdfgad.ir.program import Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import range_elems, reads, statements, writes


@dataclass(frozen=True)
class Restart:
    """state: arrays to save before an iteration, by name. others: reads of what has to survive the rest of the run."""

    state: tuple[str, ...]
    others: tuple[Access, ...]


def restarts(program: Program, loops: Iterable[Loop | While], place: Mapping[int, Site],
             needed: Iterable[Access], local: Mapping[str, tuple[Range, ...]]) -> dict[int, Restart]:
    """For each loop (`id`) that may run again.

    needed: what the reverse sweep reads. local: the loops around each array that lives within one run of their body.
    """
    needed = tuple(needed)
    parts = {id(loop): _Part(program, loop, place, needed, local) for loop in loops}
    again = [a for part in parts.values() for a in part.others()]
    return {key: part.restart((*needed, *again)) for key, part in parts.items()}


class _Part:
    """One loop and what happens in it."""

    def __init__(self, program: Program, loop: Loop | While, place: Mapping[int, Site], needed: Iterable[Access],
                 local: Mapping[str, tuple[Range, ...]]) -> None:
        self.site = place[id(loop)]
        inside = list(statements(loop.body))
        afresh = {n for n, path in local.items() if run_range(loop) in path}
        self.exposed = exposed(loop.body, program.arrays) - afresh
        self.writes: dict[str, list[Access]] = {}
        for stmt in inside:
            for a in writes_of(stmt, place[id(stmt)]):
                self.writes.setdefault(a.array, []).append(a)
        looked_at = [a for a in needed if self.holds(a)]
        own = [a for stmt in _serving(inside, {a.array for a in looked_at}) for a in _all_reads(stmt, place[id(stmt)])]
        own += looked_at
        self.reads = [a for a in own if a.array in self.exposed]
        self.state = {a.array for a in self.reads if self.destroys(a)}

    def holds(self, a: Access) -> bool:
        return self.site.order < a.site.order < self.site.leave

    def destroys(self, read: Access) -> bool:
        return any(overwrites(read, w) for w in self.writes.get(read.array, ()))

    def destroys_next_time(self, read: Access) -> bool:
        return any(meets_later(read, w, level) for w in self.writes[read.array] for level in range(len(self.site.path)))

    def others(self) -> list[Access]:
        """What running again reads besides the state, as reads at the end of the loop."""
        depth = len(self.site.path)
        return [Access(a.array, a.index, (*a.site.path[depth:], *a.domain), self.site, AFTER)
                for a in self.reads if a.array not in self.state]

    def restart(self, reads_elsewhere: Iterable[Access]) -> Restart:
        """A value from before the loop that the loop destroys comes back with the state, too.

        So does one that this loop made the last time it ran, in an earlier iteration of a loop around it.
        """
        self.state |= {a.array for a in reads_elsewhere if a.array in self.writes
                       and (self.destroys_next_time(a) if self.holds(a) else self.destroys(a))}
        return Restart(tuple(sorted(self.state)), tuple(self.others()))


def _serving(inside: Sequence[Stmt], wanted: set[str]) -> list[Stmt]:
    """The statements that what is wanted may depend on, and those that cannot do with any numbers."""
    found = {id(s): s for s in inside if not _idle(s)}
    while True:
        wanted = wanted.union(*map(reads, found.values()))
        more = [s for s in inside if id(s) not in found and not wanted.isdisjoint(writes(s))]
        if not more:
            return [s for s in inside if id(s) in found]
        found |= {id(s): s for s in more}


def _idle(stmt: Stmt) -> bool:
    """Whether a statement only makes floats of floats, whatever they are: it decides nothing, and cannot fail."""
    if not isinstance(stmt, Map) or any(range_elems(r) for r in stmt.domain):
        return False
    return all(_makes_floats(part.expr) and not (isinstance(part, Store) and any(i.elems for i in part.index))
               for part in stmt.body)


def _makes_floats(expr: Expr) -> bool:
    found = list(walk(expr))
    return expr.dtype.kind in "fc" and all(n.dtype.kind in "fcb" for n in found if isinstance(n, (Load, Call))) and \
        not any(i.elems for n in found if isinstance(n, Load) for i in n.index)


def _all_reads(stmt: Stmt, site: Site) -> list[Access]:
    """What a statement reads, the scalars included by which a loop ends."""
    found = reads_of(stmt, site)
    known = {a.array for a in found}
    return found + [Access(n, (), (), site, AFTER) for n in sorted(reads(stmt) - known)]
