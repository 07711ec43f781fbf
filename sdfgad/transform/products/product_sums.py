"""Sums over the elements of a matrix product without the product: the order of the two sums is exchanged."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, call, index_elems, loads, symbols_of
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Lib, Loop, Map, Program, Range, Stmt, Store, View, axis
from sdfgad.ir.walk import children, expr_reads, reads, statements, with_children, writes
from sdfgad.names import fresh, variable
from sdfgad.thresholds import thresholds
from sdfgad.transform.spelling import only_store

_KNOWN = frozenset(("conj_a", "conj_b", "factor"))
_WIDE = np.dtype(np.float64)


def sum_products(program: Program) -> Program:
    """t = matmul(A, B) ; map i, j: v += t[i, j]
    ->   map k, i: a[k] += A[i, k] ; map k, j: b[k] += B[k, j] ; map k: s += a[k] * b[k] ; v += s

    For products that nobody reads but sums over their rows, their columns or both: then no element of t is needed.
    """
    work = _Sums(program, program.live_out)
    body = work.block(program.body)
    return program.but(body=body, arrays=work.arrays) if work.changed else program


@dataclass(frozen=True)
class _ProductReader:
    """`target += factor * t[i, j] + rest` where the sum runs over the dimensions `gone` of t (0, 1 or both)."""

    stmt: Map
    store: Store
    factor: Expr
    rest: Expr | None
    at: tuple[Ix, ...]
    gone: tuple[int, ...]

    def rewritten(self, sums: Array) -> list[Stmt]:
        """The reader with the sum over `gone` in place of the elements."""
        over = {self.at[d] for d in self.gone}
        domain = tuple(r for r in self.stmt.domain if ix(r.var) not in over)
        place = tuple(i for d, i in enumerate(self.at) if d not in self.gone)
        term = algebra.mul(self.factor, Load(sums.name, place, sums.dtype))
        added = replace(self.stmt, domain=domain, body=(replace(self.store, expr=term),))
        if self.rest is None:
            return [added]
        return [replace(self.stmt, body=(replace(self.store, expr=self.rest),)), added]


class _Sums:
    def __init__(self, program: Program, keep: frozenset[str]) -> None:
        self.arrays = dict(program.arrays)
        self.keep = keep
        self.everywhere = _touches(statements(program.body))
        self.changed = False

    def block(self, block: Block) -> Block:
        here = _touches(block)
        out: list[Stmt] = [with_children(s, [self.block(b) for b in children(s)]) if _in_order(s) else s for s in block]
        # Last first: what replaces a product may be a sum over an earlier one.
        for k in range(len(out) - 1, -1, -1):
            stmt = out[k]
            if not isinstance(stmt, Lib) or not self._plain(stmt):
                continue
            name = stmt.outs[0].array
            found = self._readers(name, out, k) if here[name] == self.everywhere[name] else {}
            if found:
                out[k:] = self._replaced(stmt, found, out[k + 1:])
                self.changed = True
        return tuple(out)

    def _plain(self, stmt: Lib) -> bool:
        """Whether the statement makes all of a temporary matrix, as nobody else does."""
        if stmt.op != "matmul" or not stmt.attrs.keys() <= _KNOWN:
            return False
        out, (a, b) = stmt.outs[0], stmt.ins[:2]
        array = self.arrays[out.array]
        sizes = [n.const or 0 for n in (*a.shape, *b.shape[1:])]
        whole = out.index == (ix(axis(0)), ix(axis(1))) and tuple(n.const for n in out.shape) == array.shape
        large = prod(sizes) >= thresholds().summed_product
        return (whole and len(a.shape) == len(b.shape) == 2 and large and out.dtype == _WIDE
                and array.role == "transient" and out.array not in self.keep)

    def _readers(self, name: str, block: Sequence[Stmt], k: int) -> dict[int, _ProductReader]:
        """The sums that read the product, by position after it; none when anybody else looks at it or changes it."""
        elsewhere = [s for n, s in enumerate(block) if n != k and (name in writes(s) or (n < k and name in reads(s)))]
        found = {n: _reader_of(s, name, self.arrays[name].shape)
                 for n, s in enumerate(block[k + 1:]) if name in reads(s)}
        sums = {n: r for n, r in found.items() if r is not None}
        return sums if len(sums) == len(found) and not elsewhere else {}

    def _replaced(self, stmt: Lib, readers: dict[int, _ProductReader], after: Sequence[Stmt]) -> list[Stmt]:
        made: list[Stmt] = []
        sums = {gone: self._sums(stmt, gone, made) for gone in {r.gone: None for r in readers.values()}}
        for n, s in enumerate(after):
            made += readers[n].rewritten(sums[readers[n].gone]) if n in readers else [s]
        return made

    def _sums(self, stmt: Lib, gone: tuple[int, ...], made: list[Stmt]) -> Array:
        """The sums of the product over the dimensions `gone`, and the statements that make them."""
        a, b = stmt.ins[:2]
        rows, terms = Range(variable("i"), ix(0), a.shape[0]), Range(variable("k"), ix(0), a.shape[1])
        columns = Range(variable("j"), ix(0), b.shape[1])
        left, right = _element(a, rows, terms), _element(b, terms, columns)
        if 0 in gone:
            left = self._added((terms,), rows, left, made)
        if 1 in gone:
            right = self._added((terms,), columns, right, made)
        kept = tuple(r for d, r in enumerate((rows, columns)) if d not in gone)
        total = self._added(kept, terms, algebra.mul(_scale(stmt), algebra.mul(left, right)), made)
        return self.arrays[total.array]

    def _added(self, kept: tuple[Range, ...], over: Range, term: Expr, made: list[Stmt]) -> Load:
        """`map kept, over: sums[kept] += term`, and its result at the point `kept`."""
        name = fresh("sums", self.arrays)
        self.arrays[name] = Array(name, tuple(r.trips or 0 for r in kept), _WIDE)
        here = tuple(ix(r.var) for r in kept)
        made.append(Map(kept, (Store(name, here, algebra.zero(_WIDE)),)))
        made.append(Map((*kept, over), (Store(name, here, term, "+"),)))
        return Load(name, here, _WIDE)


def _element(view: View, *ranges: Range) -> Load:
    return view.load(tuple(ix(r.var) for r in ranges))


def _scale(stmt: Lib) -> Expr:
    """What the product is multiplied with."""
    factor: Expr = algebra.number(stmt.attrs.get("factor", 1), _WIDE)
    for view in stmt.ins[2:]:
        factor = algebra.mul(factor, view.load(()))
    return factor


def _touches(block: Iterable[Stmt]) -> Counter[str]:
    """How many statements read or write each array."""
    return Counter(n for s in block for n in reads(s) | writes(s))


def _in_order(stmt: Stmt) -> bool:
    """Whether there are blocks inside which temporaries of the whole program may be used."""
    return bool(children(stmt)) and not (isinstance(stmt, Loop) and stmt.parallel)


def _reader_of(stmt: Stmt, name: str, shape: tuple[int, ...]) -> _ProductReader | None:
    """The statement as a sum over all rows or columns of a matrix; None where it is something else."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if not isinstance(stmt, Map) or store is None or not _is_sum(stmt, store, name):
        return None
    terms = _terms(store.expr)
    mine = next(t for t in terms if name in expr_reads(t))
    load = next(e for e in loads(mine) if e.array == name)
    factor = _factor_of(mine, load)
    if factor is None or not _everywhere(load, stmt, shape):
        return None
    used = symbols_of(factor) | {s for i in store.index for s in i.symbols}
    used |= {s for r in stmt.domain for s in r.start.symbols | r.stop.symbols}
    gone = tuple(d for d, i in enumerate(load.index) if used.isdisjoint(i.symbols))
    rest = [t for t in terms if t is not mine]
    return _ProductReader(stmt, store, factor, _sum_of(rest), load.index, gone) if gone else None


