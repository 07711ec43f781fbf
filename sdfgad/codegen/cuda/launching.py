"""Kernels that run side by side in one launch: horizontal fusion (A. Li et al., Automatic horizontal fusion for GPU
kernels, CGO 2022), decided by which elements kernels touch.

A launch takes longer than a small kernel. Kernels of which none writes what another one touches get blocks of their own
in one launch: the interior of a grid and its rims. Those that follow from each other and have work for one block only
are done by one block, whose threads wait for each other: the sides of a rim, which share its corners.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.joining import independent, meet
from sdfgad.codegen.cuda.teams import rounds
from sdfgad.codegen.cuda.work import (
    BLOCK,
    DeviceItem,
    DeviceItems,
    DeviceKernel,
    HostControl,
    Launch,
    chain_threads,
)
from sdfgad.ir.program import Loop, Range
from sdfgad.thresholds import thresholds


def side_by_side(items: DeviceItems, frame: Frame, path: tuple[Range, ...] = ()) -> DeviceItems:
    """The items with kernels in as few launches as may be; in loops that the device runs, with as few barriers."""
    out = _Launches(frame, path)
    for item in items:
        if isinstance(item, HostControl):
            out.items.append(_inside(item, frame, path))
        elif isinstance(item, DeviceKernel):
            out.add(item)
        else:
            out.items.append(item)
    return tuple(_plain(item) for item in out.items)


def may_pass(items: DeviceItems, path: tuple[Range, ...] = ()) -> bool:
    """Whether some kernel touches other elements than the one before it, of an array that one of them writes."""
    inner = ((part, (*path, *_around(i))) for i in items if isinstance(i, HostControl) for part in i.parts)
    return any(_may_pass(one, other, path) for one, other in pairwise(items)) or any(may_pass(*one) for one in inner)


def _may_pass(one: DeviceItem, other: DeviceItem, path: tuple[Range, ...]) -> bool:
    """The same of two items; those in one launch, which may have got there past others, tell it alone."""
    if isinstance(one, Launch):
        return any(not independent(a, b) for a, b in combinations([c[0] for c in one.chains], 2))
    return isinstance(one, DeviceKernel) and isinstance(other, DeviceKernel) and not independent(one, other) and not \
        meet(one.parts, other.parts, path)


def _around(item: HostControl) -> tuple[Range, ...]:
    return (item.stmt.range,) if isinstance(item.stmt, Loop) else ()


def _inside(item: HostControl, frame: Frame, path: tuple[Range, ...]) -> HostControl:
    around = _around(item)
    inner = frame.inside(around)
    return replace(item, parts=tuple(side_by_side(part, inner, (*path, *around)) for part in item.parts))


def _plain(item: DeviceItem) -> DeviceItem:
    if isinstance(item, Launch) and len(item.chains) == 1 and len(item.chains[0]) == 1:
        return item.chains[0][0]
    return item


@dataclass
class _Launches:
    """items: so far, each kernel in a launch. path: the loops around."""

    frame: Frame
    path: tuple[Range, ...]
    items: list[DeviceItem] = field(default_factory=list)

    def add(self, kernel: DeviceKernel) -> None:
        """Put a kernel into the last launch that has room for it, past launches that it has nothing to do with."""
        for back in range(1, 1 + min(len(self.items), thresholds().device.apart)):
            before = self.items[-back]
            if not isinstance(before, Launch):
                break
            bound = [c for c in before.chains if not all(self.apart(one, kernel) for one in c)]
            joined = self.joined(before, bound, kernel)
            if joined is not None:
                self.items[-back] = joined
                return
            if bound:
                break
        self.items.append(Launch(((kernel,),)))

    def joined(self, launch: Launch, bound: Sequence[tuple[DeviceKernel, ...]], kernel: DeviceKernel) -> Launch | None:
        """The launch with another kernel, which has to wait for some of its chains; None where that is no use."""
        chain = (*(one for c in bound for one in c), kernel)
        if len(chain) > 1 and not all(self.is_small(one) for one in chain):
            return None
        chains = (*(c for c in launch.chains if c not in bound), chain)
        *others, largest = sorted(map(chain_threads, chains))
        limits = thresholds().device
        return Launch(chains) if sum(others) <= limits.shared and largest <= limits.beside else None

    def is_small(self, kernel: DeviceKernel) -> bool:
        """Whether one block is done with it before another launch would have begun."""
        return kernel.across is None and rounds(kernel, self.frame, BLOCK) <= thresholds().device.rounds

    def apart(self, first: DeviceKernel, other: DeviceKernel) -> bool:
        """Whether neither writes an element that the other one touches, in one iteration of the loops around."""
        return independent(first, other) or not meet(first.parts, other.parts, self.path)
