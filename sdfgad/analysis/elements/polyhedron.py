"""Whether a system of linear constraints over the integers can hold. Conservative: "yes" when it cannot tell.

Equalities are eliminated by substitution, the rest by Fourier-Motzkin with integer tightening (W. Pugh, "The Omega
test", 1991, without the dark shadow).
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from sdfgad.thresholds import thresholds

Row = tuple[Mapping[str, int], int]  # sum(coefficient * variable) + constant


@dataclass
class System:
    """Constraints `row == 0` and `row >= 0`."""

    zero: list[Row] = field(default_factory=list)
    nonnegative: list[Row] = field(default_factory=list)

    def feasible(self) -> bool:
        """False only when no integer point satisfies every constraint."""
        names = _names((*self.zero, *self.nonnegative))
        rows = _eliminate_equalities(_dense(self.zero, names), _dense(self.nonnegative, names))
        return rows is not None and _fourier_motzkin(tuple(sorted({tuple(r) for r in rows})), thresholds().inequalities)


def shadow(rows: Collection[Row], kept: Collection[str]) -> tuple[Row, ...] | None:
    """Rows `>= 0` about the kept variables alone that hold wherever all the rows do; None when they get too many."""
    names = _names(rows)
    going = [k for k, v in enumerate(names) if v not in kept]
    left = [_tighten(r) for r in _dense(rows, names)]
    while len(left) <= thresholds().inequalities:
        left = _strongest(left)
        more = [r for r in left if any(r[k] for k in going)]
        if not more:
            return tuple(({v: c for v, c in zip(names, r, strict=False) if c}, r[-1]) for r in left)
        left = _without(left, _cheapest(more, going))
    return None


Numbers: TypeAlias = list[int]
"""A row as the coefficients of all variables, in their order, and the constant behind them."""


def _names(rows: Iterable[Row]) -> list[str]:
    return sorted({v for coefficients, _ in rows for v in coefficients})


def _dense(rows: Iterable[Row], names: list[str]) -> list[Numbers]:
    return [[*[coefficients.get(v, 0) for v in names], constant] for coefficients, constant in rows]


def _eliminate_equalities(zero: list[Numbers], rows: list[Numbers]) -> list[Numbers] | None:
    while zero:
        row = zero.pop()
        divisor = gcd(*row[:-1])
        if row[-1] % divisor if divisor else row[-1]:
            return None
        if divisor:
            var = row.index(min([c for c in row[:-1] if c], key=abs))
            zero = [_cancel(other, row, var) for other in zero]
            rows = [_cancel(other, row, var) for other in rows]
    return rows


def _cancel(row: Numbers, equality: Numbers, var: int) -> Numbers:
    """Remove a variable from `row` by adding a multiple of the equality; the row keeps its direction."""
    a, b = row[var], equality[var]
    if not a:
        return row
    return _combine(row, abs(b), equality, -a if b > 0 else a)


def _combine(p: Numbers, a: int, q: Numbers, b: int) -> Numbers:
    return [a * c + b * d for c, d in zip(p, q, strict=True)]


def _tighten(row: Numbers) -> Numbers:
    divisor = gcd(*row[:-1])
    return [c // divisor for c in row] if divisor > 1 else row


@lru_cache(maxsize=1 << 13)
def _fourier_motzkin(distinct: tuple[tuple[int, ...], ...], most: int) -> bool:
    """Without names: systems of statements that differ in their arrays alone are the same."""
    rows = [_tighten(list(r)) for r in distinct]
    while True:
        if any(r[-1] < 0 and not any(r[:-1]) for r in rows):
            return False
        rows = _strongest(rows)
        if not rows or len(rows) > most:
            return True
        rows = _without(rows, _cheapest(rows, range(len(rows[0]) - 1)))


def _strongest(rows: Iterable[Numbers]) -> list[Numbers]:
    """One row per left-hand side; those that say nothing are dropped."""
    found: dict[tuple[int, ...], int] = {}
    for row in rows:
        key, constant = tuple(row[:-1]), row[-1]
        if constant < 0 or any(key):
            found[key] = min(constant, found.get(key, constant))
    return [[*key, constant] for key, constant in found.items()]


def _without(rows: list[Numbers], var: int) -> list[Numbers]:
    """What the rows say about the other variables."""
    below = [r for r in rows if r[var] > 0]
    above = [r for r in rows if r[var] < 0]
    made = [_tighten(_combine(p, -q[var], q, p[var])) for p in below for q in above]
    return [r for r in rows if not r[var]] + made


def _cheapest(rows: list[Numbers], among: Iterable[int]) -> int:
    """The variable of the rows that the fewest pairs of them have between them."""
    def pairs(var: int) -> int:
        signs = [r[var] for r in rows]
        return sum([c > 0 for c in signs]) * sum([c < 0 for c in signs])
    return min([k for k in among if any(r[k] for r in rows)], key=pairs)
