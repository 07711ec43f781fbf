"""States: their nodes in order of dataflow, as maps and statements."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.graphs import copies, maps, operations
from sdfgad.frontend.graphs.conflicts import check_order
from sdfgad.frontend.graphs.copies import kind_of
from sdfgad.frontend.graphs.cpp import statements_of
from sdfgad.frontend.graphs.frames import GraphFrame
from sdfgad.frontend.graphs.places import ElementBox
from sdfgad.frontend.graphs.tasklets import Pointer, TaskletBody
from sdfgad.frontend.state.builder import cast
from sdfgad.ir.expr import Const, Expr, Index, Load, Local, call
from sdfgad.ir.program import Let, Store

Nested = Callable[[GraphFrame, Any, Any], None]
"""Reads a graph inside: frame, state, node."""


@dataclass(eq=False)
class StateReader:
    """One state. nested: reads graphs inside. values: what code hands to code; body: of the map being made, or None
    where statements are emitted; candidates: containers that only this map knows; locals: numbers in them."""

    frame: GraphFrame
    state: Any
    nested: Nested
    values: dict[tuple[Any, str], Expr] = field(default_factory=dict)
    body: list[Let | Store] | None = None
    locals: dict[str, Expr] = field(default_factory=dict)
    candidates: frozenset[str] = frozenset()

    def read(self) -> None:
        """All nodes."""
        self.frame.state = self.state
        self.children = self.state.scope_children()
        self.level(None)
        self.frame.state = None

    def level(self, entry: Any) -> None:
        """The nodes directly inside a scope."""
        inside = set(self.children[entry])
        nodes = [n for n in self.order if n in inside]
        check_order(self.frame, self.state, entry, nodes, lambda node: copies.view_edge(self, node))
        copies.look(self, nodes)
        for node in nodes:
            self.frame.point(node)
            self.node(node)

    @property
    def order(self) -> list[Any]:
        found = self.__dict__.get("_order")
        if found is None:
            from dace.sdfg import utils

            found = self.__dict__["_order"] = list(utils.dfs_topological_sort(self.state, self.state.source_nodes()))
        return list(found)

    def node(self, node: Any) -> None:
        kind = kind_of(node)
        if kind in ("MapExit", "ConsumeExit"):
            return
        reader = _NODES.get(kind)
        if reader is None and _is_library(node):
            operations.library(self, node)
        elif reader is None:
            raise self.frame.refuse(f"a {kind}", "write it with maps, tasklets and access nodes", node=node)
        else:
            reader(self, node)

    # code

    def tasklet(self, node: Any) -> None:
        """A tasklet: one statement, or a part of the map's body."""
        inputs: dict[str, Expr] = {}
        pointers: dict[str, Pointer] = {}
        for edge in self.state.in_edges(node):
            if not edge.data.is_empty():
                self.input(edge, inputs, pointers)
        outputs: list[str] = []
        dtypes: dict[str, np.dtype] = {}
        before: dict[str, Expr] = {}
        for edge in self.state.out_edges(node):
            if not edge.data.is_empty():
                outputs.append(edge.src_conn)
                self.output(edge, dtypes, pointers)
                if edge.data.dynamic:
                    before[edge.src_conn] = self.sometimes(edge)
        frame = self.frame
        made = TaskletBody(inputs, pointers, frame.formula(node).value, outputs,
                           lambda what, help: frame.refuse(what, help, node=node), dtypes, before)
        made.read(self.code(node))
        self.results(node, made)

    def code(self, node: Any) -> Sequence[ast.stmt]:
        language = node.code.language.name
        texts = [c.as_string for c in (getattr(node, "code_global", None), getattr(node, "code_init", None),
                                       getattr(node, "code_exit", None)) if c is not None]
        if any(t.strip() for t in texts) or getattr(node, "state_fields", None):
            raise self.frame.refuse("a tasklet with code of its own outside", "put everything into it", node=node)
        if language == "Python":
            return node.code.code if isinstance(node.code.code, list) else ast.parse(node.code.as_string).body
        found = statements_of(node.code.as_string) if language == "CPP" else None
        if found is None:
            raise self.frame.refuse(f"a tasklet in {language}: `{node.code.as_string.strip()}`",
                                    "write it in Python, or as assignments of expressions", node=node)
        return found

    def input(self, edge: Any, inputs: dict[str, Expr], pointers: dict[str, Pointer]) -> None:
        conn, memlet = edge.dst_conn, edge.data
        kind = _connector_dtype(self.frame, edge.dst, edge.dst.in_connectors[conn])
        if (edge.src, edge.src_conn) in self.values:
            e = self.values[edge.src, edge.src_conn]
        else:
            box = self.frame.box(memlet.subset, edge.dst)
            if not box.single:
                pointers[conn] = Pointer(self.frame.place(memlet.data, edge.dst), box)
                return
            e = self.element(memlet.data, box)
        inputs[conn] = e if kind is None else cast(e, kind)

    def element(self, name: str, box: ElementBox) -> Expr:
        """The one element of a box."""
        if name in self.locals:
            return self.locals[name]
        return self.frame.load(name, box.first)

    def output(self, edge: Any, dtypes: dict[str, np.dtype], pointers: dict[str, Pointer]) -> None:
        conn, memlet = edge.src_conn, edge.data
        kind = _connector_dtype(self.frame, edge.src, edge.src.out_connectors[conn])
        if memlet.data is not None and kind_of(edge.dst) != "Tasklet":
            box = self.frame.box(memlet.subset, edge.src)
            place = None if self.is_local(memlet.data) else self.frame.place(memlet.data, edge.src)
            if not box.single and place is not None:
                if memlet.wcr is not None:
                    raise self.frame.refuse("a tasklet that accumulates into several elements", "use a map around it",
                                            node=edge.src)
                pointers[conn] = Pointer(place, box)
                return
            kind = kind or np.dtype(self.frame.sdfg.arrays[memlet.data].dtype.type)
        if kind is not None:
            dtypes[conn] = kind

    def sometimes(self, edge: Any) -> Expr:
        """What an element holds that a tasklet may write or not: it is written in any case, with what it held."""
        memlet = edge.data
        box = None if memlet.data is None else self.frame.box(memlet.subset, edge.src)
        if box is None or not box.single or memlet.wcr is not None or self.is_local(memlet.data):
            self.refuse_dynamic(edge)
        assert box is not None
        return self.element(memlet.data, box)

    def results(self, node: Any, made: TaskletBody) -> None:
        """Write what a tasklet has computed."""
        edges = [e for e in self.state.out_edges(node) if not e.data.is_empty()]
        plain = [e for e in edges if e.src_conn not in made.pointers]
        several = len(plain) + len(made.stores) > 1
        for edge in plain:
            if edge.src_conn not in made.values:
                raise self.frame.refuse(f"{edge.src_conn!r}, which the tasklet does not assign", "assign it", node=node)
        parts: list[Let | Store] = []
        found = {c: self.bound(made.values[c], parts) if several else made.values[c]
                 for c in dict.fromkeys(e.src_conn for e in plain)}
        self.put([*parts, *made.stores])
        for edge in plain:
            value = found[edge.src_conn]
            if kind_of(edge.dst) in ("Tasklet", "NestedSDFG") and edge.data.data is None:
                self.values[node, edge.src_conn] = self.handed_on(value)
            else:
                self.write(edge.data.data, self.frame.box(edge.data.subset, node), value,
                           self.op_of(self.innermost(edge), node), node)

    def innermost(self, edge: Any) -> Any:
        """How an edge accumulates: all of its path has to say the same."""
        path = self.state.memlet_path(edge)
        if edge.data.wcr is None and any(e.data.wcr is not None for e in path):
            raise self.frame.refuse("an edge that accumulates outside of its scope alone",
                                    "give every edge of the path the same wcr", node=edge.src)
        return edge.data.wcr

    def bound(self, e: Expr, parts: list[Let | Store]) -> Expr:
        """A value as it is now, whatever is stored next."""
        if isinstance(e, (Const, Index, Local)):
            return e
        if self.body is None:
            made = self.frame.builder.declare((), e.dtype, "value")
            parts.append(Store(made.name, (), e))
            return Load(made.name, (), e.dtype)
        name = self.frame.builder.symbol("value")
        parts.append(Let(name, e))
        return Local(name, e.dtype)

    def handed_on(self, e: Expr) -> Expr:
        parts: list[Let | Store] = []
        made = self.bound(e, parts)
        self.put(parts)
        return made

    def write(self, name: str, box: ElementBox, e: Expr, op: str | None, node: Any) -> None:
        """`name[element] op= e`."""
        dtype = np.dtype(self.frame.sdfg.arrays[name].dtype.type)
        if self.is_local(name) and self.body is not None:
            if op is not None:
                e = _joined(op, self.locals[name], cast(e, dtype))
            self.locals[name] = self.handed_on(cast(e, dtype))
            return
        place = self.frame.place(name, node)
        index = place.at(box.first)
        self.frame.bounded(place, index, ())
        self.put([self.frame.joining(place.array, index, cast(e, dtype), op)])

    def put(self, parts: Sequence[Let | Store]) -> None:
        if self.body is not None:
            self.body += parts
            return
        for part in parts:
            self.frame.emit((), (part,))

    def op_of(self, wcr: Any, node: Any) -> str | None:
        """How an edge accumulates."""
        if wcr is None:
            return None
        from dace.frontend.operations import detect_reduction_type

        found = detect_reduction_type(wcr, openmp=True).name
        if found not in _ACCUMULATE:
            raise self.frame.refuse(f"accumulation by `{wcr}`", "use a sum, a product, min or max", node=node)
        return _ACCUMULATE[found]

    def refuse_dynamic(self, edge: Any) -> None:
        if edge.data.dynamic:
            raise self.frame.refuse(f"a memlet that is written as often as data decide: {edge.data}",
                                    "write the element in every case", node=edge.src)

    # maps

    def map(self, entry: Any) -> None:
        """A map: of the program where its iterations are seen to be independent, else loops in order."""
        outer = dict(self.frame.symbols)
        self.dynamic(entry)
        if self.body is not None:
            maps.deeper(self, entry)
        elif not maps.made(self, entry):
            maps.loops(self, entry)
        self.frame.symbols.clear()
        self.frame.symbols.update(outer)

    def dynamic(self, entry: Any) -> None:
        """Numbers from data that the ranges of a map need."""
        for edge in self.state.in_edges(entry):
            if edge.dst_conn and not edge.dst_conn.startswith("IN_"):
                e = self.element(edge.data.data, self.frame.box(edge.data.subset, entry))
                made = self.frame.builder.declare((), np.dtype(np.int64), edge.dst_conn)
                self.frame.store(made.name, (), cast(e, made.dtype))
                self.frame.symbols[edge.dst_conn] = Load(made.name, (), made.dtype)

    def is_local(self, name: str) -> bool:
        return name in self.locals or name in self.candidates


    def inside(self, node: Any) -> None:
        """A graph inside the state."""
        self.nested(self.frame, self.state, node)


_NODES: Mapping[str, Callable[..., None]] = MappingProxyType({
    "AccessNode": copies.access, "Tasklet": StateReader.tasklet, "MapEntry": StateReader.map,
    "NestedSDFG": StateReader.inside})


def _is_library(node: Any) -> bool:
    return any(c.__name__ == "LibraryNode" for c in type(node).__mro__)


def _connector_dtype(frame: GraphFrame, node: Any, declared: Any) -> np.dtype | None:
    """The dtype that a connector says it has; None where its data decide."""
    if declared is None or declared.type is None:
        return None
    if type(declared).__name__ in ("vector", "opaque", "struct", "callback"):
        raise frame.refuse(f"a connector of type {declared}", "use numbers and arrays", node=node)
    if type(declared).__name__ == "pointer":
        return None
    return np.dtype(declared.type)


def _joined(op: str, a: Expr, b: Expr) -> Expr:
    return call({"+": "add", "-": "sub", "*": "mul", "min": "minimum", "max": "maximum"}[op], a, b)


_ACCUMULATE: Mapping[str, str] = MappingProxyType({"Sum": "+", "Product": "*", "Min": "min", "Max": "max", "Sub": "-"})
