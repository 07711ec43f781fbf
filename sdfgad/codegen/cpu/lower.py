"""Programs as SDFGs: kernels become maps, sequential pieces become tasklets, control flow becomes regions.

Containers of the SDFG are what callers pass, and numbers, under the prefix `v_`. All other arrays lie in one block of
memory, the arena, at places that stand in the text of the tasklets: as containers DaCe would take memory for each of
them by itself, and ask of each of thousands where it is made. Nothing is assumed to be zero at the start.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import dace
from dace import dtypes
from dace.sdfg.state import ConditionalBlock, ControlFlowRegion, LoopRegion, SDFGState
from dace.subsets import Range

from sdfgad.codegen.arena import Arena
from sdfgad.codegen.cpp import (
    TAPES,
    Frame,
    Writer,
    container,
    identifier,
    pointer,
    symbol,
    tape_number,
)
from sdfgad.codegen.cpu.footprint import Footprint, footprint_of, scheduled
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel, pieces
from sdfgad.codegen.cpu.order.reciprocals import Reciprocals
from sdfgad.codegen.cpu.text.interrupts import HEED, STOP, guarded, looks_in
from sdfgad.codegen.cpu.text.libraries import BLAS_OPS, DECOMPOSITIONS
from sdfgad.codegen.cpu.text.own_elements import checked
from sdfgad.codegen.cpu.text.piece_text import Scalars, emit_group, emit_kernel_point, group_names, kernel_names
from sdfgad.codegen.cpu.text.scalars import lasting_scalars
from sdfgad.codegen.cpu.text.statements import declare_tapes
from sdfgad.codegen.cpu.text.team_text import emit_team, team_names
from sdfgad.codegen.regions import Regions
from sdfgad.errors import InvariantError
from sdfgad.ir.messages import OP, communicates
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Program, While
from sdfgad.ir.walk import all_writes, statements

_HEADERS: tuple[tuple[str, frozenset[str] | None], ...] = (
    ("sdfgad.h", None), ("sdfgad_sorting.h", frozenset(("argsort",))), ("sdfgad_fourier.h", frozenset(("fft",))),
    ("sdfgad_linalg.h", BLAS_OPS),
    ("sdfgad_decompositions.h", DECOMPOSITIONS),
    ("sdfgad_mpi.h", frozenset((OP,))), ("sdfgad_snapshots.h", frozenset(("seal", "unseal"))))


End: TypeAlias = tuple[dace.nodes.Node, str | None]
"""A node, and its connector."""


@dataclass(frozen=True)
class Lowered:
    """An SDFG with what is needed to build and call it."""

    sdfg: dace.SDFG
    arguments: tuple[str, ...]
    """Containers the caller passes: the program's arguments, its results, its constants."""
    held: Footprint
    uses_blas: bool
    tapes: tuple[str, ...]


def lower(program: Program, results: Iterable[str] = (), loose: Collection[str] = ()) -> Lowered:
    """The SDFG of a program. `results` are containers the caller passes beside the arguments; what is in those that
    are `loose` may differ in its last digits."""
    made = scheduled(program)
    program, arrays = made.program, made.arrays
    passed = dict.fromkeys((*program.arguments, *results, *program.constants))
    items = checked(Reciprocals(program, passed.keys() - set(loose)).items(made.items, Frame(arrays)))
    lasting = lasting_scalars(items, passed, arrays)
    tapes = tuple(sorted(n for n, a in arrays.items() if a.role == "tape"))
    sdfg = dace.SDFG(f"sg_{identifier(program.name)}")
    held = footprint_of(made, passed)
    # Where one rank ends, others would wait for it.
    frame = Frame(arrays, heeds=not communicates(program.body))
    builder = _KernelBuilder(sdfg, frame, frozenset(lasting), tapes, held.arena)
    builder.declare(passed)
    builder.sequence(sdfg, items, builder.frame)
    libs = {s.op for s in statements(program.body) if isinstance(s, Lib)}
    headers = [f'#include "{h}"' for h, needed in _HEADERS if needed is None or libs & needed]
    sdfg.append_global_code("\n".join([*headers, *(
        f"static constexpr size_t {tape_number(t)} = {k};" for k, t in enumerate(tapes))]))
    return Lowered(sdfg, tuple(passed), held, bool(libs & (BLAS_OPS | DECOMPOSITIONS)), tapes)


