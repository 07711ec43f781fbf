"""The state of a reading: the program under construction, and one frame for each graph that is inside another."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sdfgad.errors import SourceLine, UnsupportedError, unsupported
from sdfgad.frontend.graphs import symbols
from sdfgad.frontend.graphs.formulas import GraphFormula, parsed
from sdfgad.frontend.graphs.numbers import WIDE, index_of
from sdfgad.frontend.graphs.places import ContainerPlace, ElementBox, packed, seen_as
from sdfgad.frontend.state.accesses import MOST_LOOPS, IndexedAccess
from sdfgad.frontend.state.builder import Builder, cast
from sdfgad.ir.expr import Expr, Index, Load, call, const, index_elems, loads, moved
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import LASTING, Let, Loop, Map, Range, Stmt, Store
from sdfgad.names import loop_variable

_DACE = str(Path(find_spec("dace").origin or "").parent) + "/"  # type: ignore[union-attr]
"""Where graphs are made by code that is not the user's."""


class ReadAgain(Exception):
    """An assumption did not hold: read again with `choice` among the decisions."""

    def __init__(self, *choice: Any) -> None:
        super().__init__(choice)
        self.choice = choice


@dataclass(eq=False)
class GraphReading:
    """What all frames share. decisions: what earlier readings have found out."""

    builder: Builder
    decisions: frozenset[tuple[Any, ...]] = frozenset()
    conditional: int = 0  # branches around the current place
    fixed: set[str] = field(default_factory=set)  # arrays of the program that nothing writes
    joined: set[Store] = field(default_factory=set)  # stores that accumulate, one iteration after the other


