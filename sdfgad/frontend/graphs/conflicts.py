"""Whether the order of what a graph does is said by the graph: nodes of a state, iterations of a map."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import gcd
from typing import Any

from sdfgad.frontend.graphs.frames import GraphFrame
from sdfgad.ir.expr import Expr, index_elems, loads, symbols_of
from sdfgad.ir.index import Ix, Max, Min
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Let, Lib, Map, Range, Stmt, Store
from sdfgad.ir.walk import own_ranges, statements

MOST_POINTS = 4096
"""Iterations that are tried one by one."""

# iterations of maps

def independent(frame: GraphFrame, domain: Sequence[Range], body: Sequence[Let | Store]) -> bool:
    """Whether no iteration of a map reads what another one writes, and no two store to one element."""
    stores = [p for p in body if isinstance(p, Store)]
    written: dict[str, list[Store]] = {}
    for store in stores:
        written.setdefault(store.array, []).append(store)
    ends = {e.array for r in domain for i in (r.start, r.stop) for e in i.elems}
    if ends & written.keys() or any(e.array in written for s in stores for i in s.index for e in i.elems):
        return False
    return all(_apart(frame, domain, body, group) for group in written.values())


def _apart(frame: GraphFrame, domain: Sequence[Range], body: Sequence[Let | Store], group: Sequence[Store]) -> bool:
    """Of the stores to one array."""
    read = [n.index for p in body for n in loads(p.expr) if n.array == group[0].array]
    if any(e.array == group[0].array for p in body for e in index_elems(p.expr)):
        return False
    if all(s.op is not None and s.op == group[0].op for s in group):
        return not read
    if any(s.op is not None for s in group):
        return False
    first = group[0].index
    others = [i for i in (*read, *(s.index for s in group[1:])) if i != first]
    return injective(domain, first) and all(frame.builder.scope.disjoint(i, first, domain) for i in others)


def injective(domain: Sequence[Range], index: Sequence[Ix]) -> bool:
    """Whether an index is another one at each point of a domain."""
    return not _left_open(domain, index)


def _left_open(domain: Sequence[Range], index: Sequence[Ix]) -> set[str]:
    """Variables that an index does not tell: its parts fix one after the other; what lies in a tile tells the tile."""
    own = {r.var for r in domain}
    left = {r.var for r in domain if r.trips != 1 or not own.isdisjoint(r.start.symbols)}
    parts = [i for i in index if i.affine is not None]
    while left:
        found = next((open_ for i in (*parts, *_tiles(domain, left)) if len(open_ := i.symbols & left) == 1), None)
        if found is None:
            break
        left -= found
    return left


def _tiles(domain: Sequence[Range], left: set[str]) -> Iterator[Ix]:
    """Starts of ranges with known variables which are so far apart that no two of these ranges share a number."""
    for r in domain:
        if r.var not in left and r.start.affine is not None and not left.isdisjoint(r.start.symbols):
            apart = gcd(*(c for n, c in r.start.affine[0].items() if n in left))
            if _at_most(r.stop - r.start, apart):
                yield r.start


def _at_most(count: Ix, limit: int) -> bool:
    """Whether an index with smaller and larger of numbers in it is seen to be no larger than a number."""
    if count.const is not None:
        return count.const <= limit
    for monomial, factor in count.terms:
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], (Min, Max)):
            rest = count - Ix(((monomial, 1),))
            inner = (_at_most(rest + p, limit) for p in monomial[0].parts)
            return any(inner) if isinstance(monomial[0], Min) else all(inner)
    return False


def refuse_conflicts(frame: GraphFrame, block: Iterable[Stmt], around: Sequence[Range], node: Any,
                     private: Collection[str] = ()) -> None:
    """UnsupportedError for a map one of whose iterations may touch what another one writes, sums aside.

    around: its ranges; private: arrays that belong to one iteration. Where data say which element it is, nothing is
    known: iterations run in order, which is right for all maps that keep their promise.
    """
    body = tuple(block)
    inner = tuple(r for s in statements(body) for r in own_ranges(s) if r not in around)
    variables = frozenset(r.var for r in around if r.trips != 1)
    for array, touched in _touched(frame, body).items():
        if array in private or any(i.elems for t in touched for i in t.index):
            continue
        for store in (t for t in touched if t.write):
            ranges = (*around, *inner)
            again = store.op is None and (_repeats(store, variables, ranges) or _twice(store, around))
            if again or any(_meet(frame, store, t, variables, ranges) for t in touched if t is not store):
                raise frame.refuse("a map whose iterations share elements of " + frame.builder.label(array) +
                                   ", or are not seen to leave them alone", "accumulate with wcr, or write a loop",
                                   "SG111", node=node)


@dataclass(frozen=True)
class _ElementUse:
    """An element that a statement reads or writes. value: what is stored."""

    index: tuple[Ix, ...]
    write: bool
    op: str | None = None
    value: Expr | None = None


def _touched(frame: GraphFrame, body: Sequence[Stmt]) -> dict[str, list[_ElementUse]]:
    """What is touched of arrays that are written."""
    found: dict[str, list[_ElementUse]] = {}
    written: set[str] = set()
    for stmt in statements(tuple(body)):
        if isinstance(stmt, Lib):
            written |= {v.array for v in stmt.outs}
            for view in (*stmt.outs, *stmt.ins):
                found.setdefault(view.array, []).append(_ElementUse(view.index, view in stmt.outs))
        for part in stmt.body if isinstance(stmt, Map) else ():
            if isinstance(part, Store) and part not in frame.reading.joined:
                written.add(part.array)
                found.setdefault(part.array, []).append(_ElementUse(part.index, True, part.op, part.expr))
            for load in loads(part.expr) if part not in frame.reading.joined else ():
                found.setdefault(load.array, []).append(_ElementUse(load.index, False))
    return {n: list(dict.fromkeys(found[n])) for n in written}


def _repeats(store: _ElementUse, variables: frozenset[str], ranges: Sequence[Range]) -> bool:
    """Whether iterations store different values in one element."""
    missing = (variables - {s for i in store.index for s in i.symbols}) & _left_open(ranges, store.index)
    if not missing or store.value is None:
        return bool(missing)
    return not missing.isdisjoint(symbols_of(store.value)) or bool(loads(store.value))


def _twice(store: _ElementUse, around: Sequence[Range]) -> bool:
    """Whether two iterations of a small map are found that store in one element."""
    own = {r.var for r in around}
    if injective(around, store.index) or not {s for i in store.index for s in i.symbols} <= own:
        return False
    points = list(islice(_points(around, {}), MOST_POINTS + 1))
    if len(points) > MOST_POINTS or store.value is None or not (loads(store.value) or symbols_of(store.value)):
        return False
    return len({tuple(i.evaluate(p) for i in store.index) for p in points}) < len(points)


def _points(domain: Sequence[Range], env: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The iterations of a map, none where its ranges depend on anything else."""
    if not domain:
        yield dict(env)
        return
    first, *rest = domain
    ends = (first.start, first.stop)
    if all(e.symbols <= env.keys() and not e.elems for e in ends):
        for k in range(ends[0].evaluate(env), ends[1].evaluate(env), first.step):
            yield from _points(rest, {**env, first.var: k})


