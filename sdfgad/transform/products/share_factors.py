"""Products with factors in common, in what is added up over points: the common part is multiplied once."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import TypeAlias

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Local, call, const, operands, rewrite, symbols_of, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Let, Map, Program, Store
from sdfgad.ir.walk import expr_reads, rebuild, writes
from sdfgad.thresholds import thresholds

Item: TypeAlias = "Expr | tuple[Item, Item]"
"""A factor, or two items that are multiplied with each other first."""
_Signed: TypeAlias = tuple[int, list[Expr]]
"""A sign and factors."""
_ARITHMETIC = frozenset(("add", "sub", "mul", "neg", "div"))


def share_factors(program: Program, exact: Iterable[str]) -> Program:
    """map i, k: { y[i] += g * (a[k] * w[k]) * u[k] + g * (b[k] * w[k]) * u[k] ; z[k] += g * (w[k] * c[i]) }
    ->   map i, k: { y[i] += (g * w[k]) * u[k] * (a[k] + b[k]) ; z[k] += (g * w[k]) * c[i] }

    The distributive law, two choices of which one is zero, and the order of factors, where they leave fewer operations
    at a point. Only in terms of sums
    over a variable of the map, whose order and last bits nobody relies on, and in what nothing but these terms uses.
    Comparisons other than with 0 and functions other than arithmetic keep the bits of what they look at.
    exact: arrays whose sums are computed as they are written, as those of the program that is differentiated.
    """
    kept = frozenset(exact)
    return program.but(body=rebuild(program.body, lambda s: (_settled(s, kept) if isinstance(s, Map) else s,)))


def _settled(stmt: Map, kept: frozenset[str]) -> Map:
    """The map when nothing more is found: sums that have become one may be terms of another one."""
    made = _shared(stmt, kept)
    return stmt if made == stmt else _settled(made, kept)


def _shared(stmt: Map, kept: frozenset[str]) -> Map:
    if len(stmt.domain) < 2 or not any(isinstance(p, Store) and _adds_up(p, stmt, kept) for p in stmt.body):
        return stmt
    inlined = _inlined(stmt, _free_parts(stmt, kept))
    free, points = _free_parts(inlined, kept), _Points(inlined)
    summed = [points.factored(p.expr) if k in free else p.expr for k, p in enumerate(inlined.body)]
    products = _Products(points)
    products.collect(e for k, e in enumerate(summed) if k in free)
    if len(products.items) > thresholds().paired_products:
        return stmt
    products.pair()
    body = tuple(replace(p, expr=products.rebuilt(e) if k in free else e)
                 for k, (p, e) in enumerate(zip(inlined.body, summed, strict=True)))
    made = replace(stmt, body=body)
    return made if _Points(made).operations() < _Points(stmt).operations() else stmt


def _free_parts(stmt: Map, kept: frozenset[str]) -> frozenset[int]:
    """Parts of a body whose values only become terms of sums over several points, `kept` ones aside."""
    exact: set[str] = set()
    free: set[int] = set()
    for k in range(len(stmt.body) - 1, -1, -1):
        part = stmt.body[k]
        if part.name not in exact and part.expr.dtype.kind == "f" if isinstance(part, Let) else \
                _adds_up(part, stmt, kept):
            free.add(k)
            exact |= _looked_at(part.expr)
        else:
            exact |= _locals(part.expr)
    return frozenset(free)


def _adds_up(part: Store, stmt: Map, kept: frozenset[str]) -> bool:
    """Whether a store adds terms of several points to one element."""
    fixed = {s for i in part.index for s in i.symbols}
    added = part.op == "+" and part.expr.dtype.kind == "f" and part.array not in kept
    return added and (any(r.var not in fixed for r in stmt.domain) or any(_meets_itself(i, stmt) for i in part.index))


def _meets_itself(i: Ix, stmt: Map) -> bool:
    """Whether an index such as i + j is the same at several points of a map."""
    return sum(r.trips != 1 and i.coefficient(r.var) in (1, -1) for r in stmt.domain) > 1


def _locals(e: Expr) -> set[str]:
    return {n.name for n in walk(e) if isinstance(n, Local)}


def _looked_at(e: Expr) -> set[str]:
    """Locals whose last bits may decide about more than the last bits of the expression."""
    free = _open(e)
    return set[str]().union(*(_looked_at(a) if a in free else _locals(a) for a in operands(e)))


def _open(e: Expr) -> tuple[Expr, ...]:
    """The operands whose last bits only change the last bits of the value, and those that are compared with 0."""
    if not isinstance(e, Call):
        return ()
    if e.fn in ("eq", "ne"):
        return e.args[:1] if algebra.is_number(e.args[1], 0) and e.args[0].dtype.kind == "f" else ()
    if e.dtype.kind != "f":
        return ()
    return e.args if e.fn in _ARITHMETIC else (*(a for a in e.args[:1] if _open(a)), *e.args[1:]) \
        if e.fn == "select" else ()


def _changed(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with its open operands changed."""
    free = _open(e)
    return replace(e, args=tuple(change(a) if a in free else a for a in e.args)) if isinstance(e, Call) and free else e


