"""Where values the reverse sweep needs are kept: a version per iteration, a record before an overwrite, or nowhere."""
from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sdfgad.analysis.block_local import BlockLocal, block_locals, blocks
from sdfgad.analysis.elements.access import Site, extent_bound, interval_env, sites, writes_of
from sdfgad.analysis.formula import NOTHING, Again, Formula, Remake, formulas, reach
from sdfgad.analysis.reversal.inverse import NO_UNDOING, Undoing, undoing_of
from sdfgad.analysis.reversal.needed import Needed, needed
from sdfgad.errors import PlanNotExecutable
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Program, Range, Stmt
from sdfgad.ir.walk import reads, statements
from sdfgad.reverse.decisions import bits_of, with_decisions
from sdfgad.reverse.made import Kept
from sdfgad.reverse.naming import Names
from sdfgad.reverse.recompute import rebuildable
from sdfgad.transform.normal.expand import expand, iteration_slots

FEW = 1000
"""Iterations a loop of unknown length is taken to have."""
LITTLE = 0.5
"""Computing values again may need others stored instead, of at most so many bytes for a byte saved."""


SLACK = 1 / 16
"""A version costs nothing but memory; a record is written, read, and put back: so much more memory is worth it."""


@dataclass(frozen=True)
class Storage:
    """The program with versioned arrays. versions: per array, the place of the current one. rebuild: arrays to make
    again, at the start of the reverse of their block; inline: values to compute again where they are read. light:
    block-local arrays that may be, and are as cheap to compute as to store; heavy: others that can be made again.
    paths: the loops around each block-local array. codes: arrays that only say how comparisons turned out; nobody but
    the reverse sweep reads them. undoing: how some overwrites are taken back. taped: arrays with versions on a tape, by
    the place of the first statement of their block."""

    program: Program
    versions: Mapping[str, tuple[Ix, ...]]
    rebuild: Mapping[str, BlockLocal]
    kept: tuple[Kept, ...]
    inline: Again = NOTHING
    light: frozenset[str] = frozenset()
    heavy: Mapping[str, int] = field(default_factory=dict)
    paths: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    codes: frozenset[str] = frozenset()
    undoing: Undoing = NO_UNDOING
    taped: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def lay_out(program: Program, active: frozenset[str], seen: Iterable[str], recompute: frozenset[str],
            undone: frozenset[str] = frozenset(), idle: frozenset[str] = frozenset()) -> Storage:
    """Decide, for arrays that live within one block, between versions and rebuilding; others are recorded later.

    undone: names of the units (`analysis/inverse`) that are taken back. idle: arrays that have turned out to be read by
    nobody in the reverse sweep, once others have versions.
    """
    seen = frozenset(seen)
    program, codes = _decided(program, active, seen, undone)
    bits = replace(NOTHING, bits=bits_of(program, codes))
    place = sites(program.body)
    local = block_locals(program, place, seen)
    undoing = undoing_of(program, place, local, undone)
    facts = kept_bytes(program, active, seen, undone, bits)[1]
    victims = lost = _recorded_arrays(program, facts, place)
    # What is computed again may differ in the last bit, and so undo something else.
    again = {n: b for n, b in rebuildable(program, local, facts.reads, place).items() if n not in undoing.looked_at}
    light, _ = _light(program, active, seen, local, victims, bits, undone)
    impossible = sorted(recompute - (again.keys() | light))  # some are needed by nothing but others made again
    if impossible:
        raise PlanNotExecutable(f"{', '.join(impossible)}: not a value that can be rebuilt where it is needed")
    at_start = _at_start(recompute, light, again)
    if recompute:
        # What rebuilding reads has to survive, too.
        ends = ends_of_blocks(program, {n: local[n] for n in at_start})
        known = _not_stored(formulas(program, local), lost, recompute)
        inline = replace(bits, known=known, chosen=recompute - at_start)
        facts = facts_of(program, active, ends, inline, undoing)
        victims = {**_recorded_arrays(program, facts, place), **victims}
    chosen = [n for n in sorted(victims) if n in local and n not in recompute | idle
              and (_by_ones(local[n]) or _on_tape(program, local[n]))]
    wide, versions = expand(program, local, chosen)
    lines = {place[id(s)].order: s.source.line for s in statements(program.body) if s.source}
    kept = []
    for name in sorted({*versions, *recompute}):
        first, found = local[name].makers[0], local[name]
        because = f"needed by line {lines.get(victims[name], 0)}" if name in victims else "needed to make others again"
        size = _all_versions(program.arrays[name].bytes, found)
        kept.append(Kept(name, name, name, size, first.source, because, name in again or name in light, found.cost,
                         name in light, name in recompute, found.path, place[id(first)].order))
    place = sites(wide.body)
    final = block_locals(wide, place, seen)
    undoing = undoing_of(wide, place, final, undone)
    rebuild = {n: f for n, f in final.items() if n in at_start}
    heavy = {n: local[n].cost for n in again if n not in light}
    known = _not_stored(formulas(wide, final, recompute), lost, recompute)
    inline = Again(known, recompute - at_start, bits_of(wide, codes))
    paths = {n: found.path for n, found in local.items()}
    return Storage(wide, versions, rebuild, tuple(kept), inline, light, heavy, paths, codes, undoing,
                   _taped_blocks(program, [local[n] for n in versions]))


