"""Sums of the ranks: those that nobody looks at in between go together, in one message."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.messages import OP, order_view
from sdfgad.ir.program import Array, Lib, Loop, Map, Store
from sdfgad.ir.walk import reads, statements, writes
from sdfgad.transform.cutting.accesses import read_by
from sdfgad.transform.cutting.tree import CutNode, CutWork, PendingSum, RankPiece, check_message, in_any_order

TOGETHER = 1 << 12
"""Elements up to which a sum goes with others: a message of more is not held up by its latency."""


def only_added_to(loop: Loop) -> frozenset[str]:
    """Arrays that a loop adds to, or takes extremes of, in one way, and does not look at."""
    ways: dict[str, set[str | None]] = {}
    seen: set[str] = set(reads(loop))
    for stmt in statements(loop.body):
        if isinstance(stmt, Map):
            seen |= {name for name, _ in read_by(stmt)}
            for store in (p for p in stmt.body if isinstance(p, Store)):
                ways.setdefault(store.array, set()).add(store.op)
        else:
            seen |= reads(stmt) | writes(stmt)
    return frozenset(n for n, how in ways.items() if len(how) == 1 and n not in seen and how <= {"+", "max", "min"})


def packed(work: CutWork, nodes: Sequence[CutNode | PendingSum]) -> list[CutNode]:
    """s = allreduce(p) ; t = allreduce(q)   ->   r = (p, q) ; u = allreduce(r) ; s, t = u

    Sums wait until a statement reads or writes what they go to, and does not just add to it.
    """
    out: list[CutNode] = []
    waiting: list[PendingSum] = []
    for node in nodes:
        if isinstance(node, PendingSum):
            if not all(in_any_order(node.given, one.given) for one in waiting):
                out += _flushed(work, waiting)
                waiting = []
            waiting.append(node)
            continue
        if not all(in_any_order(node, one.given) for one in waiting):
            out += _flushed(work, waiting)
            waiting = []
        out.append(node)
    return [*out, *_flushed(work, waiting)]


def _flushed(work: CutWork, waiting: list[PendingSum]) -> Iterator[CutNode]:
    groups: dict[tuple[object, ...], list[PendingSum]] = {}
    for k, one in enumerate(waiting):
        alone = (k,) if one.part.size > TOGETHER or one.counts else ()
        groups.setdefault((one.part.dtype, one.how, *alone), []).append(one)
    for group in groups.values():
        yield from _alone(work, group[0]) if len(group) == 1 else _together(work, group)
    yield from (one.given for one in waiting)


def _alone(work: CutWork, one: PendingSum) -> Iterator[CutNode]:
    yield _added_up(work, one.part, one.total, [one])


def _together(work: CutWork, group: list[PendingSum]) -> Iterator[CutNode]:
    """One sum of what lies side by side."""
    size = sum(one.part.size for one in group)
    parts, totals = (work.room(stem, (size,), group[0].part) for stem in ("parts", "totals"))
    first = 0
    places: list[int] = []
    for one in group:
        places.append(first)
        first += one.part.size
        yield _copied(parts, one.part, places[-1], one.source, into=True)
    yield _added_up(work, parts, totals, group)
    for one, place in zip(group, places, strict=True):
        yield _copied(totals, one.total, place, one.source, into=False)


def _copied(packed: Array, one: Array, place: int, source: SourceLine | None, into: bool) -> RankPiece:
    """All of an array to, or from, the elements of another one from a place on."""
    domain, here = one.whole.points()
    flat: Ix = ix(place)
    stride = one.size
    for i, n in zip(here, one.shape, strict=True):
        stride //= max(n, 1)
        flat = flat + i * stride
    store = Store(packed.name, (flat,), Load(one.name, here, one.dtype)) if into else \
        Store(one.name, here, Load(packed.name, (flat,), packed.dtype))
    names = (frozenset({one.name}), frozenset({packed.name}))
    return RankPiece((Map(domain, (store,), source),), (), *(names if into else names[::-1]))


def _added_up(work: CutWork, part: Array, total: Array, group: Sequence[PendingSum]) -> RankPiece:
    how, source = group[0].how, group[0].source
    check_message(part.dtype, source)
    sweep = work.sweep(n for one in group for n in one.given.writes)
    counts = group[0].counts
    attrs = MappingProxyType({"kind": "reduce_scatterv" if counts else "allreduce", "count": total.size,
                              "dtype": part.dtype, "how": how, **sweep})
    numbers = work.numbers(0, *counts)
    stmt = Lib(OP, (total.whole, order_view()), (part.whole, numbers.whole, order_view()), attrs, source)
    return RankPiece((stmt,), (), frozenset({part.name}), frozenset({total.name}))