def _inlined(stmt: Map, free: frozenset[int]) -> Map:
    """The map without lets among its free parts that are used once, in a free part."""
    uses = Counter(a for n in {m for p in stmt.body for m in walk(p.expr)} for a in operands(n))
    uses.update(p.expr for p in stmt.body)
    exact = set[str]().union(*(_locals(p.expr) for k, p in enumerate(stmt.body) if k not in free))
    values: dict[Expr, Expr] = {}
    body: list[Let | Store] = []
    for k, part in enumerate(stmt.body):
        part = replace(part, expr=rewrite(part.expr, values.get))
        if isinstance(part, Let) and k in free and part.name not in exact and \
                uses[Local(part.name, part.expr.dtype)] == 1 and expr_reads(part.expr).isdisjoint(writes(stmt)):
            values[Local(part.name, part.expr.dtype)] = part.expr
        else:
            body.append(part)
    return replace(stmt, body=tuple(body))


def _one_choice(e: Expr) -> Expr:
    """select(not c, a, 0) + select(c, b, 0)   ->   select(c, b, a), the sign of a zero aside."""
    sides = [a for a in operands(e) if isinstance(a, Call) and a.fn == "select" and algebra.is_number(a.args[2], 0)]
    if isinstance(e, Call) and e.fn == "add" and len(sides) == 2:
        for one, other in (sides, sides[::-1]):
            if one.args[0] == Call("not", (other.args[0],), one.args[0].dtype):
                return replace(other, args=(*other.args[:2], one.args[1]))
    return e


def _product(e: Expr) -> tuple[int, list[Expr]]:
    """The sign and the factors of a product."""
    if isinstance(e, Call) and e.fn == "neg" and e.dtype.kind == "f":
        sign, factors = _product(e.args[0])
        return -sign, factors
    if isinstance(e, Call) and e.fn == "mul" and e.dtype.kind == "f":
        (one, first), (other, second) = map(_product, e.args)
        return one * other, first + second
    return 1, [e]


def _terms(e: Expr) -> Iterator[tuple[int, Expr]]:
    """The terms of a sum with their signs."""
    if isinstance(e, Call) and e.fn in ("add", "sub"):
        yield from _terms(e.args[0])
        yield from ((sign if e.fn == "add" else -sign, t) for sign, t in _terms(e.args[1]))
    else:
        yield 1, e


def _times(factors: Iterable[Expr]) -> Expr:
    return reduce(lambda a, b: call("mul", a, b), factors)


def _signed(sign: int, e: Expr) -> Expr:
    return e if sign > 0 else call("neg", e)


def _added(terms: list[tuple[int, Expr]]) -> Expr:
    (sign, first), *others = terms
    return reduce(lambda a, t: call("add" if t[0] > 0 else "sub", a, t[1]), others, _signed(sign, first))


