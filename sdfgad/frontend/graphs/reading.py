"""The door: a graph and the arguments of one call become a program."""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad import names
from sdfgad.arrays import Spec, native
from sdfgad.errors import DtypeError, UsageError, unsupported
from sdfgad.frontend.graphs.frames import GraphFrame, GraphReading, ReadAgain, is_scalar
from sdfgad.frontend.graphs.function import RETURN, GraphFunction
from sdfgad.frontend.graphs.guarded import guarded
from sdfgad.frontend.graphs.places import ContainerPlace
from sdfgad.frontend.graphs.regions import RegionReader
from sdfgad.frontend.graphs.symbols import solved
from sdfgad.frontend.parse import Parsed
from sdfgad.frontend.state.accesses import check_known
from sdfgad.frontend.state.builder import Builder, cast
from sdfgad.frontend.syntax.surroundings import Surroundings
from sdfgad.ir.expr import Expr, Index, Load, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import LASTING, Block, Map, Program, Store, View, all_of
from sdfgad.ir.walk import children, reads, writes

MOST_READINGS = 200
_NUMBERS = (bool, int, float, complex, np.generic)


def read(fn: GraphFunction, arguments: Sequence[Any], keywords: Mapping[str, Any],
         taken: Set[str] = frozenset()) -> Parsed:
    """Translate a graph for these arguments: arrays by shape, floats as scalars, integers by value. taken: names that
    arrays and variables of loops may not have."""
    signature = fn.__signature__
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise UsageError(f"{fn.__name__}: {error}", code="SG205") from error
    bound.apply_defaults()
    values = {n: v for n, v in bound.arguments.items() if v is not None}
    sdfg, surroundings = fn.graph(values)
    call = _Call(sdfg, fn.__name__, values, tuple(signature.parameters))
    decisions: frozenset[tuple[Any, ...]] = frozenset()
    for _ in range(MOST_READINGS):
        try:
            return call.translated(GraphReading(_builder(taken), decisions), surroundings)
        except ReadAgain as again:
            decisions |= {again.choice}
    raise unsupported(None, f"the graph {fn.__name__}, whose symbols change too often", code="SG110")


def _builder(taken: Set[str]) -> Builder:
    builder = Builder()
    builder.taken |= taken
    return builder


