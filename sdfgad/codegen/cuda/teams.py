"""Loops around small kernels as one kernel of one block, whose threads wait for each other behind each part.

Such a loop on the host starts a kernel for each part of each iteration, which takes longer than the part. One block has
a small share of the device: it pays for what others would have done beside it (`thresholds().device.rounds`).
"""
from __future__ import annotations

from collections.abc import Iterable

from sdfgad.codegen.cpp import Frame, most_trips
from sdfgad.codegen.cuda.joining import touched
from sdfgad.codegen.cuda.work import (
    BLOCK,
    TEAM,
    DeviceItem,
    DeviceItems,
    DeviceKernel,
    HostControl,
    Part,
    ThreadLoop,
    size,
    works,
)
from sdfgad.ir.program import Loop, Range
from sdfgad.ir.walk import range_elems
from sdfgad.thresholds import thresholds


def as_team(stmt: Loop, items: DeviceItems, frame: Frame) -> HostControl | None:
    """A loop around items as one that a block runs; None where that cannot be, or takes longer. frame: of the loop's
    body."""
    threads = TEAM if sum(_parts(item) for item in items) <= thresholds().device.parts else BLOCK
    if not items or stmt.until is not None or not all(_is_small(item, frame, threads) for item in items):
        return None
    written = touched_by(items)[1]
    if not written.isdisjoint(e.array for e in range_elems(stmt.range)):
        return None
    return HostControl(stmt, (items,), threads)


def _parts(item: DeviceItem) -> int:
    """Maps in it."""
    if isinstance(item, HostControl):
        return sum(_parts(inner) for part in item.parts for inner in part)
    return len(list(works(item.parts))) if isinstance(item, DeviceKernel) else 0


def touched_by(items: Iterable[DeviceItem]) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays that kernels, in loops too, touch, and those that they write."""
    every, written = frozenset[str](), frozenset[str]()
    for item in items:
        if isinstance(item, DeviceKernel):
            more = touched(item)
        else:
            assert isinstance(item, HostControl) and item.team and isinstance(item.stmt, Loop), "a loop of a team"
            more = touched_by(item.parts[0])
            every |= {e.array for e in range_elems(item.stmt.range)}
        every, written = every | more[0], written | more[1]
    return every, written


def _is_small(item: DeviceItem, frame: Frame, threads: int) -> bool:
    if isinstance(item, HostControl):
        inner = frame.inside([item.stmt.range]) if isinstance(item.stmt, Loop) else frame
        return item.team > 0 and all(_is_small(one, inner, threads) for one in item.parts[0])
    return isinstance(item, DeviceKernel) and _rounds(item, frame, threads) <= thresholds().device.rounds


def _rounds(kernel: DeviceKernel, frame: Frame, threads: int) -> float:
    """How many more steps one block takes than a block for each share of the points."""
    if kernel.terms:
        return (kernel.points - 1) * -(-size(kernel.terms) // threads)
    turns = -(-kernel.points // threads) - 1
    return turns * sum(_steps(part, kernel, frame) for part in kernel.parts) if turns else 0


def _steps(part: Part, kernel: DeviceKernel, frame: Frame) -> float:
    """Iterations of a thread, at the most."""
    if isinstance(part, ThreadLoop):
        inner = frame.inside([part.range])
        return _most(part.range, frame) * sum(_steps(one, kernel, inner) for one in part.parts)
    own, count = {s.var for s in kernel.box}, 1.0
    inside = frame.inside(r for r in part.domain if r.var in own)
    for r in part.domain:
        if r.var not in own:
            count *= _most(r, inside)
            inside = inside.inside([r])
    return count


def _most(r: Range, frame: Frame) -> float:
    most = most_trips(r, frame.bounds)
    return float("inf") if most is None else most