@dataclass
class _Points:
    """A map's values point by point: what changes along the innermost variable; products in one order."""

    stmt: Map
    ranks: dict[Expr, int] = field(default_factory=dict)
    varying: dict[Expr, bool] = field(default_factory=dict)
    memo: dict[Expr, Expr] = field(default_factory=dict)

    @cached_property
    def lets(self) -> dict[str, Expr]:
        return {p.name: p.expr for p in self.stmt.body if isinstance(p, Let)}

    def varies(self, e: Expr) -> bool:
        """Whether a value changes along the innermost variable."""
        if e not in self.varying:
            self.varying[e] = any(map(self.varies, e.args)) if isinstance(e, Call) else \
                self.varies(self.lets[e.name]) if isinstance(e, Local) else \
                self.stmt.domain[-1].var in symbols_of(e) or bool(expr_reads(e) & writes(self.stmt))
        return self.varying[e]

    def operations(self) -> int:
        """Different calls that every point of the innermost variable makes."""
        return len({n for p in self.stmt.body for n in walk(p.expr) if isinstance(n, Call) and self.varies(n)})

    def sorted(self, factors: Iterable[Expr]) -> list[Expr]:
        """Factors in an order that does not depend on the product."""
        return sorted(factors, key=lambda f: self.ranks.setdefault(f, len(self.ranks)))

    def factored(self, e: Expr) -> Expr:
        """The expression with factors that terms of a sum have in common taken out."""
        if e not in self.memo:
            one = _one_choice(e)
            changed = _changed(one, self.factored)
            whole = isinstance(one, Call) and one.fn in ("add", "sub") and one.dtype.kind == "f"
            self.memo[e] = (self._common(one) if whole else None) or changed
        return self.memo[e]

    def _common(self, e: Expr) -> Expr | None:
        terms = [(sign, *_product(t)) for sign, t in _terms(e)]
        parts = [(sign * own, [self.factored(f) for f in factors]) for sign, own, factors in terms]
        found = self._grouped(parts, e)
        negative = all(sign < 0 for sign, _ in found)
        if len(found) == len(parts) and not negative:
            return None
        # Another part may add the same terms with the other sign.
        total = _added([(-sign if negative else sign, _times(factors)) for sign, factors in found])
        return call("neg", total) if negative else total

    def _grouped(self, parts: list[_Signed], e: Expr) -> list[_Signed]:
        """Terms that have factors in common as one term, those with the most in common first."""
        while True:
            counts = Counter(f for _, factors in parts if len(factors) > 1 for f in dict.fromkeys(factors))
            best = max(counts, key=lambda f: (counts[f], self.varies(f)), default=None)
            if best is None or counts[best] < 2:
                return parts
            whole = all(best in factors for _, factors in parts)
            places = [k for k, (_, factors) in enumerate(parts) if best in factors and (whole or len(factors) > 1)]
            made = self._product_of([parts[k] for k in places], e)
            parts = [made if k == places[0] else p for k, p in enumerate(parts) if k not in places[1:]]

    def _product_of(self, parts: list[_Signed], e: Expr) -> _Signed:
        """A sum of products as the factors that all of them have and a sum. Its first term has no sign."""
        common = reduce(lambda a, b: a & b, (Counter(factors) for _, factors in parts))
        rest = [(parts[0][0] * sign, self.sorted((Counter(factors) - common).elements()) or [const(1.0, e.dtype)])
                for sign, factors in parts]
        total = _added([(sign, _times(factors)) for sign, factors in self._grouped(rest, e)])
        return parts[0][0], [*self.sorted(common.elements()), total]


@dataclass
class _Products:
    """The products of a body, by their factors in order, and what to multiply first."""

    points: _Points
    items: dict[tuple[Expr, ...], list[Item]] = field(default_factory=dict)
    memo: dict[Item, Expr] = field(default_factory=dict)

    def collect(self, roots: Iterable[Expr]) -> None:
        seen: set[Expr] = set()
        waiting = list(roots)
        while waiting:
            e = waiting.pop()
            if e in seen:
                continue
            seen.add(e)
            factors = self._key(e)
            if len(factors) > 1:
                self.items.setdefault(factors, self._begun(factors))
            waiting += factors if len(factors) > 1 else _open(e)

    def _key(self, e: Expr) -> tuple[Expr, ...]:
        return tuple(self.points.sorted(_product(e)[1]))

    def _begun(self, factors: tuple[Expr, ...]) -> list[Item]:
        """The factors, those that stay the same along the innermost variable as one."""
        fixed: list[Item] = [f for f in factors if not self.points.varies(f)]
        rest: list[Item] = [f for f in factors if self.points.varies(f)]
        return [*([reduce(lambda a, b: (a, b), fixed)] if fixed else []), *rest]

    def pair(self) -> None:
        """Multiply first what the most products have in common, again and again."""
        while True:
            counts = Counter(p for items in self.items.values() for p in dict.fromkeys(combinations(items, 2)))
            best = max(counts, key=lambda p: counts[p], default=None)
            if best is None or counts[best] < 2:
                return
            for items in self.items.values():
                if best in combinations(items, 2):
                    place = items.index(best[0])
                    items.remove(best[1])
                    items.remove(best[0])
                    items.insert(place, best)

    def rebuilt(self, e: Expr) -> Expr:
        """The expression with its products multiplied in the order that was found."""
        if e not in self.memo:
            items = self.items.get(self._key(e))
            made = None if items is None else _signed(_product(e)[0], _times(map(self._multiplied, items)))
            self.memo[e] = made or _changed(e, self.rebuilt)
        return self.memo[e]

    def _multiplied(self, item: Item) -> Expr:
        return _times(map(self._multiplied, item)) if isinstance(item, tuple) else self.rebuilt(item)
