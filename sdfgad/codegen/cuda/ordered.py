"""Sums into elements that data name, in a fixed order: the same digits in every run.

Terms are numbered, and sorted by their element; the thread at the first term of an element
adds up all of its terms. The network that sorts (K. E. Batcher, Sorting networks and their applications, 1968) and the
order of each sum depend on sizes and data alone. A few terms are added up by one thread, and so are those whose number
is not known, or that others look at.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sdfgad.codegen.cpp import Frame, strides
from sdfgad.codegen.cuda.points import in_points, sides
from sdfgad.codegen.cuda.work import DeviceKernel, OrderedSum, PointWork, Side, coordinate, size
from sdfgad.ir.expr import Expr, Index, Local, const, walk
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Let, Map, Range, Store
from sdfgad.ir.walk import expr_reads
from sdfgad.thresholds import thresholds

_INT = np.dtype(np.int64)


def depends_on_order(store: Store, arrays: dict[str, Array]) -> bool:
    """Whether the digits of a sum or product depend on the order of its terms."""
    return store.op in ("+", "*") and arrays[store.array].dtype.kind in "fc"


def in_order(stmt: Map, frame: Frame, arrays: dict[str, Array],
             fresh: Callable[[str], str]) -> list[DeviceKernel | OrderedSum]:
    """What a map becomes whose sums may meet; `arrays` gains numbers and terms.

    map i: x[k[i]] += f(i)   ->   map i: pairs[i] = k[i], terms[i] = f(i) ; sort pairs ; x[k] += terms, one by one
    """
    known = sides(stmt, frame)
    count = size(known.values())
    made: list[DeviceKernel | OrderedSum] = []
    for part in apart(stmt):
        stores = [p for p in part.body if isinstance(p, Store)]
        if len(stores) > 1 or len(known) < len(stmt.domain) or count <= thresholds().device.alone:
            made.append(DeviceKernel((), (PointWork(part.domain, part.body),)))
        elif not stores[0].op:
            seen = in_points(part, list(known), known)
            made.append(DeviceKernel(seen.box, (PointWork(seen.stmt.domain, seen.stmt.body),)))
        else:
            made += _sorted(part, stores[0], known, arrays, fresh)
    return made


def _sorted(stmt: Map, store: Store, known: dict[str, Side], arrays: dict[str, Array],
            fresh: Callable[[str], str]) -> list[DeviceKernel | OrderedSum]:
    seen = in_points(stmt, list(known), known)
    count = 1 << max(1, (size(seen.box) - 1).bit_length())
    target = arrays[store.array]
    pairs, values = Array(fresh("pairs"), (2 * count,), _INT), Array(fresh("terms"), (count,), target.dtype)
    arrays |= {pairs.name: pairs, values.name: values}
    steps = strides(tuple(s.count for s in seen.box))
    place = sum(((ix(s.var) - s.start) * step for s, step in zip(seen.box, steps, strict=True)), ix(0))
    last = next(p for p in seen.stmt.body if isinstance(p, Store))
    element = sum((i * s for i, s in zip(last.index, strides(target.shape), strict=True)), ix(0))
    body: list[Let | Store] = [p for p in seen.stmt.body if isinstance(p, Let)]
    body += [Store(values.name, (place,), last.expr), Store(pairs.name, (place,), Index(element, _INT))]
    first = ix(coordinate(0))
    # Without a range the points of a larger kernel that this one is joined to would go on behind the end.
    every = Range(coordinate(0), ix(0), ix(count))
    start = PointWork((every,), (Store(pairs.name, (first,), const(target.size, _INT)),
                                   Store(pairs.name, (first + count,), Index(first, _INT))))
    return [DeviceKernel((Side(coordinate(0), ix(0), count),), (start,), (), frozenset((pairs.name,))),
            DeviceKernel(seen.box, (PointWork(seen.stmt.domain, tuple(body)),), (), frozenset((values.name,))),
            OrderedSum(store.array, store.op or "+", pairs.name, values.name, count)]


def apart(stmt: Map) -> list[Map]:
    """One map for each store, where none looks at what one before writes: sums that go different ways share their
    terms, but no points.

    map i, j: r[i] += c[i, j] ; s[j] += c[i, j] ; c[i, j] = 0
    ->   map i, j: r[i] += c[i, j] ; map i, j: s[j] += c[i, j] ; map i, j: c[i, j] = 0
    """
    stores = [p for p in stmt.body if isinstance(p, Store)]
    parts = [replace(stmt, body=(*_needed(stmt, p), p)) for p in stores]
    mixed = len(stores) - sum(p.op is not None for p in stores)
    if mixed and len({p.array for p in stores}) < len(stores):
        return [stmt]
    later = (stores[k].array in _looked_at(part) for n, part in enumerate(parts) for k in range(n))
    return [stmt] if any(later) else parts


def _looked_at(stmt: Map) -> set[str]:
    """What a map reads, in expressions and in indices."""
    indices = (i for p in stmt.body if isinstance(p, Store) for i in p.index)
    return set().union(*(expr_reads(p.expr) for p in stmt.body), *({e.array for e in i.elems} for i in indices))


def _needed(stmt: Map, store: Store) -> list[Let]:
    """The values that a store is made of."""
    wanted = _locals(store.expr)
    kept: list[Let] = []
    for part in reversed(stmt.body):
        if isinstance(part, Let) and part.name in wanted:
            kept.insert(0, part)
            wanted |= _locals(part.expr)
    return kept


def _locals(expr: Expr) -> set[str]:
    return {n.name for n in walk(expr) if isinstance(n, Local)}
