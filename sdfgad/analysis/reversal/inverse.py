"""Overwrites that can be taken back exactly, so that nothing has to be stored for them: facts, no decisions.

A unit is one integer update (`analysis/updates`), or all that a run of copies overwrites of one array
(`analysis/copies`). To take it back looks at values, too; those have to survive, or to be put back before.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.block_local import BlockLocal, blocks
from sdfgad.analysis.elements.access import Access, Site, interval_env
from sdfgad.analysis.formula import formulas, reach
from sdfgad.analysis.reversal.copies import NOTHING, CopyPlan, Run, plan_for, reads_back, runs_of, taken_back
from sdfgad.analysis.reversal.updates import Interval, Undone, held, undone
from sdfgad.errors import PlanNotExecutable
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Lib, Map, Program, Stmt, Store, View, axis
from sdfgad.ir.text import expr_text
from sdfgad.ir.walk import reads, statements, writes
from sdfgad.names import fresh

LONGEST_TEXT = 60
"""Characters of a statement in a report."""


@dataclass(frozen=True)
class Unit:
    """Overwrites of one array that are taken back together. how: what is taken back, in the user's words."""

    name: str
    array: str
    writes: tuple[Stmt, ...]
    how: str
    way: Undone | tuple[Run, CopyPlan]


@dataclass(frozen=True)
class Action:
    """What takes units back, just after (in the forward sense) a statement, and what it reads for that."""

    units: frozenset[str]
    after: Stmt
    restore: Block
    reads: tuple[Access, ...]


@dataclass(frozen=True)
class Undoing:
    """What is done for some units, which are given by name."""

    actions: tuple[Action, ...]
    units: Mapping[str, Unit]

    @cached_property
    def unit(self) -> dict[int, str]:
        """Of each statement (`id`) whose overwrite needs no record."""
        return {id(s): n for n, u in self.units.items() for s in u.writes}

    @cached_property
    def reads(self) -> dict[int, list[Access]]:
        """By `id` of the statement."""
        found: dict[int, list[Access]] = {}
        for a in self.actions:
            found.setdefault(id(a.after), []).extend(a.reads)
        return found

    @cached_property
    def looked_at(self) -> frozenset[str]:
        """Arrays that must hold, to the last bit, what they held when the program ran forward."""
        return frozenset(r.array for a in self.actions for r in a.reads)


NO_UNDOING = Undoing((), MappingProxyType({}))


@dataclass(frozen=True)
class Inversions:
    """Every unit of a program, by name."""

    units: Mapping[str, Unit]
    place: Mapping[int, Site]

    def undoing(self, chosen: Collection[str]) -> Undoing:
        """What takes the chosen units back. Copies of one run go back together."""
        actions = [_for_update(self.units[n]) for n in sorted(chosen) if isinstance(self.units[n].way, Undone)]
        runs: dict[int, list[Unit]] = {}
        for n in sorted(chosen):
            way = self.units[n].way
            if not isinstance(way, Undone):
                runs.setdefault(id(way[0]), []).append(self.units[n])
        actions += [self._for_run(units) for units in runs.values()]
        return Undoing(tuple(actions), {n: self.units[n] for n in chosen})

    def _for_run(self, units: Sequence[Unit]) -> Action:
        whole, run = NOTHING, None
        for unit in units:
            if not isinstance(unit.way, Undone):
                run, plan = unit.way
                whole |= plan
        assert run is not None, "a run without units"
        last = run.stmts[-1]
        reads = reads_back(run, whole, self.place[id(last)])
        return Action(frozenset(u.name for u in units), last, taken_back(run, whole), tuple(reads))


def _for_update(unit: Unit) -> Action:
    assert isinstance(unit.way, Undone), "copies go back with their run"
    return Action(frozenset({unit.name}), unit.writes[0], (unit.way.restore,), unit.way.reads)


def inversions(program: Program, place: Mapping[int, Site], local: Mapping[str, BlockLocal]) -> Inversions:
    """Find the units. local: the block-local arrays, which derivatives may compute where they read them."""
    found = [*_updates(program, place), *_moves(program, place, local)]
    units: dict[str, Unit] = {}
    for unit in sorted(found, key=lambda u: (place[id(u.writes[0])].order, u.array)):
        name = fresh(unit.name, units)
        units[name] = replace(unit, name=name)
    return Inversions(units, place)


