"""Loops whose iterations are independent become maps.

A loop is converted whole or left as it is: its body is split into one map per statement (`parallelise`), after the
temporaries that tie the statements together have been written straight to where they go
(`transform/normal/temporaries.py`).
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sdfgad.analysis.elements.access import extent_bound, interval_env, overlap_in
from sdfgad.analysis.elements.dependence import READ, Edge, edges, order, touches
from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load, loads, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Let, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import (
    all_writes,
    children,
    map_stmt_indices,
    range_elems,
    reads,
    rebuild,
    statements,
    with_children,
    writes,
)
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds
from sdfgad.transform.normal.numbered_scalars import number_scalars
from sdfgad.transform.normal.temporaries import Body, LoopScope, settle, settle_sums, without_own_ends
from sdfgad.transform.normal.wide_sums import version_wide_sums
from sdfgad.transform.spelling import as_maps


def parallelise(program: Program) -> Program:
    """for i: { B[i] += A[i] ; y[i] = x[i] + x[i + 1] }   ->   map i: B[i] += A[i] ; map i: y[i] = x[i] + x[i + 1]

    For loops whose iterations may run in any order, sums aside, and whose statements may run one after the other for
    all iterations. Elements that only later iterations overwrite are read from a copy made before the loop:

    for i: B[i] += B[i + 1]   ->   B_old = B ; map i: B[i] += B_old[i + 1]

    Where the scalars of an iteration are all that keeps a loop as it is, they are numbered (`numbered_scalars.py`).
    Loops that stay loops add their sums straight to where these go, if each iteration makes the temporary afresh:

    for j: { t = 0 ; map d = 0:j: t += a[d, j] * x[d] ; x[j] = x[j] - t ; x[j] = x[j] / p[j] }
    ->   for j: { map d = 0:j: x[j] += -(a[d, j] * x[d]) ; x[j] = x[j] / p[j] }
    """
    return _split_loops(number_scalars(_split_loops(program), _split_loops), True)


def _split_loops(program: Program, in_place: bool = False) -> Program:
    """The program with maps for the loops that can be split. in_place: and sums where they go in the others, which has
    to come last, as factors of a sum that is put in place become factors of its terms."""
    work = _Paralleliser(program, program.live_out, in_place)
    body = work.block(program.body, ())
    return work.program(body) if work.changed else program


class _Paralleliser:
    def __init__(self, program: Program, seen: frozenset[str], in_place: bool) -> None:
        self.before = program
        self.in_place = in_place
        self.arrays = dict(program.arrays)
        self.seen = seen
        self.readers = _readers(program.body)
        self.changed = False

    def program(self, body: Block) -> Program:
        """The program without the temporaries that lost their purpose."""
        idle = {n for n, a in self.arrays.items()
                if a.role == "transient" and n not in self.seen and not self.readers[n]}
        body = _without(body, idle - _used_by_control(body))
        used = {n for s in statements(body) for n in reads(s) | writes(s)} | self.seen | _used_by_control(body)
        kept = {n: a for n, a in self.arrays.items() if n in used or n in self.before.arrays and n not in idle}
        return self.before.but(body=body, arrays=kept)

    def block(self, block: Block, path: tuple[Range, ...]) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt, path))

    def statement(self, stmt: Stmt, path: tuple[Range, ...]) -> Block:
        if not children(stmt):
            return (stmt,)
        inside = (*path, stmt.range) if isinstance(stmt, Loop) else path
        stmt = with_children(stmt, [self.block(b, inside) for b in children(stmt)])
        made = (self.loop(stmt, inside) or self.in_order(stmt, inside)) if isinstance(stmt, Loop) else None
        if made is None:
            return (stmt,)
        self.changed = True
        self.readers += _readers(made)
        self.readers -= _readers((stmt,))
        return made

    def loop(self, stmt: Loop, inside: tuple[Range, ...]) -> Block | None:
        """The maps a loop becomes, or None."""
        maps = [as_maps(s, self.arrays, inside) for s in stmt.body]
        if stmt.until or None in maps or _changes_own_bounds(stmt):
            return None
        scope = self.scope(stmt, inside)
        body = settle([m for found in maps for m in found or ()], scope)
        if len(body) > thresholds().parallel_statements:
            return None
        made = self.split(body, inside)
        return self.split_with_versions(body, scope) if made is None else made

    def in_order(self, stmt: Loop, inside: tuple[Range, ...]) -> Block | None:
        """A loop that stays one with its sums in place; None where there are none."""
        maps = [s for s in stmt.body if isinstance(s, Map)]
        if not self.in_place or stmt.until or not len(stmt.body) == len(maps) <= thresholds().summed_statements:
            return None
        made = tuple(settle_sums(maps, self.scope(stmt, inside)))
        return None if made == stmt.body else (replace(stmt, body=made),)

    def scope(self, stmt: Loop, inside: tuple[Range, ...]) -> LoopScope:
        """A loop's body, with the temporaries that nobody else reads."""
        here, ends = _readers(stmt.body), {e.array for e in range_elems(stmt.range)}
        private = frozenset(n for n in all_writes(stmt.body) - ends if self.arrays[n].role == "transient"
                            and n not in self.seen and here[n] == self.readers[n])
        return LoopScope(self.arrays, private, inside)

    def split(self, body: Sequence[Map], inside: tuple[Range, ...]) -> Block | None:
        """One map per statement, in an order that keeps every dependence."""
        if any(_in_order(p, s, inside[-1].var) for s in body for p in s.body):
            return None
        found = edges(body, inside)
        places = order(len(body), found)
        return self.split_with_copies(body, found, inside) if places is None else _split(body, places, inside)

    def split_with_versions(self, body: Body, scope: LoopScope) -> Block | None:
        """One map per statement after sums in a wider type have got an element for each iteration."""
        found = version_wide_sums(body, scope)
        made = None if found is None else self.split(found[0], scope.path)
        if found is not None and made is not None:
            self.arrays.update(found[1])
        return made

    def split_with_copies(self, body: Sequence[Map], found: list[Edge], path: tuple[Range, ...]) -> Block | None:
        """One map per statement after reads of what only later iterations overwrite have been sent to copies."""
        if len(path) > 1:
            return None
        stale = sorted(_only_overwritten_later(body, found))
        if not stale or any(self.arrays[n].bytes > _touched_bytes(body, path, self.arrays[n]) for n in stale):
            return None
        names = {n: fresh(f"{n}_old", set(self.arrays)) for n in stale}
        old = [_reading(stmt, names) for stmt in body]
        places = order(len(old), edges(old, path))
        split = None if places is None else _split(old, places, path)
        if split is None:
            return None
        for n, copy in names.items():
            self.arrays[copy] = Array(copy, self.arrays[n].shape, self.arrays[n].dtype, source=body[0].source)
        copies = [_copy(self.arrays[n], copy, body[0]) for n, copy in names.items()]
        return (*copies, *split)


