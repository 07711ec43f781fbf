"""Rough work of a map, in elementary operations, to decide whether threads pay."""
from __future__ import annotations

from collections.abc import Mapping

from sdfgad.analysis.cost import WEIGHTS
from sdfgad.analysis.elements.access import extent_bound, range_bounds
from sdfgad.ir.expr import Call, Expr, Load, walk
from sdfgad.ir.index import Bounds
from sdfgad.ir.program import Block, Loop, Map, Range
from sdfgad.ir.walk import children

UNKNOWN_TRIPS = 16


def map_work(stmt: Map, bounds: Mapping[str, Bounds]) -> float:
    """Iterations times operations; extents that vary count half of their largest value."""
    return domain_points(stmt.domain, bounds) * sum(1 + expr_work(p.expr) for p in stmt.body)


def block_work(block: Block, bounds: Mapping[str, Bounds]) -> float:
    """The work of all maps of a block, loops counted."""
    total = 0.0
    for stmt in block:
        if isinstance(stmt, Map):
            total += map_work(stmt, bounds)
        elif isinstance(stmt, Loop):
            inside = {**bounds, stmt.range.var: range_bounds(stmt.range, bounds)}
            total += domain_points((stmt.range,), bounds) * block_work(stmt.body, inside)
        else:
            total += sum(block_work(b, bounds) for b in children(stmt))
    return total


def domain_points(domain: tuple[Range, ...], bounds: Mapping[str, Bounds]) -> float:
    """The expected number of points of a domain."""
    env, points = dict(bounds), 1.0
    for r in domain:
        most = extent_bound(r, env)
        points *= r.trips if r.trips is not None else UNKNOWN_TRIPS if most is None else most / 2
        env[r.var] = range_bounds(r, env)
    return points


def expr_work(e: Expr) -> int:
    """Operations of one evaluation."""
    return sum(1 if isinstance(n, Load) else WEIGHTS.get(n.fn, 1) for n in walk(e) if isinstance(n, (Load, Call)))
