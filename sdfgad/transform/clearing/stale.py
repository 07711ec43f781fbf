"""Elements whose contents are out of date: who looks at them before they are replaced."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sdfgad.analysis.elements.access import Site, interval_env, reads_of
from sdfgad.analysis.elements.cover import replaced
from sdfgad.ir.index import Bounds, Ix
from sdfgad.ir.program import Array, Block, Loop, Map, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, reads, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import Box, common, stored_box, take_out, touches

Boxes: TypeAlias = tuple[Box, ...]
_NOWHERE = Site((), 0, 0)
_FAR = 2**62


@dataclass(frozen=True)
class Stale:
    """left: elements that are still out of date; seen: those that somebody may have looked at, or that are given up."""

    left: Boxes
    seen: Boxes = ()


@dataclass(frozen=True)
class After:
    """What comes after a statement: the rest of its block; then, in a loop, its body `again`, or what comes after."""

    rest: Block
    again: Block
    outer: After | None


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


def unseen(block: Iterable[Stmt], array: Array, box: Box, arrays: Mapping[str, Array]) -> bool:
    """Whether these statements, which touch the array, replace a box before anybody looks at it."""
    stale = Stale((box,))
    for stmt in block:
        stale = _met(stmt, array, stale, arrays)
        if stale.seen or not stale.left:
            break
    return not stale.seen and not stale.left


def unseen_later(array: Array, left: Boxes, then: After | None, arrays: Mapping[str, Array],
                 keep: Collection[str]) -> bool:
    """Whether nobody looks at these elements before they are replaced; `keep`: arrays read after the program."""
    while then is not None and left:
        found = after(then.rest, array, Stale(left), arrays)
        if found.seen or after(then.again, array, found, arrays).seen:
            return False
        left, then = found.left, then.outer
    return not left or array.name not in keep


def _met(stmt: Stmt, array: Array, stale: Stale, arrays: Mapping[str, Array]) -> Stale:
    """The same for one statement that touches the array; what it reads, it reads before it writes."""
    if isinstance(stmt, Loop) and stmt.range.trips and stmt.until is None and not stmt.parallel \
            and array.name not in reads(stmt):
        first = after(stmt.body, array, stale, arrays)
        if not first.left and first.seen == stale.seen:
            return first
    if not isinstance(stmt, Map):
        # Inside a region nobody knows which iteration comes first, nor whether it comes at all.
        if array.name in all_reads((stmt,)) or len(stale.left) > thresholds().boxes:
            return Stale((), stale.seen + stale.left)
        return Stale((), stale.seen) if array.name in replaced(stmt, arrays) else stale
    places = _places(stmt)[array.name]
    seen = tuple(c for look in places.looks for b in stale.left if (c := common(b, look)) is not None)
    left = without(without(stale.left, seen), places.stored)
    found = Stale(left, stale.seen + seen)
    return found if len(left) <= thresholds().boxes else Stale((), found.seen + left)


@dataclass
class _StalePlaces:
    """looks: boxes that hold what a map reads of an array; stored: those it replaces."""

    looks: list[Box]
    stored: list[Box]


def _places(stmt: Map) -> Mapping[str, _StalePlaces]:
    """By array what a map touches."""
    known: dict[str, _StalePlaces] | None = stmt.__dict__.get("_places")
    if known is None:
        known = {n: _StalePlaces([], []) for n in reads(stmt) | writes(stmt)}
        # Bounds look at the ranges before them alone.
        envs = {k: interval_env(stmt.domain[:k]) for k in range(len(stmt.domain) + 1)}
        for access in dict.fromkeys(reads_of(stmt, _NOWHERE)):
            known[access.array].looks.append(_hull(access.index, envs[len(access.domain)]))
        for part in stmt.body:
            box = stored_box(stmt, part) if isinstance(part, Store) and not part.op else None
            if isinstance(part, Store) and box is not None:
                known[part.array].stored.append(box)
        # Statements never change and every store before asks: the answer is kept with the object.
        object.__setattr__(stmt, "_places", known)
    return known


def without(boxes: Boxes, gone: Sequence[Box]) -> Boxes:
    """What is left of some boxes when others are taken out."""
    for box in gone:
        boxes = tuple(rest for b in boxes for rest in take_out(b, box))
    return boxes


def hull(index: Sequence[Ix], domain: Sequence[Range]) -> Box:
    """A box that holds all elements an index may mean."""
    return _hull(index, interval_env(domain))


def _hull(index: Sequence[Ix], env: Mapping[str, Bounds]) -> Box:
    ends = [i.bounds(env) for i in index]
    return tuple((0 if low is None else low, _FAR if high is None else high + 1) for low, high in ends)
