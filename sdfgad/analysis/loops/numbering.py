"""Numberings of rows, followed from access to access."""
from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from sdfgad.analysis.loops.rows import RowNumbering, RowTouch, distance, maps_of, touched, touches
from sdfgad.ir.program import Block, Map


class Numberings:
    """What all numberings of the rows of one block have in common."""

    def __init__(self, block: Block) -> None:
        self.maps = maps_of(block)
        self.places: dict[int, list[int]] = {}
        """Of each map (by `id`) where it stands."""
        self.users: dict[str, set[int]] = {}
        self.lengths: dict[int, list[int]] = {}
        """The maps that have a range of so many iterations which may count rows."""
        self.written: set[str] = set()
        for k, m in enumerate(self.maps):
            self.places.setdefault(id(m), []).append(k)
            names, written = touched(m)
            self.written |= written
            for name in names:
                self.users.setdefault(name, set()).add(id(m))
            for n in {r.trips for r in m.domain if r.step == 1 and r.start.const is not None} - {None}:
                self.lengths.setdefault(n or 0, []).append(k)

    def numbered(self, array: str, dim: int, skip: frozenset[str] = frozenset()) -> RowNumbering:
        """The numbering that makes dimension `dim` of `array` count rows, followed from access to access.

        skip: arrays that get no place in it.
        """
        return _Walk(self, array, dim, self.written - skip).numbering()


def number_rows(block: Block, array: str, dim: int) -> RowNumbering:
    """The numbering of the rows of a block that makes dimension `dim` of `array` count them."""
    return Numberings(block).numbered(array, dim)


class _Walk:
    """Goes through the maps in rounds: each round gives turns to maps that touch what has a place, and places to what
    maps that have a turn touch. news: maps of which an array has got its place since they were tried; unplaced: maps
    that have not placed what they write, and all they touch."""

    def __init__(self, rows: Numberings, array: str, dim: int, written: set[str]) -> None:
        self.rows, self.written = rows, written
        self.places: dict[str, tuple[int, int]] = {array: (dim, 0)}
        self.turns: dict[int, tuple[str, int]] = {}
        self.news: set[int] = set(rows.users.get(array, ()))
        self.unplaced: tuple[set[int], set[int]] = (set(), set())
        self.spans: dict[int, tuple[int, int]] = {}
        """By their number the last map with so many rows, and the first row."""
        self.tried: dict[int, int] = {}
        """How many of the maps with a range of some length are known not to wait for a turn."""

    def numbering(self) -> RowNumbering:
        by_reads = False
        while True:
            size = len(self.places) + len(self.turns)
            self._round(by_reads)
            if size < len(self.places) + len(self.turns):
                by_reads = False  # what a statement writes tells more than what it reads
            elif not by_reads:
                by_reads = True
            elif not self._adopt():
                return RowNumbering(self.places, self.turns)
            else:
                by_reads = False

    def _round(self, by_reads: bool) -> None:
        """Look at each map once, in program order, as far as there is something to find out."""
        maps, at = self.rows.maps, self.rows.places
        queue = [k for key in self.news | self.unplaced[by_reads] for k in at[key]]
        heapify(queue)
        last = -1
        while queue:
            k = heappop(queue)
            if k == last:
                continue
            last, stmt = k, maps[k]
            key = id(stmt)
            if key in self.news:
                self.news.remove(key)
                if key not in self.turns and (turn := _turn(stmt, self.places)) is not None:
                    self._take_turn(key, turn)
            if key in self.unplaced[by_reads]:
                self.unplaced[by_reads].remove(key)
                for name in _place(stmt, self.turns[key], self.places, self.written, by_reads):
                    for user in self.rows.users[name]:
                        self.news.add(user)
                        for later in at[user][bisect(at[user], k):]:
                            heappush(queue, later)

    def _take_turn(self, key: int, turn: tuple[str, int]) -> None:
        self.turns[key] = turn
        for waiting in self.unplaced:
            waiting.add(key)
        last = self.rows.places[key][-1]
        start, stop = RowNumbering(self.places, self.turns).span(self.rows.maps[last])
        if last > self.spans.get(stop - start, (-1, 0))[0]:
            self.spans[stop - start] = last, start

    def _adopt(self) -> bool:
        """Give a map that has nothing to do with the others a variable that runs over as many rows as one of them."""
        first = min((k for n in self.spans if (k := self._waiting(n)) is not None), default=None)
        if first is None:
            return False
        stmt = self.rows.maps[first]
        r = next(r for r in stmt.domain if r.step == 1 and r.start.const is not None and r.trips in self.spans)
        self._take_turn(id(stmt), (r.var, self.spans[r.trips or 0][1] - (r.start.const or 0)))
        return True

    def _waiting(self, length: int) -> int | None:
        """The first map with a range of this length that has no turn, nor anything with a place."""
        found = self.rows.lengths.get(length, [])
        for n in range(self.tried.get(length, 0), len(found)):
            stmt = self.rows.maps[found[n]]
            if id(stmt) not in self.turns and self.places.keys().isdisjoint(touched(stmt)[0]):
                self.tried[length] = n
                return found[n]
        self.tried[length] = len(found)
        return None


def _turn(stmt: Map, places: Mapping[str, tuple[int, int]]) -> tuple[str, int] | None:
    """The variable and shift all writes of known arrays agree on; of reads when none is written."""
    known = [t for t in touches(stmt) if t.array in places]
    known = [t for t in known if t.written] or known
    for r in stmt.domain:
        if r.step != 1 or r.start.const is None or r.stop.const is None:
            continue
        shifts = {_shift(t, r.var, *places[t.array]) for t in known}
        if len(shifts) == 1 and (shift := shifts.pop()) is not None:
            return r.var, shift
    return None


def _shift(touch: RowTouch, var: str, dim: int, offset: int) -> int | None:
    gap = distance(touch.index[dim], var)
    return None if gap is None else gap - offset


def _place(stmt: Map, turn: tuple[str, int], places: dict[str, tuple[int, int]], written: set[str],
           by_reads: bool) -> list[str]:
    """Give places to what the map touches in its rows; the arrays that got one."""
    var, shift = turn
    placed = []
    for touch in touches(stmt):
        if touch.array in places or touch.array not in written or not (touch.written or by_reads):
            continue
        found = [(k, g) for k, i in enumerate(touch.index) if (g := distance(i, var)) is not None]
        if len(found) == 1:
            places[touch.array] = (found[0][0], found[0][1] - shift)
            placed.append(touch.array)
    return placed
