"""Read what was kept where it was kept, without bringing it back first."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.analysis.loops.rows import stride
from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.program import IN_MEMORY, Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, children, in_terms_of, reads, with_children


@dataclass(frozen=True)
class KeptCopy:
    """target = source at every point of a domain, each with an element of its own."""

    domain: tuple[Range, ...]
    target: Load
    source: Load


def propagate_kept_copies(program: Program) -> Program:
    """map j: x[k, j] = tape[k - 1, j] ; map j: y[j] += x[k, j] * x[k - 1, j]
    ->   map j: x[k, j] = tape[k - 1, j] ; map j: y[j] += tape[k - 1, j] * x[k - 1, j]

    In parallel loops, where everything is near: elements that one statement of a block copies and another one looks at,
    at the same points, as long as both arrays stay what they are. Nobody may look at the copy any more after that
    (`unread.py`).
    """
    body = tuple(_changed(s, program.arrays, False) for s in program.body)
    return program.but(body=body) if body != program.body else program


def _changed(stmt: Stmt, arrays: Mapping[str, Array], near: bool) -> Stmt:
    near = near or isinstance(stmt, Loop) and stmt.parallel
    blocks = [tuple(_changed(s, arrays, near) for s in b) for b in children(stmt)]
    return with_children(stmt, [_redirected(b, arrays) for b in blocks] if near else blocks)


def _redirected(block: Block, arrays: Mapping[str, Array]) -> Block:
    """The block with loads from the source of a copy, up to the first statement that writes one of the two arrays."""
    work = list(block)
    for k, stmt in enumerate(block):
        copy = copy_of(work[k], arrays) if isinstance(stmt, Map) else None
        for j in range(k + 1, len(work) if copy is not None else 0):
            if copy is None or not all_writes((work[j],)).isdisjoint((copy.target.array, copy.source.array)):
                break
            work[j] = _elsewhere(work[j], copy)
    return tuple(work)


def copy_of(stmt: Stmt, arrays: Mapping[str, Array]) -> KeptCopy | None:
    """A statement as a copy of numbers, element by element, to places no nearer to each other than where they are."""
    part = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    if not isinstance(stmt, Map) or not isinstance(part, Store) or part.op or not isinstance(part.expr, Load):
        return None
    made, kept = arrays[part.array], arrays[part.expr.array]
    plain = all(a.role in IN_MEMORY and a.packing is None and a.dtype == part.expr.dtype and a.dtype.kind in "fc"
                for a in (made, kept))
    if not plain or made is kept or any(i.elems for i in (*part.index, *part.expr.index)) \
            or not is_pointwise(stmt.domain, part.index):
        return None
    steps = ((stride(kept, part.expr.index, r.var), stride(made, part.index, r.var)) for r in stmt.domain)
    if not all(a is not None and b is not None and abs(a) <= abs(b) for a, b in steps):
        return None
    return KeptCopy(stmt.domain, Load(part.array, part.index, made.dtype), part.expr)


def _elsewhere(stmt: Stmt, copy: KeptCopy) -> Stmt:
    """A map over the same points with loads from the source in place of loads of the very elements copied."""
    if not isinstance(stmt, Map) or copy.target.array not in reads(stmt):
        return stmt
    here = in_terms_of(copy.domain, stmt)
    if here is None:
        return stmt

    def one(n: Expr) -> Expr | None:
        return copy.source if n == copy.target else None

    body = tuple(replace(p, expr=rewrite(p.expr, one)) for p in here.body)
    return replace(here, body=body) if body != here.body else stmt
