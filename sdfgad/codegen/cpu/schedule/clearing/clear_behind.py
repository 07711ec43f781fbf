"""Clearings that a loop does bit by bit, taken behind the loop as one box, where they meet an accumulation."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.analysis.loops.rows import RowTouch, touches
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Let, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import children, reads, rebuild, rebuild_blocks, statements, writes
from sdfgad.thresholds import ClearingLimits
from sdfgad.transform.clearing.clear_first import clear_first
from sdfgad.transform.clearing.clearings import clearing, fold_block, is_zero, stored_box, without
from sdfgad.transform.clearing.zeroing import fold_zeroing

UNKNOWN = 64
"""Iterations of a range without known bounds, where clearings are counted."""


def clear_behind(program: Program, limits: ClearingLimits | None = None) -> Program:
    """for j in r: { x[j + 1] += e(x[j]) ; x[j] = 0 }   ->   for j in r: x[j + 1] += e(x[j]) ; map j in r: x[j] = 0

    followed by `clear_first`, for arrays of which less is cleared then. No later iteration, and nothing later in the
    same one, may look at what an iteration clears: it is told by how far the places lie from the counter, in the one
    dimension that the counter numbers.
    """
    names = {z.array for s in statements(program.body) if isinstance(s, Loop) for _, z in _movable(s, program.arrays)}
    while names:
        moved = clear_first(_folded(_moved(program, names), names), limits)
        good = {n for n in names if _cleared(moved.body, n) < _cleared(program.body, n)}
        if good == names:
            return fold_zeroing(moved)
        names = good
    return program


def _folded(program: Program, names: set[str]) -> Program:
    return program.but(body=rebuild_blocks(program.body, lambda block: fold_block(block, True, names)))


def _moved(program: Program, names: set[str]) -> Program:

    def change(stmt: Stmt) -> Block:
        found = [f for f in _movable(stmt, program.arrays) if f[1].array in names] if isinstance(stmt, Loop) else []
        return _behind(stmt, found) if isinstance(stmt, Loop) and found else (stmt,)

    return program.but(body=rebuild(program.body, change))


def _behind(loop: Loop, found: list[tuple[Map, Store]]) -> Block:
    """The loop without some clearings, and they as boxes."""
    body: list[Stmt] = []
    for stmt in loop.body:
        mine = [z for m, z in found if m is stmt]
        body += without(stmt, mine) if isinstance(stmt, Map) and mine else [stmt]
    after = []
    for stmt, zero in found:
        whole = _whole(loop, stmt, zero)
        box = stored_box(whole, zero)
        assert box is not None
        after.append(clearing(whole, zero, box))
    return (*((replace(loop, body=tuple(body)),) if body else ()), *after)


def _whole(loop: Loop, stmt: Map, zero: Store) -> Map:
    """What all iterations clear."""
    return Map((loop.range.upwards, *stmt.domain), (zero,), stmt.source)


def _movable(loop: Loop, arrays: Mapping[str, Array]) -> Iterator[tuple[Map, Store]]:
    """The clearings of boxes in a loop's body that may as well come behind it."""
    if loop.parallel or loop.until is not None or loop.range.early or loop.range.step not in (1, -1):
        return
    for place, stmt in enumerate(loop.body):
        for k, zero in enumerate(stmt.body) if isinstance(stmt, Map) else ():
            if isinstance(stmt, Map) and is_zero(zero) and arrays[zero.array].role != "tape" and \
                    _may_wait(loop, place, k, zero) and stored_box(_whole(loop, stmt, zero), zero) is not None:
                yield stmt, zero


def _may_wait(loop: Loop, place: int, part: int, zero: Store) -> bool:
    """Whether nothing looks at what an iteration clears between the clearing and the end of the loop."""
    var, name = loop.range.var, zero.array
    counted = [d for d, i in enumerate(zero.index) if var in i.symbols]
    if len(counted) != 1 or any(name in reads(s) | writes(s) for s in statements(loop.body) if not isinstance(s, Map)):
        return False
    offset = _offset(zero.index[counted[0]], var)
    return offset is not None and all(
        _is_before(_offset(t.index[counted[0]], var), offset, loop.range, after)
        for after, t in _touches(loop.body, place, part) if t.array == name)


def _offset(index: Ix, var: str) -> int | None:
    """How far an index lies from the counter."""
    return (index - ix(var)).const


def _is_before(offset: int | None, cleared: int, counter: Range, after: bool) -> bool:
    """Whether an access comes before its element is cleared: in an earlier iteration, or earlier in the same one."""
    if offset is None:
        return False
    ahead = (offset - cleared) * counter.step
    return ahead > 0 or (ahead == 0 and not after)


def _touches(body: Block, place: int, part: int) -> Iterator[tuple[bool, RowTouch]]:
    """Every access of the maps of a body but one store, and whether it comes behind that in an iteration."""
    for k, stmt in enumerate(body):
        for inner in statements((stmt,)):
            if not isinstance(inner, Map):
                continue
            if k != place:
                yield from ((k > place, t) for t in touches(inner))
                continue
            yield from ((False, t) for t in _of_parts(inner, inner.body[:part]))
            yield from ((True, t) for t in _of_parts(inner, inner.body[part + 1:]))


def _of_parts(stmt: Map, parts: tuple[Let | Store, ...]) -> tuple[RowTouch, ...]:
    return touches(replace(stmt, body=parts))


def _cleared(body: Block, name: str, path: tuple[Range, ...] = ()) -> int:
    """How many elements of an array the statements clear, each as often as they do."""
    total = 0
    for stmt in body:
        if isinstance(stmt, Map):
            env = interval_env((*path, *stmt.domain))
            often = prod(UNKNOWN if (n := extent_bound(r, env)) is None else n for r in (*path, *stmt.domain))
            total += often * sum(is_zero(p) and p.array == name for p in stmt.body)
        inner = (*path, stmt.range) if isinstance(stmt, Loop) else path
        total += sum(_cleared(b, name, inner) for b in children(stmt))
    return total