def _meet(frame: GraphFrame, store: _ElementUse, other: _ElementUse, variables: frozenset[str],
          ranges: tuple[Range, ...]) -> bool:
    """Whether one iteration may touch what another one stores."""
    if store.op is not None and store.op == other.op:
        return False
    several = {r.var for r in ranges if len({one for one in ranges if one.var == r.var}) > 1}
    same = [a for a, b in zip(store.index, other.index, strict=True) if a == b and a.symbols]
    own = [i for i in same if not i.symbols & (several - variables | {axis(k) for k in range(16)})]
    left = _left_open([r for r in ranges if r.var in variables or r.var not in several], own)
    return not left.isdisjoint(variables) and not frame.builder.scope.disjoint(store.index, other.index, ranges)


# nodes of a state

@dataclass(frozen=True)
class _Access:
    """An edge by which a state reads or writes a container: the node that does it, and the node of the container."""

    data: str
    worker: Any
    holder: Any
    subset: Any
    write: bool
    sums: bool


def check_order(frame: GraphFrame, state: Any, entry: Any, nodes: Sequence[Any],
                view_edge: Callable[[Any], Any]) -> None:
    """UnsupportedError where nothing says which of two nodes of a scope, or of none, comes first, and they may touch
    the same element.

    view_edge: that of the node of a view, else None.
    """
    found: dict[str, list[_Access]] = {}
    for access in _accesses(state, entry, nodes, view_edge):
        found.setdefault(access.data, []).append(access)
    risky = {n: group for n, group in found.items() if len({id(a.holder) for a in group}) > 1 and any(
        a.write for a in group)}
    after = {n: _behind(state, n) for group in risky.values() for a in group for n in (a.worker, a.holder)}
    for name, group in risky.items():
        for k, one in enumerate(group):
            for other in group[k + 1:]:
                if _clash(one, other, after):
                    raise frame.refuse(f"two accesses of {name!r} in one state whose order nothing says",
                                       "put them in two states: simplify may have merged these", "SG111",
                                       node=one.holder)


