"""Where values the reverse sweep needs are kept: a version per iteration, a record before an overwrite, or nowhere."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdfgad.analysis.access import Site, sites, writes_of
from sdfgad.analysis.block_local import BlockLocal, block_locals, blocks
from sdfgad.analysis.needed import Needed, needed
from sdfgad.errors import PlanNotExecutable, SourceLine
from sdfgad.ir.program import Program, Stmt, View
from sdfgad.ir.walk import statements
from sdfgad.reverse.naming import Names
from sdfgad.reverse.recompute import rebuildable
from sdfgad.transform.expand import expand, iteration_slots


@dataclass(frozen=True)
class Kept:
    """A value of the program kept for the reverse sweep. tape: the array or growable tape that holds it.

    bytes: None for a growable tape, whose size is known only at run time. cost: elements computed to rebuild it.
    """

    name: str
    array: str
    tape: str
    bytes: int | None
    source: SourceLine | None
    because: str
    recomputable: bool = False
    cost: int = 0


@dataclass(frozen=True)
class Storage:
    """The program with versioned arrays. versions: leading dimensions per array. rebuild: arrays to make again."""

    program: Program
    versions: Mapping[str, int]
    rebuild: Mapping[str, BlockLocal]
    kept: tuple[Kept, ...]


def lay_out(program: Program, active: frozenset[str], seen: Iterable[str], recompute: frozenset[str]) -> Storage:
    """Decide, for arrays that live within one block, between versions and rebuilding; others are recorded later."""
    seen = frozenset(seen)
    place = sites(program.body)
    local = block_locals(program, place, seen)
    facts = _facts(program, active)
    victims = _recorded_arrays(program, facts, place)
    again = rebuildable(program, local, facts.reads, place)
    impossible = sorted(recompute - (set(again) & set(victims)))
    if impossible:
        raise PlanNotExecutable(f"{', '.join(impossible)}: not a value that can be rebuilt where it is needed")
    if recompute:
        # What the rebuilding statements read has to survive, too.
        facts = _facts(program, active, ends_of_blocks(program, {n: local[n] for n in recompute}))
        victims = {**_recorded_arrays(program, facts, place), **victims}
    chosen = [n for n in sorted(victims) if n in local and n not in recompute and _by_ones(local[n])]
    wide, versions = expand(program, local, chosen)
    lines = {place[id(s)].order: s.source.line for s in statements(program.body) if s.source}
    kept = []
    for name in sorted({*versions, *recompute}):
        first, found = local[name].makers[0], local[name]
        because = f"needed by line {lines.get(victims[name], 0)}"
        size = wide.arrays[name].bytes if name in versions else _all_versions(program.arrays[name].bytes, found)
        kept.append(Kept(name, name, name, size, first.source, because, name in again, found.cost))
    rebuild = {n: f for n, f in block_locals(wide, sites(wide.body), seen).items() if n in recompute}
    return Storage(wide, versions, rebuild, tuple(kept))


def _by_ones(found: BlockLocal) -> bool:
    """Only versions numbered by an affine index are seen to be apart by the dependence test."""
    return all(abs(r.step) == 1 for r in found.path)


def _all_versions(size: int, found: BlockLocal) -> int | None:
    slots = iteration_slots(found.path)
    if slots is None:
        return None
    for extent, _ in slots:
        size *= extent
    return size


def _facts(program: Program, active: frozenset[str], again: Mapping[int, Sequence[Stmt]] | None = None) -> Needed:
    names = Names(dict(program.arrays), active, "grad_")
    return needed(program, names.tangents(), names.scratch, again or {})


def _recorded_arrays(program: Program, facts: Needed, place: Mapping[int, Site]) -> dict[str, int]:
    """Arrays with a recorded write, and the place of one statement that needs what it destroys."""
    found: dict[str, int] = {}
    for stmt in statements(program.body):
        for n in facts.recorded.get(id(stmt), ()):
            found.setdefault(writes_of(stmt, place[id(stmt)])[n].array, facts.why[(id(stmt), n)].site.order)
    return found


def rebuilt_blocks(storage: Storage, place: Mapping[int, Site]) -> dict[int, list[Stmt]]:
    """For each block (`id` of its first statement), the statements its reverse starts with, in program order."""
    again: dict[int, dict[int, Stmt]] = {}
    for found in storage.rebuild.values():
        again.setdefault(found.block, {}).update({place[id(m)].order: m for m in found.makers})
    return {block: [stmt for _, stmt in sorted(makers.items())] for block, makers in again.items()}


def ends_of_blocks(program: Program, rebuild: Mapping[str, BlockLocal]) -> dict[int, list[Stmt]]:
    """For the last statement of each block (its `id`), the statements that run again when its reverse starts."""
    last = {id(block[0]): id(block[-1]) for block in blocks(program.body)}
    again: dict[int, list[Stmt]] = {}
    for found in rebuild.values():
        again.setdefault(last[found.block], []).extend(found.makers)
    return again


def views_of(tree: Any) -> list[View]:
    """Every view in a `Program.returns` tree."""
    if isinstance(tree, View):
        return [tree]
    return [v for t in tree for v in views_of(t)] if isinstance(tree, (tuple, list)) else []