def _readers(block: Block) -> Counter[str]:
    return Counter(n for s in statements(block) for n in reads(s))


def _in_order(part: Let | Store, stmt: Map, var: str) -> bool:
    """Whether every iteration stores to the same elements, or multiplies, so that the order decides the result.

    The winner of a minimum or maximum does not depend on the order, who shares its cotangent in a tie does.
    """
    if not isinstance(part, Store) or part.op == "+":
        return False
    places = (*part.index, *(bound for r in stmt.domain for bound in (r.start, r.stop)))
    return part.op == "*" or not any(var in i.symbols for i in places)


def _changes_own_bounds(stmt: Loop) -> bool:
    return not all_writes(stmt.body).isdisjoint(e.array for e in range_elems(stmt.range))


def _split(body: Sequence[Map], places: Sequence[int], path: tuple[Range, ...]) -> Block | None:
    """One map per statement; None when one of them could not be transposed in place."""
    made = tuple(_widened(body[k], path[-1]) for k in places)
    return None if any(_reads_its_target(s, path[:-1]) for s in made) else made


def _reads_its_target(stmt: Map, path: tuple[Range, ...]) -> bool:
    """Whether a map may read an element it writes, other than the very one each point writes."""
    known = touches(stmt, path)
    own = {(p.array, p.index) for p in stmt.body if isinstance(p, Store) and p.op is None}
    return any(overlap_in(r.access, w.access, len(path)) for r in known for w in known
               if r.how == READ != w.how and r.access.array == w.access.array
               and (r.access.array, r.access.index) not in own)


def _widened(stmt: Map, r: Range) -> Map:
    """The statement for every iteration of a loop: one more range, counting upwards."""
    inside = {v.var for v in stmt.domain}
    var = fresh(r.var, inside) if r.var in inside else r.var
    start, stop, now = r.start, r.stop, ix(var)
    if r.step == -1:
        start, stop = r.stop + 1, r.start + 1
    elif r.step != 1:
        start, now = ix(0), r.start + ix(var) * r.step
        stop = (r.stop - r.start + (r.step - (1 if r.step > 0 else -1))) // r.step
    if now != ix(r.var):
        stmt = Map(*_renamed(stmt, {r.var: now}))
    return without_own_ends(_upright(replace(stmt, domain=(Range(var, start, stop), *stmt.domain))))


