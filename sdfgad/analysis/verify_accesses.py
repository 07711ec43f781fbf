"""Which elements a program touches, at chosen points: an index outside its array, iterations that meet.

Every fault has a witness, a point of the iteration space at which the indices were computed as numbers: nothing is
reported that does not happen. An affine index over a box leaves its array at a corner if anywhere; for what depends on
data, and for what data decide to run, nothing is said.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from sdfgad.analysis.sure_accesses import READ, WRITTEN, surely_inside, surely_separate, touched
from sdfgad.ir.expr import Call, Const, Expr, Index, Load
from sdfgad.ir.index import Ix
from sdfgad.ir.messages import is_finish
from sdfgad.ir.primal import PRIMALS
from sdfgad.ir.program import (
    FAILED,
    ORDER,
    Array,
    Block,
    If,
    Lib,
    Loop,
    Map,
    Program,
    Range,
    Stmt,
    Store,
    View,
    While,
    axis,
)
from sdfgad.ir.verify import Fault
from sdfgad.ir.walk import children, expr_reads, reads, statements, within, writes

Env: TypeAlias = Mapping[str, int]
Element: TypeAlias = tuple[str, tuple[int, ...]]
Guards: TypeAlias = tuple[tuple[Expr, bool], ...]
Chosen: TypeAlias = Callable[[range], tuple[int, ...]]
"""Some of the numbers that a range runs through."""
MOST_POINTS = 256
"""Points at which one statement is looked at."""
MOVES = 2
"""Ranges in which two points of a map that are compared with the first one differ from it."""
MOST_ELEMENTS = 1 << 12
"""Elements of an operand that are compared with those of others, one by one."""


class Unsettled(LookupError):
    """What decides an index or a condition is not known here."""


def access_faults(program: Program) -> Iterator[Fault]:
    """Elements outside their arrays, maps and parallel loops whose iterations meet, operands that overlap."""
    yield from _Places(program).block(program.body, (), ())
    alone = [(s, name) for s in statements(program.body) if isinstance(s, Loop) for name in s.private]
    outside = _touched_outside(program.body, frozenset()) if alone else set()
    for stmt, name in alone:
        if name in outside:
            yield Fault("private", f"{name} is private here, and others touch it", stmt)


def _touched_outside(block: Block, private: frozenset[str]) -> set[str]:
    """Arrays touched where they belong to no iteration alone."""
    found: set[str] = set()
    for stmt in block:
        inside = private | frozenset(stmt.private) if isinstance(stmt, Loop) else private
        found |= (reads(stmt) | writes(stmt)) - private
        for inner in children(stmt):
            found |= _touched_outside(inner, inside)
    return found


@dataclass
class _Places:
    """A walk through the program. Known constants decide what they can."""

    program: Program
    sure: bool = field(init=False)
    constants: _Constants = field(init=False)

    def __post_init__(self) -> None:
        # Behind what may raise an exception nothing is sure to run.
        self.sure = not self.program.failures
        constants = self.program.constants
        self.constants = _Constants({n: constants[n] for n in constants if n not in self.program.live})

    def block(self, block: Block, path: tuple[Range, ...], guards: Guards) -> Iterator[Fault]:
        for stmt in block:
            yield from self.statement(stmt, path, guards)

    def statement(self, stmt: Stmt, path: tuple[Range, ...], guards: Guards) -> Iterator[Fault]:
        """Most passes leave most statements where they were: those have been looked at, with all that is in them."""
        around, kept = (path, guards, self.sure), stmt.__dict__.get("_sound")
        if kept is not None and kept.around == around and kept.holds(self.program.arrays, self.constants.values):
            return
        names = self._named(stmt, path, guards)
        arrays = tuple(self.program.arrays[n] for n in sorted(names) if n in self.program.arrays)
        if isinstance(stmt, Map) and _sound(stmt, path, guards, self.sure, arrays, self.constants.of(names)):
            found = []
        else:
            found = list(self._faults(stmt, path, guards))
        yield from found
        if not found:
            values = {n: self.constants.values.get(n) for n in names}
            object.__setattr__(stmt, "_sound", _FoundSound(around, arrays, values))

    def _faults(self, stmt: Stmt, path: tuple[Range, ...], guards: Guards) -> Iterator[Fault]:
        look = _Look(self.program.arrays, self.constants.known)
        if isinstance(stmt, (Map, Lib)):
            yield from look.statement(stmt, path, guards, self.sure)
        elif isinstance(stmt, If):
            yield from self.block(stmt.then, path, (*guards, (stmt.cond, True)))
            yield from self.block(stmt.orelse, path, (*guards, (stmt.cond, False)))
        elif isinstance(stmt, Loop):
            waits = any(isinstance(s, Loop) and s.behind for s in statements(stmt.body))
            if stmt.parallel and not waits:
                yield from look.parallel(stmt, path, guards)
            yield from self._unsure(stmt, (*path, stmt.range), guards, stmt.until is None)
        elif isinstance(stmt, While):
            yield from self._unsure(stmt, path, guards, False)

    def _named(self, stmt: Stmt, path: tuple[Range, ...], guards: Guards) -> set[str]:
        """The arrays that a statement and what is around it name."""
        names = {e.array for r in path for i in (r.start, r.stop) for e in i.elems}
        names.update(*within(stmt), (n for cond, _ in guards for n in expr_reads(cond)))
        return names

    def _unsure(self, stmt: Loop | While, path: tuple[Range, ...], guards: Guards, sure: bool) -> Iterator[Fault]:
        """What is in a loop; data decide how often it runs unless that is `sure`."""
        before, self.sure = self.sure, self.sure and sure
        yield from self.block(stmt.body, path, guards)
        self.sure = before


@dataclass(frozen=True)
class _FoundSound:
    """Where a statement has been found to break no rule; kept with it, as statements never change."""

    around: tuple[tuple[Range, ...], Guards, bool]
    arrays: tuple[Array, ...]
    values: Mapping[str, np.ndarray | None]

    def holds(self, arrays: Mapping[str, Array], constants: Mapping[str, np.ndarray]) -> bool:
        """Whether all that the statement and what is around it name is the very same."""
        return (all(arrays.get(a.name) is a for a in self.arrays)
                and all(constants.get(n) is v for n, v in self.values.items()))


class _Constants:
    """Arrays whose contents are known: the same as others if they are the very same objects."""

    def __init__(self, values: Mapping[str, np.ndarray]) -> None:
        self.values = values
        self._key = frozenset((n, id(v)) for n, v in values.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constants) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def of(self, names: Collection[str]) -> _Constants:
        return _Constants({n: v for n, v in self.values.items() if n in names})

    def known(self, array: str, at: tuple[int, ...]) -> int:
        """An element."""
        value = self.values.get(array)
        if value is None or len(at) != value.ndim or any(not 0 <= p < n for p, n in zip(at, value.shape, strict=True)):
            raise Unsettled(array)
        return int(value[at])


@lru_cache(maxsize=1 << 14)
def _sound(stmt: Map, path: tuple[Range, ...], guards: Guards, sure: bool, arrays: tuple[Array, ...],
           constants: _Constants) -> bool:
    """The same for maps that are equal: passes make some of them again."""
    look = _Look({a.name: a for a in arrays}, constants.known)
    return next(look.statement(stmt, path, guards, sure), None) is None


@dataclass(frozen=True)
class _Look:
    """One statement at chosen points."""

    arrays: Mapping[str, Array]
    read: Callable[[str, tuple[int, ...]], int]

    def statement(self, stmt: Map | Lib, path: tuple[Range, ...], guards: Guards, sure: bool) -> Iterator[Fault]:
        inside = not sure or surely_inside(stmt, path, self.arrays)
        if inside and surely_separate(stmt):
            return
        around = list(islice(self.points(path, {}, guards, _ends), MOST_POINTS))
        if not inside:
            yield from islice((f for env in around for f in self.outside(stmt, env)), 1)
        first_and_last = around[:1] + around[-1:] if len(around) > 1 else around
        for env in first_and_last:
            found = self.independent(stmt, env) if isinstance(stmt, Map) else self.apart(stmt, env)
            yield from islice(found, 1)

    def number(self, i: Ix, env: Env) -> int:
        return i.evaluate(env, self.read)

    def points(self, ranges: tuple[Range, ...], env: Env, guards: Guards, chosen: Chosen,
               moves: int = MOST_POINTS) -> Iterator[dict[str, int]]:
        """Points of the ranges at which the guards hold; none where data decide. moves: ranges that may be elsewhere
        than at their first number."""
        if not ranges:
            if self.holds(guards, env):
                yield dict(env)
            return
        r, rest = ranges[0], ranges[1:]
        try:
            values = range(self.number(r.start, env), self.number(r.stop, env), r.step)
        except LookupError:
            return
        for k, value in enumerate(chosen(values)[:None if moves else 1]):
            yield from self.points(rest, {**env, r.var: value}, guards, chosen, moves - bool(k))

    def holds(self, guards: Guards, env: Env) -> bool:
        try:
            return all(bool(self.value(cond, env)) == truth for cond, truth in guards)
        except LookupError:
            return False

    def value(self, e: Expr, env: Env) -> Any:
        """The number an expression stands for, if indices and constants decide it."""
        if isinstance(e, Const):
            return e.dtype.type(e.value)
        if isinstance(e, Index):
            return e.dtype.type(self.number(e.ix, env))
        if isinstance(e, Load) and self.arrays[e.array].dtype.kind in "iub":
            return e.dtype.type(self.read(e.array, tuple(self.number(i, env) for i in e.index)))
        if not isinstance(e, Call) or e.fn == "cast":
            raise Unsettled
        if e.fn == "select":
            return self.value(e.args[1] if self.value(e.args[0], env) else e.args[2], env)
        with np.errstate(all="ignore"):
            return PRIMALS[e.fn](*(self.value(a, env) for a in e.args))

    # inside the array

    def outside(self, stmt: Map | Lib, env: Env) -> Iterator[Fault]:
        for name, at, point in self.touched_at_ends(stmt, env):
            array = self.arrays[name]
            if len(at) == len(array.shape) and (any(not 0 <= p < n for p, n in zip(at, array.shape, strict=True)) or
                                                array.packing is not None and not array.packing.holds(at)):
                yield Fault("inside", f"{name}{list(at)} lies outside {list(array.shape)}"
                            f"{' packed' if array.packing else ''} at {_point(point)}", stmt)

    def touched_at_ends(self, stmt: Map | Lib, env: Env) -> Iterator[tuple[str, tuple[int, ...], Env]]:
        if isinstance(stmt, Map):
            for here in islice(self.points(stmt.domain, env, (), _ends), MOST_POINTS):
                yield from ((name, at, here) for _, (name, at) in self.of_map(stmt, here))
            return
        for view in (*stmt.ins, *stmt.outs):
            for point, (name, at) in self.of_view(view, env, _ends):
                yield name, at, point

    def of_map(self, stmt: Map, point: Env) -> Iterator[tuple[str, Element]]:
        """What the body does at one point, whatever is chosen."""
        for how, name, index in touched(stmt):
            yield from self.element(how, name, index, point)

    def element(self, how: str, name: str, index: tuple[Ix, ...], point: Env) -> Iterator[tuple[str, Element]]:
        try:
            yield how, (name, tuple(self.number(i, point) for i in index))
        except LookupError:
            return

    def of_view(self, view: View, env: Env, chosen: Chosen) -> Iterator[tuple[Env, Element]]:
        domain = tuple(Range(axis(k), n - n, n) for k, n in enumerate(view.shape))
        for point in islice(self.points(domain, env, (), chosen), MOST_ELEMENTS):
            for _, element in self.element(READ, view.array, view.index, point):
                yield point, element

    # independent of each other

    def independent(self, stmt: Map, env: Env) -> Iterator[Fault]:
        """Iterations of a map neither read nor replace what others write; they may add to the same element."""
        written = {p.array for p in stmt.body if isinstance(p, Store)}
        if not stmt.domain or not written:
            return
        points = list(islice(self.points(stmt.domain, env, (), _few, MOVES), MOST_POINTS))
        mine = [[(how, e) for how, e in self.of_map(stmt, p) if e[0] in written] for p in points]
        yield from (Fault("independent", what, stmt) for what in _meetings(points, mine))

    def apart(self, stmt: Lib, env: Env) -> Iterator[Fault]:
        """Results lie where no operand does, but for what keeps messages and calls of Python in turn, and for what is
        under way."""
        if is_finish(stmt):
            return
        inputs = {v.array for v in stmt.ins}
        for out in stmt.outs:
            if out.array not in inputs or out.array in (FAILED, ORDER):
                continue
            written = {e for _, e in self.of_view(out, env, _all)}
            for view in stmt.ins:
                met = written & {e for _, e in self.of_view(view, env, _all)} if view.array == out.array else set()
                if met:
                    name, at = min(met)
                    yield Fault("operands", f"{name}{list(at)} is an operand of {stmt.op} and its result", stmt)

    def parallel(self, stmt: Loop, path: tuple[Range, ...], guards: Guards) -> Iterator[Fault]:
        """Iterations of a parallel loop touch nothing that others write, what is private aside."""
        for env in islice(self.points(path, {}, guards, _ends), 1):
            turns = list(self.points((stmt.range,), env, (), _few))
            mine = [[(how, e) for how, e in self.of_block(stmt.body, turn, frozenset(stmt.private))] for turn in turns]
            yield from (Fault("independent", what, stmt) for what in islice(_meetings(turns, mine, exclusive=True), 1))

    def of_block(self, block: Block, env: Env, private: frozenset[str]) -> Iterator[tuple[str, Element]]:
        """What statements touch in one iteration, at a few points."""
        for stmt in block:
            if isinstance(stmt, Map):
                for point in islice(self.points(stmt.domain, env, (), _few, MOVES), MOST_POINTS):
                    yield from (t for t in self.of_map(stmt, point) if t[1][0] not in private)
            elif isinstance(stmt, Lib):
                for view in stmt.ins:
                    yield from ((READ, e) for _, e in self.of_view(view, env, _few) if e[0] not in private)
                for view in stmt.outs:
                    yield from ((WRITTEN, e) for _, e in self.of_view(view, env, _few) if e[0] not in private)
            elif isinstance(stmt, Loop) and stmt.until is None:
                for point in self.points((stmt.range,), env, (), _few):
                    yield from self.of_block(stmt.body, point, private | frozenset(stmt.private))
            elif isinstance(stmt, If):
                for inner, truth in zip(children(stmt), (True, False), strict=True):
                    if self.holds(((stmt.cond, truth),), env):
                        yield from self.of_block(inner, env, private)


def _meetings(points: list[dict[str, int]], touched: list[list[tuple[str, Element]]],
              exclusive: bool = False) -> Iterator[str]:
    """Elements that one iteration writes and another one touches. exclusive: adding counts as writing."""
    writer: dict[Element, int] = {}
    for k, mine in enumerate(touched):
        for how, e in mine:
            if how != READ and writer.setdefault(e, k) != k and (how == WRITTEN or exclusive):
                yield f"{e[0]}{list(e[1])} is written at {_point(points[writer[e]])} and at {_point(points[k])}"
    for k, mine in enumerate(touched):
        for how, e in mine:
            if how == READ and writer.get(e, k) != k:
                yield f"{e[0]}{list(e[1])} is written at {_point(points[writer[e]])} and read at {_point(points[k])}"


def _ends(values: range) -> tuple[int, ...]:
    return tuple(dict.fromkeys((values[0], values[-1]))) if values else ()


def _few(values: range) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*values[:2], *values[-1:])))


def _all(values: range) -> tuple[int, ...]:
    return tuple(values)


def _point(env: Env) -> str:
    return ", ".join(f"{v} = {n}" for v, n in env.items()) or "the one point there is"


