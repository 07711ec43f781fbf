"""How fast growable tapes grow: what one iteration adds at most, and how much that comes to where it has an end."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdfgad.analysis.elements.access import extent_bound, interval_env, sites
from sdfgad.caches import LINE
from sdfgad.ir.program import Program, Push, Range
from sdfgad.ir.walk import statements

LONG = 1 << 12
ENDLESS = 2**61
"""Iterations that no loop reaches: a while loop counts as if it had more."""


@dataclass(frozen=True)
class Growth:
    """entry: bytes that an iteration of the loop of unknown length adds at most, the innermost one where there are
    several. most: bytes of all entries; None when no bound is known."""

    entry: int
    most: int | None


NO_GROWTH = Growth(0, None)


def growth(program: Program) -> dict[str, Growth]:
    """Of each growable tape. It has one entry for each time that its block runs forward."""
    place = sites(program.body)
    found: dict[str, Growth] = {}
    for stmt in statements(program.body):
        if isinstance(stmt, Push):
            one = _of_path(place[id(stmt)].path, _whole_lines(program.arrays[stmt.tape].bytes))
            found[stmt.tape] = _larger(one, found.get(stmt.tape, one))
    return found


def _whole_lines(size: int) -> int:
    """Long entries start at cache lines."""
    return size if size < LONG else -(-size // LINE) * LINE


def _of_path(path: tuple[Range, ...], size: int) -> Growth:
    extents = [extent_bound(r, interval_env(path)) for r in path]
    inside = 0  # loops around the entry whose length is known
    for r, extent in reversed(list(zip(path, extents, strict=True))):
        if r.early or extent is None or extent >= ENDLESS:
            break
        inside += 1
    return Growth(_product(extents[len(path) - inside:], size) or 0, _product(extents, size))


def _product(extents: list[int | None], size: int) -> int | None:
    total = size
    for extent in extents:
        if extent is None or extent >= ENDLESS:
            return None
        total *= extent
    return total


def _larger(one: Growth, other: Growth) -> Growth:
    """The same entries may be pushed in the reverse sweep once more, for fewer iterations."""
    most = None if one.most is None or other.most is None else max(one.most, other.most)
    return Growth(max(one.entry, other.entry), most)


def total(found: Mapping[str, Growth]) -> Growth:
    """Of all tapes together."""
    bounds = [g.most for g in found.values()]
    return Growth(sum(g.entry for g in found.values()), None if None in bounds else sum(b or 0 for b in bounds))
