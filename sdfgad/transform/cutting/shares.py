"""Which iterations of a statement each rank runs: those that write what it owns, or its part of a sum."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sdfgad.errors import unsupported
from sdfgad.ir.index import Bounds, Ix, floordiv, ix, maximum, minimum
from sdfgad.ir.program import Let, Map, Range, Store
from sdfgad.ir.walk import rename_symbols
from sdfgad.names import GRAD, loop_name
from sdfgad.transform.cutting.accesses import accesses
from sdfgad.transform.cutting.blocks import ArrayBlocks, CutAxis, Place, RankGrid

WHOLE = 'leave this array whole, "replicated", or put None in the place of this axis'
"""What to do about an axis that cannot be cut."""
SUMMED = (None, "+", "max", "min")
"""How a store may combine what the ranks find."""


@dataclass(frozen=True)
class Portion:
    """Iterations go to the ranks in whose span an index of an array lies. What is outside of the array goes to the
    ranks at the ends: only one branch of a choice may read there."""

    array: str
    number: int
    index: Ix
    axis: CutAxis

    def refused(self, stmt: Map, why: str) -> Exception:
        return unsupported(stmt.source, f"axis {self.number} of {told(self.array)!r} is cut, and {why} decides which "
                           "of its elements are written", WHOLE, "SG124")

    def span(self, place: Place) -> tuple[int | None, int | None]:
        here, ends = place[self.axis.dimension], self.axis.ends
        return None if here == 0 else ends[here], None if here == len(ends) - 2 else ends[here + 1]


@dataclass(frozen=True)
class StoreShare:
    """How the iterations of one store are shared out. own: by what is written; parts: by what is read, where each rank
    has a part of what everybody needs; grid: where nothing shares iterations out, all ranks run them."""

    own: tuple[Portion, ...]
    parts: tuple[Portion, ...]
    grid: RankGrid

    def domain(self, stmt: Map, place: Place, loops: Mapping[str, Bounds]) -> tuple[Range, ...] | None:
        """The ranges of a rank; None where it has nothing to do."""
        shared = {t.axis.dimension for t in (*self.own, *self.parts)}
        if self.parts and any(p for d, p in enumerate(place) if d not in shared):
            return None  # one rank of those that could is enough
        domain: tuple[Range, ...] | None = stmt.domain
        for portion in (*self.own, *self.parts):
            domain = None if domain is None else _narrowed(stmt, domain, portion, place, loops)
        return domain


    def origins(self, stmt: Map, place: Place) -> dict[str, int]:
        """Where variables begin that run through a block: counted from there, ranks with equal blocks have one code."""
        found: dict[str, int] = {}
        for portion in (*self.own, *self.parts):
            var = next((r.var for r in reversed(stmt.domain) if r.var in portion.index.symbols), None)
            if var is not None and portion.index.coefficient(var) == 1:
                found.setdefault(var, portion.axis.span(place)[0])
        return {var: first for var, first in found.items() if first}


def told(array: str) -> str:
    """The user's name for an array, or for the one whose cotangent it is."""
    return array.removeprefix(GRAD)


def share_of(stmt: Map, store: Store, cut: Mapping[str, ArrayBlocks], grid: RankGrid,
             summed: frozenset[int] = frozenset()) -> StoreShare:
    """Who runs the iterations of a store. What is written is written by its owners; a sum over a cut axis, into what
    every rank has, is added up in parts, as is one into what is cut by dimensions of the grid that are `summed`."""
    blocks = cut.get(store.array)
    own = () if blocks is None else tuple(
        Portion(store.array, k, i, a) for k, (i, a) in enumerate(zip(store.index, blocks.axes, strict=True))
        if a is not None and a.dimension not in summed)
    taken = {t.axis.dimension for t in own}
    parts: list[Portion] = []
    for dimension in range(len(grid.extents)) if store.op in SUMMED else ():
        leads = () if dimension in taken else _middle_first(list(_leads(stmt, store, cut, dimension)))
        # The variable of what is written would share out as its owners do.
        lead = next((p for p in leads if dimension not in summed or _elsewhere(store, p, cut)), None)
        parts += [] if lead is None else [lead]
    return StoreShare(own, tuple(parts), grid)


def summable(stmt: Map, store: Store, cut: Mapping[str, ArrayBlocks]) -> frozenset[int]:
    """Dimensions of the grid by which the target of a sum is cut, and something that is read by another variable."""
    if store.op not in ("+", "max", "min") or store.array not in cut:
        return frozenset()
    own = frozenset(a.dimension for a in cut[store.array].axes if a is not None)
    return frozenset(d for d in own if any(_elsewhere(store, p, cut) for p in _leads(stmt, store, cut, d)))


def _elsewhere(store: Store, lead: Portion, cut: Mapping[str, ArrayBlocks]) -> bool:
    """Whether what is read along a cut axis runs by other variables than what is written along it."""
    return all(a is None or a.dimension != lead.axis.dimension or i.symbols.isdisjoint(lead.index.symbols)
               for i, a in zip(store.index, cut[store.array].axes, strict=True))