class _Call:
    """A graph with the arguments of one call. symbols: what they make of its sizes."""

    def __init__(self, sdfg: Any, name: str, values: Mapping[str, Any], parameters: tuple[str, ...]) -> None:
        self.sdfg, self.name, self.values, self.parameters = sdfg, name, values, parameters
        self.check()
        self.symbols = self.solve()

    def check(self) -> None:
        """UsageError or DtypeError for arguments that are none of the graph's."""
        free = {str(s) for s in self.sdfg.free_symbols}
        frame = GraphFrame(GraphReading(Builder()), self.sdfg, (0,))
        for name, value in self.values.items():
            desc = self.sdfg.arrays.get(name)
            if desc is None:
                if name in free and not isinstance(value, (int, np.integer)):
                    raise UsageError(f"{self.name}: the symbol {name} is an integer", code="SG205")
                if name not in free and isinstance(value, (np.ndarray, Spec, np.inexact, float, complex)):
                    raise UsageError(f"{self.name}: the graph has no argument {name}", code="SG205",
                                     help="leave it out, or make the graph with it")
            elif not isinstance(value, (np.ndarray, Spec, *_NUMBERS)):
                raise UsageError(f"{self.name}: {name} is {type(value).__name__}", code="SG205",
                                 help="graphs take arrays and numbers")
            else:
                frame.check_kind(name, desc, None)
                self.check_kind(name, desc, value)

    def check_kind(self, name: str, desc: Any, value: Any) -> None:
        shape, wanted = getattr(value, "shape", ()), np.dtype(desc.dtype.type)
        if len(shape) != (0 if is_scalar(desc) else len(desc.shape)):
            raise UsageError(f"{self.name}: {name} has the shape {tuple(shape)}, the graph takes {desc.shape}",
                             code="SG205", help="pass an array of as many dimensions")
        kind = native(np.dtype(value.dtype)) if hasattr(value, "dtype") else np.dtype(type(value))
        fits = kind == wanted if shape or not isinstance(value, (bool, int, float, complex)) else np.can_cast(
            kind, wanted, "same_kind")
        if not fits and not (isinstance(value, (int, np.integer)) and wanted.kind in "iufc"):
            raise DtypeError(f"{self.name}: {name} is {kind}, the graph takes {wanted}",
                             help=f"convert it: {name}.astype('{wanted}')")

    def solve(self) -> dict[str, int]:
        arrays = {n: v for n, v in self.values.items() if n in self.sdfg.arrays and getattr(v, "shape", None)}
        extents = [pair for n, v in arrays.items() for pair in zip(self.sdfg.arrays[n].shape, v.shape, strict=True)]
        given = {n: int(v) for n, v in self.values.items() if n not in self.sdfg.arrays and isinstance(
            v, (int, np.integer))}
        found, wrong = solved(extents, given)
        if wrong:
            raise UsageError(f"{self.name}: no sizes fit the arguments, as {wrong}", code="SG205")
        return found

    def translated(self, reading: GraphReading, surroundings: Surroundings) -> Parsed:
        builder = reading.builder
        frame = GraphFrame(reading, self.sdfg, (0,))
        frame.symbols.update({n: const(v, np.dtype(np.int64)) for n, v in self.symbols.items()})
        traced = self.arguments(frame)
        results = self.results(frame)
        self.missing(frame)
        open_frame(frame)
        RegionReader(frame, nested).read()
        self.begin(builder)
        checked = frozenset(builder.arguments) - builder.mutated
        accesses = check_known(builder.accesses, builder.constants, checked)
        body = guarded(tuple(builder.blocks[0]), builder.arrays, builder.scope, checked | builder.constants.keys())
        program = Program(
            name=names.safe(self.name) if self.name.isidentifier() else "program",
            arrays=MappingProxyType(dict(builder.arrays)), arguments=tuple(builder.arguments),
            body=body, returns=_tree(results),
            constants=MappingProxyType(dict(builder.constants)), source=builder.source)
        return Parsed(program, self.parameters, MappingProxyType(traced), frozenset(builder.mutated), surroundings,
                      accesses)

    def arguments(self, frame: GraphFrame) -> dict[str, str]:
        """Containers of arrays and floats; integers are known."""
        traced: dict[str, str] = {}
        written = _written(self.sdfg)
        for name, value in self.values.items():
            desc = self.sdfg.arrays.get(name)
            if desc is None:
                continue
            dtype = np.dtype(desc.dtype.type)
            if isinstance(value, (bool, int, np.integer, np.bool_)):
                frame.known[name] = cast(const(value if isinstance(value, bool) else int(value), np.asarray(
                    value).dtype), dtype)
                if name in written:
                    self.start(frame, name, frame.known.pop(name))
                continue
            shape = () if is_scalar(desc) else tuple(ix(int(n)) for n in value.shape)
            own = native(np.dtype(value.dtype)) if hasattr(value, "dtype") else np.dtype(type(value))
            array = frame.builder.declare(shape, own, name, "argument")
            frame.builder.arguments.append(array.name)
            traced[name] = frame.held[name] = array.name
            if name not in written:
                frame.reading.fixed.add(array.name)
            if own != dtype:
                frame.held.pop(name)
                self.start(frame, name, cast(Load(array.name, (), own), dtype))
        return traced

    def begin(self, builder: Builder) -> None:
        """Zeros where an array is looked at before anything of it is written, as in `0.0 * y[i] + s` for products that
        add nothing to y: memory that nobody has written may hold no numbers."""
        lasting = (n for n, a in builder.arrays.items() if a.role == LASTING)
        given, found = {*builder.arguments, *builder.constants, *lasting}, set[str]()
        _unwritten(tuple(builder.blocks[0]), given, found)
        body, builder.blocks[0][:] = list(builder.blocks[0]), []
        for name in sorted(found):
            array = builder.arrays[name]
            domain = all_of(array.shape, "d")
            builder.emit(Map(domain, (Store(name, tuple(ix(r.var) for r in domain), const(0, array.dtype)),)))
        builder.blocks[0].extend(body)

    def start(self, frame: GraphFrame, name: str, e: Expr) -> None:
        """A number of the graph that begins as something that is given."""
        made = frame.builder.declare((), e.dtype, name)
        frame.held[name] = made.name
        frame.store(made.name, (), e)

    def results(self, frame: GraphFrame) -> list[ContainerPlace]:
        """Containers of what the graph returns."""
        found = sorted((n for n in self.sdfg.arrays if n.startswith(RETURN)), key=lambda n: (len(n), n))
        return [frame.place(n) for n in found]

    def missing(self, frame: GraphFrame) -> None:
        """UsageError for arguments and symbols that nobody gives."""
        known = {*self.values, *self.symbols, *self.sdfg.constants}
        arrays = [n for n, d in self.sdfg.arrays.items() if not d.transient and n not in known
                  and not n.startswith(RETURN)]
        # Graphs of programs that call each other also name symbols that nobody uses.
        symbols = sorted(self.sdfg.used_symbols(all_symbols=False) - known - self.sdfg.arrays.keys())
        if arrays or symbols:
            raise UsageError(f"{self.name}: nobody says what {', '.join([*arrays, *symbols])} is", code="SG205",
                             help="pass it by name, as in gradient(A, N=10); of a @dace.program take "
                                  "sdfgad.from_sdfg(program.to_sdfg())")


