"""Matrices that are only scaled on their way into or out of a product: BLAS does that for nothing."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeGuard

from sdfgad.ir import algebra
from sdfgad.ir.expr import Const, Expr, Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Lib, Map, Program, Stmt, Store, View
from sdfgad.ir.walk import reads, rebuild_blocks, statements, writes
from sdfgad.transform.products.products import terms


def fold_scales(program: Program) -> Program:
    """map i, j: t[i, j] = s * A[i, j] ; C = matmul(t, B)     ->   C = matmul(A, B, s)
    t = matmul(A, B) ; map i, j: C[i, j] += s * t[i, j]   ->   C += matmul(A, B, s)

    For temporaries, not in `seen`, and scales that are a number or a scalar. A copy that others read too stays.
    """
    free = {n for n, a in program.arrays.items() if a.role == "transient"} - program.live_out
    touched = Counter(n for s in statements(program.body) for n in reads(s) | writes(s))
    work = _Folding(program, free, {n for n in free if touched[n] == 2})
    return program.but(body=rebuild_blocks(program.body, work.block))


@dataclass(frozen=True)
class _Scaled:
    """`target[p] = scale * source[q(p)]` for all elements p of a box that starts at zero; `names`: p as variables."""

    target: str
    names: tuple[str, ...]
    op: str | None
    scale: Expr
    source: Load
    shape: tuple[Ix, ...]


@dataclass(frozen=True)
class _Folding:
    program: Program
    free: set[str]
    passing: set[str]  # one statement makes them, one reads them; fewer while products take originals of copies

    def block(self, work: list[Stmt]) -> Block:
        """The rule inside one block."""
        for k, stmt in enumerate(work):
            copy = _scaled(stmt)
            # What is scaled where it stands leaves no original behind.
            if copy is not None and copy.target in self.free - {copy.source.array} and copy.op is None \
                    and self.is_whole(copy):
                self.into(work, k, copy)
        for k, stmt in enumerate(work):
            place = self.outlet(work, k)
            if isinstance(stmt, Lib) and place is not None:
                work[place], work[k] = self.out_of(stmt, work[place]) or (work[place], stmt)
        return tuple(s for s in work if s != Map((), ()))

    def is_whole(self, copy: _Scaled) -> bool:
        return tuple(n.const for n in copy.shape) == self.program.arrays[copy.target].shape

    def into(self, work: list[Stmt], k: int, copy: _Scaled) -> None:
        """The products behind a scaled copy that can take the original."""
        needed = reads(work[k]) | {copy.target}
        for place in range(k + 1, len(work)):
            stmt = work[place]
            if _is_product(stmt):
                work[place] = _with_original(stmt, copy)
                if work[place] is not stmt:
                    self.passing.discard(copy.source.array)
            if not needed.isdisjoint(n for s in statements((stmt,)) for n in writes(s)):
                return

    def outlet(self, work: Sequence[Stmt], k: int) -> int | None:
        """Where the product made by `work[k]`, a temporary, is read."""
        stmt = work[k]
        if not _is_product(stmt) or stmt.attrs.get("accumulate") or stmt.outs[0].array not in self.passing \
                or stmt.outs[0] != self.program.arrays[stmt.outs[0].array].whole:
            return None
        for place in range(k + 1, len(work)):
            here = list(statements((work[place],)))
            if any(stmt.outs[0].array in reads(s) for s in here):
                return place
            if not reads(stmt).isdisjoint(n for s in here for n in writes(s)):
                return None
        return None

    def out_of(self, product: Lib, reader: Stmt) -> tuple[Stmt, Stmt] | None:
        """The product that goes straight to its target, and nothing in its place."""
        held, copy = product.outs[0], _scaled(reader)
        if copy is None or copy.source.array != held.array or copy.op not in (None, "+"):
            return None
        if copy.source.index != tuple(ix(n) for n in copy.names) or copy.shape != held.shape:
            return None
        made = None if copy.target in reads(product) else _rescaled(product, copy.scale)
        if made is None or self.program.arrays[copy.target].dtype != held.dtype:
            return None
        attrs = {**made.attrs, **({"accumulate": True} if copy.op else {})}
        out = replace(self.program.arrays[copy.target].whole, shape=copy.shape)
        return replace(made, outs=(out,), attrs=MappingProxyType(attrs)), Map((), ())


def _is_product(stmt: Stmt) -> TypeGuard[Lib]:
    """Whether a statement is a product with the library's speed. One with a vector may be written out: then each of its
    terms would have the factor."""
    return isinstance(stmt, Lib) and stmt.op == "matmul" and len(stmt.outs[0].shape) > 1


def _scaled(stmt: Stmt) -> _Scaled | None:
    """A map that copies a matrix element by element, with a factor."""
    if not isinstance(stmt, Map) or len(stmt.body) != 1 or not isinstance(stmt.body[0], Store):
        return None
    store, names = stmt.body[0], tuple(r.var for r in stmt.domain)
    if store.index != tuple(ix(n) for n in names) or any(r.start.const != 0 or r.step != 1 for r in stmt.domain):
        return None
    found = terms(store.expr, frozenset(names))
    if len(found) != 1 or len(found[0].factors) != 1 or not isinstance(found[0].factors[0], Load):
        return None
    scale, source = found[0].scale, found[0].factors[0]
    if not isinstance(scale, (Const, Load)) or source.dtype != store.expr.dtype:
        return None
    return _Scaled(store.array, names, store.op, scale, source, tuple(r.stop for r in stmt.domain))


def _with_original(stmt: Lib, copy: _Scaled) -> Lib:
    """The product of what was copied, scaled, in place of the copy."""
    for k, view in enumerate(stmt.ins[:2]):
        if view.array != copy.target or stmt.outs[0].array == copy.source.array:
            continue
        conj = stmt.attrs.get(("conj_a", "conj_b")[k]) and view.dtype.kind == "c"
        made = None if conj else _rescaled(stmt, copy.scale)
        if made is not None:
            at = dict(zip(copy.names, view.index, strict=True))
            original = View(copy.source.array, view.shape, tuple(i.subs(at) for i in copy.source.index), view.dtype)
            stmt = replace(made, ins=tuple(original if n == k else v for n, v in enumerate(made.ins)))
    return stmt


def _rescaled(stmt: Lib, scale: Expr) -> Lib | None:
    """The product times a scale; None when it has two scalars already."""
    if isinstance(scale, Load):
        scalar = View(scale.array, (), scale.index, scale.dtype)
        return None if len(stmt.ins) > 2 else replace(stmt, ins=(*stmt.ins, scalar))
    if not isinstance(scale, Const) or stmt.outs[0].dtype.kind not in "fc":
        return None
    whole = algebra.number(scale.value * stmt.attrs.get("factor", 1), stmt.outs[0].dtype)
    return replace(stmt, attrs=MappingProxyType({**stmt.attrs, "factor": whole.value}))
