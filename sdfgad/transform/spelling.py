"""Statements of a loop body spelled out as maps, so that the loop around them may become part of the map."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sdfgad.analysis.elements.access import always_inside, interval_env
from sdfgad.analysis.elements.cover import covers
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, index_elems, loads
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, If, Lib, Map, Range, Stmt, Store, View
from sdfgad.ir.walk import expr_reads, range_elems, reads, writes
from sdfgad.names import variable

Arrays = Mapping[str, Array]
Maps = tuple[Map, ...]


def as_maps(stmt: Stmt, arrays: Arrays, path: Sequence[Range]) -> Maps | None:
    """The maps a statement inside the loops `path` is made of; None when it is more than that."""
    if isinstance(stmt, Map):
        return (accumulating(stmt),)
    if isinstance(stmt, If):
        return _guarded(stmt, arrays, path)
    return _product(stmt) if isinstance(stmt, Lib) and stmt.op == "matmul" else None


def only_store(stmt: Map) -> Store | None:
    """The store of a map that does nothing else."""
    part = stmt.body[0]
    return part if len(stmt.body) == 1 and isinstance(part, Store) else None


def sum_over_all(stmt: Stmt) -> Store | None:
    """What a map adds to one element and does nothing else, over a box."""
    part = sum_along(stmt)
    return None if part is None or any(i.const is None for i in part.index) else part


def sum_along(stmt: Stmt) -> Store | None:
    """What a map over a box adds to elements in which not all its ranges have a say, and does nothing else."""
    part = only_store(stmt) if isinstance(stmt, Map) else None
    if part is None or not isinstance(stmt, Map) or part.op != "+" or any(i.elems for i in part.index) or \
            part.array in reads(replace(stmt, body=(replace(part, op=None),))):
        return None
    named = {s for i in part.index for s in i.symbols}
    box = all(r.step == 1 and r.start.const is not None and r.trips for r in stmt.domain)
    return part if box and not named.issuperset(r.var for r in stmt.domain) else None


def whole_copy(stmt: Stmt, arrays: Arrays) -> tuple[str, str] | None:
    """The names of two arrays that are alike when a statement copies all of the second one to the first one."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if not isinstance(stmt, Map) or store is None or not isinstance(store.expr, Load):
        return None
    copy, source = arrays[store.array], arrays[store.expr.array]
    same = store.index == store.expr.index and bool(store.index)
    return (copy.name, source.name) if alike(copy, source) and same and covers(stmt, store, copy) else None


def alike(one: Array, other: Array) -> bool:
    """Whether two arrays differ in nothing but their names and what they hold."""
    return (one.shape, one.dtype, one.packing) == (other.shape, other.dtype, None) and one.name != other.name


def accumulating(stmt: Map) -> Map:
    """x[i] = x[i] + e   ->   x[i] += e, where e does not read x[i]"""
    store = only_store(stmt)
    if store is None or store.op is not None or not isinstance(store.expr, Call) or store.expr.fn not in ("add", "sub"):
        return stmt
    own, (a, b) = Load(store.array, store.index, store.expr.dtype), store.expr.args
    if store.expr.fn == "add" and b == own:
        a, b = b, a
    if a != own or own in loads(b) or store.expr.dtype.kind not in "fci":
        return stmt
    return replace(stmt, body=(Store(store.array, store.index, algebra.neg(b) if store.expr.fn == "sub" else b, "+"),))


def _product(stmt: Lib) -> Maps | None:
    """Products with a vector, which a loop around them may make part of a larger product."""
    a, b = stmt.ins
    return None if len(a.shape) > 1 and len(b.shape) > 1 else product_as_maps(stmt)


