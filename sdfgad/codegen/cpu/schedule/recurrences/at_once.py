"""Sums in a loop that load or store less for several iterations together."""
from __future__ import annotations

from collections.abc import Mapping

from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.analysis.loops.rows import stride, touches
from sdfgad.ir.expr import loads
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Map, Range
from sdfgad.thresholds import thresholds
from sdfgad.transform.spelling import only_store

Arrays = Mapping[str, Array]
Path = tuple[Range, ...]


def at_once(arrays: Arrays, stmt: Map, var: str, path: Path) -> bool:
    """Whether several iterations of a sum along rows load or store less together than one after the other."""
    store = only_store(stmt)
    if store is None or store.op != "+" or arrays[store.array].dtype.kind != "f":
        return False
    inner = next((r for r in reversed(stmt.domain) if _along_rows(arrays, stmt, r.var)), None)
    if inner is None or (extent_bound(inner, interval_env((*path, *stmt.domain))) or 0) < thresholds().at_once:
        return False
    if not uses(store.index, var):
        return uses(store.index, inner.var)
    shared = any(uses(n.index, inner.var) and not uses(n.index, var) for n in loads(store.expr))
    return shared and not uses(store.index, inner.var) and bool(stride(arrays[store.array], store.index, var))


def _along_rows(arrays: Arrays, stmt: Map, var: str) -> bool:
    steps = [stride(arrays[t.array], t.index, var) for t in touches(stmt)]
    return all(s in (0, 1) for s in steps) and any(steps)


def uses(index: tuple[Ix, ...], var: str) -> bool:
    return any(var in i.symbols for i in index)
