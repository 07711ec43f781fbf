"""Programs as SDFGs: a state for each statement, one after the other, and regions for control flow."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod

import dace
import numpy as np
from dace import dtypes
from dace.sdfg.state import ConditionalBlock, ControlFlowRegion, LoopRegion, SDFGState

from sdfgad.codegen.compiling.build import RUNTIME
from sdfgad.codegen.cpp import Frame, identifier, symbol
from sdfgad.codegen.reference import scopes
from sdfgad.codegen.reference.forms import graph_form, is_array
from sdfgad.codegen.reference.formulas import is_bound
from sdfgad.codegen.reference.naming import container_names
from sdfgad.codegen.reference.operations import operation_tasklet
from sdfgad.codegen.reference.storage import constant_tasklet, reset_tasklet, tape_tasklet
from sdfgad.codegen.reference.symbols import index_code
from sdfgad.codegen.reference.tasklets import SUM, Tasklet, body_tasklet
from sdfgad.codegen.regions import Regions
from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Call, Index, walk
from sdfgad.ir.program import Array, Block, If, Let, Lib, Loop, Map, Pop, Program, Push, Stmt, Store, While
from sdfgad.ir.special import SPECIAL
from sdfgad.ir.walk import all_reads, all_variables, all_writes, assigned, statements
from sdfgad.names import fresh

_INT, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)
_SNAPSHOTS = frozenset(("seal", "unseal"))
_ELSEWHERE = _SNAPSHOTS | {"matmul", "fail"}
"""Operations that are no textbook routine."""
_BACK_TO_BACK = (dtypes.AllocationLifetime.External, dtypes.AllocationLifetime.SDFG)


@dataclass(frozen=True)
class Graph:
    """An SDFG with what is needed to call it. arguments: arrays that the caller passes. names: the container of each
    array. bytes: of all arrays that the graph keeps for itself. tapes: those that grow."""

    sdfg: dace.SDFG
    arguments: tuple[str, ...]
    names: Mapping[str, str]
    bytes: int
    tapes: tuple[str, ...]


def lower(program: Program, results: Iterable[str] = (), *, wanted: Mapping[str, str] | None = None,
          baked: Collection[str] = (), outside: bool = True) -> Graph:
    """The graph of a program.

    results: arrays that the caller passes beside the arguments and constants. wanted: names of containers, by array.
    baked: constants that are written into the graph. outside: whether the caller gives the memory of the other arrays.
    """
    program = graph_form(program)
    passed = tuple(dict.fromkeys(n for n in (*program.arguments, *results, *program.constants) if n not in baked))
    builder = _GraphBuilder(program, passed, wanted or {}, outside)
    builder.fill({n: program.constants[n] for n in baked})
    own = (d for d in builder.sdfg.arrays.values() if d.lifetime == dtypes.AllocationLifetime.External)
    return Graph(builder.sdfg, passed, builder.names, sum(prod(d.shape) * d.dtype.bytes for d in own), builder.tapes)


class _GraphBuilder(Regions):
    def __init__(self, program: Program, passed: tuple[str, ...], wanted: Mapping[str, str], outside: bool) -> None:
        super().__init__(dace.SDFG(f"sg_{identifier(program.name)}" if outside else identifier(program.name)))
        self.program, self.outside = program, outside
        self.arrays = dict(program.arrays)
        used = (all_reads(program.body) | all_writes(program.body)) - set(passed)
        self.tapes = tuple(sorted(n for n in used if program.arrays[n].role == "tape"))
        self.taken = {symbol(v) for v in all_variables(program.body)} | set(self.arrays)
        flags = {n for s in statements(program.body) for n in _flags(s)}
        order = (*passed, *sorted(used, key=lambda n: (-self.arrays[n].dtype.itemsize, n)))
        self.names = container_names(order, wanted, flags, {symbol(v) for v in all_variables(program.body)})
        self.joined = False  # whether anything is accumulated otherwise than by a sum that DaCe knows
        for name in order:
            self.declare(name, name in passed)

    def declare(self, name: str, passed: bool) -> None:
        """The container of an array."""
        array, found = self.arrays[name], self.names[name]
        kind, life = dtypes.typeclass(array.dtype.type), _BACK_TO_BACK[0 if self.outside else 1]
        if passed:
            self.sdfg.add_array(found, shape_of(array), kind)
        elif is_array(array):
            self.sdfg.add_array(found, shape_of(array), kind, transient=True, lifetime=life)
        else:
            self.sdfg.add_scalar(found, kind, transient=True, lifetime=dtypes.AllocationLifetime.SDFG)

    def scalar(self, stem: str, dtype: np.dtype) -> str:
        """A new number, which formulas of the graph may name."""
        name = fresh(stem, self.taken | set(self.names.values()))
        self.taken.add(name)
        self.arrays[name] = Array(name, (), dtype)
        self.names[name] = fresh("v_" + name, self.names.values())
        self.declare(name, False)
        return name

    def fill(self, baked: Mapping[str, np.ndarray]) -> None:
        """Everything: the code that tasklets call, constants, the program."""
        ops = {s.op for s in statements(self.program.body) if isinstance(s, Lib)}
        first = self.sdfg.add_state(self.label("start"), is_start_block=True)
        tables = []
        for k, (name, value) in enumerate(baked.items()):
            if name in self.names:
                table, tasklet = constant_tasklet(f"sg_table_{k}", self.arrays[name], value)
                tables.append(table)
                self.tasklet(first, tasklet)
        if self.tapes:
            self.tasklet(first, reset_tasklet(self.tapes))
        self.sequence(self.sdfg, self.program.body, Frame(self.program.arrays), first)
        texts = ["sdfgad_scalars.h"]
        texts += ["sdfgad_special.h"] if _functions(self.program.body) & SPECIAL.keys() else []
        texts += ["sdfgad_reference.h"] if self.tapes or self.joined else []
        texts += ["sdfgad_textbook.h"] if ops - _ELSEWHERE else []
        # Snapshots on disk stay with this package.
        ours = ['#include "sdfgad_snapshots.h"'] if ops & _SNAPSHOTS else []
        self.sdfg.append_global_code("\n".join([*((RUNTIME / t).read_text() for t in texts), *ours, *tables]))

    def sequence(self, parent: ControlFlowRegion, block: Block, frame: Frame, previous: object = None) -> None:
        """Add statements to a region, one after the other."""
        if previous is None:
            previous = parent.add_state(self.label("start"), is_start_block=not parent.nodes())
            if len(parent.nodes()) > 1:
                parent.add_edge(parent.nodes()[0], previous, dace.InterstateEdge())
        for stmt in block:
            previous = self.statement(parent, stmt, frame, previous)

    def statement(self, parent: ControlFlowRegion, stmt: Stmt, frame: Frame, previous: object) -> object:
        """What stands behind `previous` when the statement is done."""
        if isinstance(stmt, If):
            cond = self.scalar("cond", _BOOL)
            previous = self.plain(parent, assigned(cond, stmt.cond), frame, previous, stmt.source)
            return self.follow(parent, previous, self.choice(parent, stmt, self.truth(cond), frame))
        if isinstance(stmt, While):
            loop = LoopRegion(self.label("while"), self.truth(stmt.flag))
            self.follow(parent, previous, loop)
            self.sequence(loop, stmt.body, frame)
            return loop
        if isinstance(stmt, Loop):
            return self.counted(parent, stmt, frame, previous)
        return self.plain(parent, stmt, frame, previous, stmt.source)

    def choice(self, parent: ControlFlowRegion, stmt: If, cond: str, frame: Frame) -> ConditionalBlock:
        block = ConditionalBlock(self.label("if"))
        for text, part in ((cond, stmt.then), (None, stmt.orelse)):
            if text or part:
                self.sequence(self.branch(block, text), part, frame)
        return block

    def counted(self, parent: ControlFlowRegion, stmt: Loop, frame: Frame, previous: object) -> object:
        var, step = symbol(stmt.range.var), stmt.range.step
        assignments: dict[str, str] = {}
        texts = []
        for value in (stmt.range.start, stmt.range.stop):
            if is_bound(value):
                texts.append(index_code(value))
                continue
            bound = self.scalar("bound", _INT)
            previous = self.plain(parent, assigned(bound, Index(value, _INT)), frame, previous, stmt.source)
            texts.append(fresh(f"n_{bound}", self.taken | set(self.names.values())))
            assignments[texts[-1]] = self.names[bound]
        more = f"{var} {'<' if step > 0 else '>'} ({texts[1]})"
        loop = LoopRegion(self.label("for"), more, var, f"{var} = {texts[0]}", f"{var} = {var} + ({step})")
        self.follow(parent, previous, loop, assignments)
        if stmt.until is not None:
            self.leave(loop, self.truth(stmt.until))
        self.sequence(loop, stmt.body, frame.inside([stmt.range]))
        return loop

    def truth(self, name: str) -> str:
        """A bool container as a condition."""
        found = self.names[name]
        return found if isinstance(self.sdfg.arrays[found], dace.data.Scalar) else f"{found}[0]"

    def plain(self, parent: ControlFlowRegion, stmt: Map | Lib | Push | Pop, frame: Frame, previous: object,
              source: SourceLine | None) -> object:
        """A state for one computation."""
        frame = Frame(self.arrays, frame.bounds, ranges=frame.ranges)
        state = self.state(type(stmt).__name__.lower() if not isinstance(stmt, Lib) else stmt.op, source)
        self.follow(parent, previous, state)
        if isinstance(stmt, Map):
            groups = scopes.groups(stmt.domain)
            self.tasklet(state, body_tasklet(stmt, frame.inside(stmt.domain)), groups)
        elif isinstance(stmt, Lib) and stmt.op == "matmul":
            operands = (self.names[v.array] for v in (*stmt.ins, *stmt.outs))
            scopes.product(state, self.label("matmul"), self.sdfg.arrays, *operands)
        elif isinstance(stmt, Lib):
            self.tasklet(state, operation_tasklet(stmt, frame))
        else:
            self.tasklet(state, tape_tasklet(stmt, frame, self.tapes.index(stmt.tape)))
        return state

    def state(self, stem: str, place: SourceLine | None) -> SDFGState:
        """A state whose nodes point at the user's line; without one DaCe would search Python's stack for each node."""
        state = SDFGState(self.label(stem))
        state.set_default_lineinfo(dtypes.DebugInfo(place.line, place.column, place.line, place.column, place.file)
                                   if place is not None else dtypes.DebugInfo(0))
        return state

    def tasklet(self, state: SDFGState, tasklet: Tasklet, groups: scopes.Groups = ()) -> None:
        self.joined |= any(e.wcr not in (None, SUM) for e in tasklet.outputs.values())
        scopes.add_tasklet(state, self.label, tasklet, groups, self.arrays, self.names)


def _flags(stmt: Stmt) -> tuple[str, ...]:
    """Arrays that conditions of regions name."""
    if isinstance(stmt, While):
        return (stmt.flag,)
    return (stmt.until,) if isinstance(stmt, Loop) and stmt.until is not None else ()


def shape_of(array: Array) -> tuple[int, ...]:
    """The shape the graph sees: a number is an array of one element, and no extent is zero."""
    return tuple(max(1, n) for n in array.shape) or (1,)


def _functions(block: Block) -> set[str]:
    """The scalar functions that a program calls."""
    exprs = [e for s in statements(block) for e in (
        [p.expr for p in s.body if isinstance(p, (Let, Store))] if isinstance(s, Map) else
        [s.cond] if isinstance(s, If) else [])]
    return {n.fn for e in exprs for n in walk(e) if isinstance(n, Call)}
