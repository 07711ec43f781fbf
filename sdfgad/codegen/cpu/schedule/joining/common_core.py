"""What two maps over nearly the same elements have in common: a core that both run over, and their rims."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.loops.rows import RowTouch, touches
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Range
from sdfgad.transform.clearing.clearings import Box, common, size, take_out


@dataclass(frozen=True)
class Cores:
    """Two maps over as many points, and what has been taken off each: other points of the same map."""

    first: Map
    second: Map
    first_rim: tuple[Map, ...] = ()
    second_rim: tuple[Map, ...] = ()

    @property
    def parted(self) -> bool:
        """Whether one of them lost something."""
        return bool(self.first_rim or self.second_rim)


def common_core(first: Map, second: Map, share: float) -> Cores | None:
    """map i = 0:n: y[i] = f(i) ; map j = 0:n-1: z[j] = g(j) * y[j + 1]
    ->   map i = 0:1: y[i] = f(i) ; map i = 1:n: y[i] = f(i) ; map j = 0:n-1: z[j] = g(j) * y[j + 1]

    Sums that neighbours collect have other terms at the rim of a grid, and so end elsewhere than what makes the terms.
    None where maps touch no elements alike, or what is in common is less than this share of either of them.
    """
    one, other = _box(first), _box(second)
    gaps = _gaps(first, second) if one and other and len(one) == len(other) else None
    if one is None or other is None or gaps is None:
        return None
    core = common(one, tuple((a - gap, b - gap) for (a, b), gap in zip(other, gaps, strict=True)))
    if core is None or size(core) < share * max(size(one), size(other)) or size(core) == size(one) == size(other):
        return None
    there = tuple((a + gap, b + gap) for (a, b), gap in zip(core, gaps, strict=True))
    return Cores(_over(first, core), _over(second, there), tuple(_over(first, b) for b in take_out(one, core)),
               tuple(_over(second, b) for b in take_out(other, there)))


def _box(stmt: Map) -> Box | None:
    """The numbers that the variables of a map take; None where they take others for each other, or not each one."""
    ends = [(r.start.const, r.stop.const) for r in stmt.domain if r.step == 1 and not r.early]
    found = tuple((a, b) for a, b in ends if a is not None and b is not None)
    return found if len(found) == len(stmt.domain) else None


def _over(stmt: Map, box: Box) -> Map:
    domain = tuple(Range(r.var, ix(a), ix(b)) for r, (a, b) in zip(stmt.domain, box, strict=True))
    return replace(stmt, domain=domain)


def _gaps(first: Map, second: Map) -> tuple[int, ...] | None:
    """How far the variables of the second map are ahead of those of the first where both touch an element: any that
    one of them writes, or else most of them."""
    met = Counter(_meetings(first, second))
    changed = {gap for gap, written in met if written}
    if len(changed) > 1:
        return None
    return max(met, key=lambda found: (found[1], met[found]), default=(None, False))[0]


def _meetings(first: Map, second: Map) -> Iterator[tuple[tuple[int, ...], bool]]:
    theirs: dict[str, list[RowTouch]] = {}
    for t in touches(second):
        theirs.setdefault(t.array, []).append(t)
    here, there = ({r.var: k for k, r in enumerate(m.domain)} for m in (first, second))
    for a in touches(first):
        for b in theirs.get(a.array, ()):
            gap = _gap(a.index, b.index, here, there)
            if gap is not None:
                yield gap, a.written or b.written


def _gap(mine: Sequence[Ix], other: Sequence[Ix], here: Mapping[str, int], there: Mapping[str, int]
         ) -> tuple[int, ...] | None:
    """Of two indices that agree in which variable decides which dimension, in steps of one; by the variables."""
    found: dict[int, int] = {}
    for i, j in zip(mine, other, strict=True):
        if i.symbols.isdisjoint(here) and j.symbols.isdisjoint(there) and i == j:
            continue
        (k, ahead), (n, more) = _decided(i, here), _decided(j, there)
        if k is None or k != n or ahead is None or more is None or k in found:
            return None
        found[k] = ahead - more
    return tuple(found[k] for k in range(len(here))) if len(found) == len(here) else None


def _decided(i: Ix, places: Mapping[str, int]) -> tuple[int | None, int | None]:
    """Which variable decides an index, and how far it is ahead of it."""
    own = [v for v in i.symbols if v in places]
    return (places[own[0]], (i - own[0]).const) if len(own) == 1 else (None, None)