@dataclass(eq=False)
class GraphFrame:
    """One graph being read. places: containers that have one; symbols: what names stand for; state: the current one.

    key: which graph it is, wherever it is read again.
    """

    reading: GraphReading
    sdfg: Any
    key: tuple[Any, ...]
    places: dict[str, ContainerPlace] = field(default_factory=dict)
    symbols: dict[str, Expr] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)  # containers of the graph -> arrays of the program
    known: dict[str, Expr] = field(default_factory=dict)  # what numbers are that nothing writes
    kept: dict[str, str] = field(default_factory=dict)  # symbols -> scalars that hold them
    state: Any = None
    views: set[str] = field(default_factory=set)

    @property
    def builder(self) -> Builder:
        return self.reading.builder

    # refusals

    def refuse(self, what: str, help: str = "", code: str = "SG110", node: Any = None) -> UnsupportedError:
        """The refusal of a construct, which says where in the graph it stands."""
        where = [f"node {node!s}"] if node is not None else []
        where += [f"state {self.state.label}"] if self.state is not None else []
        where.append(f"graph {self.sdfg.name}")
        source = line_of(node, self.sdfg.name) or self.builder.source
        return unsupported(source, f"{what} ({', '.join(where)})", help, code)

    def point(self, node: Any) -> None:
        """What is emitted next comes from this node."""
        self.builder.source = line_of(node, self.sdfg.name) or self.builder.source

    # symbols

    def symbol(self, name: str) -> Expr | None:
        if name in self.symbols:
            return self.symbols[name]
        if self.keeps(name):
            self.symbols[name] = self.scalar_of(name)
            return self.symbols[name]
        constants = self.sdfg.constants
        if name in constants and np.ndim(constants[name]) == 0:
            return _number(constants[name])
        return None

    def keeps(self, name: str) -> bool:
        """Whether a symbol lies in a scalar, as it changes in ways that no index says."""
        return ("stored", self.key, name) in self.reading.decisions

    def scalar_of(self, name: str) -> Expr:
        """The scalar of a symbol that changes."""
        if name not in self.kept:
            self.kept[name] = self.builder.declare((), self.kind_of(name) or WIDE, name).name
        array = self.builder.arrays[self.kept[name]]
        return Load(array.name, (), array.dtype)

    def kind_of(self, name: str) -> np.dtype | None:
        """The dtype that a symbol is declared with: integers have 64 bits here."""
        kind = self.sdfg.symbols.get(name)
        found = None if kind is None else np.dtype(kind.type)
        return WIDE if found is not None and found.kind in "iu" else found

    def assign_symbol(self, name: str, value: Expr) -> None:
        """`name = value` on an edge between states."""
        value = cast(value, self.kind_of(name) or value.dtype)
        at = index_of(value)
        if not self.keeps(name) and self.reading.fixed.issuperset(_arrays(value)):
            self.symbols[name] = Index(at, WIDE) if at is not None else value
            return
        if not self.keeps(name):
            raise ReadAgain("stored", self.key, name)
        target = self.scalar_of(name)
        self.store(target.array, (), cast(value, target.dtype))  # type: ignore[union-attr]
        self.symbols[name] = target

    def lookup(self, name: str) -> Ix | None:
        found = self.symbol(name)
        if found is None and name in self.known:
            found = self.known[name]
        if found is None and self.assigned_somewhere(name):
            raise ReadAgain("stored", self.key, name)
        return None if found is None else index_of(found)

    def assigned_somewhere(self, name: str) -> bool:
        return name in _assigned(self.sdfg) and not self.keeps(name)

    def index(self, value: Any, node: Any = None) -> Ix:
        """A size or an index."""
        try:
            found = symbols.index(value, self.lookup)
        except symbols.Unreadable as error:
            raise self.refuse(f"an index {value}, with {error.what}", "use integers and symbols that have values",
                              node=node) from None
        return found.simplify(self.builder.scope.env()) if found.symbols else found

    def box(self, subset: Any, node: Any = None) -> ElementBox:
        """The elements that a memlet names."""
        if not hasattr(subset, "ranges"):
            return ElementBox(tuple(self.index(i, node) for i in subset), (ix(1),) * len(subset), (1,) * len(subset))
        if any(t != 1 for t in subset.tile_sizes):
            raise self.refuse(f"the tiles {subset}", "use ranges", node=node)
        first, counts, steps = [], [], []
        for low, high, stride in (map(symbols.exact, r) for r in subset.ranges):
            step = self.index(stride, node).const
            if not step:
                raise self.refuse(f"the range {subset} with a step of {stride}", "use a number", node=node)
            start = self.index(low, node)
            first.append(start)
            steps.append(step)
            gap = self.index(high - low, node)
            counts.append(self.builder.scope.greatest((gap + step if step > 0 else -gap - step) // abs(step), ix(0)))
        return ElementBox(tuple(first), tuple(counts), tuple(steps))

    # containers

    def place(self, name: str, node: Any = None) -> ContainerPlace:
        """Where a container lies; made when it is used first."""
        if name in self.places:
            return self.places[name]
        desc = self.sdfg.arrays.get(name)
        if desc is None or name in self.views:
            raise self.refuse(f"the container {name!r}, which has no data here", "", node=node)
        shape, strides = self.layout(desc, node)
        if name not in self.held:
            self.check_kind(name, desc, node)
            self.held[name] = self.declared(name, desc, shape)
        self.widen(self.held[name], shape)
        scalar = not self.builder.arrays[self.held[name]].shape
        index = () if scalar else tuple(ix(f"_{k}") for k in range(len(shape)))
        made = ContainerPlace(self.held[name], index, shape, strides, np.dtype(desc.dtype.type))
        if all(n.const is not None for n in shape):
            self.places[name] = made
        return made

    def declared(self, name: str, desc: Any, shape: tuple[Ix, ...]) -> str:
        if name in self.sdfg.constants and not isinstance(self.sdfg.constants[name], (int, float, complex)):
            return self.builder.constant(np.asarray(self.sdfg.constants[name]), name.removeprefix("__g_")).view.array
        lasts = desc.transient and getattr(desc, "lifetime", None) is not None and desc.lifetime.name == "Persistent"
        return self.builder.declare(() if is_scalar(desc) else shape, np.dtype(desc.dtype.type), name,
                                    LASTING if lasts else "transient").name

    def check_kind(self, name: str, desc: Any, node: Any) -> None:
        kind, storage = type(desc).__name__, desc.storage.name
        if kind not in ("Array", "Scalar", "ArrayView"):
            raise self.refuse(f"{name!r}, a {kind}", "use arrays and scalars", node=node)
        if type(desc.dtype).__name__ != "typeclass":
            raise self.refuse(f"{name!r}, of elements of type {desc.dtype}", "use numbers", node=node)
        if storage.startswith(("GPU", "FPGA", "SVE", "Snitch")):
            raise self.refuse(f"{name!r}, which lies in {storage}", "let sdfgad place arrays: device='gpu'", node=node)
        if getattr(desc, "may_alias", False) and not desc.transient and not self.key[1:]:
            raise self.refuse(f"{name!r}, which may be part of another array", "copy it", node=node)

    def layout(self, desc: Any, node: Any) -> tuple[tuple[Ix, ...], tuple[Ix, ...]]:
        shape = tuple(self.index(n, node) for n in desc.shape)
        strides = tuple(self.index(n, node) for n in desc.strides)
        if any(self.index(o, node).const != 0 for o in getattr(desc, "offset", ())):
            raise self.refuse("an array with an offset", "index it from 0", node=node)
        return shape, strides

    def widen(self, array: str, shape: tuple[Ix, ...]) -> None:
        """Make room for a shape that other iterations or loops have."""
        held = self.builder.arrays[array]
        if held.shape and all(n.const is not None for n in shape) and held.shape == tuple(n.const for n in shape):
            return
        if held.shape and held.role in ("transient", LASTING):
            extents = tuple(max(a, self.builder.extent(b)) for a, b in zip(held.shape, shape, strict=True))
            if extents != held.shape:
                self.builder.arrays[array] = replace(held, shape=extents)

    def look(self, name: str, viewed: str, first: Sequence[Ix], node: Any = None) -> ContainerPlace:
        """A container that is the memory of another one, from one of its elements on."""
        return self.alias(self.sdfg.arrays[name], self.place(viewed, node), first, name, node)

    def alias(self, desc: Any, outer: ContainerPlace, first: Sequence[Ix], name: str, node: Any) -> ContainerPlace:
        shape, strides = self.layout(desc, node)
        made = seen_as(outer, first, shape, strides if not is_scalar(desc) else packed(shape),
                       np.dtype(desc.dtype.type))
        if made is None:
            raise self.refuse(f"{name!r} as another view of memory", "reshape arrays in C order, and keep their dtype",
                              node=node)
        env = self.builder.scope.env()
        bounds = dict(env) | {f"_{k}": (0, None if n.const is None else max(n.const - 1, 0))
                              for k, n in enumerate(shape)}
        return replace(made, index=tuple(i.simplify(bounds) for i in made.index))

    # expressions

    def formula(self, node: Any = None) -> GraphFormula:
        """Reads formulas over symbols and containers, as edges between states have them."""
        def value(name: str) -> Expr | None:
            found = self.known.get(name) or self.symbol(name)
            if found is None and name in self.sdfg.arrays:
                return self.load(name, (ix(0),) * len(self.sdfg.arrays[name].shape), node)
            if found is None and self.assigned_somewhere(name):
                raise ReadAgain("stored", self.key, name)
            return found

        def element(name: str, index: tuple[Ix, ...]) -> Expr | None:
            return self.load(name, index, node) if name in self.sdfg.arrays else None

        return GraphFormula(value, element, lambda what, help: self.refuse(what, help, node=node))

    def expression(self, text: str, node: Any = None) -> Expr:
        syntax = parsed(text)
        if syntax is None:
            raise self.refuse(f"`{text}`", "write it in Python", node=node)
        return self.formula(node).read(syntax)

    def load(self, name: str, position: Sequence[Ix], node: Any = None) -> Expr:
        place = self.place(name, node)
        if name in self.known and not self.builder.arrays[place.array].shape:
            return self.known[name]
        self.bounded(place, place.at(position), ())
        return place.load(position)

    def bounded(self, place: ContainerPlace, index: Sequence[Ix], domain: Sequence[Range]) -> None:
        """Note indices that are not proven to stay inside."""
        builder = self.builder
        ranges = (*builder.scope.ranges, *domain)
        if self.reading.conditional or len(ranges) > MOST_LOOPS:
            return
        for i, extent in zip(index, builder.arrays[place.array].shape, strict=True):
            low, high = builder.scope.bounds(i, domain)
            if low is None or low < 0 or high is None or high >= extent:
                builder.accesses.append(IndexedAccess(i, extent, ranges, builder.source, wraps=False))

    # statements

    def store(self, array: str, index: Sequence[Ix], e: Expr, domain: Sequence[Range] = (),
              op: str | None = None) -> None:
        self.emit(domain, (Store(array, tuple(index), e, op),))

    def emit(self, domain: Sequence[Range], body: Sequence[Let | Store]) -> None:
        for part in body:
            if isinstance(part, Store):
                self.builder.check_target(part.array)
                self.builder.touch(part.array)
        if body and not any(r.trips == 0 for r in domain):
            self.builder.emit(Map(tuple(domain), tuple(body), self.builder.source))

    def joining(self, array: str, index: Sequence[Ix], e: Expr, op: str | None) -> Store:
        """`array[index] op= e`. Products are written out: there is no derivative of those that come in any order."""
        if op == "*":
            store = Store(array, tuple(index), call("mul", Load(array, tuple(index), e.dtype), e))
            self.reading.joined.add(store)
            return store
        return Store(array, tuple(index), call("neg", e), "+") if op == "-" else Store(array, tuple(index), e, op)

    def in_order(self, domain: Sequence[Range], store: Store) -> None:
        """A store at each point of a domain, one after the other."""
        loops = [(r, self.builder.symbol(loop_variable(r.var))) for r in domain]
        names = {r.var: ix(name) for r, name in loops}
        moved_to = Store(store.array, tuple(i.subs(names) for i in store.index), moved(store.expr, names))
        with self.builder.region(settle=False) as block:
            self.emit((), (moved_to,))
        body: tuple[Stmt, ...] = tuple(block)
        for r, name in reversed(loops):
            span = Range(name, r.start.subs(names), r.stop.subs(names), r.step)
            body = (Loop(span, body, self.builder.source),)
        if not any(r.trips == 0 for r in domain):
            self.builder.emit(body[0])

    def range(self, label: str, first: Ix, count: Ix, step: int) -> Range:
        """A loop over so many iterations."""
        return Range(self.builder.symbol(loop_variable(label)), first, first + count * step, step)


def line_of(node: Any, graph: str) -> SourceLine | None:
    """The user's line that a node comes from; None where DaCe made it up."""
    place = getattr(node, "debuginfo", None)
    if place is None or not place.filename or not place.start_line or place.filename.startswith(_DACE):
        return None
    return SourceLine(place.filename, place.start_line, max(place.start_column, 0), 0, graph)


def is_scalar(desc: Any) -> bool:
    return type(desc).__name__ == "Scalar"


def _number(value: Any) -> Expr:
    array = np.asarray(value)
    return const(array.item(), array.dtype)


def _arrays(e: Expr) -> set[str]:
    return {load.array for load in loads(e)} | {one.array for one in index_elems(e)}


def _assigned(sdfg: Any) -> Mapping[str, Any]:
    """Symbols that loops or edges between states assign."""
    found = sdfg.__dict__.get("_sdfgad_assigned")
    if found is None:
        found = {}
        for region in sdfg.all_control_flow_regions():
            if getattr(region, "loop_variable", None):
                found[region.loop_variable] = region
            for edge in region.edges():
                found.update(dict.fromkeys(edge.data.assignments, edge))
        sdfg.__dict__["_sdfgad_assigned"] = found
    return found


__all__ = ("GraphFrame", "ReadAgain", "GraphReading", "is_scalar", "line_of")
