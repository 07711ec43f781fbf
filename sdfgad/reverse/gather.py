"""Accumulate cotangents without races: from "each iteration adds to its neighbours" to "each cell collects its own".

A term adds `expr(i)` to `array[index(i)]` for every i of the domain. When all indices of a group are the same injective
map up to constant offsets, the sum is turned round: cell c collects `expr_k(c - offset_k)`. The cells every term
reaches form the core. Near the rim fewer terms reach a cell: with fixed bounds each box of cells that the same terms
reach is a map of its own (Hueckelheim et al., "Automatic differentiation for adjoint stencil loops", 2019); with bounds
known at run time only, or too many boxes, two strips per dimension guard every term instead.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sdfgad.analysis.elements.access import interval_env
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Index, map_indices
from sdfgad.ir.index import Ix, Mod, ix, maximum, minimum, mod
from sdfgad.ir.program import Map, Range, Stmt, Store
from sdfgad.thresholds import thresholds

Box: TypeAlias = dict[str, tuple[Ix, Ix]]

_INTEGER = np.dtype(np.int64)
_BOOL = np.dtype(bool)


@dataclass(frozen=True)
class GatheredTerm:
    """`array[index] += expr` for every point of the domain it is used with."""

    array: str
    index: tuple[Ix, ...]
    expr: Expr


def gather(stmt: Map, group: list[GatheredTerm]) -> list[Stmt]:
    """Statements that add all terms (all of one array), without colliding iterations where that can be helped."""
    out: list[Stmt] = []
    for family in _families([unwrapped(stmt.domain, term) for term in group]):
        out.extend(_gathered(stmt, family))
    return out


def unwrapped(domain: Sequence[Range], term: GatheredTerm) -> GatheredTerm:
    """i = 0:n: y[mod(i + 1, n)] += f(i)   ->   i = 0:n: y[i] += f(mod(i - 1, n))

    For variables whose remainder is one to one in their range.
    """
    for r in domain:
        found = _wrap(r, domain, term)
        if found is not None:
            place, shift = found
            index = tuple(ix(r.var) if k == place else i for k, i in enumerate(term.index))
            term = GatheredTerm(term.array, index, _turned(term.expr, r, shift))
    return term


def _wrap(r: Range, domain: Sequence[Range], term: GatheredTerm) -> tuple[int, int] | None:
    """The one dimension of a term's index that a variable decides, and c, when it is `mod(var + c, n)` for 0:n."""
    places = [k for k, i in enumerate(term.index) if r.var in i.symbols]
    others = (i for o in domain for i in (o.start, o.stop) if o != r)
    if len(places) != 1 or r.step != 1 or r.start.const != 0 or any(r.var in i.symbols for i in others):
        return None
    i = term.index[places[0]]
    atom = next(iter(i.atoms), None)
    if not isinstance(atom, Mod) or i != mod(*atom.parts) or atom.parts[1].const != r.stop.const:
        return None
    shift = (atom.parts[0] - r.var).const
    return None if shift is None else (places[0], shift)


def _turned(e: Expr, r: Range, shift: int) -> Expr:
    """The expression with `mod(var - shift, n)` for a variable of the range 0:n."""
    before, env = {r.var: mod(ix(r.var) - shift, r.stop)}, interval_env((r,))
    return map_indices(e, lambda i: i.subs(before).simplify(env) if r.var in i.symbols else i)


def _gathered(stmt: Map, family: list[GatheredTerm]) -> list[Stmt]:
    """The terms of a family collected; if they reach into several rows, those of each row by themselves."""
    shifts = _shifts(stmt.domain, family) if len(family) > 1 else None
    if shifts is not None:
        return _collected(stmt, family, shifts)
    rows = _rows(stmt.domain, family)
    return _one_by_one(stmt, family) if len(rows) == 1 else [s for row in rows for s in _gathered(stmt, row)]


def _one_by_one(stmt: Map, family: list[GatheredTerm]) -> list[Stmt]:
    return [Map(stmt.domain, (Store(t.array, t.index, t.expr, "+"),), stmt.source) for t in family]


def _families(group: list[GatheredTerm]) -> list[list[GatheredTerm]]:
    """Terms whose indices differ by constants only."""
    families: dict[tuple, list[GatheredTerm]] = {}
    for term in group:
        form = tuple(tuple((m, c) for m, c in i.terms if m) for i in term.index)
        families.setdefault(form, []).append(term)
    return list(families.values())


def _rows(domain: Sequence[Range], family: list[GatheredTerm]) -> list[list[GatheredTerm]]:
    """The terms that meet in the dimensions which the domain does not run through."""
    own = {r.var for r in domain}
    rows: dict[tuple[Ix, ...], list[GatheredTerm]] = {}
    for term in family:
        rows.setdefault(tuple(i for i in term.index if i.symbols.isdisjoint(own)), []).append(term)
    return list(rows.values())


def _shifts(domain: Sequence[Range], family: list[GatheredTerm]) -> list[dict[str, int]] | None:
    """Per term, the constant each domain variable is shifted by; None when the indices are not plain shifts."""
    if any(r.step != 1 for r in domain):
        return None
    place = _placement(domain, family[0].index)
    if place is None:
        return None
    shifts = []
    for term in family:
        gaps = [(i - j).const for i, j in zip(term.index, family[0].index, strict=True)]
        if any(gap is None or (gap and k not in place.values()) for k, gap in enumerate(gaps)):
            return None
        shifts.append({var: gaps[k] or 0 for var, k in place.items()})
    if any(not r.start.symbols.isdisjoint(place) or not r.stop.symbols.isdisjoint(place) for r in domain):
        return None
    return shifts


