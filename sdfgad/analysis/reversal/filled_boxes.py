"""Boxes that overwrites fill together, one after the other: one record can hold what all of them destroy."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.block_local import blocks
from sdfgad.analysis.elements.access import BEFORE, Access, Site, overlap_in, writes_of
from sdfgad.analysis.elements.boxes import APART, Box, Side, path_of, relation
from sdfgad.analysis.reversal.needed import Needed
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Program, Stmt, over
from sdfgad.ir.walk import children, within, writes

Write = tuple[int, int]
"""A write as `Needed` names it: `id` of its statement, and its number there."""


@dataclass(frozen=True)
class _FilledBox:
    """A recorded write, alone in its statement as far as its array goes, that fills a box."""

    stmt: Stmt
    number: int
    access: Access
    box: Box

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.box.sides or ()


def filled_boxes(program: Program, place: Mapping[int, Site], facts: Needed,
                 exact: Collection[Access]) -> dict[Write, Access | None]:
    """map i = 1:n: x[i] = f(i) ; x[0] = c   ->   x[c0] of c0 = 0:n for the first write, None for the other one

    What the record of a write has to hold, for writes of one block to one array that together fill a box: all of it is
    stored before the first write and put back when the reverse sweep passes that. So until then the reverse sweep must
    not look at elements that were to be put back before. exact: its reads (of `facts`) that take overwrites back, which
    may happen before something is put back at the same statement.
    """
    reads: dict[str, list[Access]] = {}
    for read in facts.reads:
        reads.setdefault(read.array, []).append(read)
    late = {id(read) for read in exact}
    found: dict[Write, Access | None] = {}
    for block in blocks(program.body):
        for pieces in _runs(block, program.arrays, place, facts):
            seen = [r for r in reads.get(pieces[0].box.array, ()) if _between(r, pieces, place)]
            for group in _groups(pieces, seen, facts, late):
                found.update({(id(p.stmt), p.number): None for p in group})
                found[(id(group[0].stmt), group[0].number)] = _all_of(group)
    return found


def _runs(block: Block, arrays: Mapping[str, Array], place: Mapping[int, Site],
          facts: Needed) -> Iterator[list[_FilledBox]]:
    """Pieces of one array with no other writes to it in between, two at least."""
    runs: dict[str, list[list[_FilledBox]]] = {}
    for stmt in block:
        pieces = _pieces(stmt, arrays, place[id(stmt)], facts)
        for name in within(stmt)[1] if children(stmt) else writes(stmt):
            here = [p for p in pieces if p.box.array == name]
            if here:
                runs.setdefault(name, [[]])[-1].extend(here)
            elif name in runs:
                runs[name].append([])
    yield from (run for found in runs.values() for run in found if len(run) > 1)


def _pieces(stmt: Stmt, arrays: Mapping[str, Array], site: Site, facts: Needed) -> list[_FilledBox]:
    numbers = facts.recorded.get(id(stmt), ())
    found, all_writes = [], writes_of(stmt, site) if numbers else []
    for n in numbers:
        write = all_writes[n]
        path = path_of(write.array, arrays[write.array].shape, write.index, write.domain, {})
        if path is not None and path.order is not None and sum(w.array == write.array for w in all_writes) == 1:
            found.append(_FilledBox(stmt, n, write, path.box))
    return found


def _between(read: Access, pieces: Sequence[_FilledBox], place: Mapping[int, Site]) -> bool:
    return place[id(pieces[0].stmt)].order <= read.site.order < place[id(pieces[-1].stmt)].leave


def _groups(pieces: Sequence[_FilledBox], reads: Sequence[Access], facts: Needed,
            late: Collection[int]) -> Iterator[Sequence[_FilledBox]]:
    """The pieces in groups of more than one that fill boxes, each as large as can be."""
    start = 0
    while start < len(pieces) - 1:
        stop = start + 1
        while stop < len(pieces) and _may_wait(pieces[start:stop], pieces[stop], reads, facts, late):
            stop += 1
        while stop > start + 1 and _hull(pieces[start:stop]) is None:
            stop -= 1
        if stop > start + 1:
            yield pieces[start:stop]
        start = stop


def _may_wait(group: Sequence[_FilledBox], piece: _FilledBox, reads: Sequence[Access], facts: Needed,
              late: Collection[int]) -> bool:
    """Whether what a piece overwrites may be put back with that of the group before it: it is something else, and the
    reverse sweep does not look at it in between."""
    first, depth = group[0], len(piece.access.site.path)
    linear = facts.linear.get(id(first.stmt))

    def put_back(read: Access) -> bool:
        """Whether the adjoint of the first statement looks there, when all is back."""
        return read.site == first.access.site and read.moment == BEFORE and id(read) not in late and \
            (linear is None or not linear.after)

    return all(relation(p.box, piece.box, {}) == APART for p in group) and not any(
        first.access.site.order <= r.site.order and r.when < piece.access.when and not put_back(r)
        and overlap_in(r, piece.access, depth) for r in reads)


def _hull(group: Sequence[_FilledBox]) -> list[Side] | None:
    """The sides of the box that pieces without common elements fill; None where they do not fill one."""
    sides: list[Side] = []
    volumes, whole = [1] * len(group), 1
    for d, first in enumerate(group[0].sides):
        found = [p.sides[d] for p in group]
        known = [(low.const, high.const) for low, high in found]
        if all(side == first for side in found):
            sides.append(first)
            continue
        ends = [(low, high) for low, high in known if low is not None and high is not None]
        if len(ends) < len(known):
            return None
        start, stop = min(low for low, _ in ends), max(high for _, high in ends)
        volumes = [v * (high - low) for v, (low, high) in zip(volumes, ends, strict=True)]
        whole *= stop - start
        sides.append((ix(start), ix(stop)))
    return sides if sum(volumes) == whole else None


def _all_of(group: Sequence[_FilledBox]) -> Access:
    """All elements of a group's box."""
    sides = _hull(group) or []
    wide = [d for d, side in enumerate(sides) if (side[1] - side[0]).const != 1]
    domain = over((sides[d] for d in wide), "c")
    index: list[Ix] = [low for low, _ in sides]
    for r, d in zip(domain, wide, strict=True):
        index[d] = ix(r.var)
    return replace(group[0].access, index=tuple(index), domain=domain)