class _KernelBuilder(Regions):
    def __init__(self, sdfg: dace.SDFG, frame: Frame, lasting: frozenset[str], tapes: tuple[str, ...],
                 arena: Arena) -> None:
        super().__init__(sdfg)
        self.frame = frame
        self.lasting = lasting
        self.tapes = tapes
        self.arena = arena
        self.ends_early = False
        """Whether an interrupt ends what has just been added without leaving it."""

    def declare(self, passed: Mapping[str, None]) -> None:
        """Add the containers the caller passes; numbers are added where they are first used."""
        for name in passed:
            array = self.frame.arrays[name]
            self.sdfg.add_array(container(name), _shape(array), dtypes.typeclass(array.dtype.type))
        if self.tapes:
            self.sdfg.add_array(container(TAPES), (1,), dace.uint64)

    def container(self, name: str) -> str:
        """The SDFG's container for an array; adds it if it is not there yet."""
        found, array = container(name), self.frame.arrays.get(name)
        if array is None or found in self.sdfg.arrays:
            return found
        if array.shape:
            raise InvariantError(f"{name} is an array of the arena, and no container")
        self.sdfg.add_scalar(found, dtypes.typeclass(array.dtype.type), transient=True,
                             lifetime=dtypes.AllocationLifetime.SDFG)
        return found

    def placed(self, names: Collection[str], written: Collection[str]) -> list[str]:
        """Pointers to arrays of the arena, whose start the state has as `sg_arena`.

        Where an array starts is a number in the text: the compiler reaches all arrays from a few registers. A pointer
        to each of them in the state would take a register each, and a loop over many arrays would load most of them
        again at every vector.
        """
        kinds = [(n, dtypes.typeclass(self.frame.arrays[n].dtype.type).ctype) for n in sorted(names)]
        return [f"{'' if n in written else 'const '}{kind}* {pointer(n)} = "
                f"__state->sg_arena.at<{kind}>({self.arena.offsets[n]});" for n, kind in kinds]

    def sequence(self, parent: ControlFlowRegion, items: tuple[Item, ...], frame: Frame, looks: bool = False) -> None:
        """Add items to a region, one after the other. looks: an interrupt ends the call before them."""
        previous = parent.add_state(self.label("start"), is_start_block=not parent.nodes())
        if looks:
            self.look(previous)
        if len(parent.nodes()) > 1:
            parent.add_edge(parent.nodes()[0], previous, dace.InterstateEdge())
        for item in items:
            block, assignments = self.item(parent, item, frame)
            parent.add_edge(previous, block, dace.InterstateEdge(assignments=assignments))
            previous = block
            if self.ends_early:
                previous = self.state(parent, "look", ())
                parent.add_edge(block, previous, dace.InterstateEdge())
                self.look(previous)

    def look(self, state: SDFGState) -> None:
        """End the call here if it has been interrupted."""
        self.ends_early = False
        state.add_tasklet(self.label("code"), {}, {}, HEED, language=dtypes.Language.CPP)

    def item(self, parent: ControlFlowRegion, item: Item, frame: Frame) -> tuple[object, dict[str, str]]:
        if isinstance(item, Group):
            state = self.state(parent, "group", item.body)
            self.group(state, item.body, frame)
            return state, {}
        if isinstance(item, Kernel):
            state = self.state(parent, "kernel", item.body)
            return state, self.kernel(state, item, frame)
        if item.team:
            state = self.state(parent, "team", (item.stmt,))
            self.team(state, item, frame)
            return state, {}
        return self.region(parent, item, frame)

    def state(self, parent: ControlFlowRegion, stem: str, body: Block) -> SDFGState:
        """A state whose nodes point at the user's line; without one DaCe would search Python's stack for each node."""
        place = next((s.source for s in body if s.source is not None), None)
        state = parent.add_state(self.label(stem))
        state.set_default_lineinfo(dtypes.DebugInfo(place.line, place.column, place.line, place.column, place.file)
                                   if place is not None else dtypes.DebugInfo(0))
        return state

    def bound(self, value: int | str, assignments: dict[str, str]) -> str:
        """A number, or a symbol that takes the value of a scalar on the way in."""
        if isinstance(value, int):
            return str(value)
        name = "n_" + identifier(value)
        assignments[name] = self.container(value)
        return name

    def region(self, parent: ControlFlowRegion, item: ControlFlow, frame: Frame) -> tuple[object, dict[str, str]]:
        assignments: dict[str, str] = {}
        stmt, looks = item.stmt, looks_in(frame, item)
        if isinstance(stmt, If):
            block = ConditionalBlock(self.label("if"))
            parent.add_node(block)
            for cond, part in zip((self.truth(item.cond), None), item.parts, strict=True):
                self.sequence(self.branch(block, cond), part, frame)
            return block, assignments
        if isinstance(stmt, While):
            loop = LoopRegion(self.label("while"), self.truth(stmt.flag))
        else:
            loop = self.counted(stmt, item, assignments)
            frame = frame.inside([stmt.range])
        parent.add_node(loop)
        if isinstance(stmt, Loop) and stmt.until is not None:
            self.leave(loop, self.truth(stmt.until))
        self.sequence(loop, item.parts[0], frame, looks)
        return loop, assignments

    def counted(self, stmt: Loop, item: ControlFlow, assignments: dict[str, str]) -> LoopRegion:
        var, step = symbol(stmt.range.var), stmt.range.step
        start, stop = self.bound(item.start, assignments), self.bound(item.stop, assignments)
        more = f"{var} {'<' if step > 0 else '>'} {stop}"
        return LoopRegion(self.label("for"), more, var, f"{var} = {start}", f"{var} = {var} + ({step})")

    def truth(self, name: str) -> str:
        """A bool container as a condition."""
        found = self.container(name)
        return found if isinstance(self.sdfg.arrays[found], dace.data.Scalar) else f"{found}[0]"

    def group(self, state: SDFGState, body: Block, frame: Frame) -> None:
        """One tasklet that runs `body`."""
        written, writer = all_writes(body), Writer()
        scalars = self.scalars(written)
        emit_group(writer, frame, Group(body), scalars)
        self.tasklet(state, group_names(body, frame, scalars), written, writer)

    def team(self, state: SDFGState, item: ControlFlow, frame: Frame) -> None:
        """One tasklet that runs a loop with all threads."""
        written = {n for p in pieces((item,)) for n in all_writes(p.body)}
        scalars, writer = self.scalars(written), Writer()
        emit_team(writer, frame, item, scalars)
        self.ends_early = any(STOP in line for line in writer.lines)
        self.tasklet(state, team_names(item, frame, scalars), written, writer)

    def scalars(self, written: set[str]) -> Scalars:
        """Numbers as a tasklet that writes some of them finds them."""
        return Scalars(self.lasting, self.tapes, lambda name: self.origin(name, written))

    def kernel(self, state: SDFGState, item: Kernel, frame: Frame) -> dict[str, str]:
        """A parallel map around one tasklet."""
        assignments: dict[str, str] = {}
        writer, written = Writer(), all_writes(item.body)
        counters = {self.label("m"): x for x in item.extents}
        emit_kernel_point(writer, frame, item, counters, self.scalars(written))
        self.ends_early = guarded(writer)
        ranges = {counter: f"0:{self.bound(x.trips, assignments)}" for counter, x in counters.items()}
        schedule = dtypes.ScheduleType.CPU_Multicore
        entry, leave = state.add_map(self.label("map"), ranges, schedule=schedule)
        if len(ranges) > 1:
            entry.map.collapse = len(ranges)
        if item.in_turn:
            entry.map.omp_schedule, entry.map.omp_chunk_size = dtypes.OMPScheduleType.Static, 1
        elif item.uneven:
            entry.map.omp_schedule = dtypes.OMPScheduleType.Dynamic
        self.tasklet(state, kernel_names(item), written, writer, entry, leave)
        return assignments

    def tasklet(self, state: SDFGState, names: set[str], written: set[str], writer: Writer,
                entry: dace.nodes.MapEntry | None = None, leave: dace.nodes.MapExit | None = None) -> None:
        """Add a C++ tasklet with a pointer connector for every container in `names`; those on tapes are found there,
        and those of the arena at their places."""
        taped, own = names & set(self.tapes), names & self.arena.offsets.keys()
        inputs, outputs = sorted(names - written - taped - own), sorted((names & written) - taped - own)
        writer.lines[:0] = self.placed(own, written)
        if taped:
            (inputs if entry is not None else outputs).append(TAPES)
            handle = f"uintptr_t({pointer(TAPES)}[0])"
            writer.lines[:0] = [f"sg::Tapes* {TAPES} = reinterpret_cast<sg::Tapes*>({handle});",
                                *declare_tapes(taped, self.frame)]
        for name in (*inputs, *outputs):
            self.container(name)
        node = state.add_tasklet(self.label("code"), {pointer(n): self.connector_type(n) for n in inputs},
                                 {pointer(n): self.pointer_type(n) for n in outputs}, writer.text,
                                 language=dtypes.Language.CPP)
        if entry is not None and not inputs:
            state.add_nedge(entry, node, dace.Memlet())
        if leave is not None and not outputs:
            state.add_nedge(node, leave, dace.Memlet())
        for name in inputs:
            self.wholly(state, name, (state.add_read(container(name)), None), entry, (node, pointer(name)))
        for name in outputs:
            self.wholly(state, name, (node, pointer(name)), leave, (state.add_write(container(name)), None))

    def wholly(self, state: SDFGState, name: str, first: End, between: dace.nodes.Node | None, last: End) -> None:
        """Let all of a container go from one node to another, through the rim of a map where one is `between`. What is
        whole inside a map is whole around it: to find that out by propagation takes DaCe as long as all the rest."""
        if between is None:
            state.add_edge(*first, *last, self.whole(name))
            return
        number = between.next_connector()
        arrives, leaves = f"IN_{number}", f"OUT_{number}"
        between.add_in_connector(arrives)
        between.add_out_connector(leaves)
        state.add_edge(*first, between, arrives, self.whole(name))
        state.add_edge(between, leaves, *last, self.whole(name))

    def pointer_type(self, name: str) -> dtypes.pointer:
        return dtypes.pointer(self.sdfg.arrays[container(name)].dtype)

    def connector_type(self, name: str) -> dtypes.typeclass:
        """Containers are read through pointers, transient scalars (which live in locals) as values."""
        desc = self.sdfg.arrays[container(name)]
        return desc.dtype if isinstance(desc, dace.data.Scalar) else self.pointer_type(name)

    def origin(self, name: str, written: set[str]) -> str:
        """The value of a zero-dimensional container at the start of a tasklet."""
        value = isinstance(self.sdfg.arrays[self.container(name)], dace.data.Scalar) and name not in written
        return pointer(name) if value else f"{pointer(name)}[0]"

    def whole(self, name: str) -> dace.Memlet:
        found = container(name)
        desc = self.sdfg.arrays[found]
        scalar = isinstance(desc, dace.data.Scalar)
        return dace.Memlet(data=found, subset=Range([(0, n - 1, 1) for n in desc.shape]), volume=1, dynamic=not scalar)


def _shape(array: Array) -> tuple[int, ...]:
    """The shape the SDFG sees: it knows neither scalars that are passed by reference nor empty arrays."""
    shape = array.shape if array.packing is None else (array.size,)
    return shape if shape and 0 not in shape else (1,)
