"""Clearings at the end of an iteration that the start of the next one makes pointless."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from sdfgad.analysis.elements.cover import covers, fills, is_pointwise
from sdfgad.analysis.loops.rows import touches as row_touches
from sdfgad.ir.program import Array, Block, Loop, Map, Stmt, Store, While
from sdfgad.ir.walk import children, in_terms_of, places_of, reads, statements, with_children, writes
from sdfgad.transform.clearing.clearings import assigning, is_zero, sole_accumulation, without


def clear_around_loops(body: Block, arrays: Mapping[str, Array], outside: Set[str]) -> Block:
    """x = 0 ; for t: { x += f(t) ; y += x ; x = 0 }   ->   for t: { x = f(t) ; y += x }

    For arrays that only this body looks at (`outside`: those that others see), where each iteration starts by filling
    all of them, or looks at the points that it fills alone.
    """
    names = {p.array for s in statements(body) if isinstance(s, Map) for p in s.body if is_zero(p)} - outside
    whole = _Work(body)
    for name in sorted(names):
        home = whole.home(name)
        first = None if home is None else next(home.touching(name))
        store = None if first is None else sole_accumulation(first, name)
        if home is None or store is None or not isinstance(first, Map):
            continue
        array = arrays[name]
        if (fills(first, store, array) and _ends_clear(home, array)) or _alone_at_points(whole, home, first, store):
            whole.drop_clearings(home, first, store)
    return whole.block()


class _Work:
    """A block that changes bit by bit: of each array it knows where to look. What is dropped leaves a gap."""

    def __init__(self, block: Block) -> None:
        self.stmts: list[Stmt | None] = list(block)
        self.inner = [tuple(map(_Work, children(s))) for s in block]
        self.places = places_of(block)

    def block(self) -> Block:
        return tuple(with_children(s, [w.block() for w in inner])
                     for s, inner in zip(self.stmts, self.inner, strict=True) if s is not None)

    def touched(self, name: str, backwards: bool = False) -> Iterator[tuple[int, Stmt]]:
        """The statements that touch an array, or hold others that do, and where they stand."""
        places = self.places.get(name, ())
        for k in reversed(places) if backwards else places:
            stmt = self.stmts[k]
            if stmt is not None and (name in reads(stmt) or name in writes(stmt) or self.holders(k, name)):
                yield k, stmt

    def touching(self, name: str, backwards: bool = False) -> Iterator[Stmt]:
        return (s for _, s in self.touched(name, backwards))

    def holders(self, k: int, name: str) -> list[_Work]:
        """The blocks inside a statement that touch an array."""
        return [w for w in self.inner[k] if any(True for _ in w.touched(name))]

    def home(self, name: str) -> _Work | None:
        """The loop body that holds every statement about `name` but clearings outside it; None when there is none."""
        here = [(k, s) for k, s in self.touched(name) if not _only_clears(s, name)]
        inner = self.holders(here[0][0], name) if len(here) == 1 else []
        if len(inner) != 1:
            return None
        return inner[0].home(name) or (inner[0] if isinstance(here[0][1], (Loop, While)) else None)

    def users(self, name: str) -> Iterator[Stmt]:
        """The statements here and inside that touch an array themselves."""
        for k, stmt in self.touched(name):
            if name in reads(stmt) or name in writes(stmt):
                yield stmt
            for inner in self.inner[k]:
                yield from inner.users(name)

    def drop_clearings(self, home: _Work, first: Map, store: Store, inside: bool = False) -> None:
        """Outside `home` every clearing goes; inside, those after the last look at the array."""
        name, inside = store.array, inside or self is home
        here = list(self.touched(name))
        last = max((k for k, s in here if not _only_clears(s, name)), default=-1)
        for k, stmt in here:
            if stmt is first:
                self.stmts[k] = assigning(first, store)
            elif self.inner[k]:
                for inner in self.inner[k]:
                    inner.drop_clearings(home, first, store, inside)
            elif _only_clears(stmt, name) and (not inside or (self is home and k > last)):
                self.stmts[k] = _strip(stmt, name)
            elif self is home and k == last:
                self.stmts[k] = _strip_trailing(stmt, name)


def _ends_clear(home: _Work, array: Array) -> bool:
    """Whether the last thing the block does with the array is to clear all of it."""
    last = next(home.touching(array.name, backwards=True))
    if not isinstance(last, Map):
        return False
    part = [p for p in last.body if isinstance(p, Store) and p.array == array.name][-1:]
    return bool(part) and is_zero(part[0]) and covers(last, part[0], array)


def _alone_at_points(whole: _Work, home: _Work, first: Map, store: Store) -> bool:
    """Whether every look at an array is at the points of this map, and each iteration ends by clearing them."""
    name = store.array
    users = (s for s in whole.users(name) if not _only_clears(s, name))
    if not is_pointwise(first.domain, store.index) or any(not _at_points(s, first, store) for s in users):
        return False
    last = next(home.touching(name, backwards=True))
    parts = [p for p in last.body if isinstance(p, Store) and p.array == name] if isinstance(last, Map) else []
    return bool(parts) and is_zero(parts[-1]) and _at_points(last, first, store)


def _at_points(stmt: Stmt, first: Map, store: Store) -> bool:
    """Whether a map looks at an array where another one stores to it, point by point."""
    here = in_terms_of(first.domain, stmt) if isinstance(stmt, Map) and len(stmt.domain) == len(first.domain) else None
    return here is not None and all(t.index == store.index for t in row_touches(here) if t.array == store.array)


def _only_clears(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Map) and name not in reads(stmt) and \
        all(is_zero(p) for p in stmt.body if isinstance(p, Store) and p.array == name)


def _strip(stmt: Stmt, name: str) -> Stmt | None:
    """What is left without the stores into an array."""
    if not isinstance(stmt, Map):
        return stmt
    return next(iter(without(stmt, [p for p in stmt.body if isinstance(p, Store) and p.array == name])), None)


def _strip_trailing(stmt: Stmt, name: str) -> Stmt | None:
    """Drop a clearing that is the last thing a map does with the array."""
    if not isinstance(stmt, Map):
        return stmt
    about = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    return next(iter(without(stmt, about[-1:])), None) if about and is_zero(about[-1]) else stmt
