"""The reverse sweep for several seeds, one after the other."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.analysis.elements.cover import exposed
from sdfgad.errors import PlanNotExecutable
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Pop, Program, Push, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, all_variables, all_writes, map_accesses, statements, within
from sdfgad.names import fresh
from sdfgad.transform.batch import dependent


def in_turn(program: Program, given: frozenset[str], extent: int) -> Program:
    """y = f(x) ; x = g(x) ; a = seed * p(x) ; x = tape ; grad = a * q(x)
    ->   y = f(x) ; x = g(x) ; held = x ; for k: { x = held ; a = seed[k] * p(x) ; x = tape ; grad[k] = a * q(x) }

    The program for `extent` values of the arrays `given`, which lie along a first axis; no other array grows. What
    comes before the first of them is looked at runs once. What the rest replaces of it is put back for each of them.
    PlanNotExecutable where the rest takes its records from a stack or replaces what lies on a disk.
    """
    first, rest = _parted(program.body, dependent(program.body, given))
    behind = frozenset(n for n in exposed(rest, program.arrays) & all_writes(rest)
                       if n in all_writes(first) or program.arrays[n].role != "transient")
    if any(isinstance(s, (Push, Pop)) for s in statements(rest)) or not behind.isdisjoint(given) or any(
            program.arrays[n].role == "disk" for n in behind):
        raise PlanNotExecutable("a reverse sweep that uses up its records runs for one seed alone")
    arrays = {n: replace(a, shape=(extent, *a.shape)) if n in given else a for n, a in program.arrays.items()}
    held = {n: fresh(f"{n}_held", arrays) for n in sorted(behind)}
    arrays |= {h: Array(h, arrays[n].shape, arrays[n].dtype) for n, h in held.items()}
    over = Range(fresh("direction", all_variables(program.body) | arrays.keys()), ix(0), ix(extent))

    def moved(array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        return (ix(over.var), *index) if array in given else index

    kept = tuple(_copy(arrays[n], arrays[h]) for n, h in held.items())
    back = tuple(_copy(arrays[h], arrays[n]) for n, h in held.items())
    whole = Loop(over, (*back, *(map_accesses(s, moved) for s in rest)))
    return program.but(body=(*first, *kept, whole), arrays=arrays)


def _parted(block: Block, many: frozenset[str]) -> tuple[Block, Block]:
    """What can be done once, ahead of the rest; and the rest, which begins with what writes one of `many`."""
    first: list[Stmt] = []
    rest: list[Stmt] = []
    for stmt in block:
        read, written = within(stmt)
        waits = not (read | written).isdisjoint(all_writes(tuple(rest))) or \
            not written.isdisjoint(all_reads(tuple(rest)))
        (rest if waits or not written.isdisjoint(many) else first).append(stmt)
    return tuple(first), tuple(rest)


def _copy(source: Array, target: Array) -> Map:
    domain, here = source.whole.points()
    value = Load(source.name, source.whole.at(here), source.dtype)
    return Map(domain, (Store(target.name, target.whole.at(here), value),))
