"""Sums of products become matrix products, which BLAS runs an order of magnitude faster than any loop."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.analysis.elements.region import between, interval, region_of
from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, loads
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_variables, children, rename_symbols, with_children
from sdfgad.names import variable
from sdfgad.thresholds import thresholds
from sdfgad.transform.products.delayed import delay_updates
from sdfgad.transform.products.operands import Interval, Operands
from sdfgad.transform.products.products import Summand, inlined, single, terms, untangled, variables_of


def contract(program: Program) -> Program:
    """map i = 0:n, j = 0:m, k = 0:i: C[i, j] += 2.0 * A[i, k] * B[k, j]
    ->   map i = 0:n, k = 0:n: factor[i, k] = A[i, k] if k < i else 0
         C += matmul(factor, B, factor=2.0)

    For sums over one variable that two groups of factors share, each with a variable of the target of its own. A
    condition on two variables of one operand masks a copy of it; one on both variables of the target sends the product
    through a temporary. Variables that all have in common become a loop around. What is not such a sum, or is small,
    stays as it is. Updates of rank one in a loop are such sums when a few iterations are over (`delay_updates`).
    """
    program = delay_updates(program)
    work = _Contraction(dict(program.arrays), all_variables(program.body))
    body = work.block(program.body, ())
    return program.but(body=body, arrays=work.arrays) if work.changed else program


@dataclass(frozen=True)
class _Groups:
    """Who depends on what. rows and columns: variables of the target in the left and the right factors; shared:
    variables of the target in both; summed: the others."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shared: tuple[str, ...]
    summed: tuple[str, ...]


@dataclass
class _Contraction:
    arrays: dict[str, Array]
    variables: set[str]
    changed: bool = False

    def block(self, block: Block, path: tuple[Range, ...]) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt, path))

    def statement(self, stmt: Stmt, path: tuple[Range, ...]) -> Block:
        if children(stmt):
            inside = (*path, stmt.range) if isinstance(stmt, Loop) else path
            return (with_children(stmt, [self.block(b, inside) for b in children(stmt)]),)
        return tuple(self.map(stmt, path)) if isinstance(stmt, Map) else (stmt,)

    def map(self, stmt: Map, path: tuple[Range, ...]) -> list[Stmt]:
        """Every store of a map on its own, if that lets one of them become products."""
        if not any(isinstance(p, Store) and p.op == "+" for p in stmt.body) or len(stmt.domain) < 3:
            return [stmt]
        stores = inlined(stmt)
        if len(stores) > 1 and not _separable(stores):
            return [stmt]
        made = [self.store(stmt, store, path) for store in stores]
        if all(m is None for m in made):
            return [stmt]
        self.changed = True
        alone = [replace(stmt, body=(store,)) for store in stores]
        return [s for m, one in zip(made, alone, strict=True) for s in ([one] if m is None else m)]

    def store(self, stmt: Map, store: Store, path: tuple[Range, ...]) -> list[Stmt] | None:
        """The products one store becomes, and a map for the terms that are none."""
        region = region_of(stmt.domain, path)
        if store.op != "+" or store.expr.dtype.kind not in "fc" or region is None:
            return None
        names = tuple(r.var for r in stmt.domain)
        rest: list[Expr] = []
        out: list[Stmt] = []
        for term in terms(store.expr, frozenset(names)):
            made = self.summand(Summand(store.array, store.index, term, names, region), stmt, path)
            out += made or []
            rest += [term.expr] if made is None else []
        if rest and out:
            out.append(replace(stmt, body=(replace(store, expr=reduce(algebra.add, rest)),)))
        return out or None

    def summand(self, sum_: Summand, stmt: Map, path: tuple[Range, ...]) -> list[Stmt] | None:
        read = {n.array for f in sum_.term.factors for n in loads(f)}
        if not read or sum_.target in read or self.arrays[sum_.target].dtype != sum_.dtype:
            return None
        plain = untangled(sum_)
        return None if plain is None else self.product(plain, stmt, path)

    def product(self, sum_: Summand, stmt: Map, path: tuple[Range, ...]) -> list[Stmt] | None:
        """One product, inside loops over the variables that are too many."""
        groups = _groups(sum_)
        boxes = {v: _box(sum_, v) for v in sum_.variables}
        known = {v: b for v, b in boxes.items() if b is not None}
        if groups is None or len(known) < len(boxes):
            return None
        env = interval_env(path)
        size = {v: extent_bound(Range(v, b.low, b.high), env) or 0 for v, b in known.items()}
        kept = [max(g, key=lambda v: size[v]) for g in (groups.rows, groups.summed, groups.columns)]
        least = thresholds()
        if prod(size[v] for v in kept) < least.contracted_product or \
                min(size[v] for v in kept) < least.contracted_extent:
            return None
        peeled = next((v for v in sum_.variables if v not in kept), None)
        if peeled is not None:
            return self.peel(sum_, peeled, known[peeled], stmt, path)
        i, k, j = kept
        operands = Operands(sum_, (i, k, j), known, stmt.source, path, dict(self.arrays))
        made = operands.statements()
        if made is not None:
            self.arrays = operands.arrays
        return made

    def peel(self, sum_: Summand, var: str, box: Interval, stmt: Map, path: tuple[Range, ...]) -> list[Stmt] | None:
        """The product for every value of one variable."""
        r = Range(var, box.low, box.high)
        rows = between(var, box.low, box.high)
        if rows is None:
            return None
        inner = replace(sum_, variables=tuple(v for v in sum_.variables if v != var),
                        region=sum_.region.with_rows(rows))
        made = self.product(inner, stmt, (*path, r))
        if made is None:
            return None
        turn = variable("peeled", self.variables)
        self.variables.add(turn)
        return [Loop(replace(r, var=turn), rename_symbols(tuple(made), {var: turn}), stmt.source)]