def _unwritten(block: Block, touched: set[str], found: set[str]) -> None:
    """Adds to `found` what is read before any of it is written."""
    for stmt in block:
        for part in (replace(stmt, body=(p,)) for p in stmt.body) if isinstance(stmt, Map) else (stmt,):
            found |= reads(part) - touched
            touched |= writes(part)
        for inner in children(stmt):
            _unwritten(inner, touched, found)


def open_frame(frame: GraphFrame) -> None:
    """What a graph finds when it starts: symbols in scalars, zeros."""
    for kind, *rest in frame.reading.decisions:
        if kind == "stored" and rest[0] == frame.key and rest[1] in frame.symbols:
            value = frame.symbols[rest[1]]
            target = frame.scalar_of(rest[1])
            frame.store(target.array, (), cast(value, target.dtype))  # type: ignore[union-attr]
            frame.symbols[rest[1]] = target
    for name, desc in frame.sdfg.arrays.items():
        if desc.transient and getattr(desc, "setzero", False):
            _zeros(frame, name)


def _zeros(frame: GraphFrame, name: str) -> None:
    """Zeros that a container begins with, where there is no doubt how often it begins."""
    places = [s for s in frame.sdfg.states() if any(n.data == name for n in s.data_nodes())]
    if any(s.parent_graph is not frame.sdfg for s in places):
        raise frame.refuse(f"{name!r}, which begins with zeros in a loop or a branch", "set it to zero in a state")
    place = frame.place(name)
    domain = all_of(place.shape if frame.builder.arrays[place.array].shape else (), "d")
    frame.store(place.array, place.at(tuple(ix(r.var) for r in domain)) if domain else (ix(0),) * len(
        frame.builder.arrays[place.array].shape), const(0, place.dtype), domain)


def nested(frame: GraphFrame, state: Any, node: Any) -> None:
    """A graph inside a state, on the containers that its connectors name."""
    inner = GraphFrame(frame.reading, node.sdfg, (*frame.key, node.guid))
    for name, value in node.symbol_mapping.items():
        if not _is_missing(frame, value):
            inner.symbols[str(name)] = _symbol_value(frame, value, node)
    for name, desc in node.sdfg.arrays.items():
        edges = [e for e in state.edges_by_connector(node, name) if not e.data.is_empty()]
        if edges:
            _connect(frame, inner, name, desc, edges, node)
        elif not desc.transient:
            raise frame.refuse(f"the connector {name!r}, to which nothing leads", "", node=node)
    open_frame(inner)
    RegionReader(inner, nested).read()


