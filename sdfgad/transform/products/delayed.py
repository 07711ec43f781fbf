"""Updates of rank one in a loop, put off for a few iterations: then they are a sum of products."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Load, loads, symbols_of
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_variables, children, rebuild, statements, with_children, within
from sdfgad.names import fresh, variable
from sdfgad.thresholds import thresholds
from sdfgad.transform.products.products import terms
from sdfgad.transform.spelling import only_store

MOST = 32
"""Iterations put off: the matrix is then read and written so rarely that more would not be seen."""
FEW = 40
"""Statements that may stand twice, where iterations are left over behind the last block."""


def delay_updates(program: Program) -> Program:
    """for t = 0:n: { v[i] = ... ; map i, j: C[i, j] += v[i] * w[j] }
    ->   for b = 0:n / 16: {
             for t = 16 * b:16 * b + 16: {
                 v[i] = ... ; map i: x[t - 16 * b, i] = v[i] ; map j: y[t - 16 * b, j] = w[j] }
             map i, j, q: C[i, j] += x[q, i] * y[q, j] }

    For matrices that nothing else in the loop looks at: the derivative of `v = C @ w` has such an update in every
    iteration, and goes through the whole matrix each time. As blocked factorisations put off theirs (Dongarra, Du Croz,
    Hammarling, Duff 1990).
    """
    work = _Delaying(dict(program.arrays), all_variables(program.body))
    body = work.block(program.body)
    return program.but(body=body, arrays=work.arrays) if len(work.arrays) > len(program.arrays) else program


@dataclass(frozen=True)
class _Update:
    """`C[at] += left * right`, where one factor varies with the first range, the other one with the second."""

    stmt: Map
    store: Store
    left: Expr
    right: Expr

    @property
    def extents(self) -> tuple[int, int]:
        first, second = self.stmt.domain
        return first.trips or 0, second.trips or 0

    @property
    def most(self) -> int:
        """Iterations that may be put off."""
        n, m = self.extents
        return min(MOST, int(thresholds().delayed_share * n * m / max(1, n + m)))


class _Delaying:
    """Adds the arrays that keep the vectors, and the variables of loops over blocks."""

    def __init__(self, arrays: dict[str, Array], variables: set[str]) -> None:
        self.arrays, self.variables = arrays, variables

    def block(self, block: Block) -> Block:
        """The block with its loops in blocks, inner ones first. Parallel iterations would share the vectors."""
        out: list[Stmt] = []
        for stmt in block:
            if not (isinstance(stmt, Loop) and stmt.parallel) and children(stmt):
                stmt = with_children(stmt, [self.block(b) for b in children(stmt)])
            out += self.loop(stmt) if isinstance(stmt, Loop) else (stmt,)
        return tuple(out)

    def loop(self, loop: Loop) -> Block:
        """The loop in blocks, and what is left over at its end."""
        trips = loop.range.trips or 0
        plain = not (loop.parallel or loop.until or loop.trips) and abs(loop.range.step) == 1
        least = thresholds().contracted_extent
        updates = [u for u in self._updates(loop) if u.most >= least] if plain else []
        size = _block_size(trips, least, min((u.most for u in updates), default=0))
        over = trips % size if size else 0
        if not size or over and sum(1 for _ in statements(loop.body)) > FEW:
            return (loop,)
        blocks, step = trips // size, loop.range.step
        block = variable("block", self.variables)
        start = loop.range.start + (ix(block) * (step * size) if blocks > 1 else 0)
        after: list[Stmt] = []
        place = (ix(loop.range.var) - start) * step
        body = tuple(s for stmt in loop.body for s in self._put_off(stmt, updates, place, size, after))
        turns = replace(loop.range, start=start, stop=start + step * size)
        made: Block = (replace(loop, range=turns, body=body), *after)
        if blocks > 1:
            self.variables.add(block)
            made = (Loop(Range(block, ix(0), ix(blocks)), made, loop.source),)
        return (*made, _last(loop, over)) if over else made

    def _updates(self, loop: Loop) -> Iterator[_Update]:
        for stmt in loop.body:
            update = _update_of(stmt, self.arrays) if isinstance(stmt, Map) else None
            if update is not None and not any(
                    update.store.array in names for s in loop.body if s is not stmt for names in within(s)) and \
                    loop.range.var not in {v for i in update.store.index for v in i.symbols}:
                yield update

    def _put_off(self, stmt: Stmt, updates: Sequence[_Update], place: Ix, size: int, after: list[Stmt]) -> list[Stmt]:
        """What stands for a statement in an iteration; what has to come after a block goes to `after`."""
        update = next((u for u in updates if u.stmt is stmt), None)
        if update is None:
            return [stmt]
        kept: list[Stmt] = []
        term = variable("q", {r.var for r in update.stmt.domain})
        factors: list[Expr] = []
        for r, factor in zip(update.stmt.domain, (update.left, update.right), strict=True):
            name = fresh(f"{update.store.array}_vectors", self.arrays)
            self.arrays[name] = Array(name, (size, r.trips or 0), factor.dtype)
            kept.append(Map((r,), (Store(name, (place, ix(r.var) - r.start), factor),), update.stmt.source))
            factors.append(Load(name, (ix(term), ix(r.var) - r.start), factor.dtype))
        domain = (*update.stmt.domain, Range(term, ix(0), ix(size)))
        after.append(Map(domain, (replace(update.store, expr=algebra.mul(*factors)),), update.stmt.source))
        return kept


def _block_size(trips: int, least: int, most: int) -> int:
    """Iterations of a block: as many in all blocks where that costs little. 0 where they would be too few."""
    if least > min(trips, most):
        return 0
    if trips <= most:
        return trips
    return next((n for n in range(most, max(least - 1, most // 2), -1) if trips % n == 0), most)


def _last(loop: Loop, count: int) -> Loop:
    """The last iterations, in statements of their own."""
    rest = replace(loop.range, start=loop.range.stop - loop.range.step * count)
    return replace(loop, range=rest, body=rebuild(loop.body, lambda s: (replace(s),)))


def _update_of(stmt: Map, arrays: dict[str, Array]) -> _Update | None:
    store = only_store(stmt)
    if store is None or store.op != "+" or len(stmt.domain) != 2 or store.expr.dtype.kind not in "fc" or \
            arrays[store.array].dtype != store.expr.dtype:
        return None
    names = [r.var for r in stmt.domain]
    if any(r.trips is None or r.step != 1 or r.start.const is None for r in stmt.domain) or \
            any([i == ix(n) for i in store.index].count(True) != 1 for n in names) or any(i.elems for i in store.index):
        return None
    found = terms(store.expr, frozenset(names))
    sides = [[f for f in found[0].factors if n in symbols_of(f)] for n in names] if len(found) == 1 else [[], []]
    both = set(sides[0]) & set(sides[1])
    reads = {n.array for n in loads(store.expr)}
    if both or not sides[0] or not sides[1] or store.array in reads:
        return None
    others = [f for f in found[0].factors if f not in sides[0] and f not in sides[1]]
    left = reduce(algebra.mul, [*others, *sides[0]], found[0].scale)
    return _Update(stmt, store, left, reduce(algebra.mul, sides[1][1:], sides[1][0]))
