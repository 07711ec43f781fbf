"""Elements of an array that a loop touches in several of its iterations, one after the other: values it carries."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sdfgad.ir.expr import Expr, Load, certain, loads, walk
from sdfgad.ir.index import Bounds, Ix
from sdfgad.ir.program import Array, Loop, Map, Range, Store
from sdfgad.ir.walk import all_writes, range_elems
from sdfgad.thresholds import thresholds

Index = tuple[Ix, ...]


@dataclass(frozen=True)
class Use:
    """One part of an iteration that touches an element."""

    index: Index
    reads: bool
    writes: bool


@dataclass(frozen=True)
class Stream:
    """Iteration k of a loop touches the elements k, k + 1, ..., k + top of a line of an array, at the indices `places`.

    stored: the first and the last of these that it writes. fetched: those whose first use in an iteration looks at what
    is there already.
    """

    array: str
    dtype: np.dtype
    places: tuple[Index, ...]
    stored: tuple[int, int]
    fetched: frozenset[int]

    @property
    def leads(self) -> Mapping[Index, int]:
        return {place: lead for lead, place in enumerate(self.places)}

    @property
    def top(self) -> int:
        return len(self.places) - 1


def in_order(stmt: Loop, env: Mapping[str, Bounds]) -> bool:
    """Whether a loop surely runs, through numbers, and all it does is to compute single elements."""
    r = stmt.range
    if stmt.parallel or stmt.private or stmt.until is not None or r.early or range_elems(r):
        return False
    if not stmt.body or not all(isinstance(s, Map) and not s.domain for s in stmt.body):
        return False
    least = (r.stop - r.start if r.step > 0 else r.start - r.stop).bounds(env)[0]
    return least is not None and least > 0 and (abs(r.step) == 1 or r.trips is not None)


def streams(stmt: Loop, arrays: Mapping[str, Array]) -> list[Stream]:
    """The values that a loop `in_order` hands to its own later iterations through arrays."""
    found: list[Stream] = []
    for name in sorted(all_writes(stmt.body)):
        array = arrays[name]
        # No index or bound looks into arrays of such numbers.
        if array.shape and array.packing is None and array.role != "tape" and array.dtype.kind in "fc":
            found += _streams_of(array, stmt)
    return found


def _streams_of(array: Array, stmt: Loop) -> list[Stream]:
    uses = list(_uses(array.name, stmt))
    several = len({u.index for u in uses}) > 1 and any(u.reads for u in uses)
    lines = lines_of([u.index for u in uses], stmt.range) if several and all(_certainly(array.name, stmt)) else None
    made = [_stream(array, line, [u for u in uses if u.index in line]) for line in lines or ()]
    return [s for s in made if s is not None]


def _uses(name: str, stmt: Loop) -> Iterator[Use]:
    for m in stmt.body:
        for p in m.body if isinstance(m, Map) else ():
            yield from (Use(n.index, True, False) for n in loads(p.expr) if n.array == name)
            if isinstance(p, Store) and p.array == name:
                yield Use(p.index, p.op is not None, True)


def _certainly(name: str, stmt: Loop) -> Iterator[bool]:
    """For each expression, whether it reads no element of the array only under a condition."""
    for m in stmt.body:
        for p in m.body if isinstance(m, Map) else ():
            yield {n for n in loads(p.expr) if n.array == name} <= _evaluated(p.expr)


def _evaluated(e: Expr) -> set[Load]:
    return {n for n in walk(e, certain) if isinstance(n, Load)}


def lines_of(indices: list[Index], r: Range) -> list[dict[Index, int]] | None:
    """The indices of each line, with the number of the element at iteration 0; None where that is not known.

    Lines of the same array have no element in common.
    """
    if any(i.elems for index in indices for i in index):
        return None
    lines: list[tuple[Index, dict[Index, int]]] = []
    for index in dict.fromkeys(indices):
        for first, line in lines:
            gap = tuple((i - k).const for i, k in zip(index, first, strict=True))
            if None in gap:
                return None
            number = _number(gap, first, r)
            if number is not None:
                line[index] = number
                break
        else:
            if not _moves(index, r.var):
                return None
            lines.append((index, {index: 0}))
    return [line for _, line in lines]


def _moves(index: Index, var: str) -> bool:
    """Whether every iteration touches another element, the next one at the same distance each time."""
    factors = [i.coefficient(var) for i in index]
    return None not in factors and any(factors)


def _number(gap: tuple[int | None, ...], index: Index, r: Range) -> int | None:
    """So many iterations lie between those that touch the same element; None if they never do."""
    steps = [(i.coefficient(r.var) or 0) * r.step for i in index]
    found = {None if (g or 0) % s else (g or 0) // s for g, s in zip(gap, steps, strict=True) if s}
    still = all(not g for g, s in zip(gap, steps, strict=True) if not s)
    return next(iter(found)) if len(found) == 1 and still else None


def _stream(array: Array, line: dict[Index, int], uses: list[Use]) -> Stream | None:
    """A line that an iteration reads where an earlier one wrote, without gaps."""
    low = min(line.values())
    leads = {index: number - low for index, number in line.items()}
    places = tuple(sorted(leads, key=lambda i: leads[i]))
    written = sorted({leads[u.index] for u in uses if u.writes})
    read = {leads[u.index] for u in uses if u.reads}
    whole = sorted(leads.values()) == list(range(len(places))) and len(places) <= thresholds().carried + 1
    if not (whole and written and read and min(read) < written[-1]):
        return None
    if written != list(range(written[0], written[-1] + 1)):
        return None
    first = {leads[u.index]: u for u in reversed(uses)}
    fetched = frozenset(lead for lead, u in first.items() if u.reads)
    return Stream(array.name, array.dtype, places, (written[0], written[-1]), fetched)
