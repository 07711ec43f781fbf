"""What indices show of the elements that a statement touches, without a look at single points."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from sdfgad.ir.expr import Load, certain, walk
from sdfgad.ir.index import ZERO, Ix
from sdfgad.ir.messages import is_finish
from sdfgad.ir.program import FAILED, ORDER, Array, Lib, Map, Range, Store, View, axis
from sdfgad.ir.walk import own_ranges

READ, ADDED, WRITTEN = "reads", "adds to", "writes"


def touched(stmt: Map) -> Sequence[tuple[str, str, tuple[Ix, ...]]]:
    """How, which array and where: what the body of a map touches at every point; kept with the map."""
    known: Sequence[tuple[str, str, tuple[Ix, ...]]] | None = stmt.__dict__.get("_at_points")
    if known is not None:
        return known
    found: list[tuple[str, str, tuple[Ix, ...]]] = []
    for part in stmt.body:
        found += [(READ, n.array, n.index) for n in walk(part.expr, certain) if isinstance(n, Load)]
        if isinstance(part, Store):
            found.append((ADDED if part.op else WRITTEN, part.array, part.index))
    object.__setattr__(stmt, "_at_points", found)
    return found


def surely_inside(stmt: Map | Lib, path: tuple[Range, ...], arrays: Mapping[str, Array]) -> bool:
    """Whether what a statement touches lies in its arrays wherever the ranges around it go, each by itself: most do."""
    ends = _extents((*path, *own_ranges(stmt)), {})
    if isinstance(stmt, Map):
        return all(_holds(arrays[name], index, ends) for _, name, index in touched(stmt))
    return all(_holds(arrays[v.array], v.index, _extents(_positions(v), ends)) for v in (*stmt.ins, *stmt.outs))


def _holds(array: Array, index: tuple[Ix, ...], ends: Mapping[str, tuple[int, int]]) -> bool:
    """Whether an index lies in an array for all values of its variables."""
    reached = [_reach(i, ends) for i in index]
    return array.packing is None and all(
        r is not None and r[0] >= 0 and r[1] < n for r, n in zip(reached, array.shape, strict=False))


def _positions(view: View) -> tuple[Range, ...]:
    """The elements of a view."""
    return tuple(Range(axis(k), ZERO, n) for k, n in enumerate(view.shape))


def _extents(ranges: tuple[Range, ...], around: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The first and the last number of ranges where those are known; what is between them may be less."""
    ends = dict(around)
    for r in ranges:
        start, stop = _reach(r.start, ends), _reach(r.stop, ends)
        if start is not None and stop is not None:
            known = range(start[0], stop[0], r.step) if start[0] == start[1] and stop[0] == stop[1] else None
            ends[r.var] = (known[0], known[-1]) if known else (
                (start[0], stop[1] - 1) if r.step > 0 else (stop[0] + 1, start[1]))
    return ends


def _reach(i: Ix, ends: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    """The least and the largest value of an affine index."""
    if i.affine is None or not i.affine[0].keys() <= ends.keys():
        return None
    corners = [(c * ends[var][0], c * ends[var][1]) for var, c in i.affine[0].items()]
    return i.affine[1] + sum(map(min, corners)), i.affine[1] + sum(map(max, corners))


def surely_separate(stmt: Map | Lib) -> bool:
    """Whether the indices show that no iteration meets another one, and the names that no result is an operand."""
    if isinstance(stmt, Lib):
        return is_finish(stmt) or {v.array for v in stmt.outs}.isdisjoint({v.array for v in stmt.ins} - {FAILED, ORDER})
    found: dict[str, set[tuple[str, tuple[Ix, ...]]]] = {p.array: set() for p in stmt.body if isinstance(p, Store)}
    for how, name, index in touched(stmt):
        if name in found:
            found[name].add((how, index))
    return not stmt.domain or all(_apart(stmt.domain, accesses) for accesses in found.values())


def _apart(domain: tuple[Range, ...], accesses: set[tuple[str, tuple[Ix, ...]]]) -> bool:
    """Whether the points of a domain only add to an array, or each of them has one element of it for itself."""
    indices = {index for _, index in accesses}
    return {how for how, _ in accesses} == {ADDED} or len(indices) == 1 and _tells_apart(domain, *indices)


def _tells_apart(domain: tuple[Range, ...], index: tuple[Ix, ...]) -> bool:
    """Whether each variable of a domain has a dimension of an array for itself."""
    variables = {r.var for r in domain}
    alone = [i.symbols & variables for i in index if i.affine is not None]
    return variables == frozenset().union(*(own for own in alone if len(own) == 1))
