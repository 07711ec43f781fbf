"""Programs as SDFGs for a graphics processor: a map of whole blocks around one C++ tasklet for each kernel.

All arrays lie in the device's memory, numbers too, and are passed: the graph takes no memory. The host has counters of
loops, and numbers that it asks for: bounds that depend on data, and one truth value for each decision.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

import dace
import numpy as np
from dace import dtypes
from dace.sdfg.state import ConditionalBlock, ControlFlowRegion, LoopRegion, SDFGState

from sdfgad.codegen.cpp import (
    Frame,
    Writer,
    container,
    ctype,
    identifier,
    index_text,
    pointer,
    strides,
    symbol,
)
from sdfgad.codegen.cuda.library_text import KERNELS, LIBRARIES, SNAPSHOTS, library_text, merge_text
from sdfgad.codegen.cuda.schedule import DeviceProgram
from sdfgad.codegen.cuda.teams import touched_by
from sdfgad.codegen.cuda.text import kernel_text, launch_text, team_text
from sdfgad.codegen.cuda.work import (
    BLOCK,
    DeviceItems,
    DeviceKernel,
    HostControl,
    Launch,
    OrderedSum,
    PointWork,
    works,
)
from sdfgad.codegen.dace_text import GRID, LONG, TEAM
from sdfgad.codegen.expressions import Values, count_uses
from sdfgad.codegen.regions import Regions
from sdfgad.errors import InvariantError
from sdfgad.ir.expr import Expr, Index, Load, const, index_elems, loads
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Lib, Loop, Pop, Push, Store, While
from sdfgad.ir.walk import reads, writes
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds

TAPES = "sg_tapes"
"""The member of the state of a program that has its tapes."""
_DEVICE = dtypes.StorageType.GPU_Global
_INT, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)


def _label(kernels: Iterable[DeviceKernel]) -> str:
    """What the name of a kernel begins with whose threads have nothing to do with each other."""
    return LONG if any(len(list(works(k.parts))) > thresholds().device.parts for k in kernels) else "map"


def graph_of(made: DeviceProgram) -> GraphBuilder:
    """The SDFG of a program, and the numbers that it has added."""
    builder = GraphBuilder(made)
    builder.sequence(builder.sdfg, made.items, Frame(builder.arrays))
    if not builder.kernels:
        # Without a kernel DaCe would leave out what opens and closes the device.
        builder.computed(builder.sdfg, builder.sdfg.nodes()[-1], const(0, _INT), Frame(builder.arrays))
    return builder


class GraphBuilder(Regions):
    """arrays: all containers of the device."""

    def __init__(self, made: DeviceProgram) -> None:
        super().__init__(dace.SDFG(f"sg_{identifier(made.program.name)}"))
        self.arrays = dict(made.arrays)
        self.tapes = made.tapes
        self.members = {TAPES: "sg::DeviceTapes", LIBRARIES: "sg::Libraries", SNAPSHOTS: "sg::HostSnapshots"}
        self.sums: dict[tuple[str, np.dtype, int, int], int] = {}  # kinds of sums in a fixed order, by their numbers
        self.kernels = 0
        for name in sorted(made.touched):
            self.declare(self.arrays[name])

    def declare(self, array: Array) -> None:
        self.sdfg.add_array(container(array.name), (max(1, array.size),), dtypes.typeclass(array.dtype.type), _DEVICE)

    def state(self, stem: str) -> SDFGState:
        """A state for one item. Its nodes have no lines: DaCe would search Python's stack for each of them."""
        state = SDFGState(self.label(stem))
        state.set_default_lineinfo(dtypes.DebugInfo(0))
        return state

    def start(self, parent: ControlFlowRegion) -> SDFGState:
        """An empty state that a region begins with."""
        state = self.state("start")
        parent.add_node(state, is_start_block=True)
        return state

    def sequence(self, parent: ControlFlowRegion, items: DeviceItems, frame: Frame) -> None:
        """Add items to a region, one after the other, behind what is there."""
        end = parent.nodes()[-1] if parent.nodes() else self.start(parent)
        for item in items:
            if isinstance(item, DeviceKernel):
                end = self.follow(parent, end, self.state("kernel"))
                self.kernel(end, item, frame)
            elif isinstance(item, Launch):
                end = self.follow(parent, end, self.state("kernels"))
                self.launch(end, item, frame)
            elif isinstance(item, Lib):
                end = self.follow(parent, end, self.state("operation"))
                self.operation(end, item, frame)
            elif isinstance(item, HostControl) and item.team:
                end = self.follow(parent, end, self.state("team"))
                self.team(end, item, frame)
            elif isinstance(item, OrderedSum):
                end = self.follow(parent, end, self.state("sum"))
                target = self.arrays[item.target]
                kind = item.op, target.dtype, item.count, target.size
                number = self.sums.setdefault(kind, len(self.sums))
                of = (item.target, item.pairs, item.values)
                given = ", ".join(f"(void *){pointer(n)}" for n in of)
                self.code(end, f"sg_sum_{number}(__state->gpu_context, {given});", of, ())
            elif isinstance(item, (Push, Pop)):
                end = self.follow(parent, end, self.state("tape"))
                self.tape(end, item, frame)
            else:
                end = self.control(parent, end, item, frame)

    def control(self, parent: ControlFlowRegion, end: object, item: HostControl, frame: Frame) -> object:
        stmt = item.stmt
        if isinstance(stmt, Loop):
            return self.counted(parent, end, stmt, item.parts[0], frame)
        if isinstance(stmt, While):
            end, flag = self.number(parent, end, Load(stmt.flag, (), _BOOL), frame)
            loop = LoopRegion(self.label("while"), flag)
            self.follow(parent, end, loop)
            self.sequence(loop, item.parts[0], frame)
            self.number(loop, loop.nodes()[-1], Load(stmt.flag, (), _BOOL), frame, flag)
            return loop
        end, flag = self.number(parent, end, stmt.cond, frame)
        block = ConditionalBlock(self.label("if"))
        self.follow(parent, end, block)
        for text, part in zip((flag, None), item.parts, strict=True):
            if text or part:
                self.sequence(self.branch(block, text), part, frame)
        return block

    def counted(self, parent: ControlFlowRegion, end: object, stmt: Loop, part: DeviceItems, frame: Frame) -> object:
        r, var = stmt.range, symbol(stmt.range.var)
        end, start = self.bound(parent, end, r.start, frame)
        end, stop = self.bound(parent, end, r.stop, frame)
        loop = LoopRegion(self.label("for"), f"{var} {'<' if r.step > 0 else '>'} ({stop})", var, f"{var} = {start}",
                          f"{var} = {var} + ({r.step})")
        self.follow(parent, end, loop)
        if stmt.until is not None:
            first = self.start(loop)
            last, flag = self.number(loop, first, Load(stmt.until, (), _BOOL), frame)
            self.leave(loop, flag, last)
        self.sequence(loop, part, frame.inside([r]))
        return loop

    def bound(self, parent: ControlFlowRegion, end: object, value: Ix, frame: Frame) -> tuple[object, str]:
        """An end of a loop: as it is where DaCe can read it."""
        if all(isinstance(a, str) for a in value.atoms):
            return end, index_text(frame, value)
        return self.number(parent, end, Index(value, _INT), frame)

    def number(self, parent: ControlFlowRegion, end: object, value: Expr, frame: Frame,
               name: str = "") -> tuple[object, str]:
        """A number of the host with the value of an expression, and what it is there behind. It waits for the device
        where the value is of data, and there alone."""
        if not name:
            name = self.label("h")
            self.sdfg.add_scalar(name, dtypes.typeclass(value.dtype.type), transient=True,
                                 lifetime=dtypes.AllocationLifetime.SDFG)
        if not loads(value) and not index_elems(value):
            state = self.follow(parent, end, self.state("number"))
            writer = Writer()
            text = Values(writer, frame, count_uses([value])).text(value)
            self.host(state, f"{writer.text}\n*out = {text};", name)
            return state, name
        origin = value.array if isinstance(value, Load) and not value.index else None
        if origin is None:
            end, origin = self.computed(parent, end, value, frame)
        state = self.follow(parent, end, self.state("fetch"))
        text = f"DACE_GPU_CHECK(sg::fetch(out, {pointer(origin)}, __state->gpu_context->stream));"
        self.host(state, text, name, origin)
        return state, name

    def computed(self, parent: ControlFlowRegion, end: object, value: Expr, frame: Frame) -> tuple[object, str]:
        """A number of the device with the value of an expression, and what it is there behind."""
        array = Array(fresh("asked", self.arrays), (), value.dtype)
        self.arrays[array.name] = array
        self.declare(array)
        end = self.follow(parent, end, self.state("kernel"))
        work = PointWork((), (Store(array.name, (), value),))
        self.kernel(end, DeviceKernel((), (work,)), Frame(self.arrays, frame.bounds, ranges=frame.ranges))
        return end, array.name

    def host(self, state: object, text: str, output: str = "", origin: str = "") -> None:
        """C++ of the host, that gives a number and looks at one of the device."""
        node = self.code(state, text, (origin,) if origin else (), ())
        if output and isinstance(state, SDFGState):
            node.add_out_connector("out", dtypes.pointer(self.sdfg.arrays[output].dtype))
            state.add_edge(node, "out", state.add_write(output), None,
                           dace.Memlet(data=output, subset="0", dynamic=True))

    def operation(self, state: object, stmt: Lib, frame: Frame) -> None:
        """A call of the host's, or a kernel, for an operation on whole arrays."""
        written = writes(stmt)
        read = reads(stmt) - written
        if stmt.op in KERNELS:
            text, threads = merge_text(stmt, frame)
            self.map(state, text, (read | written, written), (threads, BLOCK), frame)
        else:
            self.code(state, library_text(stmt, frame), read, written)

    def code(self, state: object, text: str, read: Iterable[str], written: Iterable[str]) -> dace.nodes.Tasklet:
        """C++ of the host that is given arrays of the device."""
        if not isinstance(state, SDFGState):
            raise InvariantError("the host's code stands in a state")
        node = state.add_tasklet(self.label("code"), {pointer(n): self.pointed(n) for n in sorted(read)},
                                 {pointer(n): self.pointed(n) for n in sorted(written)}, text,
                                 language=dtypes.Language.CPP)
        node.side_effects = True
        needed = [name for name in self.members if name in text]
        node.state_fields = [f"{self.members.pop(name)} {name};" for name in needed]
        for name in sorted(read):
            state.add_edge(state.add_read(container(name)), None, node, pointer(name), self.whole(name))
        for name in sorted(written):
            state.add_edge(node, pointer(name), state.add_write(container(name)), None, self.whole(name))
        return node

    def tape(self, state: object, stmt: Push | Pop, frame: Frame) -> None:
        """Another entry is shown. How long one is that data decide is not asked: it takes the whole array."""
        array, number, place = self.arrays[stmt.tape], self.tapes.index(stmt.tape), pointer(stmt.tape)
        if isinstance(stmt, Pop):
            text = f"__state->{TAPES}.pop({number}, const_cast<{ctype(array.dtype)} *>({place}));"
        elif any(n.elems for n in stmt.shape):
            text = f"__state->{TAPES}.push({number}, {place}, {array.bytes});"
        else:
            steps = zip(stmt.shape, strides(array.shape), strict=True)
            count = index_text(frame, sum(((n - 1) * step for n, step in steps), ix(1)))
            text = f"__state->{TAPES}.push({number}, {place}, sg::greatest(0L, {count}) * {array.dtype.itemsize});"
        self.host(state, text, "", stmt.tape)

    def pointed(self, name: str) -> dtypes.typeclass:
        return dtypes.pointer(self.sdfg.arrays[container(name)].dtype)

    def whole(self, name: str) -> dace.Memlet:
        count = self.sdfg.arrays[container(name)].shape[0]
        return dace.Memlet(data=container(name), subset=f"0:{count}", dynamic=True)

    def kernel(self, state: object, item: DeviceKernel, frame: Frame) -> None:
        """A map over the threads of whole blocks."""
        self.map(state, kernel_text(item, frame), touched_by([item]), (item.threads, BLOCK), frame, _label([item]))

    def launch(self, state: object, item: Launch, frame: Frame) -> None:
        """A map over the threads of all blocks of several kernels."""
        label = TEAM if any(len(chain) > 1 for chain in item.chains) else _label(item.kernels)
        self.map(state, launch_text(item, frame), touched_by(item.kernels), (item.threads, BLOCK), frame, label)

    def team(self, state: object, loop: HostControl, frame: Frame) -> None:
        """A map over the threads of one block, or of all that run at once."""
        threads, label = loop.team * loop.blocks, GRID if loop.blocks > 1 else TEAM
        self.map(state, team_text(loop, frame), touched_by([loop]), (threads, loop.team), frame, label)

    def map(self, state: object, text: str, arrays: tuple[frozenset[str], frozenset[str]], threads: tuple[int, int],
            frame: Frame, label: str = "map") -> None:
        """Maps of blocks and of their threads around C++. arrays: those that it touches, and those that it writes.
        threads: all, and of a block. label: the name of the kernel begins with it. DaCe makes the inner map itself
        where there is none, and takes long: it looks through the whole graph for each kernel."""
        if not isinstance(state, SDFGState):
            raise InvariantError("a kernel stands in a state")
        self.kernels += 1
        (every, written), (count, block) = arrays, threads
        ranges = {**self.here(text, frame.bounds), "block": f"0:{count}:{block}"}
        entry, leave = state.add_map(self.label(label), ranges, schedule=dtypes.ScheduleType.GPU_Device)
        inner, end = state.add_map(self.label("threads"), {"thread": f"block:block + {block}"},
                                   schedule=dtypes.ScheduleType.GPU_ThreadBlock)
        inputs = sorted(every - written)
        node = state.add_tasklet(self.label("code"), {pointer(n): self.pointed(n) for n in inputs},
                                 {pointer(n): self.pointed(n) for n in sorted(written)}, text,
                                 language=dtypes.Language.CPP)
        for name in inputs:
            state.add_memlet_path(state.add_read(container(name)), entry, inner, node, dst_conn=pointer(name),
                                  memlet=self.whole(name), propagate=False)
        if not inputs:
            state.add_nedge(entry, inner, dace.Memlet())
            state.add_nedge(inner, node, dace.Memlet())
        for name in sorted(written):
            state.add_memlet_path(node, end, leave, state.add_write(container(name)), src_conn=pointer(name),
                                  memlet=self.whole(name), propagate=False)

    def here(self, text: str, variables: Iterable[str]) -> dict[str, str]:
        """A dimension of one point that starts at the sum of the host's counters in a text: DaCe looks for symbols in
        ranges and not in C++, and passes those that it finds."""
        used = sorted({symbol(v) for v in variables if re.search(rf"\b{symbol(v)}\b", text)})
        total = " + ".join(used)
        return {"here": f"{total}:{total} + 1"} if used else {}
