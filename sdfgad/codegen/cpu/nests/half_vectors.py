"""Vectors of half the width for sums along short rows: fewer points are left over for one at a time.

gcc 12 takes what is left of a loop with OpenMP's reductions point by point. By itself it takes the widest vectors only
on processors that run them as two halves, so vectors of half the width take no longer.
"""
from __future__ import annotations

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.compiling.toolchain import vector_bytes
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.nest_order import accesses
from sdfgad.ir.expr import Call, walk
from sdfgad.ir.program import Map, Range

WIDE = 64
"""Bytes of vectors that may be run as two halves."""
SHORT_ROW = 256
"""Points from which on the few that are left over do not count beside the others."""
LEAST_WORK = 16
"""Operations at a point from which on the next vector does not wait for the sums of the last one. With fewer, half as
many points would wait as long."""


def half_width(frame: Frame, stmt: Map, loop: Range) -> int | None:
    """Points of a vector of half the width where that leaves fewer over; None where the compiler may choose.

    For a loop with much to do over floating-point numbers of one type and a short row: of a known length with half a
    vector or more left over by whole vectors, or of a length that changes.
    """
    if len({n for part in stmt.body for n in walk(part.expr) if isinstance(n, Call)}) < LEAST_WORK:
        return None
    types = {frame.arrays[name].dtype for name, _, _ in accesses(stmt)}
    if vector_bytes() < WIDE or len(types) != 1 or next(iter(types)).kind != "f":
        return None
    half = WIDE // next(iter(types)).itemsize // 2
    most = extent_bound(loop, frame.bounds)
    if most is None or not half <= most < SHORT_ROW:
        return None
    return half if loop.trips is None or loop.trips % (2 * half) >= half else None
