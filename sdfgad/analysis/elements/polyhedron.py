"""Whether a system of linear constraints over the integers can hold. Conservative: "yes" when it cannot tell.

Equalities are eliminated by substitution, the rest by Fourier-Motzkin with integer tightening (W. Pugh, "The Omega
test", 1991, without the dark shadow).
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd

from sdfgad.thresholds import thresholds

Row = tuple[Mapping[str, int], int]  # sum(coefficient * variable) + constant



@dataclass
class System:
    """Constraints `row == 0` and `row >= 0`."""

    zero: list[Row] = field(default_factory=list)
    nonnegative: list[Row] = field(default_factory=list)

    def feasible(self) -> bool:
        """False only when no integer point satisfies every constraint."""
        rows = _eliminate_equalities(list(self.zero), list(self.nonnegative))
        return rows is not None and _fourier_motzkin(rows)


def shadow(rows: Iterable[Row], kept: Collection[str]) -> tuple[Row, ...] | None:
    """Rows `>= 0` about the kept variables alone that hold wherever all the rows do; None when they get too many."""
    left = [_tighten(r) for r in rows]
    while len(left) <= thresholds().inequalities:
        left = _strongest(left)
        going = [r for r in left if not r[0].keys() <= set(kept)]
        if not going:
            return tuple(left)
        var = _cheapest(going, {v for r in going for v in r[0]} - set(kept))
        left = _without(left, var)
    return None


def _eliminate_equalities(zero: list[Row], rows: list[Row]) -> list[Row] | None:
    while zero:
        coefficients, constant = _clean(zero.pop())
        if not coefficients:
            if constant:
                return None
            continue
        divisor = gcd(*coefficients.values())
        if constant % divisor:
            return None
        var = min(coefficients, key=lambda v: abs(coefficients[v]))
        row = (coefficients, constant)
        zero = [_cancel(other, row, var) for other in zero]
        rows = [_cancel(other, row, var) for other in rows]
    return rows


def _clean(row: Row) -> Row:
    return {v: c for v, c in row[0].items() if c}, row[1]


def _cancel(row: Row, equality: Row, var: str) -> Row:
    """Remove `var` from `row` by adding a multiple of the equality; the row keeps its direction."""
    a, b = row[0].get(var, 0), equality[0][var]
    if not a:
        return row
    scale, factor = abs(b), -a * (1 if b > 0 else -1)
    return _combine(row, scale, equality, factor)


def _combine(p: Row, a: int, q: Row, b: int) -> Row:
    coefficients = {v: a * p[0].get(v, 0) + b * q[0].get(v, 0) for v in {*p[0], *q[0]}}
    return _clean((coefficients, a * p[1] + b * q[1]))


def _tighten(row: Row) -> Row:
    coefficients, constant = _clean(row)
    if not coefficients:
        return coefficients, constant
    divisor = gcd(*coefficients.values())
    return {v: c // divisor for v, c in coefficients.items()}, constant // divisor


def _fourier_motzkin(rows: list[Row]) -> bool:
    rows = [_tighten(r) for r in rows]
    while True:
        if any(not coefficients and constant < 0 for coefficients, constant in rows):
            return False
        rows = _strongest(rows)
        if not rows or len(rows) > thresholds().inequalities:
            return True
        rows = _without(rows, _cheapest(rows, {v for r in rows for v in r[0]}))


def _strongest(rows: Iterable[Row]) -> list[Row]:
    """One row per left-hand side; those that say nothing are dropped."""
    found: dict[tuple, int] = {}
    for coefficients, constant in rows:
        if coefficients or constant < 0:
            key = tuple(sorted(coefficients.items()))
            found[key] = min(constant, found.get(key, constant))
    return [(dict(k), c) for k, c in found.items()]


def _without(rows: list[Row], var: str) -> list[Row]:
    """What the rows say about the other variables."""
    below = [r for r in rows if r[0].get(var, 0) > 0]
    above = [r for r in rows if r[0].get(var, 0) < 0]
    made = [_tighten(_combine(p, -q[0][var], q, p[0][var])) for p in below for q in above]
    return [r for r in rows if not r[0].get(var, 0)] + made


def _cheapest(rows: list[Row], among: Collection[str]) -> str:
    up: dict[str, int] = {}
    down: dict[str, int] = {}
    for coefficients, _ in rows:
        for v, c in coefficients.items():
            side = up if c > 0 else down
            side[v] = side.get(v, 0) + 1
    return min(sorted(among), key=lambda v: up.get(v, 0) * down.get(v, 0))
