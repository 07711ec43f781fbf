"""The coefficients of a cotangent are added up before it is multiplied."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, loads, operands, walk
from sdfgad.ir.program import Map
from sdfgad.reverse.gather import Term


def collect_coefficients(stmt: Map, g: Load, terms: Sequence[Term]) -> list[Term]:
    """y[i] += 0.5 * g[i] + a[i] * g[i] ; z[i] += c * (d * g[i])
    ->   y[i] += (0.5 + a[i]) * g[i] ; z[i] += (c * d) * g[i]

    For terms with fewer operations so, those aside that are the same at all points; nor may all terms together need
    more of them, which share some. What is done to a cotangent besides sums and products stays as it is: a choice of
    zero where it is zero is a summand of its own, with its own coefficient.
    """
    names = {r.var for r in stmt.domain}
    fewer = [_fewer(t, g, names) for t in terms]
    if fewer == list(terms):
        return fewer
    before, after = [_operations(t, names) for t in terms], [_operations(t, names) for t in fewer]
    if len(frozenset().union(*after)) <= len(frozenset().union(*before)):
        return fewer
    # Of how many terms each operation is a part: to change one term is then no more work than it is long.
    uses = Counter(n for made in before for n in made)
    found = list(terms)
    for k, term in enumerate(fewer):
        lost, won = before[k] - after[k], after[k] - before[k]
        if sum(uses[n] == 0 for n in won) <= sum(uses[n] == 1 for n in lost):
            uses.subtract(lost)
            uses.update(won)
            found[k] = term
    return found


def _fewer(term: Term, g: Load, names: set[str]) -> Term:
    """The term with its coefficients collected, if that by itself saves operations."""
    if term.expr.dtype.kind != "f":
        return term
    made = replace(term, expr=_collected(term.expr, g))
    return made if made != term and len(_operations(made, names)) < len(_operations(term, names)) else term


@dataclass(frozen=True)
class _Sum:
    """A number and the sum of terms with signs: what a part of an expression is multiplied by."""

    number: float
    terms: tuple[tuple[int, Expr], ...] = ()

    def plus(self, other: _Sum, sign: int) -> _Sum:
        return _Sum(self.number + sign * other.number, (*self.terms, *((sign * s, e) for s, e in other.terms)))

    def times(self, factor: Expr) -> _Sum:
        """A single term stays one."""
        if not self.terms:
            made = algebra.mul(algebra.number(self.number, factor.dtype), factor)
            return _Sum(made.value) if isinstance(made, Const) and isinstance(made.value, float) else \
                _Sum(0.0, ((1, made),))
        sign, single = self.terms[0] if len(self.terms) == 1 and not self.number else (1, self.expr(factor.dtype))
        return _Sum(0.0, ((sign, algebra.mul(factor, single)),))

    def expr(self, dtype: np.dtype) -> Expr:
        """The sum, what is added before what is taken away."""
        total: Expr = algebra.number(self.number, dtype)
        for sign, e in sorted(self.terms, key=lambda t: -t[0]):
            total = algebra.add(total, e) if sign > 0 else algebra.sub(total, e)
        return total


_ONE = _Sum(1.0)
Parts = Mapping[Expr, _Sum]
"""Summands of a linear expression with their coefficients."""


def _collected(e: Expr, g: Load) -> Expr:
    """The expression with one product for each of its parts; itself where a part would get lost."""
    total: Expr = algebra.zero(e.dtype)
    for part, coefficient in _parts(e, g).items():
        factor = coefficient.expr(e.dtype)
        if isinstance(factor, Const) and not (_is_finite(factor) and factor.value):
            return e
        total = algebra.add(total, algebra.mul(part, factor))
    return total


def _parts(e: Expr, g: Load) -> Parts:
    """The parts of an expression that is linear in `g`."""
    if isinstance(e, Call) and all(a.dtype == e.dtype for a in e.args):
        inside = [g in loads(a) for a in e.args]
        if e.fn == "neg":
            return _joined({}, _parts(e.args[0], g), -1)
        if e.fn in ("add", "sub") and all(inside):
            return _joined(_parts(e.args[0], g), _parts(e.args[1], g), 1 if e.fn == "add" else -1)
        if e.fn == "mul" and inside.count(True) == 1:
            part, factor = e.args if inside[0] else e.args[::-1]
            return {p: c.times(factor) for p, c in _parts(part, g).items()}
    return {e: _ONE}


def _is_finite(e: Const) -> bool:
    return isinstance(e.value, float) and isfinite(e.value)


def _joined(first: Parts, second: Parts, sign: int) -> Parts:
    found = dict(first)
    for part, coefficient in second.items():
        found[part] = found.get(part, _Sum(0.0)).plus(coefficient, sign)
    return found


def _operations(term: Term, names: set[str]) -> frozenset[Expr]:
    """The different operations made at every point of a map; a change of sign is part of another one."""
    moving: set[Expr] = set()
    for n in walk(term.expr):
        places = n.index if isinstance(n, Load) else (n.ix,) if isinstance(n, Index) else ()
        if any(not names.isdisjoint(i.symbols) for i in places) or any(a in moving for a in operands(n)):
            moving.add(n)
    return frozenset(n for n in moving if isinstance(n, Call) and n.fn != "neg")
