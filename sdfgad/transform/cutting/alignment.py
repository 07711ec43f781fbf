"""Which arrays of a program are cut, beside those that the caller names, and where.

A temporary lies where it is computed: beside the elements that are read for it (J. Li, M. Chen, The data alignment
phase in compiling programs for distributed-memory machines, J. Parallel Distrib. Comput. 13, 1991). Any blocks are
right; blocks beside what they are computed from need few messages.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Map, Program, Store
from sdfgad.ir.walk import statements
from sdfgad.names import GRAD
from sdfgad.transform.cutting.accesses import read_by
from sdfgad.transform.cutting.blocks import ArrayBlocks, CutAxis, Distribution, RankGrid, even_ends


def blocks_of(program: Program, wanted: Distribution) -> dict[str, ArrayBlocks]:
    """The blocks of every array that is cut."""
    found: dict[str, ArrayBlocks] = {}
    for name, array in program.arrays.items():
        named = wanted.alike.get(name, name)
        if named in wanted.axes:
            found[name] = wanted.blocks(named, array.shape)
    maps = [s for s in statements(program.body) if isinstance(s, Map)]
    beside = {name: primal for name, a in program.arrays.items() if name.startswith(GRAD) and name not in found
              and (primal := name.removeprefix(GRAD)) in program.arrays and _recorded(program.arrays[primal], a)}
    asked = frozenset(found)
    _align(program, maps, found, wanted.grid, asked.union(beside))
    alike = {name: blocks for name, primal in beside.items() if primal in found and (
        blocks := _of_one_time(found[primal], len(program.arrays[name].shape))) is not None and blocks.dimensions}
    found |= alike
    _align(program, maps, found, wanted.grid, asked.union(alike))
    return {name: blocks for name, blocks in found.items() if blocks.dimensions}


def _recorded(primal: Array, cotangent: Array) -> bool:
    """Whether an array has the shape of its cotangent, at one time or at many."""
    times = len(primal.shape) - len(cotangent.shape)
    return times >= 0 and primal.shape[times:] == cotangent.shape


def _of_one_time(blocks: ArrayBlocks, rank: int) -> ArrayBlocks | None:
    """The blocks of the last axes; None if others are cut, too."""
    times = len(blocks.axes) - rank
    return None if any(blocks.axes[:times]) else ArrayBlocks(blocks.axes[times:])


def _align(program: Program, maps: Sequence[Map], found: dict[str, ArrayBlocks], grid: RankGrid,
           settled: frozenset[str]) -> None:
    """Cut what statements write, but for some arrays, until nothing changes."""
    changed = True
    while changed:
        changed = False
        for stmt in maps:
            for store in (p for p in stmt.body if isinstance(p, Store) and p.array not in settled):
                changed |= _aligned(stmt, store, program.arrays[store.array], found, grid)


def _aligned(stmt: Map, store: Store, target: Array, found: dict[str, ArrayBlocks], grid: RankGrid) -> bool:
    """Cut the array that a statement writes beside what it reads; whether that has changed anything."""
    known = found.get(target.name, ArrayBlocks((None,) * len(target.shape)))
    axes = list(known.axes)
    for dimension in range(len(grid.extents)):
        if dimension in known.dimensions:
            continue
        for k, axis in _candidates(stmt, store, target, found, dimension, grid):
            if axes[k] is None:
                axes[k] = axis
                break
    found[target.name] = ArrayBlocks(tuple(axes))
    return found[target.name] != known


def _candidates(stmt: Map, store: Store, target: Array, found: Mapping[str, ArrayBlocks], dimension: int,
                grid: RankGrid) -> Iterator[tuple[int, CutAxis]]:
    """Axes of what is written that run with a cut axis of what is read, and how they are cut then."""
    variables = {r.var for r in stmt.domain}
    for var in (r.var for r in stmt.domain):
        k = next((k for k, i in enumerate(store.index) if i.coefficient(var) in (1, -1)
                  and not (i.symbols & variables) - {var}), None)
        beside = [(axis, i) for name, index in read_by(stmt) if name != target.name and name in found
                  for axis, i in zip(found[name].axes, index, strict=True)
                  if axis is not None and axis.dimension == dimension and var in i.symbols]
        if k is not None and beside:
            yield k, _beside(var, store.index[k], beside, target.shape[k], grid)


def _beside(var: str, own: Ix, beside: list[tuple[CutAxis, Ix]], extent: int, grid: RankGrid) -> CutAxis:
    """The cut of an axis in the middle of what is read for it."""
    first = beside[0][0]
    gaps = sorted(gap for axis, i in beside if axis == first and own.coefficient(var) == 1
                  and i.coefficient(var) == 1 and (gap := (i - own).const) is not None)
    if not gaps:
        return CutAxis(first.dimension, even_ends(extent, grid.extents[first.dimension]))
    return first.moved((gaps[0] + gaps[-1]) // 2, extent)
