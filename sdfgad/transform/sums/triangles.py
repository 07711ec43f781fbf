"""Sums over a triangle of a matrix: what lies outside is neither added up nor made."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sdfgad.analysis.elements.access import interval_env
from sdfgad.ir.expr import Call, Const, Expr, Index, loads
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import reads, rebuild_blocks, statements, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.sums.pair_statements import matrices_of_its_own

_EXCESS: Mapping[str, tuple[int, int]] = MappingProxyType({"ge": (1, 0), "gt": (1, -1), "le": (-1, 0), "lt": (-1, -1)})
"""`a op b` for integers is `sign * (a - b) + shift >= 0`."""
_OPPOSITE: Mapping[str, str] = MappingProxyType({"ge": "lt", "gt": "le", "le": "gt", "lt": "ge"})


def narrow_triangles(program: Program, long_row: int | None = None) -> Program:
    """map i = 0:n, j = 0:n: t[i, j] = f(i, j) ; map i = 0:n, j = 0:n: s += select(j > i, g(t[i, j]), 0)
    ->   map i = 0:n, j = i + 1:n: t[i, j] = f(i, j) ; map i = 0:n, j = i + 1:n: s += g(t[i, j])

    Where nobody else looks at a matrix t that such a sum reads, nor at those that are read only to make it. Sums that
    read no such matrix stay: there is nothing to save.
    """
    long_row = thresholds().triangle_row if long_row is None else long_row
    if not any(_triangle(s, long_row) for s in statements(program.body)):
        return program
    users = matrices_of_its_own(program, "fciub")
    return program.but(body=rebuild_blocks(program.body, lambda block: _narrowed(block, users, long_row)))


@dataclass(frozen=True)
class _Triangle:
    """The points of a map at which a sum has terms, and the term."""

    domain: tuple[Range, Range]
    term: Expr


def _narrowed(block: list[Stmt], users: Mapping[str, int], long_row: int) -> Block:
    for k in range(len(block)):
        stmt = block[k]
        found = _triangle(stmt, long_row)
        if found is None or not isinstance(stmt, Map):
            continue
        store = stmt.body[0]
        summed = replace(stmt, domain=found.domain, body=(replace(store, expr=found.term),))
        makers = _makers(block, k, summed, stmt.domain, users)
        if not makers:
            continue
        block[k] = summed
        for place in makers:
            block[place] = _over(block[place], found.domain)
    return tuple(block)


def _makers(block: Sequence[Stmt], place: int, reader: Map, domain: tuple[Range, ...],
            users: Mapping[str, int]) -> list[int]:
    """The maps before that make, point by point, what only this one reads; and what only they read."""
    found: list[int] = []
    for name in sorted(reads(reader) & users.keys()):
        if users[name] != 1 or not _here(reader, name):
            continue
        made = next((k for k in range(place) if name in writes(block[k])), None)
        maker = block[made] if made is not None else None
        if made is not None and isinstance(maker, Map) and _makes(maker, name, domain):
            found += [made, *_makers(block, made, maker, domain, users)]
    return found


def _here(reader: Map, name: str) -> bool:
    """Whether a map reads of an array only the element of the point it is at."""
    point = tuple(ix(r.var) for r in reader.domain)
    found = [n for p in reader.body for n in loads(p.expr) if n.array == name]
    rest = replace(reader, body=tuple(replace(p, expr=Const(0.0, p.expr.dtype)) for p in reader.body))
    return bool(found) and all(n.index == point for n in found) and name not in reads(rest)


def _makes(maker: Map, name: str, domain: tuple[Range, ...]) -> bool:
    """Whether a map does nothing but assign one element of the array at each of these points."""
    store = maker.body[0]
    same = len(maker.domain) == len(domain) and all(
        (a.start, a.stop, a.step) == (b.start, b.stop, b.step) for a, b in zip(maker.domain, domain, strict=True))
    return same and len(maker.body) == 1 and isinstance(store, Store) and store.array == name and store.op is None \
        and store.index == tuple(ix(r.var) for r in maker.domain) and name not in reads(maker)


def _over(stmt: Stmt, domain: tuple[Range, Range]) -> Stmt:
    """The map at the points of a triangle, in its own variables."""
    if not isinstance(stmt, Map):
        raise TypeError(f"{stmt!r} is not a map")
    outer, inner = stmt.domain
    own = {domain[0].var: ix(outer.var)}
    return replace(stmt, domain=(outer, replace(inner, start=domain[1].start.subs(own), stop=domain[1].stop.subs(own))))


def _triangle(stmt: Stmt, long_row: int) -> _Triangle | None:
    """The triangle of a sum that is all a map over a box does."""
    if not isinstance(stmt, Map) or len(stmt.domain) != 2 or len(stmt.body) != 1:
        return None
    store = stmt.body[0]
    if not isinstance(store, Store) or store.op != "+" or not isinstance(store.expr, Call) or store.expr.fn != "select":
        return None
    cond, term, other = store.expr.args
    excess = _excess(cond)
    if not isinstance(other, Const) or other.value != 0 or excess is None or term.dtype != store.expr.dtype:
        return None
    domain = _bounded(stmt.domain, excess)
    return _Triangle(domain, term) if domain is not None and _mean_row(domain) >= long_row else None


def _excess(cond: Expr) -> Ix | None:
    """The index that a condition says is not negative."""
    opposite = isinstance(cond, Call) and cond.fn == "not"
    inner = cond.args[0] if opposite and isinstance(cond, Call) else cond
    if not isinstance(inner, Call) or inner.fn not in _EXCESS:
        return None
    left, right = inner.args
    if not isinstance(left, Index) or not isinstance(right, Index) or {left.dtype.kind, right.dtype.kind} != {"i"}:
        return None
    sign, shift = _EXCESS[_OPPOSITE[inner.fn] if opposite else inner.fn]
    return (left.ix - right.ix) * sign + shift


def _bounded(domain: tuple[Range, ...], excess: Ix) -> tuple[Range, Range] | None:
    """The part of a box where an index is not negative, told by the inner variable; None unless its ends stay inside.
    """
    outer, inner = domain
    fixed = all(r.step == 1 and r.start.const is not None and r.stop.const is not None for r in domain)
    sign = excess.coefficient(inner.var)
    if not fixed or sign not in (1, -1) or excess.symbols != {outer.var, inner.var} or excess.affine is None:
        return None
    edge = ix(inner.var) - excess * sign
    made = replace(inner, start=edge) if sign == 1 else replace(inner, stop=edge + 1)
    low, high = (made.start if sign == 1 else made.stop).bounds(interval_env([outer]))
    first, last = inner.start.const or 0, inner.stop.const or 0
    return (outer, made) if low is not None and high is not None and first <= low and high <= last else None


def _mean_row(domain: tuple[Range, Range]) -> float:
    """Points in a row, halfway between the shortest and the longest."""
    outer, inner = domain
    low, high = (inner.stop - inner.start).bounds(interval_env([outer]))
    return 0.0 if low is None or high is None else (low + high) / 2
