"""Records of an array that a loop updates by cheap terms: every other one is kept, those between are updated again."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local, call, loads, map_indices, rewrite, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, If, Let, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, in_terms_of, rename_symbols, statements, writes
from sdfgad.thresholds import thresholds

_CHEAP = frozenset(("add", "sub", "mul", "neg"))
_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)


@dataclass(frozen=True)
class _Recorded:
    """`record: tape[...] = a[p] ; a[p] += term` as the loop `ahead` does it for every element."""

    ahead: Loop
    stmt: Map
    record: Store
    update: Store


@dataclass(frozen=True)
class _RecordPair:
    """A record and the map that reads it in the loop `back`; `again`: the update in the terms of that map."""

    made: _Recorded
    back: Loop
    reader: Map
    again: Store


def thin_tapes(program: Program, least: int | None = None) -> Program:
    """for u in a:b: map x in D(u): { tape[u, x] = A[x] ; A[x] += e(u, x) } ... for u in reversed(a:b): f(tape[u, x])

    ->  for u in a:b: map x in D(u): { if u - a is even: tape[u, x] = A[x] ; A[x] += e(u, x) } ...
        for u in reversed(a:b): f(tape[u, x] if u - a is even, else tape[u - 1, x] + e(u - 1, x))

    for tapes of at least so many bytes. D(u + 1) lies in D(u), nothing else in the loop writes A, and what e reads is
    made in iteration u before the map and stays; e takes additions and multiplications of what stays in the cache, and
    so does f, in which a rounding cannot decide anything.
    """
    least = thresholds().thinned_tape if least is None else least
    own = {n for n, a in program.arrays.items() if a.role in ("transient", "tape") and a.bytes >= least}
    big = own - program.live_out
    if not big:
        return program
    for made in _recorded(program, big):
        pair = _pair(program, made)
        if pair is not None:
            program = _thinned(program, pair)
    return program


def _recorded(program: Program, big: set[str]) -> Iterator[_Recorded]:
    for place, loop in enumerate(program.body):
        if not isinstance(loop, Loop) or not _plain(loop) or loop.range.step != 1:
            continue
        for k, stmt in enumerate(loop.body):
            made = _of_map(loop, stmt, program.arrays, big) if isinstance(stmt, Map) else None
            if made is not None and _repeatable(program, place, k, made):
                yield made


def _plain(loop: Loop) -> bool:
    return not loop.parallel and not loop.private and loop.until is None and not loop.range.early


def _of_map(loop: Loop, stmt: Map, arrays: Mapping[str, Array], big: set[str]) -> _Recorded | None:
    """The record and the update that a map is, element by element."""
    if len(stmt.body) != 2 or not all(isinstance(p, Store) for p in stmt.body):
        return None
    record, update = stmt.body
    assert isinstance(record, Store) and isinstance(update, Store)
    same = Load(update.array, update.index, record.expr.dtype)
    if record.array not in big or record.op is not None or record.expr != same or update.op != "+":
        return None
    names = {r.var for r in stmt.domain}
    apart = any((i - ix(loop.range.var)).const is not None for i in record.index)
    each = len(update.index) == len(names) and {*update.index} == {ix(n) for n in names}
    alike = update.expr.dtype == same.dtype == arrays[record.array].dtype
    good = apart and each and alike and _cheap(update.expr, names)
    return _Recorded(loop, stmt, record, update) if good and all(_shrinks(r, loop.range.var) for r in stmt.domain) \
        else None


def _shrinks(r: Range, var: str) -> bool:
    """Whether the next iteration's range lies within this one's."""
    first, last = ((i.subs({var: ix(var) + 1}) - i).const for i in (r.start, r.stop))
    own = r.start.symbols | r.stop.symbols <= {var} and not (r.start.elems or r.stop.elems)
    return own and r.step == 1 and not r.early and first is not None and first >= 0 and last is not None and last <= 0


def _cheap(term: Expr, names: set[str]) -> bool:
    """Additions and multiplications of floating-point numbers that lie along fewer dimensions than the update."""
    nodes = list(walk(term))
    return term.dtype.kind == "f" and all(
        n.dtype == term.dtype and (isinstance(n, Const) or (isinstance(n, Call) and n.fn in _CHEAP)
                                   or (isinstance(n, Load) and not names <= _symbols(n)))
        for n in nodes)


def _symbols(load: Load) -> set[str]:
    return {s for i in load.index for s in i.symbols}


def _repeatable(program: Program, place: int, at: int, made: _Recorded) -> bool:
    """Whether the term gives the same once the loop is over, and nothing else writes what is recorded."""
    loop, name = made.ahead, made.update.array
    others = (*loop.body[:at], *loop.body[at + 1:])
    if name == made.record.array or name in all_writes(others):
        return False
    writers = [s for s in statements(program.body) if made.record.array in writes(s)]
    if writers != [made.stmt] or made.record.array in all_reads(program.body[:place + 1]):
        return False
    return all(_stays(program, place, at, made, load) for load in loads(made.update.expr))


def _stays(program: Program, place: int, at: int, made: _Recorded, load: Load) -> bool:
    """Whether an element is written in its own iteration only, before it is read."""
    loop = made.ahead
    if load.array in all_writes((*program.body[place + 1:], *loop.body[at:])) or any(i.elems for i in load.index):
        return False
    counted = [d for d, i in enumerate(load.index) if i == ix(loop.range.var)]
    allowed = {loop.range.var, *(r.var for r in made.stmt.domain)}
    before = [s for s in loop.body[:at] if load.array in all_writes((s,))]
    if not _symbols(load) <= allowed or not all(isinstance(s, Map) for s in before):
        return False
    stores = [p for s in before if isinstance(s, Map) for p in s.body
              if isinstance(p, Store) and p.array == load.array]
    return not stores or any(all(p.index[d] == ix(loop.range.var) for p in stores) for d in counted)


def _pair(program: Program, made: _Recorded) -> _RecordPair | None:
    """With the one map that reads the record, in a loop that goes back over the same iterations."""
    tape, r = made.record.array, made.ahead.range
    readers = [s for s in program.body if tape in all_reads((s,))]
    back = readers[0] if len(readers) == 1 else None
    if not isinstance(back, Loop) or not _plain(back) or \
            (back.range.start, back.range.stop, back.range.step) != (r.stop - 1, r.start - 1, -1):
        return None
    inner = [s for s in back.body if tape in all_reads((s,))]
    reader = inner[0] if len(inner) == 1 else None
    if not isinstance(reader, Map):
        return None
    moved = rename_symbols((made.stmt,), {r.var: ix(back.range.var)})[0]
    there = in_terms_of(reader.domain, moved) if isinstance(moved, Map) else None
    if there is None or not isinstance(there.body[0], Store) or not isinstance(there.body[1], Store):
        return None
    record, again = there.body[0], there.body[1]
    good = _adds_only(reader, Load(tape, record.index, record.expr.dtype))
    return _RecordPair(made, back, reader, again) if good else None


def _adds_only(reader: Map, record: Load) -> bool:
    """Whether a map reads this one record, and only to add multiples of it to something."""
    tainted: set[str] = set()
    for part in reader.body:
        used = [n for n in walk(part.expr) if _depends(n, record.array, tainted)]
        if any(not (n == record or isinstance(n, Local) or (isinstance(n, Call) and n.fn in _CHEAP)) for n in used):
            return False
        if isinstance(part, Let) and used:
            tainted.add(part.name)
        elif isinstance(part, Store) and used and part.op != "+":
            return False
    indices = (i for p in reader.body if isinstance(p, Store) for i in p.index)
    return not any(i.elems for i in indices) and not any(i.elems for p in reader.body for n in loads(p.expr)
                                                         for i in n.index)


def _depends(node: Expr, tape: str, tainted: set[str]) -> bool:
    return any(n.array == tape if isinstance(n, Load) else isinstance(n, Local) and n.name in tainted
               for n in walk(node))


def _thinned(program: Program, pair: _RecordPair) -> Program:
    made, var = pair.made, pair.back.range.var
    bare = replace(made.stmt, body=(made.update,))
    ahead = _branch(made.ahead, made.ahead.range.start, made.stmt, bare)
    back = _branch(pair.back, made.ahead.range.start, pair.reader, _from_before(pair, var))
    return program.but(body=tuple(ahead if s is made.ahead else back if s is pair.back else s for s in program.body))


def _from_before(pair: _RecordPair, var: str) -> Map:
    """The reading map, with the record before, updated, in place of its own."""
    def earlier(i: Ix) -> Ix:
        return i.subs({var: ix(var) - 1})

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Load) or node.array != pair.made.record.array:
            return None
        old = Load(node.array, tuple(map(earlier, node.index)), node.dtype)
        return call("add", old, map_indices(pair.again.expr, earlier), dtype=node.dtype)

    body = tuple(replace(p, expr=rewrite(p.expr, change)) for p in pair.reader.body)
    return replace(pair.reader, body=body)


def _branch(loop: Loop, first: Ix, stmt: Map, odd: Map) -> Loop:
    """The loop with another map in every second iteration."""
    parity = Index((ix(loop.range.var) - first) % 2, _INT64)
    even = Call("eq", (parity, Index(ix(0), _INT64)), _BOOL)
    body: Block = tuple(_either(even, s, odd) if s is stmt else s for s in loop.body)
    return replace(loop, body=body)


def _either(even: Expr, stmt: Map, odd: Map) -> Stmt:
    return If(even, (stmt,), (odd,), stmt.source)
