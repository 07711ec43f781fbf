"""Arrays of which a run of statements makes whatever it looks at: nobody sees what was in them before."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from sdfgad.analysis.elements.access import BEFORE, Access, Site, reads_of
from sdfgad.analysis.elements.boxes import Box, covered, path_of
from sdfgad.analysis.elements.cover import covers
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Range, Stmt, Store
from sdfgad.ir.walk import children, range_elems, reads, within, writes

_Held: TypeAlias = tuple[Stmt, tuple[Stmt, ...]]
"""A statement, and those that hold it, from outside in."""


def begins_afresh(array: Array, block: Block) -> bool:
    """Whether a run of a block looks at no element of an array before it has made it.

    Going by the first statement that touches the array: a map that replaces a box of elements, in all the loops around
    it. Whoever looks at the array later does so at elements of the box: at those of the same iteration, where both are
    in one loop.
    """
    return _made_first(array, list(_users(array.name, block, ())))


def looked_at_before_made(arrays: Collection[Array], block: Block) -> frozenset[str]:
    """Those of the arrays that do not begin afresh."""
    users: dict[str, list[_Held]] = {a.name: [] for a in arrays}
    _enter(users, block, ())
    return frozenset(a.name for a in arrays if not _made_first(a, users[a.name]))


def _enter(users: Mapping[str, list[_Held]], block: Block, around: tuple[Stmt, ...]) -> None:
    """Add the statements of a block that touch arrays."""
    for stmt in block:
        for name in (reads(stmt) | writes(stmt)) & users.keys():
            users[name].append((stmt, around))
        for inner in children(stmt):
            _enter(users, inner, (*around, stmt))


def _made_first(array: Array, users: Sequence[_Held]) -> bool:
    """Whether nobody among the users of an array looks at what none of them has made."""
    if not users:
        return True
    (maker, around), others = users[0], users[1:]
    store = _maker_store(maker, array.name)
    if not isinstance(maker, Map) or store is None or not all(_runs(s) for s in around):
        return False
    return all(_made_before(array, store, maker, around, other) for other in others)


def _users(name: str, block: Block, around: tuple[Stmt, ...]) -> Iterator[_Held]:
    for stmt in block:
        if name in reads(stmt) or name in writes(stmt):
            yield stmt, around
        for inner in children(stmt):
            if any(name in names for s in inner for names in within(s)):
                yield from _users(name, inner, (*around, stmt))


def _maker_store(stmt: Stmt, name: str) -> Store | None:
    """The store of a map that replaces elements of an array, if that is all it has to do with it."""
    if not isinstance(stmt, Map) or name in reads(stmt) or any(range_elems(r) for r in stmt.domain):
        return None
    stores = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    alone = len(stores) == 1 and stores[0].op is None and not any(i.elems for i in stores[0].index)
    return stores[0] if alone else None


def _runs(stmt: Stmt) -> bool:
    """Whether a statement around others surely has them run, for each number that it counts."""
    return isinstance(stmt, Loop) and stmt.until is None and bool(stmt.range.trips)


def _made_before(array: Array, store: Store, maker: Map, around: Sequence[Stmt], other: _Held) -> bool:
    """Whether all that a later statement reads of an array is what the first one has made there."""
    stmt, outer = other
    common = next((k for k, (a, b) in enumerate(zip(around, outer, strict=False)) if a is not b),
                  min(len(around), len(outer)))
    looks = [a for a in reads_of(stmt, Site((), 0, 0)) if a.array == array.name]
    if not looks:
        return array.name not in reads(stmt)
    made = _box(array, Access(array.name, store.index, maker.domain, Site((), 0, 0), BEFORE), around[common:])
    if covers(maker, store, array) or (made and made.sides == tuple((ix(0), ix(n)) for n in array.shape)):
        return True
    seen = [_box(array, a, outer[common:]) for a in looks]
    return made is not None and all(box is not None and covered(box, [made]) for box in seen)


def _box(array: Array, access: Access, around: Sequence[Stmt]) -> Box | None:
    """What an access meets in all iterations of some loops; None when that is not seen to be a box."""
    ranges = [*(s.range for s in around if isinstance(s, Loop)), *access.domain]
    used = _used(access.index, ranges)
    if any(i.elems for i in access.index) or any(range_elems(r) for r in used):
        return None
    path = path_of(array.name, array.shape, access.index, [r.upwards for r in used], {})
    return path.box if path is not None else None


def _used(index: tuple[Ix, ...], ranges: Sequence[Range]) -> list[Range]:
    """The ranges that have a say in where an index goes."""
    found: list[Range] = []
    symbols = {s for i in index for s in i.symbols}
    for r in reversed(ranges):
        if r.var in symbols:
            found.append(r)
            symbols = (symbols - {r.var}) | r.start.symbols | r.stop.symbols
    return found[::-1]

