"""Boxes of array elements, and how they lie to each other.

A box is what an index runs over that counts every dimension by a variable of its own, or holds it at one place. Places
may depend on data: then two boxes that differ in nothing else are one and the same or have no element in common.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product

from sdfgad.analysis.elements.access import interval_env
from sdfgad.ir.index import Bounds, Elem, Ix, Mod, ix
from sdfgad.ir.program import Range
from sdfgad.thresholds import thresholds

EQUAL, APART, EITHER, MAYBE = "equal", "apart", "either", "maybe"
"""Relations of two boxes: the same elements; no common one; one of these two; anything."""

Side = tuple[Ix, Ix]


@dataclass(frozen=True)
class Box:
    """Elements of an array: from a first to a last in each dimension, the last not included. sides: None: some."""

    array: str
    sides: tuple[Side, ...] | None


@dataclass(frozen=True)
class Path:
    """A box as an index runs through it. order: the variable of each dimension that has one, and its direction; None
    when a table says how it runs."""

    box: Box
    order: tuple[tuple[str, int], ...] | None


def path_of(array: str, shape: Sequence[int], index: tuple[Ix, ...], domain: Sequence[Range],
            permutations: Mapping[str, int]) -> Path | None:
    """The box that an index runs over, each element once; None when it is not seen to be one.

    permutations: arrays whose rows hold the numbers below some n in some order, and n.
    """
    ranges = {r.var: r for r in domain}
    if any(r.step != 1 or not ranges.keys().isdisjoint(r.start.symbols | r.stop.symbols) for r in domain):
        return None
    sides: list[Side] = []
    order: list[tuple[str, int]] = []
    straight = True
    for i, extent in zip(index, shape, strict=True):
        here = sorted(ranges.keys() & i.symbols)
        if len(here) > 1:
            return None
        if not here:
            sides.append((i, i + 1))
            continue
        r, sign = ranges[here[0]], i.coefficient(here[0])
        if sign in (1, -1):
            sides.append(_side(i, r, sign))
        elif _is_table(i, r, extent, permutations):
            straight = False
            sides.append((ix(0), ix(extent)))
        else:
            return None
        order.append((r.var, sign or 0))
    if sorted(v for v, _ in order) != sorted(ranges):
        return None  # it would meet an element several times
    return Path(Box(array, tuple(sides)), tuple(order) if straight else None)


def hull_of(array: str, index: tuple[Ix, ...], domain: Sequence[Range], dense: bool = False) -> Box | None:
    """The smallest box, going by the ends of ranges that count upwards one by one, that holds every element an index
    meets; None when these are not numbers.

    dense: it has to meet every element of the box, as y[8 * h + k] does for k = 0:8.
    """
    if any(r.step != 1 for r in domain):
        return None
    if dense and any(sum(r.var in i.symbols for i in index) > 1 or not r.trips for r in domain):
        return None
    bounds = interval_env(domain)
    sides: list[Side] = []
    for i in index:
        low, high = i.bounds(bounds)
        if low is None or high is None or (dense and not _dense(i, domain)):
            return None
        sides.append((ix(low), ix(high + 1)))
    return Box(array, tuple(sides))


def _dense(i: Ix, domain: Sequence[Range]) -> bool:
    """Whether an index takes every value between its first and its last one."""
    reach = 1
    for step, trips in sorted((abs(i.coefficient(r.var) or 0), r.trips or 1) for r in domain if r.var in i.symbols):
        if not 0 < step <= reach:
            return False
        reach += step * (trips - 1)
    return i.affine is not None


def _side(i: Ix, r: Range, sign: int) -> Side:
    rest = i - ix(r.var) * sign
    return (rest + r.start, rest + r.stop) if sign > 0 else (rest - r.stop + 1, rest - r.start + 1)


def _is_table(i: Ix, r: Range, extent: int, permutations: Mapping[str, int]) -> bool:
    """p[d] for d = 0:n, where a row of p is a permutation of the whole dimension."""
    if len(i.terms) != 1 or i.terms[0][1] != 1 or len(i.terms[0][0]) != 1:
        return False
    atom = i.terms[0][0][0]
    if isinstance(atom, Mod) and atom.parts[1].const == extent:
        return _is_table(atom.parts[0], r, extent, permutations)
    return isinstance(atom, Elem) and atom.parts[-1:] == (ix(r.var),) and \
        all(r.var not in p.symbols for p in atom.parts[:-1]) and \
        permutations.get(atom.array) == extent == r.stop.const and r.start.const == 0


def relation(a: Box, b: Box, env: Mapping[str, Bounds]) -> str:
    """How two boxes lie to each other, as far as can be seen. env: bounds of the variables of the loops around."""
    if a.array != b.array:
        return APART
    if a.sides is None or b.sides is None:
        return MAYBE
    if a.sides == b.sides:
        return EQUAL
    pairs = list(zip(a.sides, b.sides, strict=True))
    if any(_before(p, q, env) or _before(q, p, env) for p, q in pairs):
        return APART
    return EITHER if all(p == q or _is_point(p) and _is_point(q) for p, q in pairs) else MAYBE


def _before(p: Side, q: Side, env: Mapping[str, Bounds]) -> bool:
    gap = (q[0] - p[1]).bounds(env)[0]
    return gap is not None and gap >= 0


def _is_point(side: Side) -> bool:
    return (side[1] - side[0]).const == 1


def covered(target: Box, boxes: Sequence[Box]) -> bool:
    """Whether boxes of the same array together hold all of another."""
    if target in boxes and target.sides is not None:
        return True
    if target.sides is None or not boxes:
        return False
    places = [_relative(target.sides, b) for b in boxes]
    known = [p for p in places if p is not None]
    ends = [(s[1] - s[0]).const for s in target.sides]
    if not known or None in ends:
        return False
    if any((e or 0) <= 0 for e in ends):
        return True
    grids = [sorted({0, e or 0, *(min(max(x, 0), e or 0) for p in known for x in p[d])}) for d, e in enumerate(ends)]
    cells = product(*(pairwise(g) for g in grids))
    return all(any(all(p[d][0] <= low and high <= p[d][1] for d, (low, high) in enumerate(cell)) for p in known)
               for cell in cells)


def _relative(sides: tuple[Side, ...], box: Box) -> list[tuple[int, int]] | None:
    """A box in coordinates that start where another does."""
    found = [((low - first).const, (high - first).const)
             for (first, _), (low, high) in zip(sides, box.sides or (), strict=False)]
    plain = [(low, high) for low, high in found if low is not None and high is not None]
    return plain if box.sides is not None and len(plain) == len(sides) else None


@dataclass(frozen=True)
class Case:
    """One way in which boxes coincide. same: the box that stands for each of those that are taken to be the same."""

    same: Mapping[Box, Box]
    env: Mapping[str, Bounds]

    def one(self, box: Box) -> Box:
        return self.same.get(box, box)

    def apart(self, a: Box, b: Box) -> bool:
        """Whether two boxes have no element in common."""
        if self.one(a) == self.one(b):
            return False
        return relation(a, b, self.env) in (APART, EITHER)

    def covered(self, target: Box, boxes: Sequence[Box]) -> bool:
        alike = any(b.sides is not None and self.one(b) == self.one(target) for b in boxes)
        return alike or covered(target, [b for b in boxes if b.array == target.array])


def cases(boxes: Sequence[Box], env: Mapping[str, Bounds]) -> list[Case]:
    """Every way in which boxes may coincide; none when there are too many."""
    distinct = list(dict.fromkeys(b for b in boxes if b.sides is not None))
    related = {(a, b): relation(a, b, env) for a, b in combinations(distinct, 2)}
    open_ones = [b for b in distinct if any(b in pair and r == EITHER for pair, r in related.items())]
    if len(open_ones) > 4:
        return []
    found = [c for groups in _partitions(open_ones) if (c := _case(groups, related, env)) is not None]
    return found if len(found) <= thresholds().cases else []


def _case(groups: list[list[Box]], related: Mapping[tuple[Box, Box], str], env: Mapping[str, Bounds]) -> Case | None:
    """None when boxes of one group cannot be the same."""
    pairs = [pair for g in groups for pair in combinations(g, 2)]
    if any(related.get((a, b), related.get((b, a))) != EITHER for a, b in pairs):
        return None
    return Case({b: g[0] for g in groups for b in g}, env)


def _partitions(items: Sequence[Box]) -> Iterator[list[list[Box]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for groups in _partitions(rest):
        yield [[first], *groups]
        for k in range(len(groups)):
            yield [*groups[:k], [first, *groups[k]], *groups[k + 1:]]
