"""What the reverse sweep needs, and which overwrites destroy it.

The reverse sweep undoes the program statement by statement, so at the adjoint of a statement memory must hold what it
held when the statement ran, as far as the adjoint looks. A write is *recorded* (the elements it overwrites are stored
first and put back when the reverse sweep passes it) exactly when something it may destroy is needed: to-be-recorded
analysis (Hascoet, Naumann, Pascual 2005) on regions instead of names, so a factorisation, whose factors are final when
they are read, records nothing.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sdfgad.analysis.elements.access import (
    AFTER,
    BEFORE,
    Access,
    Site,
    index_accesses,
    interval_env,
    overwrites,
    range_accesses,
    reads_of,
    same_instance_overlap,
    sites,
    view_access,
    writes_of,
)
from sdfgad.analysis.elements.cover import covers
from sdfgad.analysis.formula import NOTHING, Again
from sdfgad.analysis.reversal.inverse import NO_UNDOING, Undoing
from sdfgad.analysis.reversal.made_once import made_once
from sdfgad.ir.messages import carries_derivatives
from sdfgad.ir.program import ORDER, Array, Block, If, Lib, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.walk import children, statements
from sdfgad.rules.linearise import Linearised, Tangents, linearise


@dataclass(frozen=True)
class Needed:
    """linear: the linear program of each active statement. recorded: numbers of the writes of a statement to store.

    Both are keyed by `id` of the statement. reads: every access of the reverse sweep to values of the program.
    why: for each write that destroys something needed, one read of it. undone: units that are taken back instead of
    recorded, by name. ahead: what the reverse makes again before it enters a loop (`id`).
    """

    linear: Mapping[int, Linearised]
    recorded: Mapping[int, tuple[int, ...]]
    reads: tuple[Access, ...]
    why: Mapping[tuple[int, int], Access]
    undone: frozenset[str] = frozenset()
    ahead: Mapping[int, tuple[Stmt, ...]] = field(default_factory=dict)


def needed(program: Program, tangents: Tangents, temporaries: Mapping[str, Array],
           again: Mapping[int, Sequence[Stmt]] = MappingProxyType({}), inline: Again = NOTHING,
           more: Mapping[int, Sequence[Access]] = MappingProxyType({}), undoing: Undoing = NO_UNDOING) -> Needed:
    """Linearise every active statement and find the writes to record. `temporaries`: made by `tangents.fresh`.

    again: for the last statement of a block (its `id`), the statements the reverse of the block starts with.
    inline: values that derivatives compute where they read them. more: further reads of the reverse, by statement.
    undoing: how some overwrites are taken back without a record.
    """
    place = sites(program.body)
    own = _writes_by_array(program.body, place)
    linear: dict[int, Linearised] = {}
    reads: dict[int, list[Access]] = {id(stmt): [] for stmt in statements(program.body)}
    rules = _Rules(tangents, temporaries, inline)
    for stmt in statements(program.body):
        site = place[id(stmt)]
        if carries_derivatives(stmt) or isinstance(stmt, (Map, Lib)) and any(
                tangents.name(a.array) for a in writes_of(stmt, site)):
            linear[id(stmt)], reads[id(stmt)] = _linearise_best(stmt, rules, site, own)
    once = made_once(linear, inline.known)
    for stmt in statements(program.body) if once.linear else ():
        if id(stmt) in once.linear and isinstance(stmt, (Map, Lib)):
            linear[id(stmt)] = once.linear[id(stmt)]
            reads[id(stmt)] = _linear_reads(stmt, linear[id(stmt)], place[id(stmt)], rules)
    for loop, made in once.ahead.items():
        reads[loop] += _reads_ahead(made, place[loop])
    for last, makers in again.items():
        reads[last] += _reads_again(makers, place[last], place)
    for key, extra in (*more.items(), *undoing.reads.items()):
        reads[key] += extra
    records = _recorded(program, place, reads, {*linear, *again, *more, *undoing.reads})
    flat = tuple(a for found in reads.values() for a in found)
    recorded = {k: tuple(sorted(v)) for k, v in records.saved.items() if k not in undoing.unit}
    undone = frozenset(undoing.unit[k] for k in records.saved if k in undoing.unit)
    return Needed(linear, recorded, flat, records.why, undone, once.ahead)


def _recorded(program: Program, place: Mapping[int, Site], reads: dict[int, list[Access]],
              visited: set[int]) -> _Recorder:
    """What is recorded for the sake of `reads`, which grow by what decides whether, how often and where the reverse
    sweep does something: that depends on what is recorded in turn.

    visited: statements (`id`) that the reverse sweep does something at, whatever is recorded.
    """
    control = {id(s): list(_control_reads(s, place[id(s)])) for s in statements(program.body)}
    while True:
        passed = _passed(program.body, visited)
        for key in passed & control.keys():
            reads[key] = control.pop(key) + reads[key]
        records = _Recorder(program, place, reads)
        records.walk(program.body, frozenset())
        if records.saved.keys() <= passed:
            return records
        visited = visited | records.saved.keys()


def _passed(block: Block, visited: Collection[int]) -> set[int]:
    """Of statements (`id`): those visited, and all around them."""
    found: set[int] = set()
    for stmt in block:
        inside = set().union(*(_passed(b, visited) for b in children(stmt)))
        found |= inside
        if inside or id(stmt) in visited:
            found.add(id(stmt))
    return found


def _reads_again(makers: Sequence[Stmt], end: Site, place: Mapping[int, Site]) -> Iterator[Access]:
    """What statements read that run once more at the end of their block, apart from what they make themselves."""
    made = {w.array for m in makers for w in writes_of(m, place[id(m)])}
    for maker in makers:
        for a in reads_of(maker, place[id(maker)]):
            if a.array not in made:
                yield Access(a.array, a.index, a.domain, end, AFTER)


def _reads_ahead(makers: Sequence[Stmt], loop: Site) -> Iterator[Access]:
    """The same of statements that run before the reverse of a loop starts."""
    made = {w.array for m in makers for w in writes_of(m, loop)}
    for maker in makers:
        yield from (replace(a, moment=AFTER) for a in reads_of(maker, loop) if a.array not in made)


def _writes_by_array(block: Block, place: Mapping[int, Site]) -> dict[str, list[Access]]:
    found: dict[str, list[Access]] = {}
    for stmt in statements(block):
        for a in writes_of(stmt, place[id(stmt)]):
            found.setdefault(a.array, []).append(a)
    return found


def _control_reads(stmt: Stmt, site: Site) -> Iterator[Access]:
    """Conditions, bounds and indices: the reverse sweep evaluates them again, loops from their end."""
    if isinstance(stmt, If):
        yield from (Access(a.array, a.index, a.domain, site, AFTER) for a in reads_of(stmt, site))
    elif isinstance(stmt, (Loop, While)):
        if isinstance(stmt, Loop):
            yield from range_accesses((stmt.range,), site, AFTER)
        if stmt.trips:
            yield Access(stmt.trips, (), (), site, AFTER)
    elif isinstance(stmt, Map):
        yield from range_accesses(stmt.domain, site, BEFORE)
        for part in stmt.body:
            if isinstance(part, Store):
                yield from index_accesses(part.index, stmt.domain, site, BEFORE)
    elif isinstance(stmt, Lib):
        for view in (*stmt.ins, *stmt.outs):
            yield from index_accesses((*view.index, *view.shape), view_access(view, site, BEFORE).domain, site, BEFORE)


@dataclass(frozen=True)
class _Rules:
    """How statements are linearised. temporaries: made by `tangents.fresh`."""

    tangents: Tangents
    temporaries: Mapping[str, Array]
    inline: Again

    def linear(self, stmt: Map | Lib, site: Site, answer: bool) -> Linearised:
        return self.inline.put(stmt, linearise(stmt, replace(self.tangents, around=interval_env(site.path)), answer))


def _linearise_best(stmt: Map | Lib, rules: _Rules, site: Site,
                    writes: Mapping[str, list[Access]]) -> tuple[Linearised, list[Access]]:
    """Read the answer instead of the operands when the answer survives, or when the operands do not survive either."""
    plain = rules.linear(stmt, site, answer=False)
    plain_reads = _linear_reads(stmt, plain, site, rules)
    other = rules.linear(stmt, site, answer=True)
    if plain.after or not other.after:
        return plain, plain_reads
    other_reads = _linear_reads(stmt, other, site, rules)
    if _reads_what_it_destroys(stmt, site, other_reads) or not (
            _survive(other_reads, writes) or not _survive(plain_reads, writes)):
        return plain, plain_reads
    return other, other_reads


def _survive(reads: list[Access], writes: Mapping[str, list[Access]]) -> bool:
    return not any(overwrites(r, w) for r in reads for w in writes.get(r.array, ()))


def _reads_what_it_destroys(stmt: Stmt, site: Site, reads: list[Access]) -> bool:
    return any(r.moment == BEFORE and r.array == w.array and same_instance_overlap(r, w)
               for r in reads for w in writes_of(stmt, site))


def _linear_reads(stmt: Map | Lib, lin: Linearised, site: Site, rules: _Rules) -> list[Access]:
    """Accesses of the linear program to values of the primal program."""
    written = writes_of(stmt, site)
    names = {rules.tangents.name(a.array) for a in written} | set(rules.temporaries)
    names |= {ORDER, *lin.again, *(w.array for part in lin.prep for w in writes_of(part, site))}
    found = []
    for part in (*lin.makers, *lin.prep, *lin.linear):
        for a in reads_of(part, site):
            if a.array in names or rules.tangents.is_tangent(a.array):
                continue
            answer = lin.after and any(_is_answer(stmt, w, a) for w in written)
            found.append(Access(a.array, a.index, a.domain, site, AFTER if answer else BEFORE))
    return found


def _is_answer(stmt: Stmt, write: Access, read: Access) -> bool:
    """Whether the read is of what the statement itself has just written."""
    return write.array == read.array and (isinstance(stmt, Lib) or write.index == read.index)


def _replaces(stmt: Stmt, number: int, array: Array) -> bool:
    """Whether a write of the statement replaces every element of the array."""
    return isinstance(stmt, Map) and covers(stmt, [p for p in stmt.body if isinstance(p, Store)][number], array)


class _Recorder:
    """Forward walk with the set of arrays whose present contents are needed."""

    def __init__(self, program: Program, place: Mapping[int, Site], reads: Mapping[int, list[Access]]) -> None:
        self.program = program
        self.place = place
        self.reads = reads
        self.by_array: dict[str, list[Access]] = {}
        for found in reads.values():
            for a in found:
                self.by_array.setdefault(a.array, []).append(a)
        self.saved: dict[int, set[int]] = {}
        self.why: dict[tuple[int, int], Access] = {}
        self.verdict: dict[tuple[int, int], Access | None] = {}

    def walk(self, block: Block, live: frozenset[str]) -> frozenset[str]:
        for stmt in block:
            live = self.statement(stmt, live)
        return live

    def statement(self, stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
        reads = self.reads[id(stmt)]
        live |= {a.array for a in reads if a.moment == BEFORE}
        if isinstance(stmt, If):
            live = self.walk(stmt.then, live) | self.walk(stmt.orelse, live)
        elif isinstance(stmt, (Loop, While)):
            before: frozenset[str] | None = None
            while before != live:
                before, live = live, live | self.walk(children(stmt)[0], live)
        else:
            live = self.computation(stmt, live)
        return live | {a.array for a in reads if a.moment == AFTER}

    def computation(self, stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
        for number, write in enumerate(writes_of(stmt, self.place[id(stmt)])):
            if write.array not in live:
                continue
            victim = self.victim(stmt, number, write)
            if victim is not None:
                self.saved.setdefault(id(stmt), set()).add(number)
                self.why[(id(stmt), number)] = victim
            if _replaces(stmt, number, self.program.arrays[write.array]):
                live -= {write.array}
        return live

    def victim(self, stmt: Stmt, number: int, write: Access) -> Access | None:
        """A needed value this write may destroy."""
        key = (id(stmt), number)
        if key not in self.verdict:
            self.verdict[key] = next((r for r in self.by_array.get(write.array, ()) if overwrites(r, write)), None)
        return self.verdict[key]
