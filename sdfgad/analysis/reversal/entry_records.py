"""What a loop overwrites and the reverse sweep looks at before the loop alone: one record, where the loop begins."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.access import Access, Site, always_inside, interval_env, told_apart
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Loop, Program, Range, Stmt, While
from sdfgad.ir.walk import children


@dataclass(frozen=True)
class EntryRecords:
    """for t: { tape[t] = u ; u += p }   ->   tape = u ; for t: u += p

    If the reverse sweep looks at u nowhere inside the loop, what u held when the loop began is enough: a solver's first
    guess, say, of which there was a residual. around: the loops around each statement (`id`), from outside in. looks:
    the places of the statements whose adjoints read an array.
    """

    arrays: Mapping[str, Array]
    place: Mapping[int, Site]
    around: Mapping[int, tuple[Loop | While, ...]]
    looks: Mapping[str, Set[int]]

    @classmethod
    def of(cls, program: Program, place: Mapping[int, Site], reads: Iterable[Access]) -> EntryRecords:
        """reads: of the reverse sweep."""
        looks: dict[str, set[int]] = {}
        for read in reads:
            looks.setdefault(read.array, set()).add(read.site.order)
        return cls(program.arrays, place, dict(_around(program.body, ())), looks)

    def carried(self, stmt: Stmt, write: Access) -> tuple[Stmt, Access]:
        """The statement that a write is recorded at, and what is: those given, or a loop around with what it overwrites
        in all of its iterations, where these are fewer elements."""
        found = stmt, write
        loops = self.around[id(stmt)]
        for depth in reversed(range(len(loops))):
            site = self.place[id(loops[depth])]
            if any(site.order < order < site.leave for order in self.looks.get(write.array, ())):
                break
            wider = self._all_of(write, site, write.site.path[depth:])
            if wider is not None:
                found = loops[depth], wider
        return found

    def _all_of(self, write: Access, site: Site, inside: tuple[Range, ...]) -> Access | None:
        """What a write overwrites in all iterations of loops; None where that is no less than in each by itself, or
        nobody knows."""
        moving = _deciding(inside, [*write.index, *_bounds(write.domain)])
        ends = [*write.index, *_bounds((*moving, *write.domain))]
        if len(moving) == len(inside) or any(i.elems for i in ends) or any(r.early for r in moving):
            return None
        found = replace(write, domain=(*moving, *write.domain), site=site)
        env = interval_env((*site.path, *found.domain))
        inner = always_inside(write.index, self.arrays[write.array].shape, env)
        return found if inner and (not moving or told_apart(found)) else None


def _around(block: Block, loops: tuple[Loop | While, ...]) -> Iterator[tuple[int, tuple[Loop | While, ...]]]:
    for stmt in block:
        yield id(stmt), loops
        below = (*loops, stmt) if isinstance(stmt, (Loop, While)) else loops
        for inner in children(stmt):
            yield from _around(inner, below)


def _deciding(loops: tuple[Range, ...], places: Iterable[Ix]) -> tuple[Range, ...]:
    """The loops that have a say in some indices."""
    used = {s for i in places for s in i.symbols}
    found: list[Range] = []
    for r in reversed(loops):
        if r.var in used:
            used |= {s for i in _bounds((r,)) for s in i.symbols}
            found.insert(0, r)
    return tuple(found)


def _bounds(ranges: Iterable[Range]) -> list[Ix]:
    return [i for r in ranges for i in (r.start, r.stop)]
