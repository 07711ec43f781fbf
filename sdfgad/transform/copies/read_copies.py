"""Read the copy instead of the copied array, as long as both hold the same."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sdfgad.ir.program import Array, Block, Map, Program, Stmt, Store
from sdfgad.ir.renamed import RenamedArrays, renamed
from sdfgad.ir.walk import all_reads, all_writes, rebuild_blocks, statements
from sdfgad.transform.spelling import whole_copy


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
class _WholeCopy:
    """`target` holds what is in `source`."""

    target: str
    source: str


def _copy(stmt: Stmt, arrays: Mapping[str, Array]) -> _WholeCopy | None:
    """A statement as the copy of a whole array of numbers to the same places of another one."""
    names = whole_copy(stmt, arrays)
    # Of integers elements may decide places, which are written otherwise.
    return _WholeCopy(*names) if names is not None and arrays[names[0]].dtype.kind in "fc" else None


def _redirect(work: list[Stmt], start: int, copy: _WholeCopy) -> None:
    """Change the statements of a block from a place on, until the two arrays may differ."""
    for k in range(start, len(work)):
        written = all_writes((work[k],))
        if copy.target in written:
            return
        if copy.source in written:
            work[k] = _until_written(work[k], copy)
            return
        if copy.source in all_reads((work[k],)):
            work[k] = renamed((work[k],), {copy.source: copy.target})[0]


def _until_written(stmt: Stmt, copy: _WholeCopy) -> Stmt:
    """A map that looks at the copy until it has written the source itself.

    Iterations see nothing of each other; so what one reads, nobody but itself has written.
    """
    if not isinstance(stmt, Map):
        return stmt
    first = next(k for k, p in enumerate(stmt.body) if isinstance(p, Store) and p.array == copy.source)
    names = RenamedArrays(lambda n: copy.target if n == copy.source else n)
    parts = (replace(p, expr=names.expr(p.expr)) for p in stmt.body[:first + 1])
    return replace(stmt, body=(*parts, *stmt.body[first + 1:]))
