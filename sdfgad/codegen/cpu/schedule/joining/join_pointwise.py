"""Neighbouring statements over the same points: one pass over their data in place of several."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.analysis.loops.rows import RowTouch, other_slice, points, stride, touched, touches
from sdfgad.codegen.cpu.schedule.joining.common_core import Cores, common_core
from sdfgad.codegen.cpu.schedule.joining.forward_values import forward_values, own_names
from sdfgad.codegen.cpu.schedule.joining.own_lines import OwnLines, Pair, add_together, collects
from sdfgad.codegen.cpu.schedule.joining.rising_stores import rising_stores
from sdfgad.ir.expr import Call, Expr, Load, index_elems, operands, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import (
    children,
    conflicts,
    expr_reads,
    in_terms_of,
    range_elems,
    with_children,
    within,
)
from sdfgad.thresholds import JoinLimits, thresholds
from sdfgad.transform.clearing.clearings import Box, common
from sdfgad.transform.clearing.stale import hull
from sdfgad.transform.dropping.dead import without_dead_code

_Between: TypeAlias = tuple[Sequence[Stmt], Sequence[Stmt]]
_Place: TypeAlias = tuple[str, tuple[Ix, ...]]


def join_pointwise(program: Program, limits: JoinLimits | None = None, small: bool = False,
                   cores: bool = False) -> Program:
    """map i: t[i] = f(x[i]) ; map j: { y[j] = g(t[j], x[j]) ; s += t[j] }
    ->   map i: { v = f(x[i]) ; y[i] = g(v, x[i]) ; s += v }

    For maps that write each element once and share data, and sums of what they write or compute, wherever they go; what
    one writes the other touches at its own point only, or not at all, unless both only add to it where an array says.
    What stands between them may change places with one of the two. Stores that nobody reads are left out. Sums that
    compute what another map computes, too, join it last: they keep no other maps apart then. small: for single rows of
    few points, which hide from other passes once they are joined. Maps that store downwards are turned round first, so
    that they find others over the same elements. cores: maps that have most of their points in common run together over
    these, and each alone over its rim (`common_core.py`).
    """
    usual = thresholds().small_rows if small else thresholds().joining
    joiner = _Joiner(program.arrays, limits or usual, cores)
    body = joiner.blocks(rising_stores(program).body, False)
    joiner.readers = True
    body = joiner.blocks(body, False)
    if body == program.body:
        return program
    made = program.but(body=body, arrays=joiner.arrays)
    return without_dead_code(made, {*program.live_out, *program.arguments})


class _Joiner:
    """`arrays` follows the ones it adds. readers: whether sums join maps that compute the same values."""

    def __init__(self, arrays: Mapping[str, Array], limits: JoinLimits, cores: bool) -> None:
        self.arrays = dict(arrays)
        self.limits = limits
        self.cores = cores
        self.readers = False
        self._nearby: dict[int, tuple[Map, frozenset[str]]] = {}
        self._fitting: dict[int, tuple[Map, bool]] = {}

    def blocks(self, block: Block, parallel: bool) -> Block:
        """The block, inner ones first. Iterations of a parallel loop would need arrays of their own for their lines."""
        done: list[Stmt] = []
        for stmt in block:
            inside = parallel or (isinstance(stmt, Loop) and stmt.parallel)
            self._append(done, with_children(stmt, [self.blocks(b, inside) for b in children(stmt)]), parallel)
        return tuple(done)

    def _append(self, done: list[Stmt], stmt: Stmt, parallel: bool) -> None:
        """Add a statement to a block, to run with an earlier one where that is possible."""
        found = self._partner(done, stmt, parallel) if isinstance(stmt, Map) and self._fits(stmt) else None
        if found is None:
            done.append(stmt)
            return
        place, between, joined, cut = found
        done[place:] = [*cut.first_rim, *between[0]]
        for made in joined:
            # What both read may come from yet another one.
            self._append(done, made, parallel)
        done += between[1]
        for rim in cut.second_rim:
            self._append(done, rim, parallel)

    def _partner(self, done: Sequence[Stmt], stmt: Map, parallel: bool) -> tuple[int, _Between, Block, Cores] | None:
        """The nearest earlier map to run this one with, what then comes before and after, and both together."""
        up = True
        mine = touched(stmt)[0]
        for k in range(len(done) - 1, max(-1, len(done) - 1 - self.limits.far), -1):
            first = done[k]
            # Those that share no array share no work either, which is made of what they read.
            if isinstance(first, Map) and not mine.isdisjoint(touched(first)[0]) and self._fits(first):
                for cut in self._cuts(first, stmt, parallel):
                    found = self._together(cut, done[k + 1:], up, parallel)
                    if found is not None:
                        return k, *found, cut
            up = up and may_change_places(first, stmt)
        return None

    def _cuts(self, first: Map, second: Map, parallel: bool) -> Iterator[Cores]:
        """Both maps as they are; then what they have in common, where that is most of them and no sums are cut. Rims
        in three dimensions are planes, some of them with each element in another line of the cache: no gain."""
        yield Cores(first, second)
        if self.cores and not parallel and len(first.domain) == 2 and not _shared(first).sums and \
                not _shared(second).sums:
            cut = common_core(first, second, self.limits.core)
            if cut is not None and points(cut.first) >= self.limits.points:
                yield cut

    def _together(self, cut: Cores, between: Sequence[Stmt], up: bool, parallel: bool) -> tuple[_Between, Block] | None:
        """What of the statements between two maps comes before and after both, and both as one."""
        # Whether they may stand side by side takes longest to say, by far.
        moved = self._alike(cut.first, cut.second)
        if moved is not None and cut.parted and _shared(cut.first).written.isdisjoint(_shared(moved).touched):
            return None  # what both read alone is no reason for rims, and for rows that begin within a line
        parted = None if moved is None else ([], between) if up else _parted(cut.first, between, cut.second)
        joined = None if moved is None or parted is None else self._joined(cut.first, moved, parallel)
        return None if parted is None or joined is None else (parted, joined)

    def _fits(self, stmt: Map) -> bool:
        """Whether every point of a large map writes elements of its own, or adds, at places that no array decides."""
        known = self._fitting.get(id(stmt))
        if known is None or known[0] is not stmt:
            known = self._fitting[id(stmt)] = (stmt, self._fits_alone(stmt))
        return known[1]

    def _fits_alone(self, stmt: Map) -> bool:
        ranges = len(stmt.domain)
        if not ranges or points(stmt) < self.limits.points or any(range_elems(r) for r in stmt.domain) or \
                self.limits.rows and ranges > 1:
            return False
        stores = [p for p in stmt.body if isinstance(p, Store)]
        return all((is_pointwise(stmt.domain, p.index) and not _scatters(p)) or p.op == "+" for p in stores)

    def _alike(self, first: Map, second: Map) -> Map | None:
        """The second map in terms of the first, where they agree on the points and the order of loops and share data.
        """
        if not _as_many(first.domain, second.domain):
            return None
        moved = second if first.domain == second.domain else _in_terms_of(first.domain, second)
        if moved is None or not _shares(first, moved, self.readers):
            return None
        if _scattered(first) or _scattered(moved):
            # Neither has vectors to lose.
            return moved if _decided(first) and _decided(moved) else None
        return None if self._far_apart(first, moved) else moved

    def _joined(self, first: Map, moved: Map, parallel: bool) -> Block | None:
        """Both maps, which are alike, as one, where no point touches what another one writes."""
        if parallel and any(collects(moved, p) for p in moved.body if isinstance(p, Store)):
            return None  # rows and strips are in the cache, where sums run in tiles
        if len(_shared(first).streams | _shared(moved).streams) > self.limits.arrays or _cross(first, moved):
            return None
        pair = add_together(Pair(first, own_names(first, moved)))
        lines = OwnLines(dict(self.arrays))
        pair = pair if parallel else lines.apart(pair)
        both = replace(first, body=(*pair.first.body, *pair.second.body))
        if len(_streams(both)) > self.limits.arrays or not _point_by_point(pair, both, lines.arrays):
            return None
        self.arrays = lines.arrays
        return (*pair.before, forward_values(both, self.arrays), *pair.after)

    def _far_apart(self, first: Map, second: Map) -> bool:
        """Whether no variable goes through what both touch in short steps. With one variable, and work in common, they
        go through it alike anyhow."""
        alike = len(first.domain) == 1 and not _shared(first).work.isdisjoint(_shared(second).work)
        return not alike and self._near(first).isdisjoint(self._near(second))

    def _near(self, stmt: Map) -> frozenset[str]:
        """The variables along which every access stays near the one before. Arrays keep their shapes meanwhile."""
        known = self._nearby.get(id(stmt))
        if known is None or known[0] is not stmt:
            known = self._nearby[id(stmt)] = (stmt, _near(stmt, self.arrays, self.limits.stride))
        return known[1]


# Programs that are compared while planning differ in a few statements: the same questions come again and again.
_in_terms_of = lru_cache(maxsize=1 << 12)(in_terms_of)


def _as_many(domain: tuple[Range, ...], other: tuple[Range, ...]) -> bool:
    """Whether domains may have as many points in each direction, as far as numbers tell."""
    if len(domain) != len(other):
        return False
    return all(a.step == b.step and (a.trips == b.trips or a.trips is None or b.trips is None)
               for a, b in zip(domain, other, strict=True))


def _decided(stmt: Map) -> bool:
    """Whether an array decides the place of some access of a map."""
    return any(i.elems for t in touches(stmt) for i in t.index)


def _scattered(stmt: Map) -> bool:
    """Whether an array decides where some store of a map goes."""
    return any(_scatters(p) for p in stmt.body if isinstance(p, Store))


def _scatters(part: Store) -> bool:
    return any(i.elems for i in part.index)


def _near(stmt: Map, arrays: Mapping[str, Array], most: int) -> frozenset[str]:
    """The variables along which every access goes no further than `most` elements."""
    places = [(arrays[t.array], t.index) for t in touches(stmt)]
    steps = {r.var: [stride(a, index, r.var) for a, index in places] for r in stmt.domain}
    return frozenset(v for v, found in steps.items() if all(s is not None and abs(s) <= most for s in found))


def _streams(stmt: Map) -> frozenset[str]:
    """The arrays of which a map touches another element at each point of a row."""
    inner = stmt.domain[-1].var
    return frozenset(t.array for t in touches(stmt) if any(inner in i.symbols for i in t.index))


def _point_by_point(pair: Pair, both: Map, arrays: Mapping[str, Array]) -> bool:
    """Whether the other map touches what one writes at the very element of its point, or in other slices, if at all."""
    common = {t.array for t in touches(pair.first)} & {t.array for t in touches(pair.second)}
    stores = [p for p in both.body if isinstance(p, Store)]
    written = {p.array for p in stores}
    looked_up = {e.array for p in both.body for e in index_elems(p.expr)}
    looked_up |= {e.array for p in stores for i in p.index for e in i.elems}
    plain = all(p.expr.dtype == arrays[p.array].dtype for p in stores)
    # Where an array decides the places, points are not told apart anyhow, and what is added comes in any order.
    added = {n for n in written & common if adds_to(pair.first, n) and adds_to(pair.second, n)
             and all(_scatters(p) for p in stores if p.array == n)}
    sums = {p.array for p in stores if collects(both, p)} - added
    return plain and looked_up.isdisjoint(written) and sums.isdisjoint(common) and \
        _meet_nowhere_else(pair.first, pair.second, (written & common) - added, alike=True)


def _cross(first: Map, second: Map) -> bool:
    """Whether one map touches at another place what the other one stores, so that no array of its own parts them: most
    pairs that cannot run together are told by that, before anything is made of them."""
    ours, theirs = _shared(first).firm, _shared(second).firm
    return not _apart(first, [t for t in ours if t.written], second, theirs, alike=True)


def _meet_nowhere_else(first: Map, second: Map, names: Collection[str], alike: bool = False) -> bool:
    """Whether what one map writes of some arrays lies in other slices or boxes than what the other one touches. alike:
    or is named by the same index. Single rows stay in the cache, and other passes look at them one by one: what both
    write they write in one place."""
    if not names or not (_wide(first, second) or alike):
        return not names
    return _apart(first, [t for t in touches(first) if t.array in names], second, touches(second), alike)


def _wide(first: Map, second: Map) -> bool:
    return len(first.domain) > 1 and len(second.domain) > 1


def _apart(first: Map, ours: Sequence[RowTouch], second: Map, theirs: Sequence[RowTouch], alike: bool) -> bool:
    own, wide = {r.var for m in (first, second) for r in m.domain}, _wide(first, second)
    others: dict[str, list[RowTouch]] = {t.array: [] for t in ours}
    for t in theirs:
        if t.array in others:
            others[t.array].append(t)
    return all(alike and a.index == b.index
               or (wide or not (a.written and b.written)) and other_slice(own, a.index, b.index)
               or wide and common(_around(first, a), _around(second, b)) is None
               for a in ours for b in others[a.array] if a.written or b.written)


def _around(stmt: Map, touch: RowTouch) -> Box:
    """A box that holds all elements an access goes to; kept with the map."""
    known: dict[RowTouch, Box] | None = stmt.__dict__.get("_around")
    if known is None:
        known = {t: hull(t.index, stmt.domain) for t in touches(stmt)}
        object.__setattr__(stmt, "_around", known)
    return known[touch]


@dataclass(frozen=True)
class _Shared:
    """What a map may have in common with others. sums: whether it collects sums, alone: and does nothing else, where no
    array decides the places. touched: array and index of every access; places: of those that hit another element at
    each point, written: and write it. firm: all accesses but sums. streams: the arrays of which a row touches another
    element at each point. total: whether all sums run over all points. work: what it computes anew at every point."""

    sums: bool
    alone: bool
    total: bool
    touched: frozenset[_Place]
    places: frozenset[_Place]
    written: frozenset[_Place]
    firm: tuple[RowTouch, ...]
    streams: frozenset[str]
    work: frozenset[Expr]


def _shared(stmt: Map) -> _Shared:
    """Kept with the map: it is compared with many."""
    known: _Shared | None = stmt.__dict__.get("_shared")
    if known is None:
        sums = [collects(stmt, p) for p in stmt.body if isinstance(p, Store)]
        places = {(t.array, t.index) for t in touches(stmt) if is_pointwise(stmt.domain, t.index)}
        written = {(t.array, t.index) for t in touches(stmt) if t.written}
        tiled = all(sums) and not _scattered(stmt)
        names = {r.var for r in stmt.domain}
        total = all(names.isdisjoint(i.symbols) for p in stmt.body if isinstance(p, Store) for i in p.index)
        known = _Shared(any(sums), tiled, tiled and total, frozenset((t.array, t.index) for t in touches(stmt)),
                        frozenset(places), frozenset(places & written), _firm(stmt), _streams(stmt),
                        frozenset(_work(stmt)))
        object.__setattr__(stmt, "_shared", known)
    return known


def _firm(stmt: Map) -> tuple[RowTouch, ...]:
    summed = {(p.array, p.index) for p in stmt.body if isinstance(p, Store) and collects(stmt, p)}
    return tuple(t for t in touches(stmt) if not (t.written and (t.array, t.index) in summed))


def _shares(first: Map, second: Map, readers: bool) -> bool:
    """Whether both touch one element at every point, another one at each; without `readers` sums have to add what was
    written there. Sums over all points share what they load."""
    one, other = _shared(first), _shared(second)
    work = readers and not one.work.isdisjoint(other.work)
    if one.total and other.total:
        return readers and not one.places.isdisjoint(other.touched)
    if one.alone and (other.alone or not work):
        return False  # sums alone run in tiles
    here = one.written if other.sums and not work else one.places
    return work or not here.isdisjoint(other.touched)


def _work(stmt: Map) -> set[Expr]:
    """What a map computes anew at every point."""
    names = frozenset(r.var for r in stmt.domain)
    loaded: dict[Expr, frozenset[str]] = {}
    """The variables of the domain by which loads inside an expression move."""
    for node in (n for p in stmt.body for n in walk(p.expr)):
        parts = [loaded[a] for a in operands(node)]
        places = [i.symbols & names for i in node.index] if isinstance(node, Load) else []
        loaded[node] = names if names in parts else frozenset().union(*parts, *places)
    return {n for n, moving in loaded.items() if isinstance(n, Call) and moving == names}


def _parted(first: Stmt, between: Sequence[Stmt], second: Stmt) -> _Between | None:
    """What of the statements between two must come before the second one, and the others; None where the first one must
    come before one of those that must."""
    before: list[Stmt] = []
    after: list[Stmt] = []
    read, written = map(set, within(second))
    for stmt in reversed(between):
        (own_read, own) = within(stmt)
        # All at once, mostly.
        if own.isdisjoint(written) and own.isdisjoint(read) and own_read.isdisjoint(written) or \
                all(may_change_places(stmt, s) for s in (*before, second)):
            after.append(stmt)
        elif may_change_places(first, stmt):
            before.append(stmt)
            read |= own_read
            written |= own
        else:
            return None
    return before[::-1], after[::-1]


def may_change_places(first: Stmt, other: Stmt) -> bool:
    """Whether two statements may change places: additions to one array may, and what lies in other slices."""
    (read, written), (others_read, others) = within(first), within(other)
    if written.isdisjoint(others) and written.isdisjoint(others_read) and others.isdisjoint(read):
        return True
    met = [n for n in conflicts(first, other) if not (adds_to(first, n) and adds_to(other, n))]
    return not met or isinstance(first, Map) and isinstance(other, Map) and _meet_nowhere_else(first, other, met)


def adds_to(stmt: Stmt, name: str) -> bool:
    """Whether a statement does nothing with an array but add to it; kept with the statement."""
    known: dict[str, bool] | None = stmt.__dict__.get("_added")
    if known is None:
        known = {}
        object.__setattr__(stmt, "_added", known)
    if name not in known:
        known[name] = _adds_to(stmt, name)
    return known[name]


def _adds_to(stmt: Stmt, name: str) -> bool:
    if not isinstance(stmt, Map) or any(e.array == name for r in stmt.domain for e in range_elems(r)):
        return False
    return all(name not in expr_reads(p.expr) and not (isinstance(p, Store) and _moves(p, name)) for p in stmt.body)


def _moves(part: Store, name: str) -> bool:
    """Whether a store replaces elements of an array, or looks there where to go."""
    return (part.array == name and part.op != "+") or any(e.array == name for i in part.index for e in i.elems)
