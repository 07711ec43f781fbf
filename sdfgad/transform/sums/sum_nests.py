"""Nests of loops that add up products, of matrices or numbers, in an order that needs fewer multiplications."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, call, loads, map_indices
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Lib, Loop, Map, Program, Range, Stmt, Store, View
from sdfgad.ir.walk import children, expr_reads, reads, statements, with_children, writes
from sdfgad.names import variables
from sdfgad.transform.products.factorise import Sum, factorised
from sdfgad.transform.spelling import accumulating, only_store

Ranges = tuple[Range, ...]
Factors = tuple[Expr, ...]


def factorise_sums(program: Program) -> Program:
    """for q, a: { t = u[a] @ v ; y[a] += d[q] * t }
    ->   d1 = 0 ; map q: d1 += d[q] ; map a, i, k: t1[a, i] += u[a, i, k] * v[k] ; map a, i: y[a, i] += d1 * t1[a, i]

    For loops around nothing but one sum, temporaries for its factors, and for maps that are such a sum.
    """
    work = _Nests(program, program.live_out)
    body = work.block(program.body)
    if not work.changed:
        return program
    used = {n for s in statements(body) for n in reads(s) | writes(s)}
    gone = {n for n, a in program.arrays.items() if a.role == "transient" and n not in used and n not in work.seen}
    return program.but(body=body, arrays={n: a for n, a in work.arrays.items() if n not in gone})


class _Nests:
    def __init__(self, program: Program, seen: frozenset[str]) -> None:
        self.arrays = dict(program.arrays)
        self.seen = seen
        self.changed = False
        self.touched = Counter(n for s in statements(program.body) for n in reads(s) | writes(s))

    def block(self, block: Block) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Block:
        found = self.sum(stmt)
        made = None if found is None else factorised(*found)
        if made is not None:
            self.changed = True
            self.arrays.update((a.name, a) for a in made[1])
            return tuple(made[0])
        return (with_children(stmt, [self.block(b) for b in children(stmt)]),) if children(stmt) else (stmt,)

    def sum(self, stmt: Stmt) -> tuple[Sum, float] | None:
        """A statement as one sum of products, and the multiplications it takes as it stands."""
        nest: list[Range] = []
        body: Block = (stmt,)
        while len(body) == 1 and isinstance(body[0], Loop) and body[0].until is None and not body[0].private:
            nest.append(body[0].range)
            body = body[0].body
        here = Counter(n for s in body for n in reads(s) | writes(s))
        private = {n for n in here if self.touched[n] == here[n] and self.arrays[n].role == "transient"} - self.seen
        made = _Product(self.arrays, frozenset(private)).run(body)
        if made is None:
            return None
        target, factors, inner, work = made
        domain = [_upward(r) for r in (*nest, *inner)]
        if None in domain or len({r.var for r in domain if r}) != len(domain):
            return None
        sum_ = Sum(target, factors, tuple(r for r in domain if r is not None), self.arrays)
        env = {v: (high or 0) - (low or 0) + 1 for v, (low, high) in sum_.hull.items()}
        for r in nest:
            work *= env[r.var]
        return sum_, work


def _upward(r: Range) -> Range | None:
    return r.upwards if abs(r.step) == 1 else None


@dataclass(frozen=True)
class _Value:
    """What the elements of a temporary are: at [variables], the sum over `sums` of the product of `factors`."""

    variables: tuple[str | None, ...]
    factors: Factors
    sums: Ranges


@dataclass
class _Product:
    """Reads a straight piece of code as one sum; variables of inner sums get names of their own."""

    arrays: Mapping[str, Array]
    private: frozenset[str]
    values: dict[str, _Value] = field(default_factory=dict)
    variables: Iterator[str] = field(default_factory=lambda: variables("p"))
    work: float = 0.0

    def run(self, body: Block) -> tuple[Store, Factors, Ranges, float] | None:
        if not body or not all(self._define(s) for s in body[:-1]):
            return None
        last = accumulating(body[-1]) if isinstance(body[-1], Map) else None
        store = None if last is None else only_store(last)
        if last is None or store is None or store.op != "+" or store.array in self.private or \
                any(e.array in self.private for i in store.index for e in i.elems):
            return None
        found = self._factors(store.expr)
        self._spend(last.domain, store.expr)
        written = {n for s in body for n in writes(s)}
        if found is None or any(not _stable(f, written) for f in found[0]):
            return None
        return store, found[0], (*last.domain, *found[1]), self.work

    def _define(self, stmt: Stmt) -> bool:
        """Note the value of a temporary that is filled whole, once."""
        if isinstance(stmt, Map):
            store = only_store(stmt)
            if store is None or store.op is not None:
                return False
            domain, view, expr = stmt.domain, store.index, store.expr
            found, name = self._factors(expr), store.array
            self._spend(domain, expr)
        elif isinstance(stmt, Lib) and stmt.op == "matmul" and stmt.attrs.keys() <= {"conj_a", "conj_b"}:
            domain, view, found, name = self._matmul(stmt)
        else:
            return False
        place = _identity(domain, view, self.arrays[name])
        if found is None or place is None or name in self.values or name not in self.private:
            return False
        self.values[name] = _Value(place, *found)
        return True

    def _matmul(self, stmt: Lib) -> tuple[Ranges, tuple[Ix, ...], tuple[Factors, Ranges] | None, str]:
        (out,), (a, b) = stmt.outs, stmt.ins
        outer = tuple(self._range(n) for n in out.shape)
        inner = self._range(a.shape[-1])
        at = tuple(ix(r.var) for r in outer)
        left = self._element(a, (*at[:len(a.shape) - 1], ix(inner.var)), bool(stmt.attrs.get("conj_a")))
        right = self._element(b, (ix(inner.var), *at[len(a.shape) - 1:]), bool(stmt.attrs.get("conj_b")))
        product = call("mul", left, right)
        self._spend((*outer, inner), product)
        found = self._factors(product)
        return outer, out.at(at), None if found is None else (found[0], (inner, *found[1])), out.array

    def _element(self, view: View, at: tuple[Ix, ...], conj: bool) -> Expr:
        load = view.load(at)
        return call("conj", load) if conj and view.dtype.kind == "c" else load

    def _range(self, extent: Ix) -> Range:
        return Range(next(self.variables), ix(0), extent)

    def _spend(self, domain: Ranges, e: Expr) -> None:
        points = 1.0
        for r in domain:
            points *= r.trips or 1
        self.work += points * max(1, sum(isinstance(n, Call) and n.fn == "mul" for n in _nodes(e)))

    def _factors(self, e: Expr) -> tuple[Factors, Ranges] | None:
        """An expression as a product, with temporaries replaced by their values; None when it is none."""
        if isinstance(e, Load) and e.array in self.private:
            return self._value(e)
        if isinstance(e, Call) and e.fn == "mul":
            parts = [self._factors(a) for a in e.args]
            if any(p is None for p in parts):
                return None
            return tuple(f for p in parts if p for f in p[0]), tuple(r for p in parts if p for r in p[1])
        if isinstance(e, Call) and e.fn in ("neg", "conj"):
            inner = self._factors(e.args[0])
            if inner is None:
                return None
            first = (algebra.number(-1, e.dtype), *inner[0]) if e.fn == "neg" else tuple(
                call("conj", f) for f in inner[0])
            return first, inner[1]
        return None if any(n.array in self.private for n in loads(e)) else ((e,), ())

    def _value(self, e: Load) -> tuple[Factors, Ranges] | None:
        value = self.values.get(e.array)
        if value is None:
            return None
        fresh_names = {r.var: self._range(r.stop).var for r in value.sums}
        moved: dict[str, Ix] = {v: i for v, i in zip(value.variables, e.index, strict=True) if v is not None}
        moved |= {old: ix(new) for old, new in fresh_names.items()}
        sums = tuple(replace(r, var=fresh_names[r.var], start=r.start.subs(moved), stop=r.stop.subs(moved))
                     for r in value.sums)
        return tuple(map_indices(f, lambda i: i.subs(moved)) for f in value.factors), sums


def _nodes(e: Expr) -> list[Expr]:
    return [e, *(n for a in (e.args if isinstance(e, Call) else ()) for n in _nodes(a))]


def _stable(e: Expr, written: set[str]) -> bool:
    """Whether the factor reads nothing that the nest writes."""
    return written.isdisjoint(expr_reads(e))


def _identity(domain: Ranges, index: tuple[Ix, ...], array: Array) -> tuple[str | None, ...] | None:
    """The variable of each dimension when a statement fills a whole array element by element."""
    ranges = {r.var: r for r in domain}
    out: list[str | None] = []
    for i, extent in zip(index, array.shape, strict=True):
        r = next((ranges.pop(v) for v in list(ranges) if i == ix(v)), None)
        if r is None and not (i.const == 0 and extent == 1):
            return None
        if r is not None and (r.start.const, r.stop.const, r.step) != (0, extent, 1):
            return None
        out.append(None if r is None else r.var)
    return None if ranges else tuple(out)
