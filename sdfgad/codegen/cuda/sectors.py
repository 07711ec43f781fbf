"""What kernels move between memory and device: sectors of 32 bytes, against the least bytes.

Threads of a block share a sector where they touch elements beside each other at once. Elements that several
accesses of a kernel touch by the same formula, up to a distance, count once: caches have them. A thread that goes on to
the next element by itself is no help here, as the sectors of its neighbours may have left the cache by then. Elements
that data name are taken for neighbours.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.cpp import Frame, strides
from sdfgad.codegen.cuda.work import (
    BESIDE,
    BLOCK,
    PATCH,
    SECTOR,
    WARP,
    DeviceItems,
    DeviceKernel,
    HostControl,
    Launch,
    Look,
    Part,
    ThreadLoop,
)
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Loop, Range
from sdfgad.thresholds import thresholds

FEW = 32
"""Sectors of a block that stay in the nearest cache from one turn to the next: 8 kB of eight blocks."""
Distances = Mapping[str, tuple[int, ...]]
"""Of each array how many elements are between neighbours, by dimension."""


@dataclass(frozen=True)
class KernelRun:
    """A kernel, how often it runs, and how many values each variable has in it."""

    kernel: DeviceKernel
    times: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class SectorMoves:
    """Of one run of a kernel, for one array and all accesses of one formula. least: bytes of the sectors that hold the
    elements; moved: of those that blocks ask for."""

    array: str
    least: float
    moved: float


@dataclass(frozen=True)
class SectorFormula:
    """Accesses to an array that differ in numbers alone. steps: how far elements are from each other along each
    variable. places: of those dimensions that no variable walks along, where the accesses are, each once."""

    array: str
    steps: Mapping[str, int]
    places: tuple[int, ...]


def runs(items: DeviceItems, arrays: Mapping[str, Array]) -> Iterator[KernelRun]:
    """All kernels, in order; loops whose length data decide run once."""
    yield from _runs(items, Frame(arrays), 1)


def _runs(items: DeviceItems, frame: Frame, times: int) -> Iterator[KernelRun]:
    for item in items:
        if isinstance(item, HostControl):
            inner, turns = frame, 1
            if isinstance(item.stmt, Loop):
                inner, turns = frame.inside([item.stmt.range]), _trips(item.stmt.range, frame)
            for part in item.parts:
                yield from _runs(part, inner, times * turns)
        elif isinstance(item, Launch):
            yield from _runs(tuple(item.kernels), frame, times)
        elif isinstance(item, DeviceKernel):
            counts = {s.var: s.count for s in (*item.box, *item.terms)}
            counts |= {r.var: _trips(r, frame) for r in _loops(item.parts) if r.var not in counts}
            yield KernelRun(item, times, counts)


def moves(run: KernelRun, arrays: Mapping[str, Array], lie: Distances) -> Iterator[SectorMoves]:
    """What a kernel moves, where arrays lie so."""
    own = {s.var for s in (*run.kernel.box, *run.kernel.terms)}
    for one in _formulas(run, lie):
        steps, size = one.steps, arrays[one.array].dtype.itemsize
        count = prod(run.counts[v] for v in steps)
        sides = tuple((s.count, steps.get(s.var, 0)) for s in run.kernel.box)
        terms = tuple((s.count, steps.get(s.var, 0)) for s in run.kernel.terms)
        loops = tuple((run.counts[v], step) for v, step in steps.items() if v not in own)
        taken = _of_block(sides, terms, run.kernel.beside, run.kernel.across, loops[-1:], size, one.places)
        yield SectorMoves(one.array, float(count * _least(one, size)), count * taken)


def _least(one: SectorFormula, size: int) -> int:
    """Bytes of sectors for one element of each place: those of neighbours are its own where they lie close."""
    apart = min((abs(step) for step in one.steps.values()), default=1)
    whole = max(SECTOR, size)
    sectors = Counter(row for row, _ in {(p // apart, p % apart * size // whole) for p in one.places})
    return sum(min(apart * size, count * whole) for count in sectors.values())


Digits = tuple[tuple[int, int], ...]
"""For each side of a box its length, and how far elements of neighbours in it are from each other."""


@lru_cache(maxsize=1 << 14)
def _of_block(sides: Digits, terms: Digits, beside: int, across: int | None, inner: Digits, size: int,
              places: tuple[int, ...]) -> float:
    """Bytes that a block moves for each element that its threads touch at one of the places, of all of them; where they
    touch one element, as many blocks as it has threads. inner: the loop inside of a thread whose next turns find few
    sectors in the nearest cache."""
    thread = np.arange(BLOCK)
    if any(step for _, step in terms):
        place = _places(thread % beside, sides) + _places(thread // beside, terms)
    elif across is None:
        place = _places(thread, sides)
    else:
        rows, columns = PATCH
        warp, row, column = thread // WARP, thread // columns % rows, thread % columns
        place = row * sides[across][1] + (warp * columns + column) * sides[-1][1]
    elements = np.unique(place)
    if inner and len(elements) <= FEW:
        elements = np.unique(np.add.outer(elements, np.arange(min(inner[0][0], SECTOR // size or 1)) * inner[0][1]))
    sectors, end = 0, None
    for element in np.unique(np.add.outer(elements, places)).tolist():  # rows may begin anywhere
        if end is None or element * size >= end:
            sectors, end = sectors + 1, element * size + SECTOR
    return max(float(size), sectors * max(SECTOR, size) / len(elements))


def _places(number: np.ndarray, sides: Digits) -> np.ndarray:
    """The elements of points: their numbers count the last side fastest."""
    number = number % max(1, prod(count for count, _ in sides))
    place = np.zeros_like(number)
    for count, step in reversed(sides):
        place, number = place + number % max(1, count) * step, number // max(1, count)
    return place


def with_patches(items: DeviceItems, arrays: Mapping[str, Array]) -> DeviceItems:
    """Kernels that count another coordinate fastest, or whose warps cover points of two, where that moves fewer
    sectors: one of the arrays lies the other way round than the others."""
    lie = in_order(arrays)
    better = {id(run.kernel): _best_patch(run, arrays, lie) for run in runs(items, arrays)}
    return _replaced(items, better)


def _replaced(items: DeviceItems, better: Mapping[int, DeviceKernel]) -> DeviceItems:
    return tuple(replace(one, parts=tuple(_replaced(part, better) for part in one.parts))
                 if isinstance(one, HostControl) and not one.team else better.get(id(one), one)
                 if isinstance(one, DeviceKernel) else one for one in items)


def _best_patch(run: KernelRun, arrays: Mapping[str, Array], lie: Distances) -> DeviceKernel:
    kernel = run.kernel
    if not kernel.terms and kernel.points < thresholds().device.points:
        return kernel
    forms = [kernel, *(_of_sums if kernel.terms else _of_points)(kernel)]
    moved = [sum(m.moved for m in moves(replace(run, kernel=form), arrays, lie)) for form in forms]
    best = min(range(len(forms)), key=lambda k: moved[k])
    return forms[best] if moved[best] <= thresholds().turned_cost * moved[0] else kernel


def _of_points(kernel: DeviceKernel) -> Iterator[DeviceKernel]:
    """The forms of a kernel whose threads have a point each."""
    last = len(kernel.box) - 1
    for k in range(last):
        if kernel.box[k].count >= PATCH[0] and kernel.box[last].count >= PATCH[1]:
            yield replace(kernel, across=k)
    for k in range(last):
        yield replace(kernel, box=(*kernel.box[:k], *kernel.box[k + 1:], kernel.box[k]))


def _of_sums(kernel: DeviceKernel) -> Iterator[DeviceKernel]:
    """The forms of a kernel whose blocks share sums: which terms are neighbours, and how many sums a block has."""
    sums = [1, BESIDE] if kernel.box and kernel.box[-1].count * 2 >= BESIDE else [1]
    for k, last in enumerate(kernel.terms):
        for beside in sums:
            yield replace(kernel, terms=(*kernel.terms[:k], *kernel.terms[k + 1:], last), beside=beside)


def _formulas(run: KernelRun, lie: Distances) -> Iterator[SectorFormula]:
    """Of all accesses; those that differ in a distance along a variable alone are one."""
    found: dict[tuple[str, tuple[tuple[str, int], ...], Ix], tuple[dict[str, int], set[int]]] = {}
    for look in run.kernel.looks:
        if look.array in lie:
            steps, fixed = _steps(look, run.counts, lie[look.array])
            number = next((c for atoms, c in fixed.terms if not atoms), 0)
            _, places = found.setdefault((look.array, tuple(sorted(steps.items())), fixed - number), (steps, set()))
            places.add(number)
    for (array, *_), (steps, places) in found.items():
        yield SectorFormula(array, steps, tuple(sorted(places)))


def _steps(look: Look, counts: Mapping[str, int], distances: tuple[int, ...]) -> tuple[dict[str, int], Ix]:
    """How far elements are from each other along each variable, and what the dimensions without any come to."""
    walked = [(i, s) for i, s in zip(look.index, distances, strict=True) if not i.symbols.isdisjoint(counts)]
    found = {}
    for var in counts:
        factors = ((i.coefficient(var), s) for i, s in walked)
        step = sum(s if factor is None else factor * s for factor, s in factors)
        if step:
            found[var] = step
    return found, sum((i * s for i, s in zip(look.index, distances, strict=True)
                       if i.symbols.isdisjoint(counts)), ix(0))


def in_order(arrays: Mapping[str, Array]) -> Distances:
    """Of arrays in C order."""
    return {n: tuple(strides(a.shape)) for n, a in arrays.items()}


def _loops(parts: tuple[Part, ...]) -> Iterator[Range]:
    for part in parts:
        if isinstance(part, ThreadLoop):
            yield part.range
            yield from _loops(part.parts)
        else:
            yield from part.domain


def _trips(r: Range, frame: Frame) -> int:
    return extent_bound(r, frame.bounds) or r.trips or 1
