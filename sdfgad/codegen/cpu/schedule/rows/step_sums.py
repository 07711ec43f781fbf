"""Sums that the steps of a loop add to, taken point by point, so that rows run through all steps."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

from sdfgad.codegen.cpu.schedule.rows.scaled_sums import scaled_sums, users_of
from sdfgad.codegen.cpu.schedule.rows.step_scalars import scalars_written_out
from sdfgad.ir import algebra
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import reads, rebuild, statements, writes
from sdfgad.names import fresh
from sdfgad.transform.spelling import sum_along


@dataclass(frozen=True)
class StepSums:
    """A program with sums of points. places: those of the loops that add to them, by the names of the sums; moving: of
    sums that nobody has added up yet, as their places move, a statement that added to the total."""

    program: Program
    places: dict[str, int]
    moving: dict[str, Map]


def sums_by_points(program: Program, places: Collection[int], moving: Collection[int] = ()) -> StepSums:
    """for t: map i: v += f(t, i)   ->   map i: p[i] = 0 ; for t: map i: p[i] += f(t, i) ; map i: v += p[i]

    For loops at these places of the body, where nothing else in the loop looks at v; sums that go into v with a factor
    wait for the end of the loop, and other numbers are computed where they are read. moving: the loops among them where
    the same is done to sums whose place moves, v[t] += f(t, i), only that p stands for them until rows are found.
    """
    program = _without_scalars(program, places)
    arrays, loops, waits = dict(program.arrays), dict[str, int](), dict[str, Map]()
    ahead, body = list[Stmt](), list[Stmt]()
    users = users_of(program) if places else {}
    for k, stmt in enumerate(program.body):
        waiting = scaled_sums(stmt, program, users, k in moving) if k in places and isinstance(stmt, Loop) else None
        if waiting is None:
            body.append(stmt)
            continue
        sums = _sums_of(waiting.loop, arrays, k in moving)
        loops |= dict.fromkeys((s.array.name for s in sums.values()), k)
        waits |= {s.array.name: s.total for s in sums.values() if s.moves}
        ahead += waiting.first
        body += [s.start for s in sums.values()]
        body += rebuild((waiting.loop,), partial(_by_points, sums=sums))
        body += [*(s.end for s in sums.values() if not s.moves), *waiting.last]
    return StepSums(program.but(body=(*ahead, *body), arrays=arrays), loops, waits)


def loops_with_moving_sums(program: Program) -> dict[int, set[str]]:
    """The places of loops that add to elements whose place moves, and the arrays of these."""
    places = [k for k, s in enumerate(program.body) if isinstance(s, Loop) and _in_order(s)]
    made = _without_scalars(program, places)
    users = users_of(made) if places else {}
    loops = {k: scaled_sums(s, made, users, moving=True).loop for k in places if isinstance(s := made.body[k], Loop)}
    found = {k: {part.array for _, part in _alone(loop) if _moves(part)} for k, loop in loops.items()}
    return {k: names for k, names in found.items() if names}


def loops_of_steps(program: Program) -> frozenset[int]:
    """The places of loops that `sums_by_points` changes, be it for sums that stay in their places."""
    places = [k for k, s in enumerate(program.body) if isinstance(s, Loop) and _in_order(s)]
    made = _without_scalars(program, places)
    users = users_of(made) if places else {}

    def adds(loop: Loop) -> bool:
        return any(not _moves(part) for _, part in _alone(scaled_sums(loop, made, users).loop))

    return frozenset(k for k in places if isinstance(s := made.body[k], Loop) and
                     (s is not program.body[k] or adds(s)))


def _without_scalars(program: Program, places: Collection[int]) -> Program:
    """Loops at these places of the body with numbers of a step where they are read."""
    if not places:
        return program
    users = users_of(program)
    return program.but(body=tuple(scalars_written_out(s, program, users) if k in places and isinstance(s, Loop) else s
                                  for k, s in enumerate(program.body)))


def left_alone(program: Program, made: Program, places: Collection[int]) -> set[int]:
    """The loops at these places of a program of which no rows are made."""
    left = {s.range for s in made.body if isinstance(s, Loop) and not s.parallel}
    return {k for k in places if isinstance(s := program.body[k], Loop) and s.range in left}


@dataclass(frozen=True)
class _PointSums:
    """One sum for each point of a box, and a map that adds them to what they are a part of."""

    array: Array
    total: Map

    @property
    def moves(self) -> bool:
        part = self.total.body[0]
        return isinstance(part, Store) and _moves(part)

    @property
    def start(self) -> Map:
        zero = Store(self.array.name, _points(self.total), algebra.zero(self.array.dtype))
        return replace(self.total, body=(zero,))

    @property
    def end(self) -> Map:
        value = Load(self.array.name, _points(self.total), self.array.dtype)
        return replace(self.total, body=(replace(self.total.body[0], expr=value),))


def _points(stmt: Map) -> tuple[Ix, ...]:
    return tuple(ix(r.var) - r.start for r in stmt.domain)


def _in_order(loop: Loop) -> bool:
    """Whether a loop holds nothing but loops, run to their ends one after the other, branches and maps."""
    return all(isinstance(s, (Map, If)) or isinstance(s, Loop) and s.until is None and not s.parallel
               for s in statements((loop,)))


def _moves(part: Store) -> bool:
    """Whether loops or ranges have a say in where a sum goes."""
    return any(i.const is None for i in part.index)


def _alone(loop: Loop) -> Iterator[tuple[Map, Store]]:
    """The sums of a loop into arrays that nothing but sums touches there."""
    found = [(s, part) for s in statements(loop.body) if isinstance(s, Map) and (part := sum_along(s)) is not None]
    touched = Counter(n for s in statements((loop,)) for n in reads(s) | writes(s))
    added = Counter(part.array for _, part in found)
    yield from ((s, part) for s, part in found if touched[part.array] == added[part.array])


def _sums_of(loop: Loop, arrays: dict[str, Array], moving: bool) -> dict[object, _PointSums]:
    """By what they are added to and their box; their arrays are new among `arrays`. moving: those that move, too."""
    sums: dict[object, _PointSums] = {}
    for stmt, part in _alone(loop):
        if _key(stmt, part) not in sums and (moving or not _moves(part)):
            shape = tuple(r.trips or 0 for r in stmt.domain)
            name = fresh(f"{part.array}_points", arrays)
            arrays[name] = Array(name, shape, arrays[part.array].dtype)
            sums[_key(stmt, part)] = _PointSums(arrays[name], stmt)
    return sums


def _key(stmt: Map, part: Store) -> object:
    """Places that move are named by the variables of the map."""
    names = tuple(r.var for r in stmt.domain) if _moves(part) else ()
    return part.array, part.index, tuple((r.start, r.trips) for r in stmt.domain), names


def _by_points(stmt: Stmt, sums: dict[object, _PointSums]) -> Block:
    """v += e   ->   p[i] += e"""
    part = sum_along(stmt)
    own = sums.get(_key(stmt, part)) if isinstance(stmt, Map) and part is not None else None
    if own is None or part is None or not isinstance(stmt, Map):
        return (stmt,)
    return (replace(stmt, body=(replace(part, array=own.array.name, index=_points(stmt)),)),)