def _middle_first(leads: list[Portion]) -> list[Portion]:
    """The first lead in the middle of those that run beside it: less is received than at the end of a stencil."""
    beside = [(gap, k) for k, p in enumerate(leads) if (p.array, p.axis) == (leads[0].array, leads[0].axis)
              and (gap := (p.index - leads[0].index).const) is not None]
    middle = leads[sorted(beside)[(len(beside) - 1) // 2][1]] if beside else None
    return leads if middle is None else [middle, *(p for p in leads if p is not middle)]


def _leads(stmt: Map, store: Store, cut: Mapping[str, ArrayBlocks], dimension: int) -> Iterator[Portion]:
    """What is read along a cut axis, by a variable of the map; then what is read of one place of it and added up, which
    its owner does."""
    variables = {r.var for r in stmt.domain}
    parts = [*(p.expr for p in stmt.body if isinstance(p, Let)), store.expr]
    found = [a for e in parts for a in accesses(e)]
    for name, index in found:
        for k, (i, axis) in enumerate(zip(index, cut[name].axes, strict=True)) if name in cut else ():
            if axis is not None and axis.dimension == dimension and i.affine is not None and (
                    i.symbols and i.symbols <= variables):
                yield Portion(name, k, i, axis)
    written = {s for i in store.index for s in i.symbols & variables}
    for name, index in found if store.op == "+" else ():
        for k, (i, axis) in enumerate(zip(index, cut[name].axes, strict=True)) if name in cut else ():
            if axis is not None and axis.dimension == dimension and i.const is not None and (
                    written <= {s for j in index for s in j.symbols}):
                yield Portion(name, k, i, axis)


def _narrowed(stmt: Map, domain: tuple[Range, ...], portion: Portion, place: Place,
              loops: Mapping[str, Bounds]) -> tuple[Range, ...] | None:
    """The points of a domain at which an index lies in the span of a rank."""
    low, high = portion.span(place)
    k = next((k for k in reversed(range(len(domain))) if domain[k].var in portion.index.symbols), None)
    if k is None:
        at = portion.index.const
        if at is None:
            if portion.index.elems or not portion.index.symbols <= loops.keys():
                raise portion.refused(stmt, "an index array")
            raise portion.refused(stmt, f"the loop over {', '.join(map(loop_name, sorted(portion.index.symbols)))}")
        return domain if (low is None or low <= at) and (high is None or at < high) else None
    factor = portion.index.coefficient(domain[k].var)
    if factor is None:
        raise portion.refused(stmt, "an index array" if portion.index.elems else "a division or remainder")
    rest = portion.index - ix(domain[k].var) * factor
    if rest.elems:
        raise portion.refused(stmt, "an index array")
    narrow = _between(rising(domain[k]), (rest, factor), low, high)
    if narrow is None:
        raise portion.refused(stmt, "a range in large steps that change")
    return None if narrow.trips == 0 else (*domain[:k], narrow, *domain[k + 1:])


def rising(r: Range) -> Range:
    """The same numbers in rising order."""
    if r.step > 0:
        return r
    if r.step == -1:
        return r.upwards
    trips = r.trips
    if trips is None:
        return r
    return Range(r.var, r.start + r.step * (trips - 1), r.start + 1, -r.step)


def _between(r: Range, form: tuple[Ix, int], low: int | None, high: int | None) -> Range | None:
    """The numbers v of a range with low <= rest + factor * v < high; None where they are not known as a range."""
    rest, factor = form
    if factor > 0:
        first = None if low is None else -floordiv(rest - low, factor)
        behind = None if high is None else -floordiv(rest - high, factor)
    else:
        first = None if high is None else floordiv(rest - high, -factor) + 1
        behind = None if low is None else floordiv(rest - low, -factor) + 1
    start = r.start if first is None else _from(r, first)
    stop = r.stop if behind is None else minimum(r.stop, behind)
    return None if start is None else replace(r, start=start, stop=stop)


def _from(r: Range, first: Ix) -> Ix | None:
    """The first number of a range that is not below another one."""
    if r.step == 1:
        return maximum(r.start, first)
    if r.step < 0 or (gap := (first - r.start).const) is None:
        return None
    return r.start + max(0, -(-gap // r.step)) * r.step


def counted_from(stmt: Map, domain: tuple[Range, ...], origins: Mapping[str, int]) -> Map:
    """map i = 50:75: y[i] = x[i - 1]   ->   map i = 0:25: y[i + 50] = x[i + 49]   where i counts from 50"""
    if not origins:
        return stmt if domain == stmt.domain else replace(stmt, domain=domain)
    names = {var: ix(var) + first for var, first in origins.items()}
    ranges = tuple(replace(r, start=r.start.subs(names) - first, stop=r.stop.subs(names) - first)
                   for r in domain for first in [origins.get(r.var, 0)])
    body, = rename_symbols((replace(stmt, domain=()),), names)
    assert isinstance(body, Map)
    return replace(body, domain=ranges)
