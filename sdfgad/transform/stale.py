"""Elements whose contents are out of date: who looks at them before they are replaced."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sdfgad.analysis.access import Site, interval_env, reads_of
from sdfgad.analysis.cover import replaced
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Loop, Map, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, reads
from sdfgad.transform.clearings import Box, common, stored_box, take_out, touches

Boxes: TypeAlias = tuple[Box, ...]
MOST_BOXES = 64
"""More boxes are not followed: all that is stale then counts as looked at."""
_NOWHERE = Site((), 0, 0)


@dataclass(frozen=True)
class Stale:
    """left: elements that are still out of date; seen: those that somebody may have looked at, or that are given up."""

    left: Boxes
    seen: Boxes = ()


def whole(array: Array) -> Box:
    """All of an array."""
    return tuple((0, n) for n in array.shape)


def after(block: Iterable[Stmt], array: Array, stale: Stale, arrays: Mapping[str, Array]) -> Stale:
    """What is left and what was looked at when these statements have run, one after the other."""
    for stmt in block:
        if not stale.left:
            break
        if touches(stmt, array.name):
            stale = _met(stmt, array, stale, arrays)
    return stale


def _met(stmt: Stmt, array: Array, stale: Stale, arrays: Mapping[str, Array]) -> Stale:
    """The same for one statement that touches the array; what it reads, it reads before it writes."""
    if isinstance(stmt, Loop) and stmt.range.trips and stmt.until is None and not stmt.parallel \
            and array.name not in reads(stmt):
        first = after(stmt.body, array, stale, arrays)
        if not first.left and first.seen == stale.seen:
            return first
    if not isinstance(stmt, Map):
        # Inside a region nobody knows which iteration comes first, nor whether it comes at all.
        if array.name in all_reads((stmt,)) or len(stale.left) > MOST_BOXES:
            return Stale((), stale.seen + stale.left)
        return Stale((), stale.seen) if array.name in replaced(stmt, arrays) else stale
    looks = [hull(a.index, a.domain, array) for a in reads_of(stmt, _NOWHERE) if a.array == array.name]
    seen = tuple(c for look in looks for b in stale.left if (c := common(b, look)) is not None)
    left = without(stale.left, seen)
    for part in stmt.body:
        box = stored_box(stmt, part) if isinstance(part, Store) and part.array == array.name and not part.op else None
        left = without(left, [box] if box is not None else [])
    found = Stale(left, stale.seen + seen)
    return found if len(left) <= MOST_BOXES else Stale((), found.seen + left)


def without(boxes: Boxes, gone: Sequence[Box]) -> Boxes:
    """What is left of some boxes when others are taken out."""
    for box in gone:
        boxes = tuple(rest for b in boxes for rest in take_out(b, box))
    return boxes


def hull(index: Sequence[Ix], domain: Sequence[Range], array: Array) -> Box:
    """A box that holds all elements an index may mean."""
    env = interval_env(domain)
    ends = [i.bounds(env) for i in index]
    return tuple((0 if low is None else max(low, 0), n if high is None else min(high + 1, n))
                 for (low, high), n in zip(ends, array.shape, strict=True))
