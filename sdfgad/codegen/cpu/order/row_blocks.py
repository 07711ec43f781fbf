"""Several rows of a nest at a time: what does not change from row to row is loaded, and what all of them add to is
loaded and stored, once for all of them."""
from __future__ import annotations

from dataclasses import replace
from functools import reduce

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.compiling.toolchain import vector_registers
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.emit import vectorises
from sdfgad.codegen.cpu.nests.nest_order import order_loops
from sdfgad.codegen.cpu.nests.tiles import plan_tile
from sdfgad.codegen.cpu.schedule.recurrences.at_once import uses
from sdfgad.ir import algebra
from sdfgad.ir.expr import loads, map_indices
from sdfgad.ir.index import Ix, ix, maximum
from sdfgad.ir.program import Let, Map, Range, Store
from sdfgad.ir.walk import expr_reads, writes

ROWS = 4
"""So many rows keep their sums, and what they load, in registers."""
FEWEST = 2 * ROWS
MOST_STORES = 3
"""Of a row: several rows of more take more streams of data than the processor follows."""


def block_rows(frame: Frame, stmt: Map) -> tuple[Map, ...]:
    """map i = 0:8, j: t[j] += x[i, j]   ->   map i = 0:2, j: t[j] += x[4i, j] + x[4i + 1, j] + x[4i + 2, j] + ...
    map i = 0:n, j: t[j] += x[i, j]   ->   map i = 0:n - 3 by 4, j: t[j] += x[i, j] + x[i + 1, j] + x[i + 2, j] + ...

    For nests whose rows add to the same elements, or each to one of its own what a vector they share goes into. What is
    left over at the end is a map of its own.
    """
    row = _row(frame, stmt)
    if row is None:
        return (stmt,)
    blocks, first, rest = _parts(frame, row)
    body = tuple(made for part in stmt.body for made in _rows(part, row.var, first))
    made = _over(stmt, row, blocks, body)
    if not vectorises(frame, made):
        return (stmt,)
    return (made,) if rest.trips == 0 else (made, _over(stmt, row, rest, stmt.body))


def _parts(frame: Frame, row: Range) -> tuple[Range, Ix, Range]:
    """The blocks, the first row of one, and the rows that are left over."""
    if row.trips is not None:
        whole = row.trips // ROWS
        return Range(row.var, ix(0), ix(whole)), ix(row.var) * ROWS + row.start, \
            Range(row.var, row.start + whole * ROWS, row.stop)
    count = row.stop - row.start
    if (count.bounds(frame.bounds)[0] or -1) < 0:
        count = maximum(count, 0)
    # Steps of four rows keep the ends of the range in sight of whoever compares indices.
    return Range(row.var, row.start, row.stop - (ROWS - 1), ROWS), ix(row.var), \
        Range(row.var, row.start + count // ROWS * ROWS, row.stop)


def _written_out(stmt: Map, row: Range) -> Map:
    """The sums of a few rows."""
    body = tuple(made for part in stmt.body for made in _rows(part, row.var, row.start, row.trips or 0))
    return replace(stmt, domain=tuple(r for r in stmt.domain if r is not row), body=body)


def _over(stmt: Map, row: Range, part: Range, body: tuple[Let | Store, ...]) -> Map:
    return replace(stmt, domain=tuple(part if r is row else r for r in stmt.domain), body=body)


def _row(frame: Frame, stmt: Map) -> Range | None:
    """The range that counts the rows, when several of them at a time pay."""
    if len(stmt.domain) < 2 or not all(_summable(frame, p) for p in stmt.body):
        return None
    *_, row, inner = order_loops(frame, stmt)
    ends = _ends(stmt)
    many = (extent_bound(row, frame.bounds) or 0) >= FEWEST and len(stmt.body) <= MOST_STORES
    if row.step != 1 or not (many or row.trips == ROWS and _in_registers(stmt, row.var, inner.var)) or \
            row.var in ends or not _shared(stmt, row.var, inner.var):
        return None
    return row if vectorises(frame, stmt) and plan_tile(frame, stmt) is None else None


def write_out_few(frame: Frame, stmt: Map) -> Map:
    """map i = 0:2, j: t[j] += x[i, j]   ->   map j: t[j] += x[0, j] + x[1, j]

    For the sums of so few terms that a loop over them fills no vector, beside a longer one.
    """
    sums = all(isinstance(p, Store) and p.op == "+" and _summable(frame, p) for p in stmt.body)
    read = {n for p in stmt.body for n in expr_reads(p.expr)}
    if len(stmt.domain) < 2 or len(stmt.body) > MOST_STORES or not sums or writes(stmt) & read:
        return stmt
    order = order_loops(frame, stmt)
    for few, inner in (order[-2:], order[:-3:-1]):
        most = min(FEWEST, (inner.trips or 0) // FEWEST)
        short = few.step == 1 and few.start.const is not None and 1 < (few.trips or 0) < most
        if short and few.var not in _ends(stmt) and not any(uses(p.index, few.var) for p in stmt.body
                                                            if isinstance(p, Store)):
            return _written_out(stmt, few) if plan_tile(frame, stmt) is None else stmt
    return stmt


def _ends(stmt: Map) -> set[str]:
    return {s for r in stmt.domain for s in r.start.symbols | r.stop.symbols}


def _summable(frame: Frame, part: Let | Store) -> bool:
    return isinstance(part, Store) and part.op in (None, "+") and frame.arrays[part.array].dtype.kind == "f"


def _in_registers(stmt: Map, row: str, inner: str) -> bool:
    """Whether all sums of a block, what its rows load, and what they share for one of the sums fit there."""
    sums = all(isinstance(p, Store) and p.op == "+" and uses(p.index, row) and not uses(p.index, inner)
               for p in stmt.body)
    own = {n for p in stmt.body for n in loads(p.expr) if uses(n.index, row) and uses(n.index, inner)}
    return sums and ROWS * (len(stmt.body) + len(own)) + 1 <= vector_registers()


def _shared(stmt: Map, row: str, inner: str) -> bool:
    """Whether rows add to the same elements, or to one each with the same factors."""
    if any(isinstance(p, Store) and p.op is None and not uses(p.index, row) for p in stmt.body):
        return False
    targets = [p.index for p in stmt.body if isinstance(p, Store) and p.op == "+"]
    if any(uses(t, inner) and not uses(t, row) for t in targets):
        return True
    factors = {n for p in stmt.body for n in loads(p.expr) if uses(n.index, inner) and not uses(n.index, row)}
    return bool(factors) and any(uses(t, row) and not uses(t, inner) for t in targets)


def _rows(part: Let | Store, var: str, first: Ix, count: int = ROWS) -> list[Store]:
    """A store for each of the rows of a block; one for all of them where they add to the same element."""
    if not isinstance(part, Store):
        raise TypeError(f"{part!r} stores nothing")
    places = [{var: first + k} for k in range(count)]
    values = [map_indices(part.expr, lambda i, at=at: i.subs(at)) for at in places]  # type: ignore[misc]
    if not uses(part.index, var):
        return [replace(part, expr=reduce(algebra.add, values))]
    return [replace(part, index=tuple(i.subs(at) for i in part.index), expr=e)
            for at, e in zip(places, values, strict=True)]