def _placement(domain: Sequence[Range], index: tuple[Ix, ...]) -> dict[str, int] | None:
    """Which dimension each domain variable alone decides, with factor one."""
    names = {r.var for r in domain}
    place: dict[str, int] = {}
    for k, i in enumerate(index):
        here = names & i.symbols
        if not here:
            continue
        var = next(iter(here))
        if len(here) > 1 or var in place or i.coefficient(var) != 1:
            return None
        place[var] = k
    return place if len(place) == len(names) else None


def _collected(stmt: Map, family: list[GatheredTerm], shifts: list[dict[str, int]]) -> list[Stmt]:
    """Core and strips. The cell of variable v is written with v itself, in the coordinates of the first term."""
    low = {r.var: [r.start + s[r.var] for s in shifts] for r in stmt.domain}
    high = {r.var: [r.stop + s[r.var] for s in shifts] for r in stmt.domain}
    hull, core = {}, {}
    for r in stmt.domain:
        hull[r.var] = (_fold(minimum, low[r.var]), _fold(maximum, high[r.var]))
        start = _fold(maximum, low[r.var])
        core[r.var] = (start, maximum(start, _fold(minimum, high[r.var])))
    moved = [GatheredTerm(t.array, family[0].index, _move(t.expr, s)) for t, s in zip(family, shifts, strict=True)]
    boxes = _boxes(stmt.domain, shifts)
    if boxes is not None and len(boxes) <= thresholds().gathered_pieces:
        return [_piece(stmt, box, [moved[k] for k in reach], [None] * len(reach)) for box, reach in boxes]
    out: list[Stmt] = [_piece(stmt, core, moved, [None] * len(moved))]
    settled: Box = {}
    for r in stmt.domain:
        for side in ((hull[r.var][0], minimum(core[r.var][0], hull[r.var][1])), (core[r.var][1], hull[r.var][1])):
            box = {**hull, **settled, r.var: side}
            if (side[1] - side[0]).const != 0:
                out.append(_piece(stmt, box, moved, [_guard(stmt.domain, s) for s in shifts]))
        settled[r.var] = core[r.var]
    return out


def _boxes(domain: Sequence[Range], shifts: list[dict[str, int]]) -> list[tuple[Box, tuple[int, ...]]] | None:
    """Disjoint boxes of cells, each with the terms that reach all of it, most terms first; None without fixed bounds.

    The first variable is cut where terms begin and end; each slice is cut along the next one for its own terms only.
    """
    if any(r.start.const is None or r.stop.const is None for r in domain):
        return None
    found: list[tuple[Box, tuple[int, ...]]] = [({}, tuple(range(len(shifts))))]
    for r in domain:
        found = [({**box, r.var: (ix(low), ix(high))}, reach)
                 for box, active in found for low, high, reach in _segments(r, shifts, active)]
    return sorted(found, key=lambda piece: -len(piece[1]))


def _segments(r: Range, shifts: list[dict[str, int]],
              active: tuple[int, ...]) -> list[tuple[int, int, tuple[int, ...]]]:
    """The pieces of one dimension and the active terms that reach each of them."""
    low, high = r.start.const or 0, r.stop.const or 0
    spans = {k: (low + shifts[k][r.var], high + shifts[k][r.var]) for k in active if high > low}
    cuts = sorted({edge for span in spans.values() for edge in span})
    pieces = [(a, b, tuple(k for k, (start, stop) in spans.items() if start <= a and b <= stop))
              for a, b in zip(cuts, cuts[1:], strict=False)]
    return [piece for piece in pieces if piece[2]]


def _piece(stmt: Map, box: Box, terms: list[GatheredTerm], guards: Sequence[Expr | None]) -> Map:
    total: Expr = algebra.zero(terms[0].expr.dtype)
    for term, guard in zip(terms, guards, strict=True):
        e = term.expr if guard is None else algebra.select(guard, term.expr, algebra.zero(term.expr.dtype))
        total = algebra.add(total, e)
    domain = tuple(Range(r.var, *box[r.var]) for r in stmt.domain)
    return Map(domain, (Store(terms[0].array, terms[0].index, total, "+"),), stmt.source)


def _guard(domain: Sequence[Range], shift: dict[str, int]) -> Expr | None:
    """The cell is reached by the term: cell - shift lies in the domain."""
    guard: Expr | None = None
    for r in domain:
        cell = Index(ix(r.var), _INTEGER)
        for fn, bound in (("ge", r.start), ("lt", r.stop)):
            guard = algebra.both(guard, Call(fn, (cell, Index(bound + shift[r.var], _INTEGER)), _BOOL))
    return guard


def _move(e: Expr, shift: dict[str, int]) -> Expr:
    moved = {var: ix(var) - by for var, by in shift.items() if by}
    return map_indices(e, lambda i: i.subs(moved))


def _fold(fn, items: list[Ix]) -> Ix:  # type: ignore[no-untyped-def]
    result = items[0]
    for item in items[1:]:
        result = fn(result, item)
    return result