def _upright(stmt: Map) -> Map:
    """map i, d = 0:n - i: y[d + i] = x[d + i]   ->   map i, d = i:n: y[d] = x[d]

    By variables of ranges further out only: a range may not depend on those inside.
    """
    for k, r in enumerate(stmt.domain):
        shifts = {i - r.var for i in _indices(stmt) if r.var in i.symbols and i.coefficient(r.var) == 1}
        crooked = any(r.var in i.symbols and i.coefficient(r.var) != 1 for i in _indices(stmt))
        shift = next(iter(shifts), ix(0))
        if len(shifts) != 1 or crooked or shift.affine is None or shift.symbols.isdisjoint(o.var for o in stmt.domain) \
                or not shift.symbols.isdisjoint(o.var for o in stmt.domain[k:]):
            continue
        # The variables of the shift are those of this very map: they stay what they are.
        at = {r.var: ix(r.var) - shift}
        _, body, source = _renamed(replace(stmt, domain=()), at)
        moved = replace(r, start=r.start + shift, stop=r.stop + shift)
        inside = (replace(o, start=o.start.subs(at), stop=o.stop.subs(at)) for o in stmt.domain[k + 1:])
        stmt = Map((*stmt.domain[:k], moved, *inside), body, source)
    return stmt


def _renamed(stmt: Map, names: dict[str, Ix]) -> tuple[tuple[Range, ...], tuple[Let | Store, ...], SourceLine | None]:
    """The map in terms of other values of its own variables."""
    made = map_stmt_indices(stmt, lambda i: i.subs(names))
    if not isinstance(made, Map):
        raise TypeError("renaming changes no statement into another")
    return made.domain, made.body, made.source


def _indices(stmt: Map) -> list[Ix]:
    """Every index expression of a map's body, and the bounds of its ranges."""
    found: list[Ix] = []

    def note(i: Ix) -> Ix:
        found.append(i)
        return i

    map_stmt_indices(stmt, note)
    return found


def _only_overwritten_later(body: Sequence[Map], found: Sequence[Edge]) -> set[str]:
    """Arrays some read of which is overwritten later on and was not written before."""
    fed = {(e.after, e.second.access.array, e.second.access.index) for e in found
           if e.first.how != READ and e.second.how == READ}
    held = {(e.before, e.first.access.array, e.first.access.index) for e in found
            if e.first.how == READ and e.carried}
    return {array for _, array, _ in held - fed if not any(f[1] == array for f in fed)}


def _reading(stmt: Map, names: dict[str, str]) -> Map:
    """The statement with the loads of some arrays sent to others."""

    def one(n: object) -> Load | None:
        return Load(names[n.array], n.index, n.dtype) if isinstance(n, Load) and n.array in names else None

    body = tuple(replace(p, expr=rewrite(p.expr, one)) for p in stmt.body)
    return replace(stmt, body=body)


def _copy(array: Array, name: str, stmt: Map) -> Map:
    """`name[...] = array[...]`, all of it."""
    domain, at = array.whole.points()
    return Map(domain, (Store(name, at, Load(array.name, at, array.dtype)),), stmt.source)


def _touched_bytes(body: Sequence[Map], path: Sequence[Range], array: Array) -> int:
    """A bound on what the loop reads and writes of an array, every time it does."""
    total = 0
    for stmt in body:
        uses = sum(n.array == array.name for p in stmt.body for n in loads(p.expr))
        uses += sum(isinstance(p, Store) and p.array == array.name for p in stmt.body)
        env = interval_env((*path, *stmt.domain))
        points = math.prod(extent_bound(r, env) or 0 for r in (path[-1], *stmt.domain))
        total += uses * points * array.dtype.itemsize
    return total


def _used_by_control(body: Block) -> set[str]:
    found = set()
    for s in statements(body):
        found |= {n for n in (getattr(s, "until", None), getattr(s, "trips", None), getattr(s, "flag", None)) if n}
    return found


def _without(body: Block, idle: set[str]) -> Block:
    """The statements that write something other than idle arrays."""

    def change(stmt: Stmt) -> Block:
        if not isinstance(stmt, Map):
            return (stmt,)
        kept = tuple(p for p in stmt.body if isinstance(p, Let) or p.array not in idle)
        return (replace(stmt, body=kept),) if any(isinstance(p, Store) for p in kept) else ()

    return rebuild(body, change)
