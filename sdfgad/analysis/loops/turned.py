"""Whether the points of a map may change places with the iterations of the loop around them."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from sdfgad.analysis.elements.access import meeting
from sdfgad.analysis.elements.dependence import Touch, touches
from sdfgad.analysis.elements.polyhedron import System
from sdfgad.analysis.elements.region import Region, interval, region_of
from sdfgad.ir.program import Map, Range
from sdfgad.ir.walk import rename_symbols


@dataclass(frozen=True)
class _Time:
    """When something happens in a loop: the variable that holds the iteration, and the place in its body."""

    var: str
    place: int


def turned(stmt: Map, path: Sequence[Range]) -> Map | None:
    """for j: { map d = 0:j: f(j, d) }   ->   for j: { map d = j + 1:n: f(d, j) }

    The points of a map with one range, done in that iteration of the innermost loop of `path` which their own variable
    names. None when one of them names none, or the map would have another form.
    """
    own, loop = stmt.domain[0], path[-1]
    region = region_of([loop.upwards, own.upwards], path[:-1])
    ends = None if region is None else interval(region, loop.var)
    within = region_of([replace(loop.upwards, var=own.var)], path[:-1])
    if region is None or ends is None or within is None or not _same_values(region, within, loop.var):
        return None
    names = {own.var: loop.var, loop.var: own.var}
    start, stop = (i.subs(names) for i in ends)
    made = rename_symbols((Map((), stmt.body, stmt.source),), names)[0]
    return Map((Range(own.var, start, stop),), made.body, made.source) if isinstance(made, Map) else None


def _same_values(region: Region, within: Region, loop: str) -> bool:
    """Whether the points name iterations of the loop only, and every one has its points by what it says of `loop`."""
    alone = [r for r in region.rows if not r[0].get(loop, 0)]
    return all(region.implies(r) for r in within.rows) and all(within.implies(r) for r in alone)


def may_turn(body: Sequence[Map], place: int, target: int, path: Sequence[Range]) -> bool:
    """Whether everything stays in order when a map of a loop's body is turned and stands before the place `target`."""
    stmt = body[place]
    old, new = _Time(path[-1].var, 2 * place), _Time(stmt.domain[0].var, 2 * target - 1)
    known = touches(stmt, path)
    for k, other in enumerate(body):
        there = _Time(path[-1].var, 2 * k)
        after = new if k == place else there
        for p, q in product(known, known if k == place else touches(other, path)):
            if not p.commutes(q) and _reordered(p, q, (old, new), (there, after), path):
                return False
    return True


def _reordered(p: Touch, q: Touch, mine: tuple[_Time, _Time], others: tuple[_Time, _Time],
               path: Sequence[Range]) -> bool:
    """Whether two touches of one element come in another order than before, or at once."""
    (old, new), (there, after), down = mine, others, path[-1].step < 0
    ways = (*product(_sooner((old, "r"), (there, "w"), down), _sooner((after, "w"), (new, "r"), down, or_at_once=True)),
            *product(_sooner((there, "w"), (old, "r"), down), _sooner((new, "r"), (after, "w"), down, or_at_once=True)))
    return any(_holds(p, q, len(path) - 1, way) for way in ways)


def _sooner(one: tuple[_Time, str], other: tuple[_Time, str], down: bool, or_at_once: bool = False) -> Iterator[System]:
    """The ways in which one time comes before another. Strings: whose variables, as `meeting` has them."""
    (a, mine), (b, its) = one, other
    sign = -1 if down else 1
    gap = {f"{b.var}.{its}": sign, f"{a.var}.{mine}": -sign}
    yield System([], [(gap, -1)])
    if a.place < b.place or (or_at_once and a.place == b.place):
        yield System([(gap, 0)], [])


def _holds(p: Touch, q: Touch, same: int, orders: Sequence[System]) -> bool:
    """Whether two touches can meet at times in these orders."""
    system = meeting(p.access, q.access, same)
    for order in orders:
        system.zero += order.zero
        system.nonnegative += order.nonnegative
    return system.feasible()