def _is_missing(frame: GraphFrame, value: Any) -> bool:
    """Whether a symbol is handed on that has no value, as nobody uses it."""
    name = str(value)
    return getattr(value, "is_Symbol", False) and frame.symbol(name) is None and name not in frame.known and \
        name not in frame.sdfg.arrays and not frame.assigned_somewhere(name)


def _symbol_value(frame: GraphFrame, value: Any, node: Any) -> Expr:
    if hasattr(value, "is_Symbol") and value.is_Symbol:
        found = frame.symbol(str(value))
        if found is not None:
            return found
    return frame.expression(str(value), node) if isinstance(value, str) else _index_value(frame.index(value, node))


def _index_value(i: Ix) -> Expr:
    return const(i.const, np.dtype(np.int64)) if i.const is not None else Index(i, np.dtype(np.int64))


def _connect(frame: GraphFrame, inner: GraphFrame, name: str, desc: Any, edges: Sequence[Any], node: Any) -> None:
    """Say where a container of the inner graph lies."""
    found: dict[ContainerPlace, None] = {}
    for edge in edges:
        memlet = edge.data
        if memlet.data in frame.known:
            inner.known[name] = frame.known[memlet.data]
            return
        outer = frame.place(memlet.data, node)
        # A connector stands for the whole container, whatever elements its memlet names.
        if not _same_layout(inner, desc, outer, node):
            raise frame.refuse(f"the connector {name!r}, whose container has another shape than {memlet.data!r}",
                               "use a view", node=node)
        found[outer] = None
        if memlet.wcr is not None and _plain_writes(node.sdfg, name):
            raise frame.refuse("an edge that accumulates what an inner graph assigns", "accumulate inside", node=node)
    if len(found) > 1:
        raise frame.refuse(f"the connector {name!r}, which reads and writes different elements", "use two connectors",
                           node=node)
    inner.places[name] = next(iter(found))


def _same_layout(inner: GraphFrame, desc: Any, outer: ContainerPlace, node: Any) -> bool:
    shape, _ = inner.layout(desc, node)
    return len(shape) == len(outer.shape) and np.dtype(desc.dtype.type) == outer.dtype and all(
        (a - b).const in (0, None) for a, b in zip(shape, outer.shape, strict=True))


def _plain_writes(sdfg: Any, name: str) -> bool:
    return any(edge.data.wcr is None for state in sdfg.states() for n in state.data_nodes() if n.data == name
               for edge in state.in_edges(n) if not edge.data.is_empty())


def _written(sdfg: Any) -> set[str]:
    """Containers that a state of the graph writes, views as what they are views of."""
    found = {n.data for state in sdfg.states() for n in state.data_nodes() if state.in_degree(n)}
    seen = any(type(d).__name__.endswith("View") for d in sdfg.arrays.values())
    return found | ({n.data for state in sdfg.states() for n in state.data_nodes() if _next_to_view(state, n)}
                    if seen else set())


def _next_to_view(state: Any, node: Any) -> bool:
    sdfg = state.sdfg
    others = [e.dst for e in state.out_edges(node)] + [e.src for e in state.in_edges(node)]
    return any(type(sdfg.arrays[o.data]).__name__.endswith("View") for o in others
               if type(o).__name__ == "AccessNode")


def _tree(results: Sequence[ContainerPlace]) -> Any:
    """The value of the call: numbers for containers of one element."""
    views = [_view(p) for p in results]
    return None if not views else views[0] if len(views) == 1 else tuple(views)


def _view(place: ContainerPlace) -> View:
    if all(n.const == 1 for n in place.shape):
        return View(place.array, (), place.at(tuple(ix(0) for _ in place.shape)), place.dtype)
    return View(place.array, place.shape, place.index, place.dtype)
