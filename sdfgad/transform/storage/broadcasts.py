"""Follow values that vary along fewer axes than their array has, and use the small thing they come from.

The cotangent of a sum is the same number everywhere, that of a row sum the same along each row: products with such
matrices are sums and outer products.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from sdfgad.analysis.elements.cover import fills
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, loads, map_indices, rewrite, symbols_of, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, If, Let, Lib, Loop, Map, Program, Range, Stmt, Store, View, axis
from sdfgad.ir.walk import all_writes, children, expr_reads, with_children, writes
from sdfgad.names import fresh, variable
from sdfgad.thresholds import thresholds
from sdfgad.transform.sums.smaller_nests import smaller_nest

_PLAIN = frozenset(("mul", "add", "sub", "neg", "conj", "select"))
_SOLVES = frozenset(("solve", "trsolve"))

_ROW, _COLUMN, _TERM = variable("r"), variable("c"), variable("k")


def propagate_broadcasts(program: Program) -> Program:
    """map i, j: g[i, j] = 2 * v[j] ; C = matmul(A, g)
    ->   map i, k: s[i] += A[i, k] ; map i, j: C[i, j] = 2 * v[j] * s[i]

    and `y[i] = g[i, j] * x[i]` becomes `y[i] = 2 * v[j] * x[i]`. A system of equations is solved for one right-hand
    side where all are the same. The fillings themselves are left to dead code removal.
    A sum over products of arrays in three or more variables keeps its operands where no sum gets smaller: it may be a
    product of matrices.
    """
    work = _BroadcastFlow(dict(program.arrays))
    body = work.block(program.body)
    return program.but(body=body, arrays=work.arrays)


@dataclass
class _BroadcastFlow:
    """A walk in program order. known: array -> its element (axis(0), axis(1), ...) as an expression.

    counters: variables of the loops around, which known values may name. users: by arrays and variables, those of which
    a known value has named it.
    """

    arrays: dict[str, Array]
    known: dict[str, Expr] = field(default_factory=dict)
    counters: frozenset[str] = frozenset()
    users: dict[str, set[str]] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        if isinstance(stmt, If):
            yield self.choice(stmt)
        elif children(stmt):
            yield self.region(stmt)
        elif isinstance(stmt, Map):
            yield from self.map(stmt)
        elif isinstance(stmt, Lib) and (spelled := self.product(stmt) or self.solution(stmt)):
            for one in spelled:
                yield from self.statement(one)
        else:
            self.forget(writes(stmt))
            yield stmt

    def region(self, stmt: Stmt) -> Stmt:
        """What the region writes is unknown throughout; what is found out inside ends with it."""
        self.forget({n for b in children(stmt) for n in all_writes(b)})
        around = self.counters
        if isinstance(stmt, Loop):
            self.hide(stmt.range.var)
            self.counters |= {stmt.range.var}
        outside = dict(self.known)
        inner = []
        for block in children(stmt):
            self.known = dict(outside)
            inner.append(self.block(block))
        self.known, self.counters = outside, around
        return with_children(stmt, inner)

    def choice(self, stmt: If) -> If:
        """Afterwards a value is what the block that ran has made it."""
        cond, before = self.put(stmt.cond), dict(self.known)
        then = self.block(stmt.then)
        first, self.known = self.known, before
        orelse = self.block(stmt.orelse)
        decided = expr_reads(cond).isdisjoint(all_writes((*stmt.then, *stmt.orelse)))
        both = {n: self.either(cond if decided else None, e, self.known[n], self.arrays[n])
                for n, e in first.items() if n in self.known}
        self.known = {n: e for n, e in both.items() if e is not None}
        for name, form in self.known.items():
            if form is not first[name]:
                self.know(name, form)
        return replace(stmt, cond=cond, then=then, orelse=orelse)

    def either(self, cond: Expr | None, then: Expr, orelse: Expr, array: Array) -> Expr | None:
        """The one or the other value, if they are the same or the condition still tells."""
        if then == orelse:
            return then
        # Both are computed: what stands at a place that a counter names has to be there either way.
        if cond is None or self.counted(cond) | self.counted(then) != self.counted(cond) | self.counted(orelse):
            return None
        form = algebra.select(cond, then, orelse)
        return form if _small(form, array, self.counters) else None

    def counted(self, form: Expr) -> set[Expr]:
        """Loads from places that a counter names."""
        return {n for n in loads(form) if any(i.symbols & self.counters for i in n.index)}

    def know(self, name: str, form: Expr) -> None:
        """From here on the elements of an array are known."""
        self.known[name] = form
        for used in (*expr_reads(form), *symbols_of(form)):
            self.users.setdefault(used, set()).add(name)

    def hide(self, *variables: str) -> None:
        """A loop counts with these names from here on: what names them from outside cannot be said."""
        for name in self.using(variables):
            if not symbols_of(self.known[name]).isdisjoint(variables):
                del self.known[name]

    def forget(self, names: Iterable[str]) -> None:
        """Arrays are written, and what their elements were made of is not there any more."""
        gone = set(names)
        for name in {*self.using(gone), *(gone & self.known.keys())}:
            if name in gone or not gone.isdisjoint(expr_reads(self.known[name])):
                del self.known[name]

    def using(self, used: Iterable[str]) -> set[str]:
        """The arrays of which a known value may name one of these."""
        return {name for n in used for name in self.users.get(n, ()) if name in self.known}

    def put(self, expr: Expr, changing: Collection[str] = ()) -> Expr:
        """The expression with known values in place of loads, but for those made of what the statement changes."""

        def one(node: Expr) -> Expr | None:
            form = self.known.get(node.array) if isinstance(node, Load) else None
            if form is not None and isinstance(node, Load) and expr_reads(form).isdisjoint(changing):
                return _at(form, node.index)
            return _simpler(node)

        return rewrite(expr, one)

    def map(self, stmt: Map) -> Iterator[Stmt]:
        self.hide(*(r.var for r in stmt.domain))
        body: list[Let | Store] = []
        changing = writes(stmt)
        for part in stmt.body:
            expr = self.put(part.expr, changing)
            if isinstance(part, Let):
                body.append(Let(part.name, expr))
                continue
            if part.op == "+" and _reduces(stmt, part) and expr != part.expr:
                if len(stmt.body) == 1 and (smaller := self.smaller_sum(stmt, replace(part, expr=expr))):
                    yield from (s for one in smaller for s in self.statement(one))
                    return
                expr = part.expr if len(stmt.domain) > 2 and _arrays_in(expr, stmt) else expr
            body.append(self.assigned(stmt, replace(part, expr=expr)))
            self.learn(stmt, replace(part, expr=expr))
        yield Map(stmt.domain, tuple(body), stmt.source)

    def assigned(self, stmt: Map, store: Store) -> Store:
        """x[i] = f[i] ; x[i] += g[i]   ->   ... ; x[i] = f[i] + g[i], which makes the first filling pointless."""
        before = self.known.get(store.array)
        if before is None or store.op != "+" or not fills(stmt, store, self.arrays[store.array]):
            return store
        return replace(store, expr=algebra.add(_at(before, store.index), store.expr), op=None)

    def learn(self, stmt: Map, store: Store) -> None:
        """What the array holds after a store, if that can be said in few words."""
        array, before = self.arrays[store.array], self.known.get(store.array)
        form = _form(stmt, store, array, self.counters)
        if form is not None and store.op is not None:
            form = algebra.add(before, form) if store.op == "+" and before is not None else None
        self.forget({store.array})
        if form is not None and _small(form, array, self.counters) and store.array not in expr_reads(form):
            self.know(store.array, form)

    def smaller_sum(self, stmt: Map, store: Store) -> list[Stmt] | None:
        """C[i, j] += f[i] * g[k, j]   ->   s[j] = sum k: g[k, j] ; C[i, j] += f[i] * s[j]

        When what is summed lacks a variable of the target.
        """
        summed = {r.var for r in stmt.domain if not any(r.var in i.symbols for i in store.index)}
        inside, outside = _split(store.expr, summed)
        found = smaller_nest(stmt, store, inside, outside, self.arrays) if inside else None
        if found is None:
            return None
        sums = self.temporary(tuple(r.trips or 0 for r in found.kept), store.expr.dtype)
        at = tuple((ix(r.var) - r.start) * (1 if r.step > 0 else -1) // abs(r.step) for r in found.kept)
        value = reduce(algebra.mul, [*outside, Load(sums.name, at, sums.dtype)])
        return [Map(found.kept, (Store(sums.name, at, algebra.zero(sums.dtype)),), stmt.source),
                Map(found.summing, (Store(sums.name, at, reduce(algebra.mul, inside), "+"),), stmt.source),
                Map(found.last, (replace(store, expr=value),), stmt.source)]

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype, name: str = "sums") -> Array:
        array = Array(fresh(name, self.arrays.keys()), shape, dtype)
        self.arrays[array.name] = array
        return array

    def product(self, stmt: Lib) -> list[Stmt] | None:
        """A matrix product with a known operand as a map, when that lets its sums shrink."""
        if stmt.op != "matmul" or not self.known.keys() & {v.array for v in stmt.ins}:
            return None
        spelled = _spelled(stmt)
        if spelled is None:
            return None
        clear, sums = spelled
        store = sums.body[0]
        if not isinstance(store, Store):
            return None
        # Written out, the result is there before the last factor has been read.
        smaller = self.smaller_sum(sums, replace(store, expr=self.put(store.expr, writes(stmt))))
        return None if smaller is None else [*clear, *smaller]

    def solution(self, stmt: Lib) -> list[Stmt] | None:
        """X = solve(A, B)   ->   b[i] = B[i, 0] ; x = solve(A, b) ; X[i, j] = x[i]   for a B with equal columns."""
        if stmt.op not in _SOLVES or len(stmt.ins[-1].shape) != 2 or len(stmt.outs[0].shape) != 2:
            return None
        (out,), (*matrix, right) = stmt.outs, stmt.ins
        rows, columns = (n.const for n in right.shape)
        i, j = ix(_ROW), ix(_COLUMN)
        value = self.put(_element(right, (i, j), False))
        if _COLUMN in symbols_of(value) or rows is None or columns in (None, 1):
            return None
        made = [self.temporary((rows, 1), value.dtype, name) for name in ("known", "solved")]
        first, second = (a.whole for a in made)
        each = Range(_ROW, ix(0), ix(rows))
        return [Map((each,), (Store(first.array, (i, ix(0)), value),), stmt.source),
                replace(stmt, outs=(second,), ins=(*matrix, first)),
                Map((each, Range(_COLUMN, ix(0), right.shape[1])),
                    (Store(out.array, out.at((i, j)), Load(second.array, (i, ix(0)), second.dtype)),), stmt.source)]


def _at(form: Expr, index: tuple[Ix, ...]) -> Expr:
    """A known value at one element."""
    names: Mapping[str, Ix] = {axis(k): i for k, i in enumerate(index)}
    return map_indices(form, lambda i: i.subs(names))


def _form(stmt: Map, store: Store, array: Array, counters: Collection[str]) -> Expr | None:
    """The stored value in terms of the position and of counters of loops around, when the store fills the array."""
    if array.dtype.kind not in "fc" or not fills(stmt, store, array):
        return None
    place = {r.var: k for r in stmt.domain for k, i in enumerate(store.index) if i == ix(r.var)}
    if not symbols_of(store.expr) <= {*place, *counters}:
        return None
    return map_indices(store.expr, lambda i: i.subs({v: ix(axis(k)) for v, k in place.items()}))


def _small(form: Expr, array: Array, counters: Collection[str]) -> bool:
    """Few nodes, fewer axes than the array has, and every index an axis, a counter or a number; a scalar is small as a
    number."""
    if not array.shape:
        return isinstance(form, Const)
    nodes, axes = list(walk(form)), {axis(k) for k in range(len(array.shape))}
    named = {ix(v) for v in (*axes, *counters)}
    plain = all(i.const is not None or i in named for n in nodes if isinstance(n, Load) for i in n.index)
    known = all(isinstance(n, (Const, Load)) or (isinstance(n, Call) and n.fn in _PLAIN) for n in nodes)
    used = symbols_of(form) & axes
    most = thresholds().broadcast_nodes if used else thresholds().broadcast_number
    return plain and known and len(nodes) <= most and len(used) < len(axes)


def _reduces(stmt: Map, store: Store) -> bool:
    """Whether several iterations add to one element."""
    return any(all(r.var not in i.symbols for i in store.index) and r.trips != 1 for r in stmt.domain)


def _arrays_in(e: Expr, stmt: Map) -> bool:
    """Whether anything but numbers is summed up."""
    own = {r.var for r in stmt.domain}
    return any(own & {s for i in n.index for s in i.symbols} for n in loads(e))


def _split(e: Expr, summed: set[str]) -> tuple[list[Expr], list[Expr]]:
    """The factors of a product that depend on the summed variables, and the others."""
    factors = list(_factors(e))
    inside = [f for f in factors if symbols_of(f) & summed]
    return inside, [f for f in factors if not symbols_of(f) & summed]


def _factors(e: Expr) -> Iterator[Expr]:
    if isinstance(e, Call) and e.fn == "mul":
        for a in e.args:
            yield from _factors(a)
    elif isinstance(e, Call) and e.fn == "neg":
        yield algebra.number(-1, e.dtype)
        yield from _factors(e.args[0])
    else:
        yield e


def _spelled(stmt: Lib) -> tuple[list[Map], Map] | None:
    """A product of two matrices as loops: clearing the result unless it accumulates, and the sum."""
    (c,), (a, b, *scale) = stmt.outs, stmt.ins
    if not stmt.attrs.keys() <= {"accumulate", "conj_a", "conj_b", "factor"} or len(a.shape) != 2 or len(b.shape) != 2:
        return None
    if any(n.const is None for v in (a, b, c) for n in v.shape):
        return None
    row, column, k = (Range(v, ix(0), n) for v, n in zip((_ROW, _COLUMN, _TERM), (*c.shape, a.shape[1]), strict=True))
    i, j, s = (ix(r.var) for r in (row, column, k))
    left = _element(a, (i, s), bool(stmt.attrs.get("conj_a")))
    right = _element(b, (s, j), bool(stmt.attrs.get("conj_b")))
    factors = [algebra.number(stmt.attrs.get("factor", 1), c.dtype), *(_element(v, (), False) for v in scale)]
    value = reduce(algebra.mul, factors, algebra.mul(left, right))
    here = c.at((i, j))
    clear = Map((row, column), (Store(c.array, here, algebra.zero(c.dtype)),), stmt.source)
    return ([] if stmt.attrs.get("accumulate") else [clear],
            Map((row, column, k), (Store(c.array, here, value, "+"),), stmt.source))


def _element(view: View, position: tuple[Ix, ...], conjugate: bool) -> Expr:
    e: Expr = view.load(position)
    return Call("conj", (e,), e.dtype) if conjugate else e


def _simpler(node: Expr) -> Expr | None:
    """Drop a factor of one, decide a comparison of numbers and what hangs on it."""
    if not isinstance(node, Call):
        return None
    if node.fn == "mul":
        return next((node.args[1 - k] for k in (0, 1) if algebra.is_number(node.args[k], 1)), None)
    if node.fn == "conj" and isinstance(node.args[0], Const):
        return algebra.number(complex(node.args[0].value).conjugate(), node.dtype)
    if node.fn == "eq" and all(isinstance(a, Const) for a in node.args):
        return Const(bool(node.args[0].value == node.args[1].value), node.dtype)  # type: ignore[union-attr]
    return algebra.select(*node.args) if node.fn == "select" and isinstance(node.args[0], Const) else None
