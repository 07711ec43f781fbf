"""Run a stretch of statements row by row, so that what they hand to each other stays in the cache."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.afresh import begins_afresh
from sdfgad.analysis.loops.numbering import Numberings, number_rows
from sdfgad.analysis.loops.rows import (
    RowNumbering,
    footprint,
    maps_of,
    reach,
    runs,
    seeds,
    stride,
    timed,
    touched_bytes,
    touches,
    trips,
)
from sdfgad.codegen.cpu.schedule.rows.cuts import Cut, hull, laid_out, moved, private_part, tiled
from sdfgad.codegen.cpu.schedule.rows.rows_in_turn import rows_in_turn
from sdfgad.ir.index import ix, minimum
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, While
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import (
    all_variables,
    children,
    reads,
    statements,
    with_children,
    writes,
)
from sdfgad.names import fresh, variable
from sdfgad.thresholds import RowLimits, thresholds


@dataclass(frozen=True)
class Taken:
    """How a run is taken apart: `cuts` from outside to inside, and `body` inside them.

    turn: a last cut whose rows come one after the other. before: what every iteration of the other cuts begins with.
    met: arrays in which rows of `turn` meet.
    """

    cuts: tuple[Cut, ...]
    body: Block
    turn: Cut | None = None
    before: Block = ()
    met: frozenset[str] = frozenset()

    @property
    def all_cuts(self) -> tuple[Cut, ...]:
        return (*self.cuts, *([self.turn] if self.turn else []))


def split_rows(program: Program, keep: Iterable[str], limits: RowLimits | None = None,
               whole: frozenset[Range] = frozenset()) -> Program:
    """map i, j: t[i, j] = f(i, j) ; map i, j: y[i] += t[i, j]
    ->   parallel i, private t: { map j: t[j] = f(i, j) ; map j: y[i] += t[j] }

    For neighbouring maps, and loops of maps, in which all that is written stays in its row. Rows are taken together in
    strips where a single one leaves nothing to vectorise. Rows that are much work each, with temporaries that no stack
    has room for, come one after the other, and share what they work in. Where one is too much for the cache and can be
    cut once more, along a dimension in which rows only meet in sums, these smaller rows come one after the other.
    `whole`: loops whose bodies stay as they are.
    """
    splitter = _Splitter(program, frozenset(keep), limits or thresholds().rows, whole)
    body = splitter.block(program.body, False, ())
    return program.but(body=body, arrays=splitter.arrays)


class _Splitter:
    """Rewrites blocks; `arrays` follows the private ones."""

    def __init__(self, program: Program, keep: frozenset[str], limits: RowLimits, whole: frozenset[Range]) -> None:
        self.arrays = dict(program.arrays)
        self.limits = limits
        self.whole = whole
        self.whole_rows: dict[tuple[int, ...], tuple[Block, list[RowNumbering]]] = {}
        """Of blocks of these statements (by `id`)."""
        self.fixed = keep | set(program.arguments) | set(program.constants)
        self.taken = all_variables(program.body)
        self.users = Counter(n for s in statements(program.body) for n in reads(s) | writes(s))

    def block(self, block: Block, nested: bool, after: tuple[Block, ...]) -> Block:
        """The block with its best run taken apart, what stands before, behind and inside treated likewise.

        after: what may run when the block is done.
        """
        best = max(self._candidates(block), key=lambda c: c[0], default=None)
        if best is None:
            return tuple(self._inside(s, nested, (block[k + 1:], *after)) for k, s in enumerate(block))
        start, stop, made = self._grown(block, *best[1:])
        later = (block[stop:], *after)
        loop = self._one_by_one(block[start:stop], made, nested, later) or self._privatise(
            block[start:stop], made, nested, later)
        return (*self.block(block[:start], nested, (block[start:], *after)), loop,
                *self.block(block[stop:], nested, after))

    def _inside(self, stmt: Stmt, nested: bool, after: tuple[Block, ...]) -> Stmt:
        if isinstance(stmt, Loop) and stmt.range in self.whole:
            return stmt
        loop = isinstance(stmt, (Loop, While))
        return with_children(stmt, [self.block(b, nested or loop, (b, *after) if loop else after)
                                    for b in children(stmt)])

    def _candidates(self, block: Block) -> Iterator[tuple[float, int, int, Taken]]:
        """Runs that pay, with what they save."""
        seen: set[tuple[int, int]] = set()
        # A part of a run saves no more than the run: where that is nothing, there are no rows to number.
        for rows in _numberings(block, self.arrays) if self._saved(block) else ():
            for start, stop in self._stretches(block, rows):
                if (start, stop) in seen:
                    continue
                seen.add((start, stop))
                saved = self._saved(block[start:stop])
                if saved and (made := self._cuts(block[start:stop])) is not None:
                    yield saved, start, stop, made

    def _stretches(self, block: Block, rows: RowNumbering) -> Iterator[tuple[int, int]]:
        """Runs under the numbering of the whole block that save something, and what of each hangs together on its
        own."""
        name, (dim, _) = next(iter(rows.places.items()))
        for start, stop in runs(block, rows):
            if self._saved(block[start:stop]):
                yield start, stop
                for first, last in runs(block[start:stop], number_rows(block[start:stop], name, dim)):
                    yield start + first, start + last

    def _grown(self, block: Block, start: int, stop: int, made: Taken) -> tuple[int, int, Taken]:
        """The run with neighbours that fit when the rest of the block has no say in the numbering."""
        while True:
            wider = [(a, b) for a, b in ((start - 1, stop), (start, stop + 1)) if a >= 0 and b <= len(block)]
            found = [(a, b, cuts) for a, b in wider if (cuts := self._cuts(block[a:b])) is not None]
            if not found:
                return start, stop, made
            start, stop, made = found[0]

    def _saved(self, run: Block) -> float:
        """Bytes that maps of the run read or write again after another one; 0 when that is not worth while."""
        traffic: Counter[str] = Counter()
        first: dict[str, int] = {}
        work = 0
        for stmt, times in timed(run):
            count = math.prod(trips(r) for r in stmt.domain)
            work += times * count * len(touches(stmt))
            for name in {t.array for t in touches(stmt)}:
                size = count * self.arrays[name].dtype.itemsize
                traffic[name] += times * size
                first[name] = max(first.get(name, 0), size)
        saved = sum(n - first[name] for name, n in traffic.items() if self.arrays[name].bytes >= self.limits.reuse)
        # One parallel region takes the place of one per map and iteration, or of none where those are too small.
        loops = any(isinstance(s, Loop) for s in run)
        worth = work >= self.limits.work and (loops or saved >= self.limits.reuse)
        return saved + work * loops if worth else 0

    def _cuts(self, run: Block) -> Taken | None:
        """The cuts that keep what is near each other in the cache; the widest ones where that cannot be."""
        near = self._cuts_at(run, 0)
        if near is None or near.turn is not None or footprint(near.body, self.arrays) <= self.limits.nearby:
            return near
        return self._cuts_at(run, self.limits.stream)

    def _cuts_at(self, run: Block, stream: int) -> Taken | None:
        """As few row dimensions as bring a row into the cache and keep threads busy, and the run inside them."""
        cuts: list[Cut] = []
        body = run
        while not self._enough(cuts, body):
            found = [(self._inner_share(body, rows), rows) for rows in self._whole(body)]
            if not found:
                break
            share, rows = max(found, key=lambda pair: pair[0])
            cut = self._cut(rows, body, 1) if share >= 0.75 else self._strips(rows, body, cuts, stream)
            if cut is None:
                break
            cuts.append(cut)
            body = tuple(tiled(s, cut) for s in body)
        busy = math.prod(trips(c.loop) for c in cuts)
        if not cuts or busy < self.limits.fewest or self._streams(cuts, body) or self._scattered(cuts, run, body):
            return None
        return self._in_turn(Taken(tuple(cuts), body))

    def _streams(self, cuts: list[Cut], body: Block) -> bool:
        """Whether every row goes through the same data, too much for a cache: apart, maps take a part of it at a time
        for all rows (`codegen/cpu/nests/tiles.py`)."""
        placed = {n for c in cuts for n in c.rows.places}
        alone = [s for s in body if isinstance(s, Map)]
        return len(alone) == len(body) and any(
            touched_bytes(m, t, self.arrays) >= self.limits.far for m in alone for t in touches(m)
            if t.array not in placed)

    def _scattered(self, cuts: list[Cut], run: Block, body: Block) -> bool:
        """Whether single rows lie side by side, elements of many in every cache line, and do not stay in the cache:
        every row then fetches the lines of all of them."""
        outer = cuts[0]
        if outer.width > 1 or footprint(body, self.arrays) <= self.limits.nearby:
            return False
        return any(self._side_by_side(m, outer) for m in maps_of(run))

    def _side_by_side(self, stmt: Map, cut: Cut) -> bool:
        """Whether neighbours in all that a map goes through, row by row, are in different rows."""
        row = cut.rows.turns[id(stmt)][0]
        steps = {stride(self.arrays[t.array], t.index, row) for t in touches(stmt)} - {0}
        return len(stmt.domain) > 1 and steps <= {1, -1}

    def _in_turn(self, taken: Taken) -> Taken:
        """With one more cut where that brings a row into the cache."""
        if footprint(taken.body, self.arrays) <= self.limits.nearby or not any(isinstance(s, Loop) for s in taken.body):
            return taken
        for found in rows_in_turn(taken.body, self.arrays):
            cut = self._cut(found.rows, found.body, 1)
            body = tuple(tiled(s, cut) for s in found.body)
            if footprint(body, self.arrays) <= self.limits.nearby:
                return replace(taken, body=body, turn=cut, before=found.before, met=found.met)
        return taken

    def _enough(self, cuts: list[Cut], body: Block) -> bool:
        busy = math.prod(trips(c.loop) for c in cuts)
        return bool(cuts) and busy >= self.limits.trips and footprint(body, self.arrays) <= self.limits.nearby

    def _whole(self, body: Block) -> list[RowNumbering]:
        """Numberings under which the whole body runs row by row; kept with the body, which is looked at again."""
        key = tuple(map(id, body))
        if key not in self.whole_rows:
            self.whole_rows[key] = body, [
                rows for rows in _numberings(body, self.arrays)
                if list(runs(body, rows)) == [(0, len(body))] and all(reach(s, rows) for s in body)]
        return self.whole_rows[key][1]

    def _inner_share(self, body: Block, rows: RowNumbering) -> float:
        """The share of the work that has something to vectorise inside a single row."""
        good = total = 0
        for stmt, times in timed(body):
            work = times * math.prod(trips(r) for r in stmt.domain) * len(touches(stmt))
            row = rows.turns[id(stmt)][0]
            inner = [self._unevenness(stmt, r.var) for r in stmt.domain if r.var != row and trips(r) >= 8]
            total += work
            good += work if inner and min(inner) <= self._unevenness(stmt, row) else 0
        return good / total if total else 0.0

    def _unevenness(self, stmt: Map, var: str) -> int:
        """How far from neighbour to neighbour a variable goes."""
        steps = [stride(self.arrays[t.array], t.index, var) for t in touches(stmt)]
        return sum(8 if s is None else min(abs(s), 4) for s in steps)

    def _strips(self, rows: RowNumbering, body: Block, cuts: list[Cut], stream: int) -> Cut | None:
        """Strips of neighbouring rows as wide as the cache and the threads allow.

        A strip fills a vector of the smallest elements: the compiler makes vectors of as many as fit into one. It is
        narrower where what the run makes is private to a strip then, or stays in the nearest cache from loop to loop.
        What does not fit into the cache comes from memory: `stream` bytes next to each other at a time. The last one
        may be a part of a strip where there are none otherwise, and rows lie apart anyway.
        """
        outside = math.prod(trips(c.loop) for c in cuts)
        if outside >= self.limits.fewest and footprint(body, self.arrays) <= self.limits.nearby:
            return None
        first, last = hull(rows, body)
        smallest = min(self.arrays[t.array].dtype.itemsize for stmt in maps_of(body) for t in touches(stmt))
        widths = [w for w in (4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8)
                  if w * smallest >= 64 and outside * ((last - first) // w) >= self.limits.fewest]
        least = 64 // min(smallest, 8)
        if not widths and outside * -(-(last - first) // least) >= self.limits.fewest and not self._beside(rows, body):
            widths = [least]
        fitting = [w for w in widths if footprint(body, self.arrays, (rows, w)) <= self.limits.nearby]
        fitting = self._own(fitting, smallest, rows, body, cuts) or fitting
        streamed = [w for w in widths if w * smallest <= stream] or widths[-1:]
        width = (fitting or streamed)[0] if widths else 0
        if not cuts and width * smallest < self.limits.narrow and self._lies_well(rows, body):
            return None
        return self._cut(rows, body, width) if widths else None

    def _own(self, widths: list[int], smallest: int, rows: RowNumbering, body: Block, cuts: list[Cut]) -> list[int]:
        """The widths of strips that have all that they make to themselves, in the nearest cache where several loops,
        as sweeps back are, go through it."""
        wide = [w for w in widths if w * smallest >= self.limits.narrow]
        made = {w: self._own_bytes(body, (*cuts, _strip(rows, w))) for w in wide}
        near = thresholds().jammed_bytes if sum(isinstance(s, Loop) for s in body) > 1 else -1
        fitting = [w for w in made if made[w] <= self.limits.private]
        return [w for w in fitting if made[w] <= near] or fitting

    def _own_bytes(self, body: Block, cuts: tuple[Cut, ...]) -> int:
        """Bytes of what one iteration makes that nobody else has to do with."""
        here = Counter(n for s in statements(body) for n in reads(s) | writes(s))
        alone = (self.arrays[n] for n, count in here.items() if count == self.users[n] and n not in self.fixed)
        return sum(part.bytes for a in alone if a.shape and (part := private_part(a, cuts)) is not None)

    def _lies_well(self, rows: RowNumbering, body: Block) -> bool:
        """Whether a core holds all there is, with neighbouring rows side by side: strips of it have more beginnings and
        ends than they save."""
        return self._beside(rows, body) and footprint(body, self.arrays) <= self.limits.far

    def _beside(self, rows: RowNumbering, body: Block) -> bool:
        """Whether neighbouring rows lie side by side."""
        return all(self._unevenness(s, rows.turns[id(s)][0]) <= len(touches(s)) for s in maps_of(body))

    def _cut(self, rows: RowNumbering, body: Block, width: int) -> Cut:
        first, last = hull(rows, body)
        var = variable("row" if width == 1 else "strip", self.taken)
        self.taken.add(var)
        if width == 1:
            return Cut(rows, Range(var, ix(first), ix(last)), ix(var), ix(var) + 1, first, last, 1)
        low = ix(var) * width + first
        loop = Range(var, ix(0), ix(-(-(last - first) // width)))
        high = low + width if (last - first) % width == 0 else minimum(ix(last), low + width)
        return Cut(rows, loop, low, high, first, last, width)

    def _privatise(self, run: Block, made: Taken, nested: bool, after: tuple[Block, ...]) -> Loop:
        """The loops around the run; what lives in it alone loses its rows."""
        cuts = made.all_cuts
        private: dict[str, Array] = {}
        apart: dict[str, Array] = {}
        names: dict[str, str] = {}
        for name, alone in self._local(run, nested, after):
            small = private_part(self.arrays[name], cuts)
            taken = sum(a.bytes for a in private.values())
            if small is None or name in made.met:
                continue
            if taken + small.bytes <= self.limits.private:
                private[name] = found = small
            elif made.turn is None and self._lies_across(name, small, cuts):
                apart[name] = found = laid_out(small, cuts)
            else:
                continue
            names[name] = name if alone else fresh(name, self.arrays)
            self.arrays[names[name]] = replace(found, name=names[name])
        body = renamed(tuple(moved(s, private, cuts, apart) for s in made.body), names)
        if made.turn is not None:
            body = (*made.before, Loop(made.turn.loop, body, run[0].source))
        for k, cut in enumerate(reversed(made.cuts)):
            own = () if k else tuple(names[n] for n in private)
            body = (Loop(cut.loop, body, run[0].source, parallel=True, private=own),)
        return body[0]  # type: ignore[return-value]

    def _lies_across(self, name: str, part: Array, cuts: tuple[Cut, ...]) -> bool:
        """Whether strips go through a large array in short pieces, a page each, which share the same places of a cache;
        part by part they go through memory as it comes. A last strip that is a part of one may take little more."""
        array = self.arrays[name]
        across = all(c.width > 1 and c.rows.places[name][0] > 0 and c.loop.trips for c in cuts)
        return across and array.bytes >= self.limits.reuse and 16 * laid_out(part, cuts).bytes <= 17 * array.bytes

    def _one_by_one(self, run: Block, made: Taken, nested: bool, after: tuple[Block, ...]) -> Loop | None:
        """A loop in order over rows that are much work each, where what lives in the run is too much for a thread; None
        where threads had better have rows of their own, or a cache holds the temporaries of all rows."""
        local, cut = dict(self._local(run, nested, after)), made.cuts[0]
        small = {n: found for n in local if (found := private_part(self.arrays[n], (cut,))) is not None}
        parts = [found for n in local if (found := private_part(self.arrays[n], made.all_cuts)) is not None]
        if cut.width > 1 or sum(a.bytes for a in parts) <= self.limits.private or \
                sum(self.arrays[n].bytes for n in small) < self.limits.far:
            return None
        body = tuple(moved(tiled(s, cut), small, (cut,)) for s in run)
        counts = [(times, math.prod(trips(r) for r in m.domain)) for m, times in timed(body)]
        if sum(n * points for n, points in counts) < self.limits.alone * sum(n for n, _ in counts):
            return None
        names = {n: n if local[n] else fresh(n, self.arrays) for n in small}
        self.arrays.update({names[n]: replace(a, name=names[n]) for n, a in small.items()})
        body = renamed(body, names)
        return Loop(cut.loop, self.block(body, True, (body, *after)), run[0].source)

    def _local(self, run: Block, nested: bool, after: tuple[Block, ...]) -> Iterator[tuple[str, bool]]:
        """Temporaries of which nobody else sees what this run makes, and that begin afresh each time; whether nobody
        else has anything to do with them."""
        here = Counter(n for s in statements(run) for n in sorted(reads(s) | writes(s)))
        for name, count in here.items():
            array, alone = self.arrays[name], count == self.users[name]
            if name in self.fixed or array.role != "transient" or not array.shape:
                continue
            afresh = alone and not nested or begins_afresh(array, run)
            if afresh and (alone or all(begins_afresh(array, block) for block in after)):
                yield name, alone


def _strip(rows: RowNumbering, width: int) -> Cut:
    """A strip of this width, wherever it begins."""
    return Cut(rows, Range("", ix(0), ix(1)), ix(0), ix(width), 0, width, width)


def _numberings(block: Block, arrays: Mapping[str, Array]) -> Iterator[RowNumbering]:
    """The ways to number rows, each once: what a numbering has reached would reach the same from there."""
    known: set[tuple[str, int]] = set()
    numbering = Numberings(block)
    for name, dim in seeds(block, arrays):
        if (name, dim) not in known:
            rows = numbering.numbered(name, dim)
            known |= {(other, at) for other, (at, _) in rows.places.items()}
            yield rows
