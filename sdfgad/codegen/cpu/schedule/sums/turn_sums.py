"""Sums inside a recurrence that jump through memory, turned so that they run along it."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sdfgad.analysis.loops.rows import stride, touches
from sdfgad.analysis.loops.turned import may_turn, turned
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, While
from sdfgad.ir.walk import children, with_children
from sdfgad.thresholds import thresholds
from sdfgad.transform.spelling import only_store


def turn_sums(program: Program) -> Program:
    """for j: { map d = 0:j: x[j] += a[d, j] * x[d] ; x[j] = x[j] / p[j] }
    ->   for j: { x[j] = x[j] / p[j] ; map d = j + 1:n: x[d] += a[j, d] * x[j] }

    For the sums of a loop in order whose points each belong to an iteration of the loop by either of two variables: a
    term is added as soon as it is known, or as late as its element is needed. Chosen is what runs along the rows of
    arrays, if every dependence is kept.
    """
    return program.but(body=_block(program, program.body, ()))


def _block(program: Program, block: Block, path: tuple[Range, ...]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Loop):
            inside = (*path, stmt.range)
            stmt = replace(stmt, body=_block(program, stmt.body, inside))
            out.append(_loop(program, stmt, inside))
        elif isinstance(stmt, While):
            out.append(stmt)
        else:
            out.append(with_children(stmt, [_block(program, b, path) for b in children(stmt)]))
    return tuple(out)


def _loop(program: Program, loop: Loop, path: tuple[Range, ...]) -> Loop:
    """The loop with all sums turned that run along rows then."""
    body = [s for s in loop.body if isinstance(s, Map)]
    if loop.parallel or loop.until is not None or not len(loop.body) == len(body) <= thresholds().turned_statements:
        return loop
    for stmt in tuple(body):
        made = _along_rows(program.arrays, stmt, path)
        place = next(k for k, s in enumerate(body) if s is stmt)
        target = None if made is None else next(_targets(body, place, path), None)
        if made is not None and target is not None:
            body.insert(target, made)
            del body[place + (target <= place)]
    return replace(loop, body=tuple(body))


def _along_rows(arrays: Mapping[str, Array], stmt: Map, path: tuple[Range, ...]) -> Map | None:
    """A sum turned; None where it jumps through memory no less then."""
    store = only_store(stmt)
    if store is None or store.op != "+" or len(stmt.domain) != 1:
        return None
    if _jumps(arrays, stmt, stmt.domain[0].var) <= _jumps(arrays, stmt, path[-1].var):
        return None
    return turned(stmt, path)


def _targets(body: list[Map], place: int, path: tuple[Range, ...]) -> Iterator[int]:
    """The places before which a turned sum may stand: the start of an iteration or its end."""
    return (k for k in (0, len(body)) if may_turn(body, place, k, path))


def _jumps(arrays: Mapping[str, Array], stmt: Map, var: str) -> int:
    """How many accesses a step of the variable moves by more than an element."""
    steps = [stride(arrays[t.array], t.index, var) for t in touches(stmt)]
    return sum(s is None or abs(s) > 1 for s in steps)
