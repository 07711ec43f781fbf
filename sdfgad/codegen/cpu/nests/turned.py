"""Copies that turn rows into columns: square blocks of them at a time, in registers."""
from __future__ import annotations

from dataclasses import dataclass

from sdfgad.codegen.cpp import Frame, Writer, access, flat, index_text
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Map, Range, Store

BLOCK_BYTES = 64
"""Of a row of a block: what the widest vectors hold."""
SIZES = (4, 8)
"""Bytes of elements that vectors are made of."""


@dataclass(frozen=True)
class Turn:
    """to[column * to_step + row] = from[row * from_step + column], for elements counted from the first ones."""

    store: Store
    load: Load
    row: Range
    column: Range
    to_step: int
    from_step: int
    block: int


def plan_turn(frame: Frame, stmt: Map) -> Turn | None:
    """map i, j: y[i, j] = x[j, i]   ->   blocks of elements that are neighbours along j in y, and along i in x

    For copies from one array to another over a box that does not depend on itself, with room for a block.
    """
    part = stmt.body[0] if len(stmt.body) == 1 else None
    if not isinstance(part, Store) or part.op is not None or not isinstance(part.expr, Load):
        return None
    dtype = frame.arrays[part.array].dtype
    if dtype.kind not in "fiu" or dtype.itemsize not in SIZES or frame.arrays[part.expr.array].dtype != dtype:
        return None
    block = BLOCK_BYTES // dtype.itemsize
    if part.array == part.expr.array or not _box(frame, stmt, block):
        return None
    for row, column in (stmt.domain, stmt.domain[::-1]):
        to = _steps(frame, part.array, part.index, column, row)
        source = _steps(frame, part.expr.array, part.expr.index, row, column)
        if to is not None and source is not None:
            return Turn(part, part.expr, row, column, to, source, block)
    return None


def _box(frame: Frame, stmt: Map, block: int) -> bool:
    """Whether a map has two variables, upwards by one, and room for a block as far as that is known."""
    part = stmt.body[0]
    variables = {r.var for r in stmt.domain}
    plain = all(r.step == 1 and (r.trips is None or r.trips >= block) and not (*r.start.elems, *r.stop.elems)
                and variables.isdisjoint(r.start.symbols | r.stop.symbols) for r in stmt.domain)
    return len(stmt.domain) == 2 and plain and isinstance(part, Store) and isinstance(part.expr, Load) \
        and frame.registers.isdisjoint({part.array, part.expr.array})


def _steps(frame: Frame, name: str, index: tuple[Ix, ...], far: Range, near: Range) -> int | None:
    """How far apart neighbours along `far` are where those along `near` lie side by side; None where they do not."""
    array = frame.arrays[name]
    if array.packing is not None or any(i.elems for i in index):
        return None
    place = flat(array, index)
    step = place.coefficient(far.var) if place.coefficient(near.var) == 1 else None
    return step if step is not None and step > 1 else None


def emit_turn(writer: Writer, frame: Frame, turn: Turn) -> None:
    """Call the copy of blocks in the runtime."""
    first = {turn.row.var: turn.row.start, turn.column.var: turn.column.start}
    to, source = (f"&{access(frame, n, tuple(i.subs(first) for i in index))}" for n, index in (
        (turn.store.array, turn.store.index), (turn.load.array, turn.load.index)))
    rows, columns = (index_text(frame, r.stop - r.start) for r in (turn.row, turn.column))
    name = "turn_past" if turn.store.array in frame.past else "turn"
    writer.line(f"sg::{name}<{turn.block}>({to}, {turn.to_step}, {source}, {turn.from_step}, {rows}, {columns});")
