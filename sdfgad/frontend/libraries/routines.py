"""Routines: what a function of the user's does, as statements that are kept for later (`ir/own.py`)."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.frontend.elements.elementwise import as_array
from sdfgad.frontend.state.context import Context, held
from sdfgad.frontend.state.values import ArrayValue, Value, ViewValue
from sdfgad.frontend.syntax.narrowed import on_parts, parts_read
from sdfgad.frontend.syntax.replaced import ReplacedFunction
from sdfgad.ir.expr import Index
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.own import Routine
from sdfgad.ir.program import FAILED, ORDER, Block, View, view_of
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import all_reads, all_writes, map_stmt_indices, own_ranges, rename_symbols, statements


class Translated(ReplacedFunction):
    """A function whose calls are translated in a way of their own."""

    def apply(self, ctx: Context, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """The value of a call."""
        raise NotImplementedError


@dataclass(frozen=True)
class Traced:
    """A routine, and the parts of arrays that stand for what it reads."""

    routine: Routine
    read: tuple[View, ...]

    def part(self, name: str) -> View:
        """What it reads by this name."""
        return self.read[self.routine.read.index(name)]


def both_read(one: Traced, other: Traced) -> Traced:
    """The first routine, with what either reads."""
    parts = dict(zip((*one.routine.read, *other.routine.read), (*one.read, *other.read), strict=True))
    return Traced(replace(one.routine, read=tuple(parts)), tuple(parts.values()))


def routine(ctx: Context, name: str, takes: Sequence[ArrayValue], run: Callable[..., Sequence[Value]],
            besides: Sequence[str] = (), code: str = "SG135") -> Traced:
    """What `run` does with values like `takes`, of which it returns others, None for zero.

    name: of the user's function, for messages; code: theirs. besides: arrays that it reads and that are none of the
    program's. Variables of loops around it are held in arrays, so that the statements may go anywhere.
    """
    builder = ctx.builder
    builder.flush()  # what is pending is stored before the routine, and belongs to the program
    known = set(builder.arrays)
    given = [builder.declare(v.shape, v.dtype, "given") for v in takes]
    values = [builder.view(a, v.shape, v.weak, v.scalar) for a, v in zip(given, takes, strict=True)]
    with held(ctx, *values), builder.region() as block:
        made = [None if v is None else builder.fresh_copy(as_array(ctx, v), "made").view.array for v in run(*values)]
    mine = {n: builder.arrays[n] for n in builder.arrays.keys() - known if builder.arrays[n].role == "transient"}
    if ORDER in all_writes(tuple(block)):
        raise ctx.refuse(f"a message between ranks in a function given to {name}", code=code)
    outside = all_writes(tuple(block)) - mine.keys() - {FAILED}
    if outside:
        raise ctx.refuse(f"a function given to {name} that updates {builder.label(min(outside))}",
                         "let it return what it computes, and copy what it changes", code)
    body, parts = _closed(ctx, tuple(block), {*mine, FAILED, *besides})
    for array in mine:
        del builder.arrays[array]
    made_of = Routine(body, tuple(a.name for a in given), tuple(made), tuple(parts), mine)
    return Traced(made_of, tuple(parts.values()))


def _closed(ctx: Context, body: Block, inside: Set[str]) -> tuple[Block, dict[str, View]]:
    """The statements on parts of arrays, under names of their own, and without variables of loops around them."""
    builder = ctx.builder
    read = {n: builder.arrays[n] for n in sorted((all_reads(body) & builder.arrays.keys()) - inside)}
    parts = parts_read(body, read, _free(body), inside)
    names = {n: builder.symbol(n) for n in read}
    body = _without_free(ctx, renamed(on_parts(body, parts), names))
    places = {n: view_of(builder.arrays[n]) for n in sorted(all_reads(body) & builder.arrays.keys() - inside)}
    return body, {**{names[n]: part for n, part in parts.items()}, **places}


def _without_free(ctx: Context, body: Block) -> Block:
    """The statements with elements of arrays in place of the variables of loops around them."""
    places: dict[str, Ix | str | int] = {}
    for var in sorted(_free(body)):
        place = ctx.builder.declare((), np.dtype(np.int64), "place")
        ctx.builder.store(place.name, (), Index(ix(var), place.dtype))
        places[var] = elem(place.name, ())
    return rename_symbols(body, places) if places else body


def _free(body: Block) -> set[str]:
    """The variables that no statement of a block binds."""
    bound = {r.var for s in statements(body) for r in own_ranges(s)}
    found: set[str] = set()

    def look(i: Ix) -> Ix:
        found.update(s for s in i.symbols if not s.startswith("_"))
        return i

    for stmt in body:
        map_stmt_indices(stmt, look)
    return found - bound


@contextmanager
def derivatives(ctx: Context, asked: bool) -> Iterator[None]:
    """Within, derivatives are asked for, or no derivative: functions with rules of their own are themselves then."""
    before, ctx.own_rules = ctx.own_rules, asked
    try:
        yield
    finally:
        ctx.own_rules = before


@contextmanager
def unchanged(ctx: Context, name: str) -> Iterator[None]:
    """Within, no array of the program may be updated that is there already."""
    before = {n: ctx.builder.versions.get(n, 0) for n in ctx.builder.arrays}
    yield
    changed = [n for n, v in before.items() if ctx.builder.versions.get(n, 0) != v and n != FAILED]
    if changed:
        raise ctx.refuse(f"a function given to {name} that updates {ctx.builder.label(changed[0])} in place",
                         "copy it first", "SG136")


def stored(ctx: Context, value: ArrayValue, label: str) -> ViewValue:
    """The value in an array."""
    found = ctx.builder.materialise(value, label)
    return ViewValue(found.view, scalar=not found.shape, weak=value.weak)
