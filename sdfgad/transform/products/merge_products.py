"""Matrix products that share a factor are one product of a sum."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import Any, TypeGuard

from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, loads
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Let, Lib, Map, Program, Stmt, Store, View, axis
from sdfgad.ir.walk import children, reads, statements, with_children, writes
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds
from sdfgad.transform.products.masked_products import TOUCHED, placed, united, within


def merge_products(program: Program) -> Program:
    """C += matmul(A, B) ; C += matmul(D, B)   ->   sum = A + D ; C += matmul(sum, B)

    Also when the products cover neighbouring rows of C and of B: the sum is zero where a term does not reach.
    """
    work = _ProductMerger(dict(program.arrays))
    body = work.block(program.body)
    return program.but(body=body, arrays=work.arrays)


@dataclass(frozen=True)
class _Window:
    """A matrix view with steps of one: `frame` is what it has in common with its shifted copies."""

    frame: tuple[object, ...]
    start: tuple[int, int]
    extent: tuple[int, int]

    @property
    def stop(self) -> tuple[int, int]:
        return self.start[0] + self.extent[0], self.start[1] + self.extent[1]


@dataclass
class _ProductMerger:
    arrays: dict[str, Array]

    def block(self, block: Block) -> Block:
        work: list[Stmt] = [with_children(s, [self.block(b) for b in children(s)]) if children(s) else s for s in block]
        k = 0
        while k < len(work):
            found = self.partner(work, k)
            if found is not None:
                place, made = found
                work[place:place + 1] = made
                del work[k]
            else:
                k += 1
        return tuple(work)

    def partner(self, work: list[Stmt], k: int) -> tuple[int, list[Stmt]] | None:
        """A later product to merge with, and the statements that replace it."""
        first = work[k]
        if not _is_product(first):
            return None
        for place in range(k + 1, len(work)):
            second = work[place]
            if _is_product(second) and second.outs[0].array == first.outs[0].array:
                made = self.merged(first, second)
                return None if made is None else (place, made)
            if _depends(second, first):
                return None
        return None

    def merged(self, first: Lib, second: Lib) -> list[Stmt] | None:
        """One product in place of two, whichever factor they share."""
        read = {v.array for v in (*first.ins, *second.ins)}
        if _manner(first) != _manner(second) or not second.attrs.get("accumulate") or first.outs[0].array in read:
            return None
        made = self.with_right_shared(first, second)
        return made or self.with_right_shared(_flipped(first), _flipped(second))

    def with_right_shared(self, first: Lib, second: Lib) -> list[Stmt] | None:
        """out1 += L1 @ R1 ; out2 += L2 @ R2, windows of the same matrices   ->   out += sum @ R"""
        out, right = (_hull(a, b) for a, b in ((first.outs[0], second.outs[0]), (first.ins[1], second.ins[1])))
        if out is None or right is None or not _is_worth_it(out, right, first, second):
            return None
        whole = first.outs[0] == second.outs[0] and first.ins[1] == second.ins[1]
        if not whole and not first.attrs.get("accumulate"):
            return None
        shape = (out[0].extent[0], right[0].extent[0])
        dtype = first.outs[0].dtype
        name = fresh("sum", self.arrays)
        self.arrays[name] = Array(name, shape, dtype, source=first.source)
        held = self.arrays[name].whole
        places = [(out[n].start[0] - out[0].start[0], right[n].start[0] - right[0].start[0]) for n in (1, 2)]
        sums: list[Stmt] = [_stored(held, (first.ins[0], second.ins[0]) if whole else (), None, first)]
        for n, stmt in enumerate(() if whole else (first, second)):
            sums.append(_stored(_part(held, places[n], stmt.ins[0]), (stmt.ins[0],), "+", stmt))
        ins = (held, _widened(first.ins[1], right[1], right[0]), *first.ins[2:])
        touched = united([within(s.attrs.get(TOUCHED), place, s.ins[0], held)
                          for s, place in zip((first, second), places, strict=True)])
        attrs = _with_mask(first.attrs, touched)
        outs = (_widened(first.outs[0], out[1], out[0]),)
        return [*sums, replace(first, outs=outs, ins=ins, attrs=MappingProxyType(attrs))]


def _is_product(stmt: Stmt) -> TypeGuard[Lib]:
    return isinstance(stmt, Lib) and stmt.op == "matmul" and all(len(v.shape) == 2 for v in (*stmt.outs, *stmt.ins[:2]))


def _manner(stmt: Lib) -> tuple[object, ...]:
    return tuple(stmt.attrs.get(n) or None for n in ("conj_a", "conj_b", "factor")), stmt.ins[2:]


def _depends(between: Stmt, first: Lib) -> bool:
    """Whether a product cannot move behind a statement. Two that only add to an array can run in any order."""
    here = [*statements((between,))]
    written = {n for s in here for n in writes(s)}
    out = first.outs[0].array
    touched = written | {n for s in here for n in reads(s)}
    adds = bool(first.attrs.get("accumulate")) and _only_adds(between, out)
    return (out in touched and not adds) or not written.isdisjoint(reads(first) - {out})


def _only_adds(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Map) and all(p.op == "+" for p in stmt.body if isinstance(p, Store) and p.array == name) \
        and name not in reads(replace(stmt, body=tuple(p for p in stmt.body if not _stores(p, name)))) \
        and not any(n.array == name for p in stmt.body for n in loads(p.expr))


def _stores(part: Let | Store, name: str) -> bool:
    return isinstance(part, Store) and part.array == name


def _flipped(stmt: Lib) -> Lib:
    """`C = A B` as `C^T = B^T A^T`."""
    names = {"conj_a": "conj_b", "conj_b": "conj_a"}
    a, b, *scale = stmt.ins
    attrs = {names.get(n, n): v for n, v in stmt.attrs.items()}
    if TOUCHED in attrs:
        attrs[TOUCHED] = placed(attrs[TOUCHED], (ix(axis(2)), ix(axis(1)), ix(axis(0))))
    return replace(stmt, outs=(stmt.outs[0].transposed,), ins=(b.transposed, a.transposed, *scale),
                   attrs=MappingProxyType(attrs))


def _with_mask(attrs: Mapping[str, Any], touched: Expr | None) -> dict[str, Any]:
    return {n: v for n, v in attrs.items() if n != TOUCHED} | ({} if touched is None else {TOUCHED: touched})


def _window(view: View) -> _Window | None:
    starts, frame = {}, []
    for i in view.index:
        here = [d for d in (0, 1) if axis(d) in i.symbols]
        if not here:
            frame.append(i)
            continue
        offset = (i - axis(here[0])).const
        if len(here) > 1 or offset is None or here[0] in starts:
            return None
        starts[here[0]] = offset
        frame.append(ix(axis(here[0])))
    extent = [n.const for n in view.shape]
    if len(starts) < 2 or extent[0] is None or extent[1] is None:
        return None
    return _Window((view.array, *frame), (starts[0], starts[1]), (extent[0], extent[1]))


def _hull(a: View, b: View) -> tuple[_Window, _Window, _Window] | None:
    """The window around both, which they fill and whose columns both have; and the two windows."""
    p, q = _window(a), _window(b)
    if p is None or q is None or p.frame != q.frame or (p.start[1], p.stop[1]) != (q.start[1], q.stop[1]):
        return None
    if max(p.start[0], q.start[0]) > min(p.stop[0], q.stop[0]):
        return None
    first, last = min(p.start[0], q.start[0]), max(p.stop[0], q.stop[0])
    return _Window(p.frame, (first, p.start[1]), (last - first, p.extent[1])), p, q


def _is_worth_it(out: tuple[_Window, ...], right: tuple[_Window, ...], first: Lib, second: Lib) -> bool:
    """Whether the merged product has clearly fewer multiplications than both together."""
    parts = sum(out[n].extent[0] * right[n].extent[0] for n in (1, 2))
    return out[0].extent[1] >= thresholds().merged_columns and 4 * out[0].extent[0] * right[0].extent[0] <= 3 * parts


def _widened(view: View, old: _Window, hull: _Window) -> View:
    """The view with its rows replaced by those of the hull."""
    shift = {axis(0): ix(axis(0)) + (hull.start[0] - old.start[0])}
    return replace(view, shape=(ix(hull.extent[0]), view.shape[1]), index=tuple(i.subs(shift) for i in view.index))


def _part(held: View, place: tuple[int, int], like: View) -> View:
    """The elements of a matrix from `place` on, as many as another one has."""
    return View(held.array, like.shape, tuple(ix(axis(d)) + n for d, n in enumerate(place)), held.dtype)


def _stored(target: View, terms: Sequence[View], op: str | None, stmt: Stmt) -> Map:
    """`target[p] = sum of term[p]`, or `+=`."""
    domain, here = target.points("m")
    loads: list[Expr] = [v.load(here) for v in terms]
    zero: Expr = algebra.zero(target.dtype)
    value = reduce(algebra.add, loads, zero)
    return Map(domain, (Store(target.array, target.at(here), value, op),), stmt.source)
