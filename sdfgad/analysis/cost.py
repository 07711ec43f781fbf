"""Rough work of a block: elementary operations and bytes moved, for the planner's estimates of time."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from sdfgad.ir.expr import Call, Expr, Load, walk
from sdfgad.ir.program import Array, Block, Lib, Loop, Map, Range, Stmt, Store, View, While
from sdfgad.ir.walk import children, reads, writes

UNKNOWN_TRIPS = 100
"""Iterations a loop of unknown length is taken to have."""
CACHE_BYTES = 1 << 20
"""Arrays that fit in here are not counted as moved."""
WEIGHTS: Mapping[str, int] = MappingProxyType({
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
                     "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "erf", "arctan2", "cbrt",
                     "pow"), 20),
    "hypot": 10, "div": 4, "sqrt": 4, "floordiv": 8, "mod": 8, "select": 2})
"""Elementary operations of a function; of any other, one."""
COPIES = frozenset(("seal", "unseal"))
"""Library operations that copy their first operand."""
_PRODUCT_SPEED = 8
"""Multiplications a matrix product does in the time of one ordinary operation."""


@dataclass(frozen=True)
class Work:
    """flops: elementary operations. moved: bytes read from and written to memory."""

    flops: float = 0.0
    moved: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.moved + other.moved)

    def times(self, count: float) -> Work:
        return Work(self.flops * count, self.moved * count)


def work_of(block: Block, arrays: Mapping[str, Array], path: tuple[Range, ...] = ()) -> Work:
    """The work of one run of a block inside the loops of `path`."""
    total = Work()
    for stmt in block:
        if isinstance(stmt, Loop):
            total += work_of(stmt.body, arrays, (*path, stmt.range)).times(_trips((stmt.range,), path))
        elif isinstance(stmt, While):
            total += work_of(stmt.body, arrays, path).times(UNKNOWN_TRIPS)
        elif children(stmt):
            # One of two blocks runs; nobody knows which.
            total += max((work_of(b, arrays, path) for b in children(stmt)), key=lambda w: w.flops + w.moved)
        else:
            total += _statement(stmt, arrays, path)
    return total


def _statement(stmt: Stmt, arrays: Mapping[str, Array], path: tuple[Range, ...]) -> Work:
    if isinstance(stmt, Map):
        points = _trips(stmt.domain, path)
        flops = points * sum(1 + operations(p.expr) for p in stmt.body)
        size = {p.array: p.expr.dtype.itemsize for p in stmt.body if isinstance(p, Store)}
        size |= {n.array: n.dtype.itemsize for p in stmt.body for n in walk(p.expr) if isinstance(n, Load)}
        touched = {n: min(points * b, arrays[n].bytes) for n, b in size.items() if arrays[n].bytes > CACHE_BYTES}
        return Work(flops, sum(touched.values()))
    if isinstance(stmt, Lib) and stmt.op in COPIES:
        return Work(_size(stmt.ins[0]), 2 * _size(stmt.ins[0]) * stmt.ins[0].dtype.itemsize)
    if isinstance(stmt, Lib):
        moved = sum(arrays[n].bytes for n in reads(stmt) | writes(stmt) if arrays[n].bytes > CACHE_BYTES)
        return Work(_library(stmt), moved)
    return Work()


def _library(stmt: Lib) -> float:
    """Operations of a product; for anything else, of a factorisation of its largest operand."""
    if stmt.op == "matmul":
        a, b = stmt.ins[:2]
        return 2 * _size(a) * (_size(b) / max(1, b.shape[0].const or 1)) / _PRODUCT_SPEED
    return max(_size(v) for v in (*stmt.ins, *stmt.outs)) ** 1.5


def _size(view: View) -> float:
    return prod(n.const or 1 for n in view.shape)


def _trips(domain: tuple[Range, ...], path: tuple[Range, ...]) -> float:
    """The number of points of a domain, in the middle of the loops around."""
    middle: dict[str, int] = {}
    for r in path:
        _enter(r, middle)
    points = 1.0
    for r in domain:
        points *= _enter(r, middle)
    return points


def _enter(r: Range, middle: dict[str, int]) -> int:
    """Iterations of a range where the variables around it are in their middle, and its own middle."""
    known = middle.keys() >= r.start.symbols | r.stop.symbols
    if (*r.start.elems, *r.stop.elems) or not known:
        middle[r.var] = UNKNOWN_TRIPS // 2
        return UNKNOWN_TRIPS
    trips = range(r.start.evaluate(middle), r.stop.evaluate(middle), r.step)
    middle[r.var] = trips[len(trips) // 2] if trips else trips.start
    return len(trips)


def operations(e: Expr) -> int:
    """Elementary operations of one evaluation."""
    return sum(WEIGHTS.get(n.fn, 1) for n in walk(e) if isinstance(n, Call))
