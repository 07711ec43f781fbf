"""Parts of arrays: statements that look at one row of an array alone are given the row, and not the array.

map i: y[i] = A[k, i] * x[i]   ->   map i: y[i] = row[i] * x[i], of A[k]

So what a routine has derivatives by is as large as what it looks at, however long the loop is that k counts.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Lib, Map, Stmt, View, axis, view_of
from sdfgad.ir.walk import map_accesses

Index = tuple[Ix, ...]


def parts_read(body: Block, arrays: Mapping[str, Array], free: Set[str], inside: Set[str]) -> dict[str, View]:
    """For each array, the part that all statements look at, as a view of it.

    free: variables that mean the same throughout; inside: arrays that the statements make.
    """
    seen: dict[str, list[Index]] = {n: [] for n in arrays}
    for stmt in body:
        _look(stmt, seen)
    sure: dict[str, list[Index]] = {n: [] for n in arrays}
    for stmt in body:
        if isinstance(stmt, Lib) or isinstance(stmt, Map) and all(r.trips for r in stmt.domain):
            _look(stmt, sure)
    return {n: _part(a, _common(seen[n], free, inside) if sure[n] else ()) for n, a in arrays.items()}


def on_parts(body: Block, parts: Mapping[str, View]) -> Block:
    """The statements with the indices that are left of those of the arrays."""
    fixed = {n: len(v.index) - len(v.shape) for n, v in parts.items()}
    return tuple(map_accesses(s, lambda array, index: index[fixed.get(array, 0):]) for s in body)


def _look(stmt: Stmt, seen: dict[str, list[Index]]) -> None:
    def note(array: str, index: Index) -> Index:
        if array in seen:
            seen[array].append(index)
        return index

    map_accesses(stmt, note)


def _common(indices: Iterable[Index], free: Set[str], inside: Set[str]) -> Index:
    """The first indices, as far as they are the same everywhere."""
    first, *others = indices
    found: list[Ix] = []
    for k, i in enumerate(first):
        if not i.symbols <= free or any(e.array in inside for e in i.elems) or any(o[k] != i for o in others):
            break
        found.append(i)
    return tuple(found)


def _part(array: Array, fixed: Index) -> View:
    if not fixed:
        return view_of(array)
    rest = array.shape[len(fixed):]
    return View(array.name, tuple(map(ix, rest)), (*fixed, *(ix(axis(k)) for k in range(len(rest)))), array.dtype)
