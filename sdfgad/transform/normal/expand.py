"""Give a block-local array one version per iteration of the loops around its block."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from sdfgad.analysis.block_local import BlockLocal
from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Program, Range
from sdfgad.ir.walk import map_accesses
from sdfgad.thresholds import thresholds

_UNKNOWN = 2**40
Slots = tuple[tuple[int, Ix], ...]


def expand(program: Program, local: Mapping[str, BlockLocal],
           chosen: Iterable[str]) -> tuple[Program, dict[str, tuple[Ix, ...]]]:
    """for i: { t[:] = f(i) ; use t }   ->   for i: { t[i, :] = f(i) ; use t[i, :] }

    Also returns the place of the current version in the leading dimensions of each expanded array. Versions on a tape
    are counted in the same way, so that they are seen to be apart, but have no box: their leading extents are 1 until
    the sweeps drop them.
    """
    slots = {name: _versions(program.arrays[name], local[name].path) for name in chosen if local[name].path}
    arrays = {n: _expanded(a, slots[n]) if n in slots else a for n, a in program.arrays.items()}
    at = {n: tuple(i for _, i in s) for n, s in slots.items()}
    body = tuple(map_accesses(s, lambda name, index: (*at.get(name, ()), *index)) for s in program.body)
    return program.but(arrays=arrays, body=body), at


def _versions(array: Array, path: tuple[Range, ...]) -> Slots:
    return iteration_slots(path, array.bytes) or tuple((1, ix(r.var)) for r in path)


def iteration_slots(path: tuple[Range, ...], size: int = 0) -> Slots | None:
    """(extent, position of the current iteration) for each loop.

    None when there is no box for all of them: an extent is unknown, or a loop may end early and the box, with `size`
    bytes for each iteration, would be more than a little.
    """
    env = interval_env(path)
    slots = []
    for r in path:
        extent = extent_bound(r, env)
        if extent is None or extent > _UNKNOWN:
            return None
        slots.append((extent, ((ix(r.var) - r.start) * (1 if r.step > 0 else -1)) // abs(r.step)))
        size *= extent
    return None if size > thresholds().boxed_record and any(r.early for r in path) else tuple(slots)


def is_open(path: tuple[Range, ...]) -> bool:
    """Whether nobody knows beforehand how many iterations the loops run."""
    return any(r.early for r in path) or iteration_slots(path) is None


def _expanded(array: Array, slots: Slots) -> Array:
    return dataclasses.replace(array, shape=(*(n for n, _ in slots), *array.shape))