def _is_sum(stmt: Map, store: Store, name: str) -> bool:
    """Whether a map adds up terms, one of which has the matrix in it, once."""
    places = [*store.index, *(i for r in stmt.domain for i in (r.start, r.stop))]
    inner = {e.array for i in places for e in i.elems} | {e.array for e in index_elems(store.expr)}
    return (store.op == "+" and store.expr.dtype == _WIDE and name not in inner
            and store.array not in expr_reads(store.expr) | inner
            and sum(isinstance(e, Load) and e.array == name for e in _occurrences(store.expr)) == 1)


def _everywhere(load: Load, stmt: Map, shape: tuple[int, ...]) -> bool:
    """Whether a map reads the whole matrix by two variables of its own."""
    ranges = {ix(r.var): r for r in stmt.domain}
    return len(set(load.index)) == 2 and all(
        i in ranges and ranges[i].start.const == 0 and ranges[i].step == 1 and ranges[i].stop.const == n
        for i, n in zip(load.index, shape, strict=True))


def _occurrences(e: Expr) -> list[Expr]:
    return [e, *(n for a in e.args for n in _occurrences(a))] if isinstance(e, Call) else [e]


def _terms(e: Expr) -> list[Expr]:
    """a + b - c   ->   [a, b, -c]"""
    if isinstance(e, Call) and e.fn in ("add", "sub"):
        second = _terms(e.args[1])
        return [*_terms(e.args[0]), *(second if e.fn == "add" else [algebra.neg(t) for t in second])]
    return [e]


def _sum_of(terms: Sequence[Expr]) -> Expr | None:
    total: Expr | None = None
    for t in terms:
        total = t if total is None else algebra.add(total, t)
    return total


def _factor_of(e: Expr, load: Load) -> Expr | None:
    """f with e == f * load; None when there is none that can be read off."""
    if e == load:
        return Const(1.0, _WIDE)
    if not isinstance(e, Call) or e.fn not in ("mul", "div", "neg"):
        return None
    inner = [k for k, a in enumerate(e.args) if load in loads(a)]
    if inner not in ([0], [1]) or (e.fn == "div" and inner == [1]):
        return None
    factor = _factor_of(e.args[inner[0]], load)
    if factor is None:
        return None
    if e.fn == "neg":
        return algebra.neg(factor)
    other = e.args[1 - inner[0]]
    return algebra.mul(factor, other) if e.fn == "mul" else call("div", factor, other)
