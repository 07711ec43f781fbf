"""Minima and maxima of computed values, apart from what was there before."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sdfgad.analysis.elements.cover import covers
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Load
from sdfgad.ir.program import Array, Block, Map, Stmt, Store
from sdfgad.ir.walk import within
from sdfgad.names import fresh
from sdfgad.rules.extremum import is_exact, results_of
from sdfgad.rules.linearise import inline_lets
from sdfgad.transform.spelling import only_store

_BOOL = np.dtype(bool)


def apart_from_before(stmt: Stmt, before: Sequence[Stmt], arrays: dict[str, Array]) -> Block:
    """map i: h[k[i]] max= f(i)
    ->   map e: t[e] = -inf ; map i: t[k[i]] max= f(i) ; map e: h[e] = t[e] if t[e] >= h[e] and t[e] > -inf else h[e]

    Of values that are computed again when the derivative looks for winners nobody can tell whether what was there
    before is a little larger: their last digits differ. Nothing where that is an infinite number; `before`: the
    statements of the block before this one. `arrays` gets what is made.
    """
    stores = [p for p in stmt.body if isinstance(p, Store)] if isinstance(stmt, Map) else []
    if not isinstance(stmt, Map) or len(stores) != 1 or stores[0].op not in ("min", "max"):
        return ()
    store, = inline_lets(stmt)
    array, dtype = arrays[store.array], store.expr.dtype
    if dtype.kind != "f" or is_exact(store.expr) or _begun(array, before, arrays) or \
            any(r.trips is None for r in stmt.domain):
        return ()
    found = results_of(stmt, store, array.shape)
    name = fresh(f"{array.name}_extremum", arrays)
    arrays[name] = Array(name, found.shape, dtype, source=stmt.source)
    start = algebra.number(-np.inf if store.op == "max" else np.inf, dtype)
    made, old = Load(name, found.at, dtype), Load(array.name, found.index, dtype)
    beats = Call("ge" if store.op == "max" else "le", (made, old), _BOOL)
    there = algebra.both(beats, Call("ne", (made, start), _BOOL))
    wins = Call("or", (Call("isnan", (made,), _BOOL), there), _BOOL)
    return (Map(found.kept, (Store(name, found.at, start),), stmt.source),
            Map(stmt.domain, (Store(name, found.own, store.expr, store.op),), stmt.source),
            Map(found.kept, (Store(array.name, found.index, algebra.select(wins, made, old)),), stmt.source))


def _begun(array: Array, before: Sequence[Stmt], arrays: Mapping[str, Array]) -> bool:
    """Whether an extremum begins with an infinite number everywhere, which never wins."""
    last = next((s for s in reversed(before) if any(array.name in names for names in within(s))), None)
    store = only_store(last) if isinstance(last, Map) else None
    return isinstance(last, Map) and store is not None and isinstance(store.expr, Const) and \
        bool(np.isinf(store.expr.value)) and covers(last, store, array)
