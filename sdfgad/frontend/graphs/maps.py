"""Maps of graphs: as maps of the program where iterations are seen to be independent, else as loops.

The order of the loops is that of the ranges: a graph promises that any order gives the same.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sdfgad.frontend.graphs.conflicts import independent, refuse_conflicts
from sdfgad.frontend.graphs.numbers import WIDE
from sdfgad.frontend.graphs.symbols import exact
from sdfgad.frontend.state.flatten import MAP_VARIABLES, without_divisions
from sdfgad.ir.expr import Index
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Let, Loop, Map, Range, Stmt, Store
from sdfgad.names import loop_variable

if TYPE_CHECKING:
    from sdfgad.frontend.graphs.states import StateReader



def made(reader: StateReader, entry: Any) -> bool:
    """Emit a map of tasklets as it is; False where that cannot be."""
    candidates = _own_numbers(reader, entry)
    if not _plain(reader, entry, candidates):
        return False
    ranges = reader.frame.builder.scope.ranges
    depth = len(ranges)
    reader.body, reader.candidates = [], candidates
    try:
        for span, parameter, value in spans(reader, entry, MAP_VARIABLES):
            ranges.append(span)
            reader.frame.symbols[parameter] = Index(value, WIDE)
        reader.level(entry)
        body, domain = reader.body, tuple(ranges[depth:])
    finally:
        del ranges[depth:]
        reader.body, reader.candidates = None, frozenset()
        reader.locals.clear()
    refuse_conflicts(reader.frame, (Map(domain, tuple(body)),), domain, entry)
    if not independent(reader.frame, domain, body):
        return False
    _emit(reader, domain, body)
    return True


def _emit(reader: StateReader, domain: tuple[Range, ...], body: Sequence[Let | Store]) -> None:
    if len(body) == 1 and isinstance(body[0], Store):
        points, at, e = without_divisions(reader.frame.builder.scope, domain, body[0].index, body[0].expr)
        domain, body = tuple(points), (Store(body[0].array, tuple(at), e, body[0].op),)
    reader.frame.emit(domain, body)


def deeper(reader: StateReader, entry: Any) -> None:
    """A map that is all there is in the map around it: more ranges of the same domain."""
    ranges = reader.frame.builder.scope.ranges
    for span, parameter, value in spans(reader, entry, MAP_VARIABLES):
        ranges.append(span)
        reader.frame.symbols[parameter] = Index(value, WIDE)
    reader.level(entry)


def loops(reader: StateReader, entry: Any) -> None:
    """Emit loops."""
    builder, source = reader.frame.builder, reader.frame.builder.source
    held = set(builder.arrays)
    names: list[str] = []
    opened: list[tuple[Range, list[Stmt]]] = []
    for span, parameter, value in spans(reader, entry, None):
        builder.scope.ranges.append(span)
        reader.frame.symbols[parameter] = Index(value, WIDE)
        names.append(parameter)
        opened.append((span, []))
    with builder.region(settle=False) as block:
        reader.level(entry)
        body: tuple[Stmt, ...] = tuple(block)
    private = builder.arrays.keys() - held | _inside_maps(reader)
    refuse_conflicts(reader.frame, body, tuple(span for span, _ in opened), entry, private)
    for span, name in zip(reversed([s for s, _ in opened]), reversed(names), strict=True):
        builder.scope.ranges.pop()
        body = (Loop(span, body, source, label=name),)
    if not any(span.trips == 0 for span, _ in opened):
        builder.source = source
        builder.emit(body[0])


def spans(reader: StateReader, entry: Any, variables: Sequence[str] | None) -> Iterator[tuple[Range, str, Ix]]:
    """Ranges of a map, one after the other: its parameters, and what they are. variables: of maps; loops have names."""
    frame = reader.frame
    taken = len([r for r in frame.builder.scope.ranges if variables and r.var in variables])
    for k, parameter in enumerate(entry.map.params):
        low, high, stride = map(exact, entry.map.range.ranges[k])
        start, step = frame.index(low, entry), frame.index(stride, entry).const
        gap = frame.index(high - low, entry)
        if not step:
            raise frame.refuse(f"a map with steps of {stride}", "use a number", node=entry)
        count = frame.builder.scope.greatest((gap + step if step > 0 else -gap - step) // abs(step), ix(0))
        if variables is None:
            var = frame.builder.symbol(loop_variable(parameter))
        else:
            var = variables[taken + k]
        if step == 1:
            yield Range(var, start, start + count), parameter, ix(var)
        else:
            yield Range(var, ix(0), count), parameter, start + ix(var) * step


def _plain(reader: StateReader, entry: Any, candidates: frozenset[str]) -> bool:
    """Whether there are only tasklets in a map, and numbers of its own; or one map like that."""
    inside = [n for n in reader.children[entry] if type(n).__name__ != "MapExit"]
    kinds = {type(n).__name__ for n in inside}
    if kinds == {"MapEntry"} and len(inside) == 1:
        return _plain(reader, inside[0], candidates) and not _dynamic(inside[0])
    products = any(reader.op_of(e.data.wcr, n) == "*" for n in inside for e in reader.state.out_edges(n))
    return not products and kinds <= {"Tasklet", "AccessNode"} and all(
        n.data in candidates for n in inside if type(n).__name__ == "AccessNode")


def _inside_maps(reader: StateReader) -> set[str]:
    """Arrays of containers that no node outside of maps names: each iteration has its own."""
    outside = {n.data for s in reader.frame.sdfg.states() for n in s.data_nodes() if s.entry_node(n) is None}
    return {array for name, array in reader.frame.held.items() if name not in outside
            and reader.frame.sdfg.arrays[name].transient}


def _dynamic(entry: Any) -> bool:
    return any(not c.startswith("IN_") for c in entry.in_connectors)


def _own_numbers(reader: StateReader, entry: Any) -> frozenset[str]:
    """Containers of one element that no node outside of a map names."""
    arrays = reader.frame.sdfg.arrays
    inside = {n.data for n in reader.state.scope_subgraph(entry).nodes() if type(n).__name__ == "AccessNode"}
    single = {n for n in inside if arrays[n].transient and type(arrays[n]).__name__ in ("Array", "Scalar")
              and all(e == 1 for e in arrays[n].shape)}
    return frozenset(single - _named_elsewhere(reader, entry))


def _named_elsewhere(reader: StateReader, entry: Any) -> set[str]:
    found: set[str] = set()
    own = set(reader.state.scope_subgraph(entry).nodes())
    for state in reader.frame.sdfg.states():
        found |= {n.data for n in state.data_nodes() if state is not reader.state or n not in own}
    for edge in reader.frame.sdfg.all_interstate_edges():
        found |= {str(s) for s in edge.data.free_symbols}
    return found
