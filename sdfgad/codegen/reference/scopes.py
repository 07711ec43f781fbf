"""Nodes and edges of one state: a tasklet, the sequential maps around it, and memlets along each way."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import dace
from dace import dtypes, nodes, subsets
from dace.libraries.blas.nodes.matmul import MatMul
from dace.sdfg.state import SDFGState

from sdfgad.codegen.cpp import symbol
from sdfgad.codegen.reference.symbols import element, everything, symbolic_index
from sdfgad.codegen.reference.tasklets import End, Tasklet
from sdfgad.ir.program import Array, Range

Groups: TypeAlias = Sequence[Sequence[Range]]


def groups(domain: tuple[Range, ...]) -> Groups:
    """Ranges that may stand in one map: none of them depends on another one."""
    found: list[list[Range]] = []
    inside: set[str] = set()
    for r in domain:
        if not found or inside & (r.start.symbols | r.stop.symbols):
            found.append([])
            inside = set()
        found[-1].append(r)
        inside.add(r.var)
    return found


def add_tasklet(state: SDFGState, label: Callable[[str], str], tasklet: Tasklet, ranges: Groups,
                arrays: Mapping[str, Array], names: Mapping[str, str]) -> None:
    """A tasklet inside maps over these ranges."""
    place = _TaskletPlace(state, [_map(label, group) for group in ranges], arrays, names)
    kinds = {side: {c: place.kind(end) for c, end in ends.items()}
             for side, ends in (("in", tasklet.inputs), ("out", tasklet.outputs))}
    node = state.add_tasklet(label("code"), kinds["in"], kinds["out"], tasklet.writer.text,
                             language=dtypes.Language.CPP, state_fields=list(tasklet.fields))
    node.side_effects = tasklet.lasting or None
    place.connect(node, tasklet)


def _map(label: Callable[[str], str], group: Sequence[Range]) -> tuple[nodes.MapEntry, nodes.MapExit]:
    bounds = subsets.Range([(symbolic_index(r.start), symbolic_index(r.stop - 1), r.step) for r in group])
    made = nodes.Map(label("map"), [symbol(r.var) for r in group], bounds, schedule=dtypes.ScheduleType.Sequential)
    return nodes.MapEntry(made), nodes.MapExit(made)


class _TaskletPlace:
    """Where a tasklet stands: in a state, inside maps from the outermost one on."""

    def __init__(self, state: SDFGState, maps: list[tuple[nodes.MapEntry, nodes.MapExit]],
                 arrays: Mapping[str, Array], names: Mapping[str, str]) -> None:
        self.state, self.arrays, self.names = state, arrays, names
        self.entries, self.exits = [e for e, _ in maps], [x for _, x in maps]
        for node in (*self.entries, *self.exits):
            state.add_node(node)

    def kind(self, end: End) -> dtypes.typeclass:
        """The type of a connector."""
        one = dtypes.typeclass(self.arrays[end.array].dtype.type)
        return one if end.index is not None else dtypes.pointer(one)

    def connect(self, node: nodes.Tasklet, tasklet: Tasklet) -> None:
        chains: dict[str, tuple[object, str | None]] = {}
        for connector, end in tasklet.inputs.items():
            if end.array not in chains:
                chains[end.array] = self.inwards(end.array)
            origin, port = chains[end.array]
            self.state.add_edge(origin, port, node, connector, self.memlet(end))
        written = {e.array: self.state.add_write(self.names[e.array]) for e in tasklet.outputs.values()}
        for connector, end in tasklet.outputs.items():
            self.outwards(node, connector, end, written[end.array])
        chain = [*self.entries, node, *reversed(self.exits)]
        for first, other in zip(chain, chain[1:], strict=False):
            if not self.state.edges_between(first, other):
                self.state.add_nedge(first, other, dace.Memlet())

    def inwards(self, array: str) -> tuple[object, str | None]:
        """Lead an array through the maps; where its elements can be taken from."""
        origin, port = self.state.add_read(self.names[array]), None
        for entry in self.entries:
            entry.add_in_connector(f"IN_{self.names[array]}")
            entry.add_out_connector(f"OUT_{self.names[array]}")
            self.state.add_edge(origin, port, entry, f"IN_{self.names[array]}", self.memlet(End(array, None)))
            origin, port = entry, f"OUT_{self.names[array]}"
        return origin, port

    def outwards(self, node: nodes.Tasklet, connector: str, end: End, target: nodes.AccessNode) -> None:
        """Lead what a connector gives through the maps to its array."""
        origin, port, memlet = node, connector, self.memlet(end)
        for leave in reversed(self.exits):
            leave.add_in_connector(f"IN_{connector}")
            leave.add_out_connector(f"OUT_{connector}")
            self.state.add_edge(origin, port, leave, f"IN_{connector}", memlet)
            origin, port, memlet = leave, f"OUT_{connector}", self.memlet(End(end.array, None, end.wcr))
        self.state.add_edge(origin, port, target, None, memlet)

    def memlet(self, end: End) -> dace.Memlet:
        array = self.arrays[end.array]
        if end.index is not None:
            return dace.Memlet(data=self.names[end.array], subset=element(end.index), wcr=end.wcr)
        shape = tuple(max(1, n) for n in array.shape) or (1,)
        return dace.Memlet(data=self.names[end.array], subset=everything(shape), wcr=end.wcr, dynamic=True)


def product(state: SDFGState, label: str, arrays: Mapping[str, dace.data.Data], a: str, b: str, c: str) -> None:
    """`c = a @ b` of whole matrices, as an operation of DaCe's. arrays: all containers of the graph."""
    node = MatMul(label)
    state.add_node(node)
    for name, port in ((a, "_a"), (b, "_b")):
        state.add_edge(state.add_read(name), None, node, port, dace.Memlet.from_array(name, arrays[name]))
    state.add_edge(node, "_c", state.add_write(c), None, dace.Memlet.from_array(c, arrays[c]))
