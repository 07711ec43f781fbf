"""The order of a map's loops: the best strides innermost."""
from __future__ import annotations

import math
from collections.abc import Iterator

from sdfgad.codegen.cpp import Frame, flat, most_trips
from sdfgad.ir.expr import Load, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Map, Range, Store

_SCATTERED = 12.0  # cost of an access whose address the innermost variable moves in an unknown way


def order_loops(frame: Frame, stmt: Map) -> tuple[Range, ...]:
    """The ranges with the best strides innermost, each behind the ranges it depends on.

    Outermost is what moves nothing and has one iteration or none: a test whether the map runs at all.
    """
    touched = list(accesses(stmt))
    tests = {r.var for r in stmt.domain if _is_test(frame, touched, r)}
    rest = list(stmt.domain)
    out: list[Range] = []
    while rest:
        free = [r for r in rest if not any(r.var in o.start.symbols | o.stop.symbols for o in rest if o is not r)]
        best = min(reversed(free), key=lambda r: (r.var in tests, _stride_cost(frame, touched, r.var)))
        out.append(best)
        rest.remove(best)
    return tuple(reversed(out))


def _is_test(frame: Frame, touched: list[tuple[str, tuple[Ix, ...], float]], r: Range) -> bool:
    most = most_trips(r, frame.bounds)
    return most is not None and most <= 1 and not _stride_cost(frame, touched, r.var)


def accesses(stmt: Map) -> Iterator[tuple[str, tuple[Ix, ...], float]]:
    """(array, index, weight) of everything a map loads and stores."""
    for part in stmt.body:
        for node in walk(part.expr):
            if isinstance(node, Load):
                yield node.array, node.index, 1.0
        if isinstance(part, Store):
            yield part.array, part.index, 2.0


def _stride_cost(frame: Frame, touched: list[tuple[str, tuple[Ix, ...], float]], var: str) -> float:
    return sum(weight * stride_penalty(frame.arrays[name], index, var) for name, index, weight in touched)


def stride_penalty(array: Array, index: tuple[Ix, ...], var: str) -> float:
    """What it costs that an innermost variable moves an access: nothing, little by one element, more by many."""
    stride = flat(array, index).coefficient(var)
    if stride is None:
        return _SCATTERED
    return 0.0 if stride == 0 else 1.0 if abs(stride) == 1 else 2.0 + math.log2(abs(stride))
