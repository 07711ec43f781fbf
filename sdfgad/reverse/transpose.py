"""Transpose linear statements: from "tangents of the reads to tangents of the writes" to cotangents the other way.

For `dA[f(i)] = sum_k p_k * dB_k[g_k(i)]` the transpose is `t = dA[f(i)]; dA[f(i)] = 0; dB_k[g_k(i)] += conj(p_k) * t`.
A cotangent has the name of the tangent: a linear program and its transpose speak of the same arrays.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.elements.access import Access, Site, extent_bound, interval_env, position, same_instance_overlap
from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.errors import unsupported
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, Local, certain, rewrite, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.messages import OP, dual, received, sent
from sdfgad.ir.own import DerivativeRule
from sdfgad.ir.program import (
    Array,
    Block,
    Let,
    Lib,
    Map,
    Range,
    Stmt,
    Store,
    View,
    all_of,
)
from sdfgad.reverse.coefficients import collect_coefficients
from sdfgad.reverse.factors import factor_out
from sdfgad.reverse.gather import GatheredTerm, gather
from sdfgad.reverse.guards import together
from sdfgad.reverse.shared_terms import keep_shared, share_all
from sdfgad.rules.linear import UNARY, conj, strong_product, transposed_complex
from sdfgad.rules.linearise import finish
from sdfgad.transform.routines import copied, operands, put_in

IsTangent = Callable[[str], bool]


@dataclass(frozen=True)
class TangentScope:
    """Where linear statements are transposed: which arrays are tangents, how to make one, the loops around."""

    is_tangent: IsTangent
    fresh: Callable[..., Array]
    path: tuple[Range, ...] = ()


def transpose(linear: Iterable[Stmt], scope: TangentScope) -> Block:
    """The transposed statements, in the order they run."""
    out: list[Stmt] = []
    for stmt in reversed(tuple(linear)):
        out.extend(transpose_map(stmt, scope) if isinstance(stmt, Map) else transpose_lib(stmt, scope))
    return tuple(out)


def transpose_map(stmt: Map, scope: TangentScope) -> list[Stmt]:
    """Each store becomes: contributions to what it read, then its own cotangent is cleared (unless it accumulated)."""
    out: list[Stmt] = []
    for store in reversed(stmt.body):
        if not isinstance(store, Store):
            raise TypeError("a linear map holds stores only")
        g = Load(store.array, store.index, store.expr.dtype)
        terms = [GatheredTerm(n.array, n.index, finish(e)) for n, e in contributions(store.expr, g, scope.is_tangent)]
        out.extend(_scatter(stmt, store, terms, scope))
    return out


def _scatter(stmt: Map, store: Store, terms: list[GatheredTerm], scope: TangentScope) -> list[Stmt]:
    """Statements that add every term to its cell, reading the cotangent of the store before it is cleared."""
    same = [t for t in terms if (t.array, t.index) == (store.array, store.index)]
    other = [t for t in terms if t not in same]
    apart = all(t.array != store.array or _disjoint(stmt, store, t, scope.path) for t in other)
    if store.op is not None and (same or not apart):
        raise unsupported(stmt.source, "an accumulation that reads its own target", "", "SG190")
    if not apart and not stmt.domain:
        return [_scalar_scatter(stmt, store, same, other)]
    if not apart:
        return _scatter_from_copy(stmt, store, terms, scope)
    prepared = factor_out(stmt, store, other) if store.op is None and not same else None
    first, other = ([prepared[0]], prepared[1]) if prepared else ([], other)
    out, together = _spread(stmt, store, other, scope)
    if store.op is None:
        keep = same[0].expr if same else algebra.zero(store.expr.dtype)
        if not (same and keep == Load(store.array, store.index, store.expr.dtype)):
            together.append(Store(store.array, store.index, keep))
    return [*first, *out, *([Map(stmt.domain, tuple(together), stmt.source)] if together else [])]


def _spread(stmt: Map, store: Store, terms: list[GatheredTerm], scope: TangentScope) -> tuple[list[Stmt], list[Store]]:
    """Statements of their own for terms whose iterations collide, and stores that can share one map."""
    collected = collect_coefficients(stmt, Load(store.array, store.index, store.expr.dtype), terms)
    if share_all(stmt, collected):
        return [], [Store(t.array, t.index, t.expr, "+") for t in collected]
    first, collected = keep_shared(stmt, collected, scope.fresh, scope.path)
    groups: dict[str, list[GatheredTerm]] = {}
    for t in collected:
        groups.setdefault(t.array, []).append(t)
    out: list[Stmt] = [*first]
    together: list[Store] = []
    for array, group in groups.items():
        if len(group) == 1 and is_pointwise(stmt.domain, group[0].index):
            together.append(Store(array, group[0].index, group[0].expr, "+"))
        else:
            out.extend(gather(stmt, group))
    return out, together


def _scalar_scatter(stmt: Map, store: Store, same: list[GatheredTerm], other: list[GatheredTerm]) -> Map:
    """One element: take its cotangent, clear it, add; right also when a term turns out to be the same element."""
    g = Load(store.array, store.index, store.expr.dtype)
    taken = Local("taken", g.dtype)

    def use(e: Expr) -> Expr:
        return rewrite(e, lambda n: taken if n == g else None)

    keep = use(same[0].expr) if same else algebra.zero(g.dtype)
    own = () if keep == taken else (Store(store.array, store.index, keep),)
    return Map((), (Let("taken", g), *own, *(Store(t.array, t.index, use(t.expr), "+") for t in other)), stmt.source)


def _scatter_from_copy(stmt: Map, store: Store, terms: list[GatheredTerm], scope: TangentScope) -> list[Stmt]:
    """Move the cotangent to an array of its own first: right whatever the terms reach."""
    extents = tuple(_most_trips(r, (*scope.path, *stmt.domain), stmt) for r in stmt.domain)
    held = scope.fresh("lin", extents, store.expr.dtype)
    at = position(stmt)
    g, copy = Load(store.array, store.index, store.expr.dtype), Load(held.name, at, held.dtype)
    clear_own = Store(store.array, store.index, algebra.zero(held.dtype))
    moved = [GatheredTerm(t.array, t.index, rewrite(t.expr, lambda n: copy if n == g else None)) for t in terms]
    out, together = _spread(stmt, replace(store, array=held.name, index=at), moved, scope)
    tail = [Map(stmt.domain, tuple(together), stmt.source)] if together else []
    return [Map(stmt.domain, (Store(held.name, at, g), clear_own), stmt.source), *out, *tail]


def _most_trips(r: Range, around: tuple[Range, ...], stmt: Stmt) -> int:
    extent = extent_bound(r, interval_env(around))
    if extent is None:
        raise unsupported(stmt.source, "an update in place over a range known only at run time", "", "SG190")
    return extent


def _disjoint(stmt: Map, store: Store, term: GatheredTerm, path: tuple[Range, ...]) -> bool:
    """Whether no iteration adds to an element whose cotangent some iteration reads."""
    site = Site(path, 0, 1)
    read = Access(store.array, store.index, stmt.domain, site, 0)
    return not same_instance_overlap(read, Access(term.array, term.index, stmt.domain, site, 1))


def contributions(root: Expr, g: Expr, is_tangent: IsTangent) -> list[tuple[Load, Expr]]:
    """For each tangent the linear expression loads: its cotangent, as an expression in `g`."""
    pending: dict[Expr, dict[Expr | None, Expr]] = {root: {None: g}}
    found = []
    sure = {n for n in walk(root) if isinstance(n, Load) and is_tangent(n.array)}
    sure.update(n for n in walk(root, certain) if isinstance(n, Load))
    for node in reversed(list(walk(root))):
        parts = pending.pop(node, {})
        for guard, cotangent in [together(node, parts, sure)] if isinstance(node, Call) and len(parts) > 1 else \
                parts.items():
            if isinstance(node, Load):
                if is_tangent(node.array):
                    found.append((node, guard, cotangent))
            elif isinstance(node, Call):
                for operand, condition, part in _operands(node, cotangent):
                    where = guard if condition is None else algebra.both(guard, condition)
                    slot = pending.setdefault(operand, {})
                    slot[where] = algebra.add(slot[where], part) if where in slot else part
            elif not algebra.is_number(node, 0):
                raise TypeError(f"not linear: {node}")
    return _merged(found)


def _merged(found: list[tuple[Load, Expr | None, Expr]]) -> list[tuple[Load, Expr]]:
    total: dict[Load, Expr] = {}
    for node, guard, cotangent in found:
        part = cotangent if guard is None else algebra.select(guard, cotangent, algebra.zero(cotangent.dtype))
        total[node] = algebra.add(total[node], part) if node in total else part
    return list(total.items())


def _operands(node: Call, g: Expr) -> list[tuple[Expr, Expr | None, Expr]]:
    """(operand, condition under which it receives, its cotangent) for one linear function."""
    if node.fn in UNARY:
        return [(node.args[0], None, UNARY[node.fn](g, node.args[0].dtype))]
    return _TRANSPOSE[node.fn](node.args, g)


def _select(args: tuple[Expr, ...], g: Expr) -> list[tuple[Expr, Expr | None, Expr]]:
    condition, yes, no = args
    otherwise = Call("not", (condition,), np.dtype(bool))
    pairs = ((yes, condition), (no, otherwise))
    return [(operand, c, g) for operand, c in pairs if not isinstance(operand, Const)]


_TRANSPOSE: MappingProxyType[str, Callable[[tuple[Expr, ...], Expr], list[tuple[Expr, Expr | None, Expr]]]]
_TRANSPOSE = MappingProxyType({
    "add": lambda a, g: [(a[0], None, g), (a[1], None, g)],
    "sub": lambda a, g: [(a[0], None, g), (a[1], None, algebra.neg(g))],
    "times": lambda a, g: [(a[1], None, algebra.mul(conj(a[0]), g))],
    "scale": lambda a, g: [(a[1], None, strong_product(conj(a[0]), g))],
    "select": _select,
    "complex": lambda a, g: [(x, None, p) for x, p in zip(a, transposed_complex(g), strict=True)
                             if not isinstance(x, Const)],
})


def transpose_lib(stmt: Stmt, scope: TangentScope) -> list[Stmt]:
    """A linear library node becomes library nodes on the cotangents, then its own cotangent is cleared."""
    if isinstance(stmt, Lib) and stmt.op == OP:
        return _message(stmt, scope)
    if not isinstance(stmt, Lib) or stmt.op not in _LIBRARY:
        raise unsupported(stmt.source, "a library operation that cannot be transposed", "", "SG190")
    out = _LIBRARY[stmt.op](stmt, scope)
    return out if stmt.attrs.get("accumulate") else [*out, clear(stmt.outs[0], stmt)]


def clear(view: View, stmt: Stmt) -> Map:
    """Set every element of a view to zero."""
    domain, at = _points(view)
    return Map(domain, (Store(view.array, at, algebra.zero(view.dtype)),), stmt.source)


def _points(view: View) -> tuple[tuple[Range, ...], tuple[Ix, ...]]:
    domain = all_of(view.shape)
    return domain, view.at(tuple(ix(r.var) for r in domain))


def _lib(op: str, out: View, ins: tuple[View, ...], stmt: Lib, **attrs: object) -> Lib:
    kept = {k: v for k, v in attrs.items() if v is not False or k in ("lower", "unit", "inverse", "scaled")}
    return Lib(op, (out,), ins, MappingProxyType(kept), stmt.source)


def _matmul(stmt: Lib, scope: TangentScope) -> list[Stmt]:
    """C = A B transposes to A += C B^H or B += A^H C. A factor taken conjugated also conjugates the cotangent."""
    (a, b), g = stmt.ins, stmt.outs[0]
    conj_a, conj_b = bool(stmt.attrs.get("conj_a")), bool(stmt.attrs.get("conj_b"))
    factor = g.dtype.kind == "c" and conj_a == conj_b
    if scope.is_tangent(a.array):
        if len(b.shape) == 2:
            return [_lib("matmul", a, (g, b.transposed), stmt, accumulate=True, conj_a=conj_a, conj_b=factor)]
        return [_outer(a, g, b, conj_a, factor, stmt)]
    if len(a.shape) == 2:
        return [_lib("matmul", b, (a.transposed, g), stmt, accumulate=True, conj_a=factor, conj_b=conj_b)]
    return [_outer(b, a, g, factor, conj_b, stmt)]


def _outer(out: View, left: View, right: View, conj_left: bool, conj_right: bool, stmt: Lib) -> Map:
    """`out[i, j] += left[i] * right[j]`"""
    domain, at = _points(out)
    i, j = (ix(r.var) for r in domain)
    x, y = left.load((i,)), right.load((j,))
    product = algebra.mul(conj(x) if conj_left else x, conj(y) if conj_right else y)
    return Map(domain, (Store(out.array, at, product, "+"),), stmt.source)


def _solve(stmt: Lib, scope: TangentScope) -> list[Stmt]:
    """X = A^-1 B transposes to B += A^-H X; the scratch B of the linear program is written nowhere else."""
    factors, pivots, b = stmt.ins
    adjoint = not stmt.attrs.get("adjoint", False)
    return [_lib("solve", b, (factors, pivots, stmt.outs[0]), stmt, adjoint=adjoint)]


def _trsolve(stmt: Lib, scope: TangentScope) -> list[Stmt]:
    """The same for one triangle of A."""
    a, b = stmt.ins
    attrs = {**stmt.attrs, "lower": not stmt.attrs["lower"]}
    solve = _lib(stmt.op, b, (a.transposed, stmt.outs[0]), stmt, **attrs)
    if a.dtype.kind != "c":
        return [solve]
    held = scope.fresh("conj", tuple(n.const or 0 for n in a.shape), a.dtype).whole
    return [_each(held, lambda p: conj(a.load(p)), None, stmt), replace(solve, ins=(held.transposed, stmt.outs[0]))]


def _fft(stmt: Lib, scope: TangentScope) -> list[Stmt]:
    """The adjoint of the transform is the inverse one, as they are without a division by n, or both with it. Where
    numbers are real on one side, real parts are all that is asked for on the other one."""
    return [_lib("fft", stmt.ins[0], (stmt.outs[0],), stmt, accumulate=True, inverse=not stmt.attrs["inverse"],
                 scaled=stmt.attrs["scaled"])]


def _cholesky(stmt: Lib, scope: TangentScope) -> list[Stmt]:
    """The cotangent of a factor becomes, through a scratch of its own, one of the matrix: of its lower triangle. The
    other way round, each is the adjoint of the other one."""
    factor, matrix = stmt.ins
    held = scope.fresh("lin", tuple(n.const or 0 for n in matrix.shape), matrix.dtype).whole
    dual = {"cholesky_tangent": "cholesky_adjoint", "cholesky_adjoint": "cholesky_tangent"}[stmt.op]
    return [_lib(dual, held, (factor, stmt.outs[0]), stmt),
            _each(matrix, lambda p: held.load(p), "+", stmt)]


def _message(stmt: Lib, scope: TangentScope) -> list[Stmt]:
    """y = message(x) transposes to x += dual(y) ; y = 0, where x may share elements with y."""
    held = tuple(scope.fresh("lin", tuple(n.const or 0 for n in v.shape), v.dtype).whole for v in sent(stmt))
    out: list[Stmt] = [dual(stmt, held, received(stmt))]
    out += [clear(v, stmt) for v in received(stmt)]
    return [*out, *(_each(v, lambda p, h=h: h.load(p), "+", stmt)  # type: ignore[misc]
                    for v, h in zip(sent(stmt), held, strict=True))]


def _each(out: View, element: Callable[[tuple[Ix, ...]], Expr], op: str | None, stmt: Stmt) -> Map:
    domain, at = _points(out)
    return Map(domain, (Store(out.array, at, element(tuple(ix(r.var) for r in domain)), op),), stmt.source)


def _own(stmt: Lib, scope: TangentScope) -> list[Stmt]:
    """The reverse routine of the rule: its statements, on arrays of their own; what it reads is as at the operation."""
    rule: DerivativeRule = stmt.attrs["rule"]
    numbers: tuple[int, ...] = stmt.attrs["inputs"]
    if rule.reverse is None:
        raise unsupported(stmt.source, f"reverse mode through {rule.name}, of which a tangent is all that is known",
                          "use jvp, or give it a reverse rule with sdfgad.custom_vjp", "SG135")
    given, copies = operands((*rule.read, *((rule.answer,) if rule.answer else ())), stmt.ins[len(numbers):],
                             scope.fresh, stmt.source)
    held, arrays = put_in(rule.reverse, given, scope.fresh)
    out = [*copies, copied(arrays[rule.reverse.takes[0]], stmt.outs[0], None, stmt.source), *held]
    for k, view in zip(numbers, stmt.ins, strict=False):
        name = rule.reverse.gives[k]
        if name is not None:
            out.append(copied(view, arrays[name], "+", stmt.source))
    return out


_LIBRARY = MappingProxyType({"own_linear": _own, "matmul": _matmul, "solve": _solve, "trsolve": _trsolve, "fft": _fft,
                             "cholesky_tangent": _cholesky, "cholesky_adjoint": _cholesky})
