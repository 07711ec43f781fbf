"""The order of the dimensions of temporaries in the device's memory: what neighbouring threads touch lies side by side.

A loop along the rows of an array runs inside a thread where its iterations wait for each other, as in sweeps along the
levels of an atmosphere. Neighbouring threads are in different rows then, and each number of each thread comes in a
sector of its own. Arrays that nobody else sees may lie otherwise.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sdfgad.analysis.loops.sweeps import looked_into
from sdfgad.codegen.cpp import strides
from sdfgad.codegen.cuda.sectors import Distances, KernelRun, in_order, moves, runs
from sdfgad.codegen.cuda.work import DeviceItems
from sdfgad.ir.program import Array, Block, Map, Program, Stmt
from sdfgad.ir.walk import map_accesses, reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds

Item = TypeVar("Item")
Scheduled = tuple[DeviceItems, Mapping[str, Array]]
"""The kernels of a program, and all arrays."""
Schedule = Callable[[Program], Scheduled]


def with_neighbours_together(program: Program, schedule: Schedule) -> tuple[Program, Scheduled]:
    """The program with temporaries turned where its kernels move fewer sectors then, and what becomes of it; the same
    one where none are.

    t[i, j, k] of points (i, j)   ->   t[i, k, j]
    """
    free, known = free_arrays(program), schedule(program)
    items, arrays = known
    lie = in_order(arrays)
    every = list(runs(items, arrays))
    last = {n: best for n in free if (best := _best_last(arrays[n], every, arrays)) is not None}
    if not last:
        return program, known
    made = turned(program, last)
    other = schedule(made)
    return (made, other) if moved_by(*other) < _moved(every, arrays, lie) else (program, known)


def free_arrays(program: Program) -> list[str]:
    """Arrays whose elements may lie in another order."""
    barred = looked_into(program.body) | program.live_out
    for stmt in statements(program.body):
        if not isinstance(stmt, Map):
            barred |= reads(stmt) | writes(stmt)
    return [n for n, a in program.arrays.items() if n not in barred and a.role == "transient" and not a.packing
            and len(a.shape) > 1 and a.bytes >= thresholds().turned_bytes]


def _best_last(array: Array, every: Sequence[KernelRun], arrays: Mapping[str, Array]) -> int | None:
    """The dimension in which neighbours should lie side by side; None when that is as it should be.

    Kernels with a point for each element are not asked: they may go through their points in the array's order.
    """
    bound = [run for run in every if len(run.kernel.box) < len(array.shape)]
    found = {d: _moved(bound, arrays, {array.name: _distances(array.shape, d)}) for d in range(len(array.shape))}
    now = found.pop(len(array.shape) - 1)
    best = min(found, key=lambda d: found[d])
    return best if now and found[best] <= thresholds().turned_cost * now else None


def _moved(every: Sequence[KernelRun], arrays: Mapping[str, Array], lie: Distances) -> float:
    return sum(run.times * m.moved for run in every for m in moves(run, arrays, lie))


def moved_by(items: DeviceItems, arrays: Mapping[str, Array]) -> float:
    """Bytes that a call moves, by the estimate of sectors."""
    return _moved(list(runs(items, arrays)), arrays, in_order(arrays))


def _distances(shape: tuple[int, ...], last: int) -> tuple[int, ...]:
    """Between neighbours in each dimension, where one of them is the last in memory."""
    found = strides(order(shape, last))
    return (*found[:last], found[-1], *found[last:-1])


def turned(program: Program, last: Mapping[str, int]) -> Program:
    """The program with these dimensions at the end; no value depends on where an element lies."""
    def change(stmt: Stmt) -> Block:
        return (map_accesses(stmt, lambda n, i: order(i, last[n]) if n in last else i)
                if isinstance(stmt, Map) else stmt,)

    arrays = {n: replace(a, shape=order(a.shape, last[n])) if n in last else a for n, a in program.arrays.items()}
    return program.but(body=rebuild(program.body, change), arrays=arrays)


def order(dims: Sequence[Item], last: int) -> tuple[Item, ...]:
    """Dimensions with one of them brought to the end."""
    return (*dims[:last], *dims[last + 1:], dims[last])
