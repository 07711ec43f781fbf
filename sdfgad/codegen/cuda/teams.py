"""Loops and branches around small kernels as one kernel, whose threads wait for each other behind each part.

Such a loop on the host starts a kernel for each part of each iteration, which takes longer than the part. One block has
a small share of the device: it pays for what others would have done beside it (`thresholds().device.rounds`).
Where that is too much, all blocks that the device runs at once share the points and wait for each other (a cooperative
launch). That pays while a part has no more points than those blocks have threads (`thresholds().device.shared`):
larger kernels take longer than their launch, and want blocks that wait for nobody.

Where data decide how a loop or a branch goes on, all threads look at the same number behind a barrier, and go the same
way; the host would wait for that number, with nothing under way on the device. A branch alone is a kernel of one block.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.work import (
    BLOCK,
    TEAM,
    DeviceItem,
    DeviceItems,
    DeviceKernel,
    HostControl,
    Launch,
    Part,
    ThreadLoop,
    size,
    works,
)
from sdfgad.ir.program import If, Loop, Range, While
from sdfgad.ir.walk import range_elems, reads
from sdfgad.thresholds import thresholds


def as_team(stmt: Loop | While | If, parts: tuple[DeviceItems, ...], frame: Frame) -> HostControl | None:
    """A loop or a branch around items as one that a block runs; None where that cannot be, or takes longer. frame: of
    what is inside."""
    whole = HostControl(stmt, parts)
    threads = TEAM if _parts(whole) <= thresholds().device.parts else BLOCK
    small = whole.inner and all(_is_small(item, frame, threads) for item in whole.inner)
    return replace(whole, team=threads) if small and _keeps_its_ends(whole) else None


def as_grid(stmt: Loop | While, items: DeviceItems) -> HostControl | None:
    """A loop around items as one that all blocks run together; None where that cannot be, or is no use."""
    loop = HostControl(stmt, (items,))
    blocks = _most_blocks(loop)
    return replace(loop, team=BLOCK, blocks=blocks) if items and blocks and blocks > 1 else None


def _most_blocks(item: DeviceItem) -> int | None:
    """The blocks that the largest part of it has work for; None where all blocks together should not run it."""
    if isinstance(item, DeviceKernel):
        return item.threads // BLOCK if item.threads <= thresholds().device.shared else None
    if not isinstance(item, HostControl):
        return None
    found = [_most_blocks(one) for one in item.inner]
    known = [n for n in found if n is not None]
    if len(known) < len(found) or not _keeps_its_ends(item):
        return None
    return max(known, default=1)


def _keeps_its_ends(control: HostControl) -> bool:
    """Whether nothing in a loop writes what its range looks at."""
    ends = {e.array for e in range_elems(control.stmt.range)} if isinstance(control.stmt, Loop) else set()
    return not ends or touched_by(control.inner)[1].isdisjoint(ends)


def _parts(item: DeviceItem) -> int:
    """Maps in it."""
    if isinstance(item, HostControl):
        return sum(map(_parts, item.inner))
    return len(list(works(item.parts))) if isinstance(item, DeviceKernel) else 0


def touched_by(items: Iterable[DeviceItem]) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays that kernels, and loops and branches around them, touch, and those that they write."""
    every, written = frozenset[str](), frozenset[str]()
    for item in items:
        if isinstance(item, DeviceKernel):
            more = frozenset(item.ranks), item.written
        elif isinstance(item, Launch):
            more = touched_by(item.kernels)
        else:
            assert isinstance(item, HostControl), "what the device can run"
            more = touched_by(item.inner)
            every |= reads(item.stmt)
        every, written = every | more[0], written | more[1]
    return every, written


def _is_small(item: DeviceItem, frame: Frame, threads: int) -> bool:
    if isinstance(item, HostControl):
        inner = frame.inside([item.stmt.range]) if isinstance(item.stmt, Loop) else frame
        return item.team > 0 and item.blocks == 1 and all(_is_small(one, inner, threads) for one in item.inner)
    return isinstance(item, DeviceKernel) and rounds(item, frame, threads) <= thresholds().device.rounds


def rounds(kernel: DeviceKernel, frame: Frame, threads: int) -> float:
    """How many more steps one block takes than a block for each share of the points."""
    if kernel.terms:
        return (kernel.groups - 1) * -(-size(kernel.terms) * kernel.beside // threads)
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
    most = extent_bound(r, frame.bounds)
    return float("inf") if most is None else most
