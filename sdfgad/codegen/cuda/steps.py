"""What the host does as steps of a data-flow analysis: a kernel is one step."""
from __future__ import annotations

from sdfgad.analysis.lifetimes import Either, Node, Repeated, Step, Steps
from sdfgad.codegen.cuda.libraries.operations import IN_PLACE, ROOM
from sdfgad.codegen.cuda.work import DeviceItem, DeviceItems, DeviceKernel, HostControl, Launch, OrderedSum, works
from sdfgad.ir.program import If, Lib, Loop, Store
from sdfgad.ir.walk import reads, writes


def steps_of(items: DeviceItems) -> Steps:
    """The steps of a program."""
    return tuple(node for number, item in enumerate(items) for node in _steps(item, number))


def _steps(item: DeviceItem, number: int) -> tuple[Node, ...]:
    if isinstance(item, DeviceKernel):
        return (_of_kernel(item, number),)
    if isinstance(item, Launch):
        return (_of_launch(item, number),)
    if isinstance(item, OrderedSum):
        return (Step(number, frozenset((item.target, item.pairs, item.values)), frozenset((item.target, item.pairs))),)
    if not isinstance(item, HostControl):
        held = {item.outs[0].array} if isinstance(item, Lib) and item.op in IN_PLACE else set()
        # Nobody looks at what is left over where a routine has worked.
        room = {item.outs[-1].array} if isinstance(item, Lib) and ROOM in item.attrs else set()
        return (Step(number, (reads(item) | held) - room, writes(item)),)
    # Bounds and conditions are read before anything inside runs; a flag is read again by each iteration.
    head = Step(number, reads(item.stmt))
    parts = tuple(tuple(node for one in part for node in _steps(one, number)) for part in item.parts)
    if isinstance(item.stmt, If):
        return head, Either(parts)
    sure = isinstance(item.stmt, Loop) and item.stmt.until is None and bool(item.stmt.range.trips)
    return head, Repeated((Step(number, reads(item.stmt)), *parts[0]), sure)


def _of_kernel(kernel: DeviceKernel, number: int) -> Step:
    """Sums look at what they add to, unless they replace it."""
    added = {p.array for w in works(kernel.parts) if not w.assigned for p in w.body if isinstance(p, Store) and p.op}
    read = frozenset(a.array for a in kernel.looks if not a.written) | added
    return Step(number, read, kernel.written, kernel.fills)


def _of_launch(launch: Launch, number: int) -> Step:
    """What a kernel looks at that one before it in its chain has replaced was made here."""
    read, written, filled = set[str](), set[str](), set[str]()
    for kernel in launch.kernels:
        step = _of_kernel(kernel, number)
        read |= step.reads - filled
        written |= step.writes
        filled |= step.fills
    return Step(number, frozenset(read), frozenset(written), frozenset(filled))