def undoing_of(program: Program, place: Mapping[int, Site], local: Mapping[str, BlockLocal],
               names: frozenset[str]) -> Undoing:
    """What takes the units of these names back; PlanNotExecutable when there are none such."""
    if not names:
        return NO_UNDOING
    found = inversions(program, place, local)
    unknown = sorted(names - found.units.keys())
    if unknown:
        raise PlanNotExecutable(f"{', '.join(unknown)}: not an overwrite that can be undone exactly")
    return found.undoing(names)


def _updates(program: Program, place: Mapping[int, Site]) -> Iterator[Unit]:
    intervals = _intervals(program, place)
    for stmt in statements(program.body):
        if not isinstance(stmt, Map) or not isinstance(stmt.body[0], Store):
            continue
        array = program.arrays[stmt.body[0].array]
        way = undone(stmt, place[id(stmt)], array, intervals.get(array.name))
        if way is not None:
            yield Unit(_stem(stmt, array.name), array.name, (stmt,), _text(program, stmt), way)


def _moves(program: Program, place: Mapping[int, Site], local: Mapping[str, BlockLocal]) -> Iterator[Unit]:
    permutations = _permutations(program)
    known = formulas(program, local)

    def near(stmt: Stmt) -> frozenset[str]:
        names = reads(stmt) | writes(stmt)
        return names.union(*(reach(known, n) for n in names & known.keys()))

    for block in blocks(program.body):
        for run in runs_of(block, place[id(block[0])], program.arrays, permutations, near):
            for array in sorted(run.handed_on):
                plan = plan_for(run, array)
                if plan is not None:
                    stmts = tuple(c.stmt for _, c in sorted(run.copies.items()) if c.store.array == array)
                    yield Unit(_stem(stmts[0], array), array, stmts, _text(program, stmts[0]), (run, plan))


def _permutations(program: Program) -> dict[str, int]:
    """Arrays whose rows hold the numbers below some n, each once, whenever anybody looks; and n."""
    makers: dict[str, list[Stmt]] = {}
    for stmt in statements(program.body):
        for name in writes(stmt):
            makers.setdefault(name, []).append(stmt)
    found = {n: v.size for n, v in program.constants.items()
             if n not in makers and v.ndim == 1 and v.dtype.kind in "iu"
             and np.array_equal(np.sort(v), np.arange(v.size))}
    for name, (maker, *more) in makers.items():
        array = program.arrays[name]
        if not more and isinstance(maker, Lib) and maker.op == "argsort" and array.role == "transient" and \
                _fills_rows(maker.outs[0], array):
            found[name] = array.shape[-1]
    return found


def _fills_rows(view: View, array: Array) -> bool:
    return bool(view.shape) and view.index[-1] == ix(axis(len(view.shape) - 1)) and \
        view.shape[-1].const == array.shape[-1]


def _intervals(program: Program, place: Mapping[int, Site]) -> dict[str, Interval]:
    """Bounds of all that is ever stored in an integer array of the program's own, where each store shows them."""
    found: dict[str, list[Interval | None]] = {}
    for stmt in statements(program.body):
        for name in writes(stmt):
            found.setdefault(name, []).extend(_stored(stmt, name, place[id(stmt)]))
    return {name: (min(i[0] for i in known), max(i[1] for i in known)) for name, all_of in found.items()
            if program.arrays[name].role == "transient" and program.arrays[name].dtype.kind in "iu"
            and len(known := [i for i in all_of if i is not None]) == len(all_of)}


def _stored(stmt: Stmt, name: str, site: Site) -> Iterable[Interval | None]:
    if not isinstance(stmt, Map):
        return [None]
    env = interval_env((*site.path, *stmt.domain))
    return [held(p.expr, env) if p.op is None else None
            for p in stmt.body if isinstance(p, Store) and p.array == name]


def _stem(stmt: Stmt, array: str) -> str:
    return f"{array}@{stmt.source.line}" if stmt.source else array


def _text(program: Program, stmt: Stmt) -> str:
    """The user's line, or the statement where the source is gone."""
    line = " ".join(stmt.source.text().split()) if stmt.source else ""
    part = stmt.body[0] if isinstance(stmt, Map) else None
    if not line and isinstance(part, Store):
        at = f"[{', '.join(map(str, part.index))}]" if part.index else ""
        line = f"{program.arrays[part.array].label or part.array}{at} {part.op or ''}= {expr_text(part.expr)}"
    return line if len(line) <= LONGEST_TEXT else line[:LONGEST_TEXT - 3] + "..."
