"""Where long calls look whether they have been interrupted, and how they end there.

A look is one number read, and throws. It stands in the loops that run one iteration after the other, seldom enough to
cost nothing beside them, and at the points of long kernels; what is over soon has none.
"""
from __future__ import annotations

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.cpp import Frame, Writer
from sdfgad.codegen.cpu.nests.cost import block_work, domain_points
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Item, Kernel
from sdfgad.ir.program import Block, If, Lib, Loop, While
from sdfgad.ir.walk import statements
from sdfgad.thresholds import thresholds

HEED = "sg::heed(__state->sg_stop);"
STOP = "__state->sg_stop"
_LIBRARY = 1 << 12
"""Operations of a call of a library, at least."""


def looks_each(frame: Frame, stmt: Loop) -> int:
    """Iterations of a loop between two looks; 0 without any."""
    if not frame.heeds:
        return 0
    body = _work(frame.inside([stmt.range]), stmt.body)
    each = max(1, round(thresholds().heed_between / body))
    if extent_bound(stmt.range, dict(frame.bounds)) is None:
        return each if each == 1 or not frame.bounds else 0  # a short one in another loop: nothing tells how often
    trips = domain_points((stmt.range,), frame.bounds)
    return each if trips * body >= thresholds().heed_work and trips > each else 0


def looks_in(frame: Frame, item: ControlFlow) -> bool:
    """Whether each iteration of a loop around kernels looks."""
    return frame.heeds and not isinstance(item.stmt, If) and \
        (isinstance(item.stmt, While) or looks_each(frame, item.stmt) > 0)


def at_points(frame: Frame, item: Kernel) -> tuple[bool, bool]:
    """Whether an interrupt may end the points of a kernel, and whether each of them looks. frame: around it."""
    ranges = tuple(e.var for e in item.extents)
    point = _work(frame.inside(ranges), item.body)
    long = point * domain_points(ranges, frame.bounds) >= thresholds().heed_work
    return frame.heeds and long, frame.heeds and long and point >= thresholds().heed_between


def guarded(writer: Writer) -> bool:
    """Let no interrupt leave the text of a point: it would leave a thread. Whether one may come."""
    found = any(STOP in line for line in writer.lines)
    if found:
        writer.lines[:] = ["try {", *writer.lines, "} catch (const sg::Interrupted &) {", "}"]
    return found


def meets(items: tuple[Item, ...]) -> bool:
    """Whether the threads of a team surely wait for each other in the items, before any loop of them looks itself."""
    for item in items:
        if not isinstance(item, ControlFlow) or not isinstance(item.stmt, Loop) or item.stmt.until is not None \
                or isinstance(item.start, str) or isinstance(item.stop, str):
            return True
        if item.stmt.range.trips and meets(item.parts[0]):
            return False
    return False


def _work(frame: Frame, block: Block) -> float:
    libraries = sum(isinstance(s, Lib) for s in statements(block))
    return max(1.0, block_work(block, frame.bounds) + _LIBRARY * libraries)
