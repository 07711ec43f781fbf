"""Regions: the points of a map as affine rows, projected exactly onto some of its variables.

A row is `sum(coefficient * symbol) + constant >= 0`. Symbols are variables of the map and, as parameters, variables of
the loops around it.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sdfgad.analysis.elements.polyhedron import Row, System
from sdfgad.ir.index import Ix, Max, Min, ix, maximum, minimum, of_atom
from sdfgad.ir.program import Range


@dataclass(frozen=True)
class Region:
    """The integer points that satisfy every row."""

    rows: tuple[Row, ...]

    def implies(self, row: Row) -> bool:
        """Whether every point satisfies another row. False when it cannot tell."""
        return not System([], [*self.rows, _negated(row)]).feasible()

    def with_rows(self, rows: Iterable[Row]) -> Region:
        return Region((*self.rows, *rows))

    def about(self, names: Iterable[str]) -> tuple[Row, ...]:
        """The rows that mention one of the symbols."""
        chosen = set(names)
        return tuple(r for r in self.rows if not chosen.isdisjoint(r[0]))

    def without(self, var: str) -> Region | None:
        """The points that some value of `var` completes; None when integer points could be lost."""
        low = [r for r in self.rows if r[0].get(var, 0) > 0]
        high = [r for r in self.rows if r[0].get(var, 0) < 0]
        if any(p[0][var] != 1 and q[0][var] != -1 for p in low for q in high):
            return None
        made = [_sum(p, -q[0][var], q, p[0][var]) for p in low for q in high]
        kept = [r for r in self.rows if not r[0].get(var, 0)]
        return Region(_strongest([*kept, *made]))

    def onto(self, variables: Iterable[str], kept: Iterable[str]) -> Region | None:
        """The projection that forgets the variables that are not kept."""
        stay = set(kept)
        region: Region | None = self
        for var in variables:
            if var not in stay and region is not None:
                region = region.without(var)
        return region

    def replaced(self, var: str, value: Ix) -> Region:
        """The region after a change of variables: `value`, which is affine, in place of `var`."""
        coefficients, constant = value.affine or ({}, 0)
        return Region(tuple(_sum((_omit(c, var), k), 1, (coefficients, constant), c.get(var, 0)) for c, k in self.rows))


def region_of(ranges: Sequence[Range], parameters: Sequence[Range] = ()) -> Region | None:
    """The points of a domain, and what the loops around say about the parameters; None when a bound is not affine."""
    rows: list[Row] = []
    for r in ranges:
        found = _range_rows(r)
        if found is None or r.step != 1:
            return None
        rows += found
    for r in parameters:
        upwards = r if r.step > 0 else replace(r, start=r.stop + 1, stop=r.start + 1, step=1)
        rows += _range_rows(upwards) or []
    return Region(_strongest(rows))


def interval(region: Region, var: str) -> tuple[Ix, Ix] | None:
    """The first value of `var` and the one after the last, in the parameters, of a region projected onto `var`."""
    rest = Region(tuple(r for r in region.rows if not r[0].get(var, 0)))
    about = list(region.about([var]))
    for row in list(about):
        others = [r for r in about if r is not row]
        if rest.with_rows(others).implies(row):
            about = others
    if any(abs(r[0][var]) != 1 for r in about):
        return None
    low = [-_index(_omit(c, var), k) for c, k in about if c[var] > 0]
    high = [_index(_omit(c, var), k) + 1 for c, k in about if c[var] < 0]
    return (reduce(maximum, low), reduce(minimum, high)) if low and high else None


def between(var: str, low: Ix, high: Ix) -> tuple[Row, ...] | None:
    """The rows of `low <= var < high`."""
    found = _range_rows(Range(var, low, high))
    return None if found is None else tuple(found)


def row_index(row: Row) -> Ix:
    """The left-hand side of a row."""
    return _index(*row)


def _range_rows(r: Range) -> list[Row] | None:
    low, high = _branches(r.start, Max), _branches(r.stop, Min)
    if low is None or high is None:
        return None
    return [_row(ix(r.var) - i) for i in low] + [_row(i - r.var - 1) for i in high]


def _branches(i: Ix, kind: type[Max] | type[Min]) -> list[Ix] | None:
    """The affine indices whose maximum (or minimum) a bound is."""
    if i.affine is not None:
        return [i]
    for atom in i.atoms:
        if isinstance(atom, kind) and (i - of_atom(atom)).atoms.isdisjoint([atom]):
            rest = i - of_atom(atom)
            parts = [_branches(rest + p, kind) for p in atom.parts]
            return None if any(p is None for p in parts) else [b for p in parts for b in p or ()]
    return None


def _row(i: Ix) -> Row:
    coefficients, constant = i.affine or ({}, 0)
    return coefficients, constant


def _index(coefficients: Mapping[str, int], constant: int) -> Ix:
    return sum((ix(v) * c for v, c in coefficients.items()), ix(constant))


def _negated(row: Row) -> Row:
    return {v: -c for v, c in row[0].items()}, -row[1] - 1


def _omit(coefficients: Mapping[str, int], var: str) -> dict[str, int]:
    return {v: c for v, c in coefficients.items() if v != var}


def _sum(p: Row, a: int, q: Row, b: int) -> Row:
    total = {v: a * p[0].get(v, 0) + b * q[0].get(v, 0) for v in {*p[0], *q[0]}}
    return {v: c for v, c in total.items() if c}, a * p[1] + b * q[1]


def _strongest(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Without rows that hold anyway, and with one row per left-hand side."""
    best: dict[tuple[tuple[str, int], ...], int] = {}
    for coefficients, constant in rows:
        key = tuple(sorted((v, c) for v, c in coefficients.items() if c))
        if key or constant < 0:
            best[key] = min(constant, best.get(key, constant))
    return tuple((dict(key), constant) for key, constant in best.items())
