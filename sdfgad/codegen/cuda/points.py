"""Which variables of a map tell the points of a kernel apart, and the map in coordinates of points.

Threads of different points must not touch the same element unless they only read it. Plain stores of different
iterations hit different elements by the meaning of a map. Of what a map adds to, all stores must have a variable alone
in the same dimension, by the same formula: then it tells their elements apart.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.work import Side, coordinate
from sdfgad.ir.expr import symbols_of
from sdfgad.ir.index import Ix, floordiv, ix
from sdfgad.ir.program import Let, Map, Range, Store
from sdfgad.ir.walk import map_stmt_indices
from sdfgad.names import fresh


@dataclass(frozen=True)
class Stand:
    """Where a variable stands alone in an index: `factor * var + rest` in one dimension."""

    dimension: int
    factor: int
    rest: Ix


@dataclass(frozen=True)
class Points:
    """A map in coordinates: `stmt` has those of `box` in place of the variables that tell points apart, and loops over
    `loops`."""

    box: tuple[Side, ...]
    stmt: Map
    loops: tuple[str, ...]


def counted_by_one(stmt: Map) -> Map:
    """The same map with ranges of step 1; its iterations come in any order.

    map i = 1:n:2: x[i] = 0   ->   map k = 0:n//2: x[1 + 2 k] = 0
    """
    taken = set(_symbols(stmt))
    for place, step in enumerate(r.step for r in stmt.domain):
        if step not in (1, -1):
            taken.add(var := fresh("k", taken))
            stmt = _counting(stmt, place, var)
    return replace(stmt, domain=tuple(r.upwards for r in stmt.domain))


def _counting(stmt: Map, place: int, var: str) -> Map:
    r = stmt.domain[place]
    gap = r.stop - r.start if r.step > 0 else r.start - r.stop
    count = Range(var, ix(0), floordiv(gap + (abs(r.step) - 1), abs(r.step)))
    changed = map_stmt_indices(stmt, lambda i: i.subs({r.var: r.start + ix(var) * r.step}))
    if not isinstance(changed, Map):
        raise TypeError("a map stays one")
    return replace(changed, domain=(*changed.domain[:place], count, *changed.domain[place + 1:]))


def _symbols(stmt: Map) -> Iterator[str]:
    """The variables of a map, and those of the loops around that it looks at."""
    for r in stmt.domain:
        yield from (r.var, *r.start.symbols, *r.stop.symbols)
    for part in stmt.body:
        yield from symbols_of(part.expr)
        if isinstance(part, Store):
            yield from (s for i in part.index for s in i.symbols)


def sums(stmt: Map) -> dict[int, Store]:
    """The stores that add to what is there, by their places in the body."""
    return {k: p for k, p in enumerate(stmt.body) if isinstance(p, Store) and p.op}


def sides(stmt: Map, frame: Frame) -> dict[str, Side]:
    """For each variable of a map the interval that holds all its values, where there is one."""
    inside = frame.inside(stmt.domain)
    own = {r.var for r in stmt.domain}
    found: dict[str, Side] = {}
    for r in stmt.domain:
        if own.isdisjoint(r.start.symbols | r.stop.symbols) and not (r.start.elems or r.stop.elems):
            count, start = extent_bound(r, frame.bounds), r.start
        else:
            low, high = inside.bounds[r.var]
            count, start = None if low is None or high is None else max(0, high - low + 1), ix(low or 0)
        if count is not None:
            found[r.var] = Side(r.var, start, count)
    return found


def free_variables(stmt: Map, known: Mapping[str, Side]) -> list[str]:
    """Variables that tell apart the elements of everything that is added to, of those with known sides."""
    added = [[p for p in stmt.body if isinstance(p, Store) and p.array == array]
             for array in {p.array for p in sums(stmt).values()}]
    found, before = list(known), None
    while found != before:
        before = found
        for stores in added:
            found = _told_apart(stmt, stores, {v: known[v].count for v in found})
    return found


def _told_apart(stmt: Map, stores: Sequence[Store], variables: Mapping[str, int]) -> list[str]:
    """Those of the variables, with so many values each, that have one value wherever these stores meet: each stands
    alone in one dimension of all of them, by one formula, but for others that have."""
    inside, found = {r.var for r in stmt.domain}, list[str]()
    for index, *others in zip(*(s.index for s in stores), strict=True):
        if all(other is index for other in others):
            found += _digits(index, variables, inside)
    for _ in variables:
        found = [v for v in variables if v in found or _shared_place(stores, v, inside - set(found))]
    return found


def _digits(index: Ix, variables: Mapping[str, int], inside: set[str]) -> list[str]:
    """The variables of an index that all have one value where it has: each steps over what the ones before it reach, as
    in `4 * i + j` for j below 4."""
    own = sorted(index.symbols & inside, key=lambda v: abs(index.coefficient(v) or 0))
    reach = 0
    for var in own:
        factor = abs(index.coefficient(var) or 0)
        if var not in variables or factor <= reach:
            return []
        reach += factor * (variables[var] - 1)
    return [] if index.elems else own


def _shared_place(stores: Sequence[Store], var: str, inside: set[str]) -> bool:
    common = set(places(stores[0], var, inside))
    for store in stores[1:]:
        common &= set(places(store, var, inside))
    return bool(common)


def places(store: Store, var: str, inside: set[str]) -> Iterator[Stand]:
    """Every dimension of a store where a variable of a domain stands without those others."""
    for dimension, i in enumerate(store.index):
        factor = i.coefficient(var)
        if factor:
            rest = i - ix(var) * factor
            if rest.symbols.isdisjoint(inside):
                yield Stand(dimension, factor, rest)


def in_points(stmt: Map, chosen: Sequence[str], known: Mapping[str, Side]) -> Points:
    """The map over points of these variables.

    Coordinates are indices of the first store as far as may be, in its order: kernels that touch the same elements at
    the same points then have the same coordinates, and neighbours in memory are neighbours in a block.
    """
    inside = {r.var for r in stmt.domain}
    first = next(p for p in stmt.body if isinstance(p, Store))
    stands = {v: [p for p in places(first, v, inside) if abs(p.factor) == 1] for v in chosen}
    # What data decide is no part of a coordinate: the host counts points.
    found = {v: next((p for p in stand if not p.rest.elems), None) for v, stand in stands.items()}
    dimensions = {v: stand[0].dimension if stand else _named(first, v) for v, stand in stands.items()}
    # The position among those chosen keeps the order of the program where the store says nothing.
    order = sorted(chosen, key=lambda v: (dimensions[v], chosen.index(v)))
    box: list[Side] = []
    names: dict[str, Ix] = {}
    for k, var in enumerate(order):
        side, names[var] = _turned(known[var], coordinate(k), found[var])
        box.append(side)
    return Points(tuple(box), _renamed(stmt, names), tuple(r.var for r in stmt.domain if r.var not in names))


def _named(store: Store, var: str) -> int:
    """The dimension in which data say, for a value of a variable, where to store: rows of `x[k[i], j]` are as far from
    each other as those of `x[i, j]`. The last place where nothing says so."""
    found = (d for d, i in enumerate(store.index) if i.elems and var in i.symbols)
    return next(found, len(store.index))


def _turned(side: Side, name: str, place: Stand | None) -> tuple[Side, Ix]:
    """A side of the box in a coordinate, and the variable in terms of it."""
    if place is None:
        return replace(side, var=name), ix(name)
    if place.factor == 1:
        return Side(name, side.start + place.rest, side.count), ix(name) - place.rest
    return Side(name, place.rest - side.start - (side.count - 1), side.count), place.rest - name


def _renamed(stmt: Map, names: Mapping[str, Ix]) -> Map:
    domain = tuple(_range_of(r, names) for r in stmt.domain)
    body: list[Let | Store] = []
    changed = map_stmt_indices(replace(stmt, domain=()), lambda i: i.subs(names))
    if isinstance(changed, Map):
        body += changed.body
    return replace(stmt, domain=domain, body=tuple(body))


def _range_of(r: Range, names: Mapping[str, Ix]) -> Range:
    """A range of the domain, of the coordinate where its variable has become one."""
    start, stop = r.start.subs(names), r.stop.subs(names)
    if r.var not in names:
        return replace(r, start=start, stop=stop)
    value = names[r.var]
    var = next(s for s in value.symbols if s.startswith(coordinate(0)[:-1]))
    if value.coefficient(var) == 1:
        rest = ix(var) - value
        return Range(var, start + rest, stop + rest)
    rest = value + var
    return Range(var, rest - stop + 1, rest - start + 1)
