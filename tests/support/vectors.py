"""The reference semantics again, a whole map at a time: what `ir.interpret` says point by point, some hundred times as
fast.

What maps and parallel loops promise is put to the test: a map computes one part of its body for all points before the
next part, and parallel loops run from their last iteration to the first.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.ir import interpret
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local
from sdfgad.ir.index import Elem, FloorDiv, Ix, Max, Min, Mod, Subscript
from sdfgad.ir.layout import axis
from sdfgad.ir.primal import ACCUMULATE, PRIMALS
from sdfgad.ir.program import Let, Loop, Map, Program, Range, View

Arrays = Mapping[str, np.ndarray]
_COMBINE = {FloorDiv: np.floor_divide, Mod: np.remainder, Min: np.minimum, Max: np.maximum}


def run(program: Program, arguments: Arrays, room: Arrays = MappingProxyType({})) -> dict[str, np.ndarray]:
    """Every array after a run on copies of the arguments. Transients hold NaN or a poison integer at the start, but
    those in `room`, which hold what they hold."""
    held = {n: np.array(a) for n, a in {**room, **arguments}.items() if n in program.arrays}
    memory = {}
    for a in program.arrays.values():
        if a.name in held:
            memory[a.name] = held[a.name]
        elif a.name in program.constants:
            memory[a.name] = np.array(program.constants[a.name], dtype=a.dtype)
        else:
            memory[a.name] = np.full(a.shape, interpret._poison(a.dtype), a.dtype)
    machine = Whole(memory, {n: a.packing for n, a in program.arrays.items() if a.packing}, program.failures)
    with np.errstate(all="ignore"), interpret.looking(program):
        machine.block(program.body)
    return machine.memory


class Whole(interpret._Machine):
    """All points of a map at once."""

    def block(self, block: Any) -> None:
        for stmt in block:
            if isinstance(stmt, Map):
                self.map(stmt)
            elif isinstance(stmt, Loop) and stmt.parallel and stmt.until is None and not _follows(stmt):
                self.backwards(stmt)
            else:
                interpret._STATEMENTS[type(stmt)](self, stmt)

    def backwards(self, stmt: Loop) -> None:
        """The iterations of a parallel loop, the last one first."""
        r = stmt.range
        outer = self.symbols.get(r.var)
        for p in reversed(range(self.index(r.start), self.index(r.stop), r.step)):
            self.symbols[r.var] = p
            for name in stmt.private:
                self.memory[name][...] = interpret._poison(self.memory[name].dtype)
            self.block(stmt.body)
        self.end_of(r.var, outer)

    def map(self, stmt: Map) -> None:
        if not stmt.domain and len(stmt.body) < 3:
            super().map(stmt)
            return
        points = Points(self, stmt.domain)
        if not points.count:
            return
        for part in stmt.body:
            value = points.value(part.expr)
            if isinstance(part, Let):
                points.locals[part.name] = value
                continue
            target = self.memory[part.array].reshape(-1)
            at = points.flat(part.array, part.index)
            value = np.broadcast_to(np.asarray(value), at.shape)
            if part.op is None:
                target[at] = value.astype(target.dtype)
            else:
                ACCUMULATE[part.op].at(target, at, value.astype(target.dtype))

    def read(self, view: View) -> np.ndarray:
        shape, at = self._seen(view)
        return self.memory[view.array].reshape(-1)[at].reshape(shape).astype(view.dtype)

    def write(self, view: View, value: np.ndarray, add: bool = False) -> None:
        _, at = self._seen(view)
        target = self.memory[view.array].reshape(-1)
        new = np.asarray(value).reshape(-1)
        target[at] = new + target[at] if add else new

    def _seen(self, view: View) -> tuple[tuple[int, ...], np.ndarray]:
        """The shape of a view, and where its elements lie."""
        shape = tuple(self.index(n) for n in view.shape)
        points = Points(self, tuple(Range(axis(k), Ix(()), n) for k, n in enumerate(view.shape)))
        return shape, points.flat(view.array, view.index)


def _follows(stmt: Any) -> bool:
    """Whether a loop inside waits for the iteration before."""
    return any(isinstance(s, Loop) and (s.behind is not None or _follows(s)) for s in stmt.body)


def _always_the_same(r: Range) -> bool:
    return r.start.const is not None and r.stop.const is not None


@lru_cache(maxsize=64)
def _box(domain: tuple[Range, ...]) -> tuple[dict[str, np.ndarray], int]:
    """The variables of a domain whose ends are numbers at its points, and how many these are."""
    ranges = [np.arange(r.start.const, r.stop.const, r.step, dtype=np.int64) for r in domain]
    grids = np.meshgrid(*ranges, indexing="ij") if ranges else []
    return {r.var: g.reshape(-1) for r, g in zip(domain, grids, strict=True)}, math.prod(map(len, ranges))


def _outside(place: Any, extent: int) -> bool:
    """Whether places along a dimension, an array or one number, lie outside of it somewhere."""
    if isinstance(place, np.ndarray) and place.ndim:
        return place.size > 0 and bool(place.min() < 0 or place.max() >= extent)
    return not 0 <= place < extent


class Points:
    """The points of a domain, and values at all of them: arrays of one element per point, or single numbers."""

    def __init__(self, machine: Whole, domain: tuple[Range, ...]) -> None:
        self.machine = machine
        self.locals: dict[str, Any] = {}
        self.env: dict[str, Any] = dict(machine.symbols)
        self.count = 1
        self.variables = [r.var for r in domain]
        if all(_always_the_same(r) for r in domain):
            columns, self.count = _box(domain)
            self.env.update(columns)
        else:
            for k, r in enumerate(domain):
                self._spread(r, self.variables[:k])
        self._known: dict[int, Any] = {}

    def _spread(self, r: Range, outer: list[str]) -> None:
        start, stop = (np.broadcast_to(self.index(i), (self.count,)) for i in (r.start, r.stop))
        trips = np.maximum(0, -((start - stop) // r.step) if r.step > 0 else -((stop - start) // -r.step))
        for name in outer:
            self.env[name] = np.repeat(self.env[name], trips)
        total = int(trips.sum())
        step = np.arange(total) - np.repeat(np.cumsum(trips) - trips, trips)
        self.env[r.var] = np.repeat(start, trips) + r.step * step
        self.count = total

    def only(self, which: np.ndarray) -> Points:
        """Some of the points."""
        part = object.__new__(Points)
        part.machine, part.variables, part.count, part._known = self.machine, self.variables, int(which.sum()), {}
        part.env = {n: v[which] if n in self.variables else v for n, v in self.env.items()}
        part.locals = {n: v[which] if np.shape(v) else v for n, v in self.locals.items()}
        return part

    def index(self, i: Ix) -> Any:
        if i.const is not None:
            return i.const
        total: Any = 0
        for monomial, c in i.terms:
            product: Any = c
            for atom in monomial:
                product = product * (self.env[atom] if isinstance(atom, str) else self._atom(atom))
            total = total + product
        return total

    def _atom(self, atom: Any) -> Any:
        if isinstance(atom, Elem):
            return self.machine.memory[atom.array].reshape(-1)[self.flat(atom.array, atom.parts)].astype(np.int64)
        parts = [self.index(p) for p in atom.parts]
        return atom.value(parts, None) if isinstance(atom, Subscript) else _COMBINE[type(atom)](*parts)

    def flat(self, array: str, index: tuple[Ix, ...]) -> np.ndarray:
        """Where elements lie, one per point. IndexError: outside the array, or where it has no room."""
        shape = self.machine.memory[array].shape
        at = [self.index(i) for i in index]
        if len(at) != len(shape) or self.count and any(_outside(p, n) for p, n in zip(at, shape, strict=True)):
            raise IndexError(f"{array}{list(index)} is outside shape {shape}")
        if array in self.machine.packings:
            for one in zip(*(self._everywhere(p).tolist() for p in at), strict=True):
                self.machine.inside(array, one)
        place: Any = 0
        for p, n in zip(at, shape, strict=True):
            place = place * n + p
        return self._everywhere(place)

    def _everywhere(self, place: Any) -> np.ndarray:
        """One number per point."""
        if isinstance(place, np.ndarray) and place.shape == (self.count,) and place.dtype == np.int64:
            return place
        return np.broadcast_to(np.asarray(place, dtype=np.int64), (self.count,))

    def value(self, e: Expr) -> Any:
        """The value at every point. What is shared is computed once: nothing is stored while an expression is."""
        self._known = {}
        return self._value(e)

    def _value(self, e: Expr) -> Any:
        found = self._known.get(id(e))
        if found is None:
            found = self._known[id(e)] = self._computed(e)
        return found

    def _computed(self, e: Expr) -> Any:
        if isinstance(e, Const):
            return e.dtype.type(e.value)
        if isinstance(e, Index):
            return np.asarray(self.index(e.ix)).astype(e.dtype)[()]
        if isinstance(e, Load):
            return self.machine.memory[e.array].reshape(-1)[self.flat(e.array, e.index)]
        if isinstance(e, Local):
            return self.locals[e.name]
        if e.fn == "select":
            return self._choice(e)
        args = [self._value(a) for a in e.args]
        result = args[0] if e.fn == "cast" else PRIMALS[e.fn](*args)
        return np.asarray(result).astype(e.dtype)[()]

    def _choice(self, e: Call) -> Any:
        """Each branch at the points that take it: elsewhere it may read outside its arrays."""
        test = np.asarray(self._value(e.args[0])).astype(bool)
        if not test.shape or test.all() or not test.any():
            return np.asarray(self._value(e.args[1] if test.all() else e.args[2])).astype(e.dtype)[()]
        out = np.empty(self.count, e.dtype)
        out[test] = self.only(test).value(e.args[1])
        out[~test] = self.only(~test).value(e.args[2])
        return out