def _at_start(recompute: frozenset[str], light: frozenset[str], again: Mapping[str, BlockLocal]) -> frozenset[str]:
    """What is made again when the reverse of its block starts: what is not light, and what that is made from."""
    found = recompute - light
    while True:
        read = {a for n in found for maker in again[n].makers for a in reads(maker)}
        more = (recompute & read & again.keys()) - found
        if not more:
            return found
        found |= more


def _taped_blocks(program: Program, found: Iterable[BlockLocal]) -> dict[int, tuple[str, ...]]:
    """The arrays with versions on a tape, by the place of the first statement of their block."""
    place = sites(program.body)
    blocks_of: dict[int, tuple[str, ...]] = {}
    for f in (f for f in found if _on_tape(program, f)):
        blocks_of[place[f.block].order] = (*blocks_of.get(place[f.block].order, ()), f.array)
    return blocks_of


def _decided(program: Program, active: frozenset[str], seen: frozenset[str],
             undone: frozenset[str]) -> tuple[Program, frozenset[str]]:
    """The program that also writes down how comparisons turned out, where that leaves less to keep."""
    before, facts = kept_bytes(program, active, seen, undone)
    lost = frozenset(before)
    other, codes = with_decisions(program, facts, lost) if lost else (program, frozenset())
    if not codes:
        return program, codes
    after, _ = kept_bytes(other, active, seen, undone, replace(NOTHING, bits=bits_of(other, codes)))
    return (other, codes) if sum(after.values()) < sum(before.values()) else (program, frozenset())


def kept_bytes(program: Program, active: frozenset[str], seen: frozenset[str], undone: frozenset[str],
               inline: Again = NOTHING) -> tuple[dict[str, float], Needed]:
    """Bytes kept for the reverse sweep, by array, when all that is not undone is stored; each unknown extent counts as
    a few. And what is needed then. Kept with the program where nothing is written otherwise: many ask for it."""
    if inline.chosen or inline.bits:
        return _kept_bytes(program, active, seen, undone, inline)
    known: dict[object, tuple[dict[str, float], Needed]] = program.__dict__.setdefault("_kept", {})
    key = (active, seen, undone)
    if key not in known:
        known[key] = _kept_bytes(program, active, seen, undone, inline)
    return known[key]


def _kept_bytes(program: Program, active: frozenset[str], seen: frozenset[str], undone: frozenset[str],
                inline: Again) -> tuple[dict[str, float], Needed]:
    place = sites(program.body)
    local = block_locals(program, place, seen)
    facts = facts_of(program, active, inline=inline, undoing=undoing_of(program, place, local, undone))
    total: dict[str, float] = {}
    for stmt in statements(program.body):
        for n in facts.recorded.get(id(stmt), ()):
            write = writes_of(stmt, place[id(stmt)])[n]
            array = program.arrays[write.array]
            if array.name in local:
                total[array.name] = array.bytes * expected(local[array.name].path)
            else:
                size = array.dtype.itemsize * expected((*write.site.path, *write.domain))
                total[array.name] = total.get(array.name, 0) + size
    return total, facts


