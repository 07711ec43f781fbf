"""Read the copy instead of the copied array, as long as both hold the same."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.cover import covers
from sdfgad.ir.expr import Expr, Load, loads, rewrite
from sdfgad.ir.program import Array, Block, If, Let, Lib, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, rebuild, rebuild_blocks, statements
from sdfgad.transform.spelling import only_store


def read_copies(program: Program, sources: Collection[str]) -> Program:
    """map i: t[i] = s[i] ; y = f(s) ; s = g(s)   ->   map i: t[i] = s[i] ; y = f(t) ; s = g(t)

    For whole arrays of numbers (`sources`: those to read less of), in the statements of the copy's own block up to the
    first one that writes either array; of a map that writes the source, what it reads before.
    """
    def block(work: list[Stmt]) -> Block:
        for k, stmt in enumerate(work):
            copy = _copy(stmt, program.arrays)
            if copy is not None and copy.source in sources:
                _redirect(work, k + 1, copy)
        return tuple(work)

    body = rebuild_blocks(program.body, block)
    return program.but(body=body) if body != program.body else program


def copied(program: Program) -> frozenset[str]:
    """The arrays that may be read from a copy."""
    found = (_copy(s, program.arrays) for s in statements(program.body))
    return frozenset(copy.source for copy in found if copy is not None)


@dataclass(frozen=True)
class _Copy:
    """`target` holds what is in `source`."""

    target: str
    source: str

    def of(self, e: Expr) -> Expr:
        """The expression that looks at the copy."""
        if not any(n.array == self.source for n in loads(e)):
            return e
        return rewrite(e, lambda n: replace(n, array=self.target)
                       if isinstance(n, Load) and n.array == self.source else None)


def _copy(stmt: Stmt, arrays: Mapping[str, Array]) -> _Copy | None:
    """A statement as the copy of a whole array of numbers to the same places of another one."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if not isinstance(stmt, Map) or store is None or not isinstance(store.expr, Load) or not store.index:
        return None
    load, target, source = store.expr, arrays[store.array], arrays[store.expr.array]
    # Of integers elements may decide places, which are written otherwise.
    if load.index != store.index or target.shape != source.shape or target.dtype != source.dtype or \
            target.dtype.kind not in "fc" or target.name == source.name:
        return None
    return _Copy(target.name, source.name) if covers(stmt, store, target) else None


def _redirect(work: list[Stmt], start: int, copy: _Copy) -> None:
    """Change the statements of a block from a place on, until the two arrays may differ."""
    for k in range(start, len(work)):
        written = all_writes((work[k],))
        if copy.target in written:
            return
        if copy.source in written:
            work[k] = _until_written(work[k], copy)
            return
        if copy.source in all_reads((work[k],)):
            work[k] = rebuild((work[k],), lambda s: (_reading(s, copy),))[0]


def _until_written(stmt: Stmt, copy: _Copy) -> Stmt:
    """A map that looks at the copy until it has written the source itself.

    Iterations see nothing of each other; so what one reads, nobody but itself has written.
    """
    if not isinstance(stmt, Map):
        return stmt
    first = next(k for k, p in enumerate(stmt.body) if isinstance(p, Store) and p.array == copy.source)
    parts = [replace(p, expr=copy.of(p.expr)) for p in stmt.body[:first + 1]]
    return _with_parts(stmt, (*parts, *stmt.body[first + 1:]))


def _reading(stmt: Stmt, copy: _Copy) -> Stmt:
    """A statement, not what it holds, that looks at the copy."""
    if isinstance(stmt, Map):
        return _with_parts(stmt, tuple(replace(p, expr=copy.of(p.expr)) for p in stmt.body))
    if isinstance(stmt, Lib):
        ins = tuple(replace(v, array=copy.target) if v.array == copy.source else v for v in stmt.ins)
        return replace(stmt, ins=ins) if ins != stmt.ins else stmt
    return replace(stmt, cond=copy.of(stmt.cond)) if isinstance(stmt, If) else stmt


def _with_parts(stmt: Map, parts: tuple[Let | Store, ...]) -> Map:
    return replace(stmt, body=parts) if parts != stmt.body else stmt
