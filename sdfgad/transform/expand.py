"""Give a block-local array one version per iteration of the loops around its block."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from sdfgad.analysis.access import extent_bound, interval_env
from sdfgad.analysis.block_local import BlockLocal
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Program, Range
from sdfgad.ir.walk import map_accesses

_UNKNOWN = 2**40
Slots = tuple[tuple[int, Ix], ...]


def expand(program: Program, local: Mapping[str, BlockLocal], chosen: Iterable[str]) -> tuple[Program, dict[str, int]]:
    """for i: { t[:] = f(i) ; use t }   ->   for i: { t[i, :] = f(i) ; use t[i, :] }

    Also returns how many leading dimensions each expanded array got. Arrays whose loops have no known number of
    iterations are left alone.
    """
    slots = {name: found for name in chosen if (found := iteration_slots(local[name].path))}
    arrays = {n: _expanded(a, slots[n]) if n in slots else a for n, a in program.arrays.items()}
    at = {n: tuple(i for _, i in s) for n, s in slots.items()}
    body = tuple(map_accesses(s, lambda name, index: (*at.get(name, ()), *index)) for s in program.body)
    return program.but(arrays=arrays, body=body), {n: len(s) for n, s in slots.items()}


def iteration_slots(path: tuple[Range, ...]) -> Slots | None:
    """(extent, position of the current iteration) for each loop; None when an extent is unknown."""
    env = interval_env(path)
    slots = []
    for r in path:
        extent = extent_bound(r, env)
        if extent is None or extent > _UNKNOWN:
            return None
        slots.append((extent, ((ix(r.var) - r.start) * (1 if r.step > 0 else -1)) // abs(r.step)))
    return tuple(slots)


def _expanded(array: Array, slots: Slots) -> Array:
    return dataclasses.replace(array, shape=(*(n for n, _ in slots), *array.shape))
