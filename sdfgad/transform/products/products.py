"""Expressions seen as sums of products: which factor depends on which variable of a map."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from sdfgad.analysis.elements.region import Region
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Index, Load, Local, loads, map_indices, rewrite, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Let, Map, Store


@dataclass(frozen=True)
class ProductTerm:
    """`scale` times the product of `factors`; the scale is the same at every point."""

    scale: Expr
    factors: tuple[Expr, ...]

    @property
    def expr(self) -> Expr:
        return reduce(algebra.mul, self.factors, self.scale)


@dataclass(frozen=True)
class Summand:
    """`target[index] += term` for every point of `region`, whose variables are `variables`."""

    target: str
    index: tuple[Ix, ...]
    term: ProductTerm
    variables: tuple[str, ...]
    region: Region

    @property
    def dtype(self) -> np.dtype:
        return self.term.scale.dtype

    def moved(self, var: str, value: Ix) -> Summand:
        """The same sum with `value` in place of `var`."""

        def change(i: Ix) -> Ix:
            return i.subs({var: value})

        factors = tuple(map_indices(f, change) for f in self.term.factors)
        return replace(self, index=tuple(change(i) for i in self.index), term=ProductTerm(self.term.scale, factors),
                       region=self.region.replaced(var, value))


def inlined(stmt: Map) -> tuple[Store, ...]:
    """The stores of a map with what its lets bind written out."""
    known: dict[str, Expr] = {}
    out: list[Store] = []

    def put(e: Expr) -> Expr:
        return rewrite(e, lambda n: known.get(n.name) if isinstance(n, Local) else None)

    for part in stmt.body:
        if isinstance(part, Let):
            known[part.name] = put(part.expr)
        else:
            out.append(replace(part, expr=put(part.expr)))
    return tuple(out)


def terms(e: Expr, variables: frozenset[str]) -> list[ProductTerm]:
    """`a * b - c * (d + e)`   ->   `a * b`, `-1 * c * (d + e)`"""
    if isinstance(e, Call) and e.fn in ("add", "sub"):
        left, right = (terms(a, variables) for a in e.args)
        return [*left, *(right if e.fn == "add" else [replace(t, scale=algebra.neg(t.scale)) for t in right])]
    if isinstance(e, Call) and e.fn == "neg":
        return [replace(t, scale=algebra.neg(t.scale)) for t in terms(e.args[0], variables)]
    parts = _factors(e)
    one: Expr = algebra.number(1, e.dtype)
    scale = reduce(algebra.mul, (f for f in parts if not variables_of(f) & variables), one)
    return [ProductTerm(scale, tuple(f for f in parts if variables_of(f) & variables))]


def _factors(e: Expr) -> list[Expr]:
    if isinstance(e, Call) and e.fn == "mul" and all(a.dtype == e.dtype for a in e.args):
        return [f for a in e.args for f in _factors(a)]
    if isinstance(e, Call) and e.fn == "neg":
        return [algebra.number(-1, e.dtype), *_factors(e.args[0])]
    if isinstance(e, Call) and e.fn == "div" and all(a.dtype == e.dtype for a in e.args) and _is_scalar(e.args[1]):
        return [*_factors(e.args[0]), algebra.div(algebra.number(1, e.dtype), e.args[1])]
    return [e]


def _is_scalar(e: Expr) -> bool:
    return not variables_of(e)


def variables_of(e: Expr) -> frozenset[str]:
    """The symbols an expression mentions in its indices."""
    found: set[str] = set()
    for n in walk(e):
        parts = n.index if isinstance(n, Load) else (n.ix,) if isinstance(n, Index) else ()
        found.update(s for part in parts for s in part.symbols)
    return frozenset(found)


def untangled(sum_: Summand) -> Summand | None:
    """A[d + i, i] * B[d + i, j], d = 0:n - i   ->   A[d, i] * B[d, j], d = i:n

    A change of variables after which every dimension of every array counts one variable; None when there is none.
    """
    while compound := _compound(sum_):
        better = (s for form in compound for v, c in sorted(form.items()) if abs(c) == 1
                  if len(_compound(s := _substituted(sum_, form, v))) < len(compound))
        sum_ = next(better, None)  # type: ignore[assignment]
        if sum_ is None:
            return None
    return sum_


def _substituted(sum_: Summand, form: Mapping[str, int], var: str) -> Summand:
    rest = sum((ix(v) * c for v, c in form.items() if v != var), ix(0))
    return sum_.moved(var, (ix(var) - rest) * form[var])


def _compound(sum_: Summand) -> list[dict[str, int]]:
    """The linear forms of several variables that dimensions count."""
    indices = (*sum_.index, *(i for f in sum_.term.factors for n in loads(f) for i in n.index))
    found: list[dict[str, int]] = []
    for i in indices:
        form = {v: c for v, c in (i.affine or ({}, 0))[0].items() if v in sum_.variables}
        if len(form) > 1 and form not in found:
            found.append(form)
    return found


def single(i: Ix, variables: Iterable[str]) -> str | None:
    """The one variable an index counts, if any."""
    here = i.symbols & set(variables)
    return next(iter(here)) if len(here) == 1 else None
