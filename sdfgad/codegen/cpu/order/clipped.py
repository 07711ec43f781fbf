"""Sums whose terms the borders of an array cut off: the points that have all of them are a nest of their own."""
from __future__ import annotations

from dataclasses import dataclass, replace

from sdfgad.ir.index import Ix, Max, Min, ix
from sdfgad.ir.program import Map, Range, Store
from sdfgad.thresholds import thresholds


@dataclass(frozen=True)
class _Settled:
    """An end of a range that is a number as long as a variable has values from `low` to before `high`."""

    value: int
    low: int | None = None
    high: int | None = None


def whole_terms_apart(stmt: Map) -> tuple[Map, ...]:
    """map i = 0:n, d = max(0, i - m + 1):min(7, i + 1): t[i] += k[d] * y[i - d]
    ->   map i = 0:6, d = 0:i + 1: ... ; map i = 6:m, d = 0:7: ... ; map i = m:n, d = i - m + 1:7: ...

    The transpose of a convolution looks like this: vectors and registers want the same number of terms everywhere.
    Where borders cut off along rows of the target, too, so do the parts: else vectors are along something whole.
    """
    for inner in stmt.domain:
        for outer in stmt.domain:
            ends = _all_terms(inner, outer.var)
            if outer is not inner and ends is not None and outer.step == 1:
                parts = _cut(outer, *ends)
                if parts is not None:
                    made = _parts(stmt, outer, inner, parts, ends)
                    return tuple(p for m in made for p in whole_terms_apart(m)) if _along_rows(stmt) else made
    return (stmt,)


def _along_rows(stmt: Map) -> bool:
    """Whether the number of terms changes along the last axis of what is written."""
    rows = {s for p in stmt.body if isinstance(p, Store) and p.index for s in p.index[-1].symbols}
    return any(rows & (r.start.symbols | r.stop.symbols) for r in stmt.domain)


def _all_terms(r: Range, var: str) -> tuple[_Settled, _Settled] | None:
    """Both ends of a range that depends on a variable only where it is cut off."""
    start, stop = _settled(r.start, var), _settled(r.stop, var)
    cut = r.step == 1 and var in r.start.symbols | r.stop.symbols
    return (start, stop) if cut and start is not None and stop is not None and start.value < stop.value else None


def _settled(end: Ix, var: str) -> _Settled | None:
    if end.const is not None:
        return _Settled(end.const)
    atom = next(iter(end.atoms)) if len(end.atoms) == 1 else None
    if not isinstance(atom, (Min, Max)) or len(atom.parts) != 2 or end.terms != (((atom,), 1),):
        return None
    fixed, moving = sorted(atom.parts, key=lambda p: p.const is None)
    step = moving.coefficient(var)
    beyond = (fixed - moving + (step or 0) * ix(var)).const
    if fixed.const is None or step not in (1, -1) or beyond is None:
        return None
    # The number holds where `moving` is above it (of a minimum) or below it (of a maximum), or equal.
    above = (step == 1) == isinstance(atom, Min)
    place = beyond * step
    return _Settled(fixed.const, low=place) if above else _Settled(fixed.const, high=place + 1)


def _cut(outer: Range, start: _Settled, stop: _Settled) -> tuple[int, int] | None:
    """Where the points with all terms begin and end; None where they are few."""
    first, end = outer.start.const, outer.stop.const
    if first is None or end is None:
        return None
    low = max([first, *(s.low for s in (start, stop) if s.low is not None)])
    high = min([end, *(s.high for s in (start, stop) if s.high is not None)])
    return (low, high) if high - low >= max(thresholds().whole_terms, stop.value - start.value) else None


def _parts(stmt: Map, outer: Range, inner: Range, cut: tuple[int, int],
           ends: tuple[_Settled, _Settled]) -> tuple[Map, ...]:
    low, high = cut
    whole = Range(inner.var, ix(ends[0].value), ix(ends[1].value))

    def part(points: Range, terms: Range) -> Map:
        changed = {outer.var: points, inner.var: terms}
        return replace(stmt, domain=tuple(changed.get(r.var, r) for r in stmt.domain))

    every = (part(replace(outer, stop=ix(low)), inner), part(replace(outer, start=ix(low), stop=ix(high)), whole),
             part(replace(outer, start=ix(high)), inner))
    return tuple(m for m in every if all(r.trips != 0 for r in m.domain))
