"""The order of a map's loops: the best strides innermost."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.cpp import Frame, flat
from sdfgad.ir.expr import Load, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Map, Range, Store

_SCATTERED = 12.0  # cost of an access whose address the innermost variable moves in an unknown way


def order_loops(frame: Frame, stmt: Map) -> tuple[Range, ...]:
    """The ranges with the best strides innermost, each behind the ranges it depends on.

    Outermost is what moves nothing and has one iteration or none: a test whether the map runs at all.
    """
    known = _stride_costs(frame, stmt)
    tests = frozenset(r.var for r in stmt.domain if not known.costs[r.var] and _is_test(frame, r))
    if tests not in known.orders:
        known.orders[tests] = _ordered(stmt, known.costs, tests)
    return known.orders[tests]


def _ordered(stmt: Map, costs: Mapping[str, float], tests: frozenset[str]) -> tuple[Range, ...]:
    rest = list(stmt.domain)
    out: list[Range] = []
    while rest:
        free = [r for r in rest if not any(r.var in o.start.symbols | o.stop.symbols for o in rest if o is not r)]
        best = min(reversed(free), key=lambda r: (r.var in tests, costs[r.var]))
        out.append(best)
        rest.remove(best)
    return tuple(reversed(out))


def _is_test(frame: Frame, r: Range) -> bool:
    most = extent_bound(r, frame.bounds)
    return most is not None and most <= 1


def accesses(stmt: Map) -> Iterator[tuple[str, tuple[Ix, ...], float]]:
    """(array, index, weight) of everything a map loads and stores."""
    for part in stmt.body:
        for node in walk(part.expr):
            if isinstance(node, Load):
                yield node.array, node.index, 1.0
        if isinstance(part, Store):
            yield part.array, part.index, 2.0


@dataclass(frozen=True)
class _StrideCosts:
    """Of a map that touches arrays like these: what its variables cost as the innermost one, and the orders of its
    loops by the ranges that are tests."""

    arrays: Mapping[str, Array]
    costs: Mapping[str, float]
    orders: dict[frozenset[str], tuple[Range, ...]]


def _stride_costs(frame: Frame, stmt: Map) -> _StrideCosts:
    """Kept with the map: its order is asked for at every step of the schedule."""
    known: _StrideCosts | None = stmt.__dict__.get("_stride_costs")
    if known is None or any(frame.arrays[n] is not a and frame.arrays[n] != a for n, a in known.arrays.items()):
        touched = list(accesses(stmt))
        arrays = {name: frame.arrays[name] for name, _, _ in touched}
        costs = {r.var: sum(weight * stride_penalty(arrays[name], index, r.var) for name, index, weight in touched)
                 for r in stmt.domain}
        known = _StrideCosts(arrays, costs, {})
        object.__setattr__(stmt, "_stride_costs", known)
    return known


def stride_penalty(array: Array, index: tuple[Ix, ...], var: str) -> float:
    """What it costs that an innermost variable moves an access: nothing, little by one element, more by many."""
    stride = flat(array, index).coefficient(var)
    if stride is None:
        return _SCATTERED
    return 0.0 if stride == 0 else 1.0 if abs(stride) == 1 else 2.0 + math.log2(abs(stride))
