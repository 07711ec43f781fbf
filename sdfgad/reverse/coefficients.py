"""The coefficients of a cotangent are added up before it is multiplied."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import isfinite

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, loads, operands, walk
from sdfgad.ir.program import Map
from sdfgad.reverse.gather import GatheredTerm


def collect_coefficients(stmt: Map, g: Load, terms: Sequence[GatheredTerm]) -> list[GatheredTerm]:
    """y[i] += 0.5 * g[i] + a[i] * g[i] ; z[i] += c * (d * g[i])
    ->   y[i] += (0.5 + a[i]) * g[i] ; z[i] += (c * d) * g[i]
    y[i] += a[i] * g[i] + b[i] * x[i] * g[i] + c[i] * x[i] * x[i] * g[i]
    ->   y[i] += (a[i] + x[i] * (b[i] + x[i] * c[i])) * g[i]

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


def _fewer(term: GatheredTerm, g: Load, names: set[str]) -> GatheredTerm:
    """The term with its coefficients collected, if that by itself saves operations."""
    if term.expr.dtype.kind != "f":
        return term
    made = (replace(term, expr=_collected(term.expr, g, form)) for form in (_SignedSum.expr, _SignedSum.nested))
    return min(term, *made, key=lambda t: len(_operations(t, names)))


@dataclass(frozen=True)
class _SignedSum:
    """A number and the sum of terms with signs: what a part of an expression is multiplied by."""

    number: float
    terms: tuple[tuple[int, Expr], ...] = ()

    def plus(self, other: _SignedSum, sign: int) -> _SignedSum:
        return _SignedSum(self.number + sign * other.number, (*self.terms, *((sign * s, e) for s, e in other.terms)))

    def times(self, factor: Expr) -> _SignedSum:
        """A single term stays one."""
        if not self.terms:
            made = algebra.mul(algebra.number(self.number, factor.dtype), factor)
            return _SignedSum(made.value) if isinstance(made, Const) and isinstance(made.value, float) else \
                _SignedSum(0.0, ((1, made),))
        sign, single = self.terms[0] if len(self.terms) == 1 and not self.number else (1, self.expr(factor.dtype))
        return _SignedSum(0.0, ((sign, algebra.mul(factor, single)),))

    def expr(self, dtype: np.dtype) -> Expr:
        """The sum, what is added before what is taken away."""
        return _added(algebra.number(self.number, dtype), self.terms)

    def nested(self, dtype: np.dtype) -> Expr:
        """The sum as Horner has it: a + b * x + c * x * x   ->   a + x * (b + c * x)."""
        products = [(sign * own, factors) for sign, e in self.terms for own, factors in (_product(e),)]
        number = algebra.number(self.number, dtype)
        return _nested([(1, [number]), *products] if self.number else products, dtype)


def _added(total: Expr, terms: Iterable[tuple[int, Expr]]) -> Expr:
    for sign, e in sorted(terms, key=lambda t: -t[0]):
        total = algebra.add(total, e) if sign > 0 else algebra.sub(total, e)
    return total


def _product(e: Expr) -> tuple[int, list[Expr]]:
    """The sign and the factors of a product."""
    if isinstance(e, Call) and e.fn == "neg":
        sign, factors = _product(e.args[0])
        return -sign, factors
    if isinstance(e, Call) and e.fn == "mul":
        (one, first), (other, second) = map(_product, e.args)
        return one * other, first + second
    return 1, [e]


def _nested(products: Sequence[tuple[int, list[Expr]]], dtype: np.dtype) -> Expr:
    """A sum of products in which the factor that most of them have is multiplied once, and likewise what is left."""
    counts = Counter(f for _, factors in products for f in dict.fromkeys(factors) if not isinstance(f, Const))
    best = max(counts, key=lambda f: counts[f], default=None)
    if best is None or counts[best] < 2:
        one: Expr = algebra.number(1, dtype)
        return _added(algebra.zero(dtype), [(sign, reduce(algebra.mul, f, one)) for sign, f in products])
    inside = [(sign, _without(factors, best)) for sign, factors in products if best in factors]
    others = [(sign, factors) for sign, factors in products if best not in factors]
    whole = algebra.mul(best, _nested(inside, dtype))
    return algebra.add(_nested(others, dtype), whole) if others else whole


def _without(factors: list[Expr], one: Expr) -> list[Expr]:
    place = factors.index(one)
    return factors[:place] + factors[place + 1:]


_ONE = _SignedSum(1.0)
Parts = Mapping[Expr, _SignedSum]
"""Summands of a linear expression with their coefficients."""


def _collected(e: Expr, g: Load, form: Callable[[_SignedSum, np.dtype], Expr]) -> Expr:
    """The expression with one product for each of its parts; itself where a part would get lost."""
    total: Expr = algebra.zero(e.dtype)
    for part, coefficient in _parts(e, g).items():
        factor = form(coefficient, e.dtype)
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
        found[part] = found.get(part, _SignedSum(0.0)).plus(coefficient, sign)
    return found


def _operations(term: GatheredTerm, names: set[str]) -> frozenset[Expr]:
    """The different operations made at every point of a map; a change of sign is part of another one."""
    moving: set[Expr] = set()
    for n in walk(term.expr):
        places = n.index if isinstance(n, Load) else (n.ix,) if isinstance(n, Index) else ()
        if any(not names.isdisjoint(i.symbols) for i in places) or any(a in moving for a in operands(n)):
            moving.add(n)
    return frozenset(n for n in moving if isinstance(n, Call) and n.fn != "neg")
