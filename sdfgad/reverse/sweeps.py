"""The gradient program: the forward sweep with its records, the seeds, and the reverse sweep.

The reverse sweep undoes the program: at each statement it adds to the cotangents and puts back what the statement
overwrote, so memory always holds what it held when the statement ran, as far as anybody looks.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.analysis.elements.access import Access, Site, sites, writes_of
from sdfgad.analysis.reversal.entry_records import EntryRecords
from sdfgad.analysis.reversal.filled_boxes import filled_boxes
from sdfgad.analysis.reversal.inverse import Undoing
from sdfgad.analysis.reversal.needed import Needed, needed
from sdfgad.analysis.reversal.restart import restarts
from sdfgad.checkpoint.modes import Mode
from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Load
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import (
    Array,
    Block,
    If,
    Loop,
    Map,
    Program,
    Range,
    Stmt,
    Store,
    While,
)
from sdfgad.ir.walk import apart, children, map_accesses, reads, rebuild, statements, with_children, writes
from sdfgad.names import fresh, variable_of
from sdfgad.reverse.loop_modes import Schedule, backwards, scheduled_slots, schedules_of
from sdfgad.reverse.made import Gradient, Kept, ReverseRequest
from sdfgad.reverse.naming import Names
from sdfgad.reverse.results import keep_results, sum_outputs
from sdfgad.reverse.snapshots import Bodies
from sdfgad.reverse.storage import Storage, ends_of_blocks, lay_out, rebuilt_blocks
from sdfgad.reverse.tape import Declare, Entry, TapeRecord, each_once, entry_of, record
from sdfgad.reverse.transpose import TangentScope, clear, transpose
from sdfgad.reverse.while_modes import OnlineSchedule
from sdfgad.rules.linearise import without_partials
from sdfgad.transform.batch import several
from sdfgad.transform.batched_sweeps import in_turn
from sdfgad.transform.normal.expand import Slots


def gradient(program: Program, request: ReverseRequest, recompute: frozenset[str] = frozenset(),
             modes: Mapping[str, Mode] = MappingProxyType({}), undone: frozenset[str] = frozenset()) -> Gradient:
    """The reverse-mode program of a normalised program.

    recompute: names of kept values to rebuild instead of storing. modes: of loops that are not wholly recorded, by
    name. undone: names of overwrites to take back exactly. PlanNotExecutable when a value cannot be made again, a loop
    cannot be run so or an overwrite cannot be taken back.
    """
    made = _gradient(program, request, recompute, modes, undone, frozenset())
    if request.batch is None:
        return made
    given = frozenset((*made.seeds, *made.results))
    return replace(made, program=(in_turn if request.in_turn else several)(made.program, given, request.batch))


def _gradient(source: Program, request: ReverseRequest, recompute: frozenset[str], modes: Mapping[str, Mode],
              undone: frozenset[str], idle: frozenset[str]) -> Gradient:
    """idle: arrays that the reverse sweep does not look at once others are kept."""
    active, seen = request.sets(source)
    storage = lay_out(source, active, seen, recompute, undone, idle)
    program = storage.program
    names = Names(dict(program.arrays), active, "grad_", storage.versions)
    for name in sorted(active):
        a = program.arrays[name]
        names.arrays["grad_" + name] = Array("grad_" + name, names.one_version(name), a.dtype, source=a.source,
                                             label=a.label)
    place = sites(program.body)
    constants = dict(program.constants)
    role = "disk" if request.spill else "transient"
    schedules = schedules_of(program, place, modes, names, constants, role)
    facts = _facts(program, names, storage, place, schedules)
    unread = storage.versions.keys() - {a.array for a in facts.reads} - storage.inline.chosen
    if unread:
        return _gradient(source, request, recompute, modes, undone, idle | unread)
    sweeps = _Sweeps(names, facts, place, storage, schedules)
    forward = sweeps.finish(sweeps.forward(program.body))
    backward = sweeps.finish(sweeps.backward(program.body))
    seeds = [names.declare(f"seed_{k}", tuple(n.const or 0 for n in v.shape), v.dtype, "argument")
             for k, v in enumerate(request.outputs)] if request.seeds == "arguments" else []
    returns, ends = _value(program, request, backward, names) if request.value else (None, [])
    zeros = [clear(names.arrays["grad_" + n].whole, Map((), ())) for n in sorted(active)]
    body = (*forward, *ends, *zeros, *_seed(request, seeds, names), *backward)
    gradients = {n: names.tangent(n) for n in request.wrt}
    arguments = (*program.arguments, *(s.name for s in seeds))
    whole = program.but(body=apart(without_partials(body)), arrays=names.arrays, arguments=arguments, returns=returns,
                        constants=constants)
    results = tuple(n for n in gradients.values() if n is not None)
    return Gradient(whole, gradients, results, tuple(s.name for s in seeds), (*storage.kept, *sweeps.kept),
                    program, facts.reads, storage.paths, {n: len(at) for n, at in storage.versions.items()})


def _facts(program: Program, names: Names, storage: Storage, place: Mapping[int, Site],
           schedules: Mapping[int, Schedule | OnlineSchedule]) -> Needed:
    """What the reverse sweep needs, running loops again included."""
    ends = ends_of_blocks(program, storage.rebuild)

    def find(where: Names, more: Mapping[int, Sequence[Access]]) -> Needed:
        return needed(program, where.tangents(), where.scratch, ends, storage.inline, more, storage.undoing)

    if not schedules:
        return find(names, {})
    reads = find(names.copy(), {}).reads
    found = restarts(program, [s.loop for s in schedules.values()], place, reads, storage.paths)
    for key, restart in found.items():
        schedules[key].save_state(restart)
    return find(names, {key: restart.others for key, restart in found.items()})


def _value(program: Program, request: ReverseRequest, backward: Block, names: Names) -> tuple[Any, list[Stmt]]:
    """The value of the program, and what delivers it between the two sweeps."""
    if not request.total:
        return keep_results(program.returns, backward, names)
    values, sums = sum_outputs(request.outputs, names)
    if not request.aux:
        return values, sums
    aux, copies = keep_results(program.returns[1], backward, names)
    return (values, aux), [*sums, *copies]


def _seed(request: ReverseRequest, seeds: Sequence[Array], names: Names) -> list[Stmt]:
    out: list[Stmt] = []
    for k, view in enumerate(request.outputs):
        target = names.tangent(view.array)
        if target is None:
            continue
        domain, here = view.points()
        value = Load(seeds[k].name, here, view.dtype) if seeds else _one(request, names, view.dtype)
        out.append(Map(domain, (Store(target, view.at(here), value, "+"),)))
    return out


def _one(request: ReverseRequest, names: Names, dtype: np.dtype) -> Expr:
    if request.share is None:
        return algebra.number(1, dtype)
    return algebra.cast(Load(request.share, (ix(0),), names.arrays[request.share].dtype), dtype)


class _Sweeps:
    def __init__(self, names: Names, facts: Needed, place: Mapping[int, Site], storage: Storage,
                 schedules: Mapping[int, Schedule | OnlineSchedule]) -> None:
        self.names = names
        self.facts = facts
        self.place = place
        self.schedules = schedules
        self.rooms = {s.loop.range.var: s for s in schedules.values() if isinstance(s, Schedule)}
        self.records: dict[int, list[TapeRecord]] = {}
        self.kept: list[Kept] = []
        self.rebuilt = rebuilt_blocks(storage, place)
        self.codes = storage.codes
        self.paths = storage.paths
        self.primal = storage.program.arrays
        self.versions = self._places_of_versions(storage)
        self.lines = {self.place[id(s)].order: s.source.line for s in statements(storage.program.body) if s.source}
        self.taped = {block: [entry_of(self.names.arrays[n]) for n in names] for block, names in storage.taped.items()}
        self._record_all(storage)
        self._take_back_all(storage.undoing)

    def _record_all(self, storage: Storage) -> None:
        exact = [r for a in storage.undoing.actions for r in a.reads]
        boxes = filled_boxes(storage.program, self.place, self.facts, exact)
        entries = EntryRecords.of(storage.program, self.place, self.facts.reads)
        for stmt in statements(storage.program.body):
            numbers = self.facts.recorded.get(id(stmt), ())
            accesses = writes_of(stmt, self.place[id(stmt)]) if numbers else []
            for n in {(accesses[n].array, accesses[n].index): n for n in numbers}.values():
                array = self.names.arrays[accesses[n].array]
                write = boxes.get((id(stmt), n), accesses[n])
                if write is None or array.name in storage.rebuild:
                    continue
                where = stmt
                if array.name not in self.names.versions:
                    where, write = entries.carried(stmt, write)
                made, site = self._record(stmt, write, self.names.declare), self.place[id(where)]
                self.records.setdefault(id(where), []).append(made)
                taken = {k.name for k in (*storage.kept, *self.kept)}
                # One that is computed again, and yet needed where that does not help, cannot be computed again there.
                again = array.name not in taken and (array.name in storage.light or array.name in storage.heavy)
                stem = f"{array.name}@{stmt.source.line}" if stmt.source and not again else array.name
                name = fresh(stem, self.facts.undone | taken)
                self.kept.append(Kept(name, array.name, made.tape, made.bytes, stmt.source, self._because(stmt, n),
                                      again, storage.heavy.get(array.name, 0), again and array.name in storage.light,
                                      path=site.path, order=site.order))

    def _record(self, stmt: Stmt, write: Access, declare: Declare) -> TapeRecord:
        around = scheduled_slots(write.site.path, self.rooms) if self.rooms else None
        if isinstance(stmt, Map) and any(isinstance(p, Store) and p.op and p.array == write.array for p in stmt.body):
            write = each_once(write)
        versions = len(self.names.versions.get(write.array, ()))
        return record(write, self.primal[write.array], declare, stmt.source, around, versions)

    def _because(self, stmt: Stmt, number: int) -> str:
        return f"needed by line {self.lines.get(self.facts.why[(id(stmt), number)].site.order, 0)}"

    def _take_back_all(self, undoing: Undoing) -> None:
        for action in undoing.actions:
            if not action.units.isdisjoint(self.facts.undone):
                # Behind the record of the statement itself: what comes last goes back first.
                self.records.setdefault(id(action.after), []).append(TapeRecord((), action.restore))
        for name in sorted(self.facts.undone):
            unit = undoing.units[name]
            needed_ones = [s for s in unit.writes if (id(s), 0) in self.facts.why]
            sizes = [self._record(s, writes_of(s, self.place[id(s)])[0], Array).bytes for s in needed_ones]
            size = None if None in sizes else sum(n or 0 for n in sizes)
            first, site = needed_ones[0], self.place[id(needed_ones[0])]
            self.kept.append(Kept(name, unit.array, "", size, first.source, self._because(first, 0), path=site.path,
                                  order=site.order, undone=True, how=unit.how))

    def _places_of_versions(self, storage: Storage) -> dict[str, Slots]:
        """(room, place) for the leading dimensions of arrays with versions, whose shapes change with them: none on
        tapes."""
        found: dict[str, Slots] = {n: () for names in storage.taped.values() for n in names}
        for name in storage.versions.keys() - found.keys() if self.rooms else ():
            path = storage.paths[name]
            slots = scheduled_slots(path, self.rooms)
            if slots is not None and any(r.var in self.rooms for r in path):
                found[name] = slots
        for name, slots in found.items():
            a = self.names.arrays[name]
            shape = (*(n for n, _ in slots), *a.shape[len(storage.versions[name]):])
            self.names.arrays[name] = replace(a, shape=shape, role=a.role if slots else "tape")
        return found

    def recorded(self, stmt: Stmt) -> list[TapeRecord]:
        return self.records.get(id(stmt), [])

    def entries(self, block: Block, records: bool = True) -> list[Entry]:
        """The entries of tapes that one run of a block fills, as far as it can make room for them at its start."""
        found = list(self.taped.get(self.place[id(block[0])].order, ())) if block else []
        made = [r.entry for stmt in block for r in self.recorded(stmt)] if records else []
        return [*found, *(e for e in made if e is not None and e.soon)]

    def forward(self, block: Block) -> Block:
        out: list[Stmt] = [e.push for e in self.entries(block)]
        for stmt in block:
            out += [s for r in self.recorded(stmt) for s in r.save]
            if id(stmt) in self.schedules:
                out += self.schedules[id(stmt)].forward(self._bodies(stmt))
            elif isinstance(stmt, (Loop, While)):
                out.append(replace(stmt, body=self.forward(stmt.body)))
            elif isinstance(stmt, If):
                out.append(replace(stmt, then=self.forward(stmt.then), orelse=self.forward(stmt.orelse)))
            else:
                out.append(stmt)
        return tuple(out)

    def backward(self, block: Block) -> Block:
        again = [replace(s) for s in self.rebuilt.get(id(block[0]), ())] if block else []
        undone = [s for stmt in reversed(block) for s in self.undo(stmt)]
        # What has been pushed comes off again, also where nobody looks at it in the end.
        return (*(e.pop for e in self.entries(block)), *again, *undone)

    def undo(self, stmt: Stmt) -> Block:
        if isinstance(stmt, If):
            then, orelse = self.backward(stmt.then), self.backward(stmt.orelse)
            return (replace(stmt, then=then, orelse=orelse),) if then or orelse else ()
        restore = tuple(s for r in reversed(self.recorded(stmt)) for s in r.restore)
        ahead = tuple(replace(s) for s in self.facts.ahead.get(id(stmt), ()))
        if id(stmt) in self.schedules:
            return (*ahead, *self.schedules[id(stmt)].backward(self._bodies(stmt)), *restore)
        if isinstance(stmt, (Loop, While)):
            body = self.backward(stmt.body)
            loop = (Loop(reversed_range(stmt), body, stmt.source, label=stmt.label),) if body else ()
            return (*ahead, *loop, *restore)
        linear = self.facts.linear.get(id(stmt))
        if linear is None:
            return restore
        scope = TangentScope(self.names.is_tangent, self.names.fresh, self.place[id(stmt)].path)
        adjoint = (*linear.makers, *linear.prep, *self._clear_scratch(linear.linear), *transpose(linear.linear, scope))
        return (*adjoint, *restore) if linear.after else (*restore, *adjoint)

    def _bodies(self, loop: Stmt) -> Bodies:
        body = children(loop)[0]
        return Bodies(lambda: self._in_one_place(loop, self.plain(body)), lambda: self.forward(body),
                      lambda: self.backward(body))

    def _in_one_place(self, loop: Stmt, block: Block) -> Block:
        """What runs without records needs one version of an array, which stays in the cache: the first."""
        var = loop.range.var if isinstance(loop, Loop) else ""
        paths = {name: [r.var for r in self.paths[name]] for name in self.versions}
        depths = {name: path.index(var) for name, path in paths.items() if var in path}

        def first(array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
            if array not in depths:
                return index
            depth, count = depths[array], len(self.names.versions[array])
            return (*index[:depth], *(ix(0) for _ in range(depth, count)), *index[count:])

        return tuple(map_accesses(s, first) for s in block)

    def plain(self, block: Block) -> Block:
        """The block without records and snapshots; its loops go in parts where places in tapes are counted so."""
        entries = [e for e in self.entries(block, records=False) if e.push.tape not in self.codes]
        out: list[Stmt] = [e.push for e in entries]
        for stmt in block:
            if not children(stmt) and writes(stmt) and writes(stmt) <= self.codes:
                continue
            if id(stmt) in self.schedules:
                out += self.schedules[id(stmt)].plain(self.plain(children(stmt)[0]))
            else:
                out.append(with_children(stmt, [self.plain(b) for b in children(stmt)]))
        return (*out, *(replace(e.pop) for e in entries))

    def finish(self, block: Block) -> Block:
        """Versions of arrays moved to the room their loops have, and every statement an object of its own."""
        if not self.schedules and not self.versions:
            return block
        return rebuild(tuple(map_accesses(s, self.moved) for s in block), lambda s: (replace(s),))

    def moved(self, array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        slots = self.versions.get(array)
        if slots is None:
            return index
        # The first version is meant where one is enough.
        places = (here if here == ix(0) else i for (_, i), here in zip(slots, index, strict=False))
        return (*places, *index[len(self.names.versions[array]):])

    def _clear_scratch(self, linear: Block) -> list[Stmt]:
        used = {n for s in linear for n in reads(s) | writes(s)}
        return [clear(self.names.arrays[n].whole, linear[0]) for n in sorted(used)
                if n in self.names.scratch and self.names.is_tangent(n)]


def reversed_range(stmt: Loop | While) -> Range:
    """The same iterations, last first. A loop that may end early counts what it really ran."""
    if isinstance(stmt, While):
        return Range(variable_of("back", stmt.trips), elem(stmt.trips, ()) - 1, ix(-1), -1)
    r = stmt.range
    if stmt.trips is None:
        return backwards(r)
    trips = elem(stmt.trips, ())
    return Range(r.var, r.start + (trips - 1) * r.step, r.start - (1 if r.step > 0 else -1), -r.step)