def least_bytes(program: Program, active: frozenset[str], seen: frozenset[str],
                undone: frozenset[str]) -> dict[str, float]:
    """The same when nothing is stored that is as cheap to compute where it is read."""
    place = sites(program.body)
    local = block_locals(program, place, seen)
    sizes, facts = kept_bytes(program, active, seen, undone)
    victims = _recorded_arrays(program, facts, place)
    light, instead = _light(program, active, seen, local, victims, NOTHING, undone)
    return instead if light else sizes


def expected(ranges: tuple[Range, ...]) -> float:
    """Points of some ranges, an unknown extent counted as a few."""
    env = interval_env(ranges)
    extents = [extent_bound(r, env) for r in ranges]
    return math.prod(FEW if n is None or n > FEW**4 else n for n in extents)


def _light(program: Program, active: frozenset[str], seen: frozenset[str], local: Mapping[str, BlockLocal],
           victims: Mapping[str, int], bits: Again, undone: frozenset[str]) -> tuple[frozenset[str], dict[str, float]]:
    """The values kept that are no dearer to compute where they are read, and that need little else kept instead; and
    the bytes kept then, by array, if there are such."""
    known = formulas(program, local)
    chosen = frozenset(known) & frozenset(victims)
    sizes = instead = kept_bytes(program, active, seen, undone, bits)[0] if chosen else {}
    while chosen:
        known = _not_stored(known, victims, chosen)
        inline = replace(bits, known=known, chosen=chosen)
        instead = kept_bytes(program, active, seen, undone, inline)[0]
        poor = {n for n in chosen if n in instead}
        for name in set(instead) - set(victims):
            users = {n for n in chosen if name in reach(known, n)}
            direct = {n for n in users if name in known[n].inputs}
            # The others may be made of those, if they are stored.
            if instead[name] * (1 + SLACK) >= sum(sizes[n] for n in direct):
                poor |= direct
            elif instead[name] > LITTLE * sum(sizes[n] for n in users):
                poor |= users
        if not poor:
            break
        chosen -= poor
    return chosen, instead


def _not_stored(known: Mapping[str, Formula | Remake], victims: Collection[str],
                again: Collection[str]) -> dict[str, Formula | Remake]:
    """What values that are computed `again` are made of: where it is one that is stored, nothing behind that."""
    return {n: made for n, made in known.items() if n in again or n not in victims}


def _by_ones(found: BlockLocal) -> bool:
    """Only versions numbered by an affine index are seen to be apart by the dependence test."""
    return all(abs(r.step) == 1 for r in found.path)


def _on_tape(program: Program, found: BlockLocal) -> bool:
    """Whether there is no box for all versions."""
    return iteration_slots(found.path, program.arrays[found.array].bytes) is None


def _all_versions(size: int, found: BlockLocal) -> int | None:
    slots = iteration_slots(found.path, size)
    return None if slots is None else size * math.prod(extent for extent, _ in slots)


def facts_of(program: Program, active: frozenset[str], again: Mapping[int, Sequence[Stmt]] | None = None,
             inline: Again = NOTHING, undoing: Undoing = NO_UNDOING) -> Needed:
    """What the reverse sweep needs of a program, tried on names of its own. Kept with the program where it does nothing
    but read what was stored."""
    if again or inline.chosen or inline.bits or undoing is not NO_UNDOING:
        return _facts_of(program, active, again or {}, inline, undoing)
    known: dict[object, Needed] = program.__dict__.setdefault("_facts", {})
    if active not in known:
        known[active] = _facts_of(program, active, {}, NOTHING, NO_UNDOING)
    return known[active]


def _facts_of(program: Program, active: frozenset[str], again: Mapping[int, Sequence[Stmt]], inline: Again,
              undoing: Undoing) -> Needed:
    names = Names(dict(program.arrays), active, "grad_")
    return needed(program, names.tangents(), names.scratch, again, inline, undoing=undoing)


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
