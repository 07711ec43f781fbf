"""Copies of most of an array, with sums at its rim, turned into one copy of all of it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from sdfgad.ir.expr import Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Map, Stmt, Store, over
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import Box, common, size, stored_box, touches
from sdfgad.transform.clearing.stale import Boxes, Stale, after, whole, without
from sdfgad.transform.spelling import alike, only_store

Free = Callable[[str, str, Boxes], bool]
"""Whether the names of a target and a source may be exchanged, and nobody looks at these elements of the source after
the loop before they are replaced."""


@dataclass(frozen=True)
class _Pieces:
    """Statements `places` of a body move boxes of `source` to the same places of `target`: those of `added` are added
    there. rest: boxes that none of them touches."""

    places: tuple[int, ...]
    target: str
    source: str
    added: Boxes
    rest: Boxes


def copy_at_once(body: Block, arrays: Mapping[str, Array], free: Free) -> Block:
    """y[1:n] = f(x) ; y[0] = g(x) ; x[1:n] = y[1:n] ; x[0] += y[0]
    ->   y[1:n] = f(x) ; y[0] = g(x) ; y[0] += x[0] ; x[0:n+1] = y[0:n+1]; and y[n] = x[n], in the body of a loop.

    The sum is formed in the source, where nobody looks before the next iteration has replaced it; what is not copied
    at all is copied there and back.
    """
    for target, source in dict.fromkeys(p for s in body if (p := moved(s, arrays)) is not None):
        found = _pieces(body, arrays, target, source)
        if found is not None and _free(body, arrays, found, free):
            body = _joined(body, arrays, found)
    return body


def moved(stmt: Stmt, arrays: Mapping[str, Array]) -> tuple[str, str] | None:
    """Two arrays that are alike when a statement moves a box of the second to the same place of the first."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if store is None or store.op not in (None, "+") or not isinstance(store.expr, Load):
        return None
    target, source = arrays[store.array], arrays[store.expr.array]
    same = store.index == store.expr.index and bool(store.index)
    return (target.name, source.name) if same and alike(target, source) else None


def _pieces(body: Block, arrays: Mapping[str, Array], target: str, source: str) -> _Pieces | None:
    """The boxes of one pair of arrays, when they have nothing in common and nothing comes between them."""
    places = tuple(k for k, s in enumerate(body) if moved(s, arrays) == (target, source))
    others = (s for k, s in enumerate(body[places[0]:places[-1]], places[0]) if k not in places)
    if len(places) > thresholds().copied_pieces or any(touches(s, n) for s in others for n in (target, source)):
        return None
    boxes: dict[Box, str | None] = {}
    for place in places:
        stmt = body[place]
        store = only_store(stmt) if isinstance(stmt, Map) else None
        box = stored_box(stmt, store) if isinstance(stmt, Map) and store is not None else None
        if store is None or box is None or any(common(box, b) for b in boxes):
            return None
        boxes[box] = store.op
    rest = without((whole(arrays[target]),), tuple(boxes))
    added = tuple(b for b, op in boxes.items() if op is not None)
    rim = added + rest
    small = thresholds().exchanged * sum(map(size, rim)) <= prod(arrays[target].shape)
    few = len(rest) <= thresholds().copied_pieces
    return _Pieces(places, target, source, added, rest) if rim and small and few else None


def _free(body: Block, arrays: Mapping[str, Array], found: _Pieces, free: Free) -> bool:
    """Whether the rim of the source is free for other values when its pieces have been moved."""
    source = arrays[found.source]
    ended = after(body[found.places[-1] + 1:], source, Stale(found.added + found.rest), arrays)
    again = after(body[:found.places[0]], source, ended, arrays)
    # What is added has to be made afresh; what is copied there is overwritten anyway.
    kept = any(common(b, a) for b in again.left for a in found.added)
    return not again.seen and not kept and free(found.target, found.source, ended.left)


def _joined(body: Block, arrays: Mapping[str, Array], found: _Pieces) -> Block:
    first, last = found.places[0], found.places[-1]
    between = (s for k, s in enumerate(body[first:last + 1], first) if k not in found.places)
    array, other = arrays[found.source], found.target
    made = (*(moving(array, other, b, "+") for b in found.added), *(moving(array, other, b) for b in found.rest),
            moving(arrays[other], array.name, whole(array)))
    return (*body[:first], *between, *made, *body[last + 1:])


def moving(target: Array, source: str, box: Box, op: str | None = None) -> Map:
    """The map that copies a box from the same place of another array, or adds it."""
    domain = over(box)
    index = tuple(ix(r.var) for r in domain)
    return Map(domain, (Store(target.name, index, Load(source, index, target.dtype), op),))