def product_as_maps(stmt: Lib) -> Maps:
    """y = matmul(A, x)   ->   map i: y[i] = 0 ; map i, k: y[i] += A[i, k] * x[k], with the factors of a product"""
    a, b, *scales = stmt.ins
    out = stmt.outs[0]
    outer = tuple(Range(f"m{k}", ix(0), n) for k, n in enumerate(out.shape) if n.const != 1)
    inner = Range(variable("k"), ix(0), a.shape[-1])
    here, along = tuple(ix(0 if n.const == 1 else f"m{k}") for k, n in enumerate(out.shape)), ix(inner.var)
    left = _factor(a, (*here[:len(a.shape) - 1], along), bool(stmt.attrs.get("conj_a")))
    right = _factor(b, (along, *here[len(here) - len(b.shape) + 1:]), bool(stmt.attrs.get("conj_b")))
    at = out.at(here)
    value = algebra.mul(left, right)
    for scale in (algebra.number(stmt.attrs.get("factor", 1), out.dtype), *(_factor(v, (), False) for v in scales)):
        value = algebra.mul(scale, value)
    add = Map((*outer, inner), (Store(out.array, at, value, "+"),), stmt.source)
    clear = Map(outer, (Store(out.array, at, algebra.zero(out.dtype)),), stmt.source)
    return (add,) if stmt.attrs.get("accumulate") else (clear, add)


def _factor(view: View, at: tuple[Ix, ...], conjugated: bool) -> Expr:
    found = view.load(at)
    return Call("conj", (found,), found.dtype) if conjugated and found.dtype.kind == "c" else found


def _guarded(stmt: If, arrays: Arrays, path: Sequence[Range]) -> Maps | None:
    """if c: s += e   ->   s += select(c, e, 0)        if c: y[i] = e   ->   y[i] = select(c, e, y[i])

    Only the branch taken of a selection is evaluated, but the cotangents of all it names are added to, with zero.
    """
    then, orelse = _block(stmt.then, arrays, path), _block(stmt.orelse, arrays, path)
    if then is None or orelse is None:
        return None
    both = _either(stmt.cond, then, orelse)
    if both is not None and _exists(both, arrays, path):
        return (both,)
    otherwise = Call("not", (stmt.cond,), np.dtype(bool))
    made = [*(_when(stmt.cond, m) for m in then), *(_when(otherwise, m) for m in orelse)]
    maps = tuple(m for m in made if m is not None and _exists(m, arrays, path))
    condition = expr_reads(stmt.cond)
    steady = all(condition.isdisjoint(writes(m)) for m in maps[:-1])
    return maps if len(maps) == len(made) and steady else None


def _block(block: Block, arrays: Arrays, path: Sequence[Range]) -> Maps | None:
    found = [as_maps(s, arrays, path) for s in block]
    return None if None in found else tuple(m for maps in found for m in maps or ())


def _either(condition: Expr, then: Maps, orelse: Maps) -> Map | None:
    """if c: s += e ; else: s += f   ->   s += select(c, e, f)"""
    if len(then) != 1 or len(orelse) != 1 or then[0].domain != orelse[0].domain:
        return None
    a, b = only_store(then[0]), only_store(orelse[0])
    if a is None or b is None or (a.array, a.index, a.op) != (b.array, b.index, b.op):
        return None
    return replace(then[0], body=(replace(a, expr=algebra.select(condition, a.expr, b.expr)),))


def _when(condition: Expr, stmt: Map) -> Map | None:
    store = only_store(stmt)
    if store is None or store.op not in (None, "+"):
        return None
    dtype = store.expr.dtype
    otherwise: Expr = algebra.zero(dtype) if store.op else Load(store.array, store.index, dtype)
    return replace(stmt, body=(replace(store, expr=algebra.select(condition, store.expr, otherwise)),))


def _exists(stmt: Map, arrays: Arrays, path: Sequence[Range]) -> bool:
    """Whether all elements that a map names are elements of their arrays, whatever the condition."""
    store = only_store(stmt)
    if store is None:
        return False
    env = interval_env((*path, *stmt.domain))
    named = [(store.array, store.index), *((n.array, n.index) for n in loads(store.expr))]
    elems = [*(e for _, index in named for i in index for e in i.elems), *index_elems(store.expr),
             *(e for r in stmt.domain for e in range_elems(r))]
    return all(always_inside(index, arrays[name].shape, env) for name, index in
               [*named, *((e.array, e.parts) for e in elems)])

