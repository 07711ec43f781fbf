"""Sums of a step that go into a total with a factor: the sums of all steps go into it behind the loop."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, loads, symbols_of
from sdfgad.ir.program import Block, If, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_variables, all_writes, children, expr_reads, reads, rebuild, statements, writes
from sdfgad.transform.clearing.clearings import is_zero
from sdfgad.transform.spelling import only_store, sum_over_all


@dataclass(frozen=True)
class Waiting:
    """A loop whose steps no longer add to totals. first: clearings that come before; last: what the totals get."""

    loop: Loop
    first: Block = ()
    last: Block = ()


def scaled_sums(loop: Loop, program: Program, users: Mapping[str, list[Stmt]], moving: bool = False) -> Waiting:
    """for t: { s = 0 ; map i: s += f(t, i) ; v += s / n }   ->   s = 0 ; for t: map i: s += f(t, i) ; v += s / n

    Where nobody else looks at s, and nothing in the loop looks at v. A factor that the steps decide goes to the terms:
    v += c[t] * s / n   ->   map i: s += c[t] * f(t, i). users: the statements that touch an array. moving: also for
    totals whose place moves, to which terms are added at once: v[t] += c[t] * s   ->   map i: v[t] += c[t] * f(t, i).
    """
    changes: dict[int, Block] = {}
    first: list[Stmt] = []
    last: list[Stmt] = []
    for block, sure in _blocks((loop,), True):
        for k, stmt in enumerate(block):
            found = _sums_into(block, k, sure, loop, program, users)
            if found is None or not isinstance(stmt, Map) or found[0].moves and not moving:
                continue
            changes[id(stmt)] = ()
            for one in found:
                first += [one.clear] if not one.moves else []
                last += [replace(stmt, body=(replace(one.total, expr=one.behind, op="+"),))] if not one.moves else []
                changes[id(one.clear)] = ()
                changes |= {id(m): (one.with_factor(m),) for m in one.sums}
    if not changes:
        return Waiting(loop)
    body = rebuild(loop.body, lambda s: changes.get(id(s), (s,)))
    return Waiting(replace(loop, body=body), tuple(first), tuple(last))


def users_of(program: Program) -> dict[str, list[Stmt]]:
    """The statements that touch an array, by its name."""
    found: dict[str, list[Stmt]] = {}
    for stmt in statements(program.body):
        for name in reads(stmt) | writes(stmt):
            found.setdefault(name, []).append(stmt)
    return found


@dataclass(frozen=True)
class _LinearStep:
    """A function that is linear in its operand at `place`."""

    call: Call
    place: int

    def of(self, e: Expr) -> Expr:
        return Call(self.call.fn, (*self.call.args[:self.place], e, *self.call.args[self.place + 1:]), self.call.dtype)

    @property
    def plain(self) -> bool:
        """Whether it is a function of its operand alone, which is zero at zero."""
        others = [a.value if isinstance(a, Const) else np.nan for k, a in enumerate(self.call.args) if k != self.place]
        return all(np.isfinite(v) and (v != 0 or self.call.fn != "div") for v in others)

    def steady(self, written: Collection[str], variables: Collection[str]) -> bool:
        """Whether it is the same for all these variables, and once these arrays are written."""
        others = [a for k, a in enumerate(self.call.args) if k != self.place]
        return all(expr_reads(a).isdisjoint(written) and symbols_of(a).isdisjoint(variables) for a in others)


def _of_all(steps: tuple[_LinearStep, ...], e: Expr) -> Expr:
    """The last one first."""
    for step in reversed(steps):
        e = step.of(e)
    return e


@dataclass(frozen=True)
class _StepSum:
    """A sum of a step, its clearing, and the total that it goes into by two linear functions: `ahead` of each term, and
    `behind` of the sum of all steps."""

    clear: Map
    sums: tuple[Map, ...]
    total: Store
    behind: Expr
    ahead: tuple[_LinearStep, ...]

    def with_factor(self, stmt: Map) -> Map:
        part = only_store(stmt)
        assert part is not None
        into = self.total if self.moves else part
        term = _of_all(self.ahead, part.expr)
        return replace(stmt, body=(replace(part, array=into.array, index=into.index, expr=term),))

    @property
    def moves(self) -> bool:
        """Whether the place of the total is another one in each step."""
        return any(i.const is None for i in self.total.index)


def _blocks(block: Block, sure: bool) -> Iterator[tuple[Block, bool]]:
    """The blocks inside of a block, and whether they surely run; none of loops that may have no iteration."""
    for stmt in block:
        if isinstance(stmt, Loop) and stmt.range.trips or isinstance(stmt, If):
            for inner in children(stmt):
                always = sure and isinstance(stmt, Loop)
                yield inner, always
                yield from _blocks(inner, always)


def _sums_into(block: Block, k: int, sure: bool, loop: Loop, program: Program, users: Mapping[str, list[Stmt]]
               ) -> list[_StepSum] | None:
    """The sums that the statement at place k adds to a total, if that is all it does, and all that is done there."""
    stmt = block[k]
    total = only_store(stmt) if isinstance(stmt, Map) and not stmt.domain else None
    terms = None if total is None else _added(total)
    if total is None or not terms or any(i.elems for i in total.index):
        return None
    inside = {id(s) for s in statements((loop,))}
    if not all(_only_adds(s, total.array) for s in users[total.array] if id(s) in inside):
        return None
    found = [_scaled(block[:k], part, sure, total, loop, program, users) for part in terms]
    known = [one for one in found if one is not None]
    # A sum in two terms has a factor in each, and its own terms take one only.
    return known if len({id(one.clear) for one in known}) == len(found) else None


def _only_adds(stmt: Stmt, name: str) -> bool:
    if not isinstance(stmt, Map):
        return False
    others = tuple(p for p in stmt.body if not (isinstance(p, Store) and p.array == name and _added(p) is not None))
    return name not in reads(replace(stmt, body=others)) | writes(replace(stmt, body=others))


def _added(part: Store) -> list[Expr] | None:
    """The terms that a store adds to what was there; v = v + a + b counts."""
    terms = list(_terms(part.expr))
    own = Load(part.array, part.index, part.expr.dtype)
    if part.op is None and terms.count(own) == 1:
        terms.remove(own)
    elif part.op != "+":
        return None
    looked_up = {e.array for i in part.index for e in i.elems}
    return None if part.array in looked_up.union(*map(expr_reads, terms)) else terms


def _terms(e: Expr) -> Iterator[Expr]:
    """c * (a + b) - d   ->   c * a, c * b, -d"""
    if not isinstance(e, Call) or e.fn not in ("add", "sub", "neg", "mul", "div"):
        yield e
        return
    place = next((k for k, a in enumerate(e.args) if isinstance(a, Call) and a.fn in ("add", "sub")), None)
    if e.fn in ("add", "sub"):
        yield from _terms(e.args[0])
        yield from (algebra.neg(t) if e.fn == "sub" else t for t in _terms(e.args[1]))
    elif e.fn == "neg":
        yield from map(algebra.neg, _terms(e.args[0]))
    elif place is not None and (e.fn == "mul" or place == 0):
        yield from (part for t in _terms(e.args[place]) for part in _terms(_LinearStep(e, place).of(t)))
    else:
        yield e


def _scaled(before: Block, e: Expr, sure: bool, total: Store, loop: Loop, program: Program,
            users: Mapping[str, list[Stmt]]) -> _StepSum | None:
    """What a term of a total is made of, where it is a sum with a factor. Where nothing is sure to be added, numbers
    alone wait: zero times what data decide need not be zero."""
    steps, variables = all_writes(loop.body), all_variables((loop,))
    for load in loads(e):
        made, path = _made(before, load, program, users), _path(e, load)
        if not made or path is None:
            continue
        late = next((k for k, step in enumerate(path) if not step.steady(steps, variables)), len(path))
        behind, ahead = path[:late], path[late:]
        if any(i.const is None for i in total.index):
            behind, ahead = (), path
        elif not sure:
            behind, ahead = tuple(s for s in path if s.plain), tuple(s for s in path if not s.plain)
        first = next(k for k, s in enumerate(before) if s is made[1])
        between = all_writes(before[first:])
        if all(step.call.fn != "div" and step.steady(between, ()) for step in ahead):
            return _StepSum(made[0], tuple(made[1:]), total, _of_all(behind, load), ahead)
    return None


def _made(before: Block, load: Load, program: Program, users: Mapping[str, list[Stmt]]) -> list[Map]:
    """The statements of a block that clear a number and add sums to it, in order, if only one more looks at it."""
    array, touching = program.arrays[load.array], users[load.array]
    made = [s for s in before if isinstance(s, Map) and any(s is t for t in touching)]
    if array.shape or array.role != "transient" or array.dtype.kind not in "fc" or array.name in program.live_out or \
            not 2 <= len(made) == len(touching) - 1:
        return []
    zero, sums = only_store(made[0]), [sum_over_all(s) for s in made[1:]]
    clears = zero is not None and not made[0].domain and is_zero(zero)
    return made if clears and all(p is not None and p.array == array.name for p in sums) else []


def _path(e: Expr, load: Load) -> tuple[_LinearStep, ...] | None:
    """The functions around a load, from outside, where they are linear in it."""
    steps: list[_LinearStep] = []
    while e != load:
        holding = [k for k, a in enumerate(e.args) if load in loads(a)] if isinstance(e, Call) else []
        if not isinstance(e, Call) or len(holding) != 1 or e.dtype != load.dtype or \
                e.fn not in ("mul", "neg", "div") or e.fn == "div" and holding != [0]:
            return None
        steps.append(_LinearStep(e, holding[0]))
        e = e.args[holding[0]]
    return tuple(steps)