def _separable(stores: Sequence[Store]) -> bool:
    """Whether the stores may run one after the other, each for all points."""
    written = [s.array for s in stores]
    read = {n.array for s in stores for n in loads(s.expr)}
    return len(set(written)) == len(written) and read.isdisjoint(written) and not any(
        e.array in written for s in stores for i in s.index for e in i.elems)


def _groups(sum_: Summand) -> _Groups | None:
    """The roles of the variables when the factors that are summed over fall into two parts."""
    target = [single(i, sum_.variables) for i in sum_.index if i.symbols & set(sum_.variables)]
    if None in target or len(set(target)) < len(target):
        return None
    outer = [v for v in sum_.variables if v in target]
    summed = tuple(v for v in sum_.variables if v not in target)
    parts = [variables_of(f) & set(sum_.variables) for f in sum_.term.factors]
    parts = [p for p in parts if p & set(summed) and p & set(outer)]
    shared = tuple(v for v in outer if parts and all(v in p for p in parts))
    sides = list(_connected([p - set(shared) for p in parts], set(outer)))
    if len(sides) != 2 or not summed or not all(set(summed) <= side for side in sides):
        return None
    if target[-1] in sides[0] and target[-1] not in shared:
        sides.reverse()  # the columns are what the target counts last
    rows, columns = (tuple(v for v in outer if v in side and v not in shared) for side in sides)
    if not rows or not columns or {*rows, *columns, *shared} != set(outer):
        return None
    return _Groups(rows, columns, shared, summed)


def _connected(parts: Sequence[frozenset[str]], through: set[str]) -> Iterator[frozenset[str]]:
    """Unions of the parts that share variables of `through`."""
    left = list(parts)
    while left:
        side = left.pop(0)
        while near := [p for p in left if p & side & through]:
            side = side.union(*near)
            left = [p for p in left if p not in near]
        yield side


def _box(sum_: Summand, var: str) -> Interval | None:
    """The values a variable takes."""
    projected = sum_.region.onto(sum_.variables, [var])
    ends = None if projected is None else interval(projected, var)
    return None if ends is None else Interval(*ends)
