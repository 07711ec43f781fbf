"""Overwrites taken back by the reference interpreter, with everything else forgotten."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from sdfgad.analysis.elements.access import Access, sites, writes_of
from sdfgad.analysis.reversal.inverse import Inversions, Undoing, inversions
from sdfgad.ir.expr import Load
from sdfgad.ir.interpret import _Machine
from sdfgad.ir.program import Map, Program, Stmt
from sdfgad.ir.walk import reads, writes

Memory = dict[str, np.ndarray]


def found_in(program: Program) -> Inversions:
    """The units of a program all of whose arrays live on."""
    return inversions(program, sites(program.body), {})


def states(program: Program, start: Mapping[str, np.ndarray]) -> list[Memory]:
    """What memory holds before each statement of a straight program, and at its end."""
    memory = _copied(start)
    found = [_copied(memory)]
    for stmt in program.body:
        run((stmt,), memory)
        found.append(_copied(memory))
    return found


def run(block: Iterable[Stmt], memory: Memory) -> None:
    """Execute statements; integers wrap around in silence."""
    with np.errstate(all="ignore"):
        _Machine(memory).block(tuple(block))


def elements(accesses: Iterable[Access], memory: Memory) -> dict[str, np.ndarray]:
    """A mask of the elements that accesses touch."""
    found = {n: np.zeros(a.shape, bool) for n, a in memory.items()}
    machine = _Machine(memory)
    for a in accesses:
        machine.points(a.domain, lambda a=a: found[a.array].__setitem__(machine.at(a.array, a.index), True))
    return found


def complaints(program: Program, undoing: Undoing, start: Mapping[str, np.ndarray]) -> list[str]:
    """What is wrong with taking units of a straight program back; nothing, one hopes."""
    known = states(program, start)
    return [*_lost(program, undoing, known), *_spoilt(program, undoing, known)]


def _lost(program: Program, undoing: Undoing, known: list[Memory]) -> Iterator[str]:
    """With only what was declared left of the state after them, the overwritten elements have to come back."""
    place = {id(s): k for k, s in enumerate(program.body)}
    for action in undoing.actions:
        overwriting = [s for n in action.units for s in undoing.units[n].writes]
        first, last = min(place[id(s)] for s in overwriting), place[id(action.after)] + 1
        before, after = known[first], known[last]
        kept = elements(action.reads, after)
        for s in overwriting:
            # Who copies a number to where it is changes nothing, and whoever needs it later takes care of it.
            for n, mask in elements(_writes(program, s), known[place[id(s)]]).items():
                kept[n] |= mask & np.all([m[n] == after[n] for m in known[first:last]], axis=0)
        memory = {n: np.where(kept[n], a, _other(a)) for n, a in after.items()}
        try:
            run(action.restore, memory)
        except IndexError as error:
            yield f"it reads what it did not declare: {error}"
            continue
        for stmt in overwriting:
            masks = elements(_writes(program, stmt), known[place[id(stmt)]])
            yield from (f"{n} is {memory[n]}, was {before[n]}" for n in before
                        if not np.array_equal(memory[n][masks[n]], before[n][masks[n]]))


def _spoilt(program: Program, undoing: Undoing, known: list[Memory]) -> Iterator[str]:
    """Going back statement by statement, each has to find what it read; overwrites of no unit come back from a tape."""
    memory = _copied(known[-1])
    for k in range(len(program.body) - 1, -1, -1):
        stmt = program.body[k]
        for action in undoing.actions:
            if action.after is stmt:
                run(action.restore, memory)
        if id(stmt) not in undoing.unit:
            masks = elements(_writes(program, stmt), known[k])
            for n in known[k]:
                memory[n][masks[n]] = known[k][n][masks[n]]
        if not _is_copy(stmt):
            yield from (f"statement {k} finds another {n}" for n in reads(stmt) | writes(stmt)
                        if not np.array_equal(memory[n], known[k][n]))
    yield from (f"{n} starts as {memory[n]}, not {known[0][n]}" for n in memory
                if not np.array_equal(memory[n], known[0][n]))


def _is_copy(stmt: Stmt) -> bool:
    """Its derivative looks at no values."""
    return isinstance(stmt, Map) and len(stmt.body) == 1 and isinstance(stmt.body[0].expr, Load)


def _writes(program: Program, stmt: Stmt) -> list[Access]:
    return writes_of(stmt, sites(program.body)[id(stmt)])


def _other(a: np.ndarray) -> np.ndarray:
    """Contents that are nowhere what they were."""
    return ~a if a.dtype.kind in "iub" else a + 1000


def _copied(memory: Mapping[str, np.ndarray]) -> Memory:
    return {n: np.array(a) for n, a in memory.items()}