def _behind(state: Any, node: Any) -> set[Any]:
    """All nodes to which a path leads."""
    found: set[Any] = set()
    waiting = [node]
    while waiting:
        more = {e.dst for e in state.out_edges(waiting.pop())} - found
        found |= more
        waiting += more
    return found


def _accesses(state: Any, entry: Any, nodes: Sequence[Any], view_edge: Callable[[Any], Any]) -> Iterator[_Access]:
    """Of the containers that nodes of one scope, or of none, touch."""
    seen = {n: view_edge(n) for n in nodes if hasattr(n, "data")}
    skipped = {id(e) for e in seen.values() if e is not None}
    for node in nodes:
        held = node in seen
        for edge, write in (*((e, False) for e in state.out_edges(node)), *((e, True) for e in state.in_edges(node))):
            if edge.data.is_empty() or id(edge) in skipped:
                continue
            other = edge.src if write else edge.dst
            if held:
                subset = _of(edge, node) if seen[node] is None else None
                yield _Access(_viewed(node, seen), other, node, subset, write, edge.data.wcr is not None)
            elif write is (other is entry) and (other is entry or type(other).__name__ == "MapExit" and
                                                state.entry_node(other) is entry):
                # What comes through the border of the scope is read by the node, what goes there is written.
                yield _Access(edge.data.data, node, node, edge.data.subset, not write, edge.data.wcr is not None)


def _viewed(node: Any, seen: Mapping[Any, Any]) -> str:
    """The container that a node, through all views, is about."""
    while seen.get(node) is not None:
        edge = seen[node]
        node = edge.dst if edge.src is node else edge.src
    return str(getattr(node, "data", ""))


def _of(edge: Any, node: Any) -> Any:
    memlet = edge.data
    return memlet.subset if memlet.data == node.data else memlet.other_subset


def _clash(one: _Access, other: _Access, after: Any) -> bool:
    if one.holder is other.holder or not (one.write or other.write) or one.sums and other.sums:
        return False
    if _before(one, other, after) or _before(other, one, after):
        return False
    if one.subset is None or other.subset is None:
        return True
    from dace import subsets

    return subsets.intersects(one.subset, other.subset) is not False


def _before(one: _Access, other: _Access, after: Any) -> bool:
    """Whether the first has been done when the second begins."""
    done = one.holder if one.write else one.worker
    begin = other.worker
    return begin is done or begin in after[done] or not one.write and one.worker is begin
