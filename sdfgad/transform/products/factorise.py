"""Sums of products of several factors, one pair of factors at a time: the distributive law, where it saves work."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from itertools import combinations
from math import prod

from sdfgad.analysis.elements.access import always_inside
from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Index, Load, call, index_elems, loads, walk
from sdfgad.ir.index import Bounds, ix
from sdfgad.ir.program import Array, Map, Range, Stmt, Store
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds

Names = frozenset[str]
Step = tuple[tuple[int, ...], Names]
"""Factors to multiply, by position, and the variables to sum over at once; the product goes to the end."""


@dataclass(frozen=True)
class Sum:
    """`target += product of factors` over `domain`, whose ranges count upwards by one."""

    target: Store
    factors: tuple[Expr, ...]
    domain: tuple[Range, ...]
    arrays: Mapping[str, Array] = field(compare=False, hash=False)

    @property
    def hull(self) -> dict[str, Bounds]:
        """The first and last value of every variable whatever the others are."""
        env: dict[str, Bounds] = {}
        for r in self.domain:
            (low, _), (_, high) = r.start.bounds(env), r.stop.bounds(env)
            env[r.var] = low, None if high is None else high - 1
        return env


def factorised(sum_: Sum, work: float) -> tuple[list[Stmt], list[Array]] | None:
    """y[i] += a[i, j] * b[j, k] * c[k]   ->   t[j] = 0 ; t[j] += b[j, k] * c[k] ; y[i] += a[i, j] * t[j]

    None where that does not save much of `work` multiplications, or takes arrays larger than those already there.
    """
    hull = sum_.hull
    named = frozenset(s for i in sum_.target.index for s in i.symbols).union(*(_variables(f) for f in sum_.factors))
    alike = all(f.dtype == sum_.arrays[sum_.target.array].dtype for f in sum_.factors)
    if not 1 < len(sum_.factors) <= thresholds().factors or not alike or not hull.keys() <= named or \
            any(None in b for b in hull.values()):
        return None
    plan = _ProductPlan(sum_, hull)
    cost, steps = plan.best(tuple(_variables(f).intersection(hull) for f in sum_.factors))
    return plan.statements(steps) if cost * thresholds().factor_gain <= work else None


def _variables(e: Expr) -> Names:
    parts = (i for n in walk(e) for i in (n.index if isinstance(n, Load) else (n.ix,) if isinstance(n, Index) else ()))
    return frozenset(s for i in parts for s in i.symbols)


class _ProductPlan:
    """The cheapest order of the products of one sum."""

    def __init__(self, sum_: Sum, hull: Mapping[str, Bounds]) -> None:
        self.sum = sum_
        self.trips = {v: max(0, (high or 0) - (low or 0) + 1) for v, (low, high) in hull.items()}
        self.hull = hull
        self.bounds = {r.var: r.start.symbols | r.stop.symbols for r in sum_.domain}
        self.target = frozenset(s for i in sum_.target.index for s in i.symbols)
        # An empty sum adds nothing, but nothing times infinity would.
        self.never_empty = {r.var for r in sum_.domain if ((r.stop - r.start).bounds(hull)[0] or 0) > 0}
        self.shapes = {n: a.shape for n, a in sum_.arrays.items()}
        self.largest = max(thresholds().factor_temporary, *(prod(a.shape) for a in sum_.arrays.values()))
        # Factors that are only known to be inside their arrays under all the bounds: they wait for the last map.
        self.outside = {_variables(f).intersection(hull) for f in sum_.factors if not self._inside(f)}
        self.best = lru_cache(None)(self._best)

    def points(self, names: Names) -> float:
        return float(prod(self.trips[v] for v in names))

    def _best(self, state: tuple[Names, ...]) -> tuple[float, tuple[Step, ...]]:
        """The least multiplications, and the steps before the last product, for factors with these variables."""
        left = self.target.union(*state).intersection(self.trips)
        found: list[tuple[float, tuple[Step, ...]]] = [(self.points(left) * max(1, len(state) - 1), ())]
        for step in self._steps(state):
            rest, kept = self._after(state, step)
            if prod(self.trips[v] for v in kept) <= self.largest:
                cost, steps = self.best((*rest, kept))
                found.append((cost + self.points(kept | step[1]), (step, *steps)))
        return min(found, key=lambda f: f[0])

    def _steps(self, state: tuple[Names, ...]) -> Iterator[Step]:
        """Single factors and pairs with variables that nothing else mentions."""
        for chosen in [*((k,) for k in range(len(state))), *combinations(range(len(state)), 2)]:
            if any(state[k] in self.outside for k in chosen):
                continue
            names = _union(state[k] for k in chosen)
            others = self.target.union(*(n for k, n in enumerate(state) if k not in chosen))
            free = (names - others) & self.never_empty
            alone = frozenset(v for v in free if self.bounds[v].intersection(self.trips) <= names)
            if alone := self._ends(alone):
                yield chosen, alone

    def _ends(self, alone: Names) -> Names:
        """Those of some variables on which the range of no other variable depends."""
        needed = {s for v in self.trips if v not in alone for s in self.bounds[v]}
        return alone if needed.isdisjoint(alone) else self._ends(alone - needed)

    def _after(self, state: tuple[Names, ...], step: Step) -> tuple[tuple[Names, ...], Names]:
        chosen, alone = step
        return (tuple(n for k, n in enumerate(state) if k not in chosen),
                _union(state[k] for k in chosen) - alone)

    def statements(self, steps: tuple[Step, ...]) -> tuple[list[Stmt], list[Array]]:
        out: list[Stmt] = []
        made: list[Array] = []
        factors = list(self.sum.factors)
        for chosen, alone in steps:
            maps, array, load = self._temporary([factors[k] for k in chosen], alone, fresh("factor", self.shapes))
            out += maps
            made.append(array)
            self.shapes[array.name] = array.shape
            factors = [*(f for k, f in enumerate(factors) if k not in chosen), load]
        used = self.target.union(*(_variables(f) for f in factors))
        domain = tuple(r for r in self.sum.domain if r.var in used)
        out.append(Map(domain, (replace(self.sum.target, expr=_product(factors)),)))
        return out, made

    def _temporary(self, factors: list[Expr], alone: Names, name: str) -> tuple[list[Stmt], Array, Load]:
        """The maps that clear and fill an array with a partial product, and the element that stands for it."""
        names = frozenset(s for f in factors for s in _variables(f)).intersection(self.trips)
        expr = _product(factors)
        kept = [r for r in self.sum.domain if r.var in names - alone]
        place = tuple(ix(r.var) - (self.hull[r.var][0] or 0) for r in kept)
        array = Array(name, tuple(self.trips[r.var] for r in kept), expr.dtype)
        whole = {r.var: Range(r.var, ix(low or 0), ix((high or 0) + 1))
                 for r in kept for low, high in [self.hull[r.var]]}
        clear = Map(tuple(whole.values()), (Store(name, place, algebra.zero(expr.dtype)),))
        domain = tuple(whole.get(r.var, r) for r in self.sum.domain if r.var in names)
        fill = Map(domain, (Store(name, place, expr, "+"),))
        return [clear, fill], array, Load(name, place, expr.dtype)

    def _inside(self, e: Expr) -> bool:
        """Whether every load is within its array wherever the variables are in their hulls."""
        accesses = [(n.array, n.index) for n in loads(e)]
        accesses += [(atom.array, atom.parts) for atom in index_elems(e)]
        return all(always_inside(index, self.shapes[array], self.hull) for array, index in accesses)


def _union(sets: Iterable[Names]) -> Names:
    return frozenset[str]().union(*sets)


def _product(factors: list[Expr]) -> Expr:
    return reduce(lambda a, b: call("mul", a, b), factors)
