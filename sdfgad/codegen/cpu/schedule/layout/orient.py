"""The order of the dimensions of temporaries in memory: what neighbours in a map touch is to lie side by side."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sdfgad.analysis.loops.rows import points, stride, timed, touched, touches, trips
from sdfgad.analysis.loops.sweeps import looked_into
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Stmt
from sdfgad.ir.walk import map_accesses, reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds

Weighted = list[tuple[Map, int]]
Item = TypeVar("Item")


def orient_temporaries(program: Program, least: int | None = None,
                       private: frozenset[str] = frozenset()) -> Program:
    """for j: map i: t[i, j] = t[i, j - 1] + y[j, i]   ->   for j: map i: t[j, i] = t[j - 1, i] + y[j, i]

    For arrays of the program's own that nobody sees afterwards and that maps alone touch, where that leaves fewer
    scattered accesses in these maps. No value depends on where an element lies. `least`: bytes of the smallest array to
    turn. `private`: the arrays in question, where they are those that iterations of parallel loops have of their own.
    """
    least = thresholds().turned_bytes if least is None else least
    users = _users(program)
    for name in free_arrays(program, program.live_out, least, private):
        last = _best_last(program, name, users[name])
        if last is not None:
            program = _turned(program, name, last)
            users = _users(program)
    return program


def _users(program: Program) -> Mapping[str, Weighted]:
    """The maps that touch each array, and how often their bodies run."""
    found: dict[str, Weighted] = defaultdict(list)
    for stmt, times in timed(program.body):
        for name in touched(stmt)[0]:
            found[name].append((stmt, times * points(stmt)))
    return found


def free_arrays(program: Program, keep: frozenset[str], least: int, private: frozenset[str]) -> list[str]:
    """Arrays whose elements may lie in another order, large ones first."""
    barred = looked_into(program.body) | keep
    for stmt in statements(program.body):
        if not isinstance(stmt, Map):
            barred |= reads(stmt) | writes(stmt)
        if isinstance(stmt, Loop):
            barred |= set(stmt.private) - private
    wanted = private or program.arrays.keys()
    found = [a for n, a in program.arrays.items() if n in wanted and n not in barred and a.role == "transient"
             and not a.packing and len(a.shape) > 1 and a.bytes >= least]
    return [a.name for a in sorted(found, key=lambda a: (-a.bytes, a.name))]


def _best_last(program: Program, name: str, users: Weighted) -> int | None:
    """The dimension in which neighbours should lie side by side; None when that is as it should be."""
    last = len(program.arrays[name].shape) - 1
    steps = [_Steps.of(program.arrays, m, name, often) for m, often in users]
    now = sum(s.cost(last) for s in steps)
    # Nothing is better than when no access to this array is scattered.
    if sum(s.cost(None) for s in steps) > thresholds().turned_cost * now:
        return None
    found = {d: sum(s.cost(d) for s in steps) for d in range(last)}
    best = min(found, key=lambda d: found[d])
    return best if found[best] <= thresholds().turned_cost * now else None


@dataclass(frozen=True)
class _Steps:
    """What a map touches, and for each variable worth vectorising how many accesses to other arrays it scatters, and
    where it moves those to the array in question."""

    often: int
    touched: int
    others: tuple[int, ...]
    own: tuple[tuple[list[tuple[Ix, ...]], str], ...]
    array: Array

    @classmethod
    def of(cls, arrays: Mapping[str, Array], stmt: Map, name: str, often: int) -> _Steps:
        every = touches(stmt)
        variables = [r.var for r in stmt.domain if trips(r) >= thresholds().vector_variable]
        others = tuple(sum(_scattered(stride(arrays[t.array], t.index, v)) for t in every if t.array != name)
                       for v in variables)
        own = tuple(([t.index for t in every if t.array == name], v) for v in variables)
        return cls(often, len(every), others, own, arrays[name])

    def cost(self, last: int | None) -> int:
        """Of all accesses along the variable that is best, with this dimension last; with none of them scattered."""
        turned = None if last is None else replace(self.array, shape=_order(self.array.shape, last))
        apart = [other if turned is None or last is None else
                 other + sum(_scattered(stride(turned, _order(i, last), var)) for i in indices)
                 for other, (indices, var) in zip(self.others, self.own, strict=True)]
        return self.often * (self.touched + thresholds().scattered_cost * min(apart, default=0))


def _scattered(step: int | None) -> bool:
    """Whether an access does not go from neighbour to neighbour."""
    return step is None or abs(step) > 1


def _turned(program: Program, name: str, last: int) -> Program:
    array = program.arrays[name]
    arrays = {**program.arrays, name: replace(array, shape=_order(array.shape, last))}

    def change(stmt: Stmt) -> Block:
        return (_moved(stmt, name, last) if isinstance(stmt, Map) and name in touched(stmt)[0] else stmt,)

    return program.but(body=rebuild(program.body, change), arrays=arrays)


def _moved(stmt: Map, name: str, last: int) -> Map:
    made = map_accesses(stmt, lambda n, index: _order(index, last) if n == name else index)
    assert isinstance(made, Map)
    return made


def _order(dims: tuple[Item, ...], last: int) -> tuple[Item, ...]:
    """Dimensions with one of them brought to the end."""
    return (*dims[:last], *dims[last + 1:], dims[last])
