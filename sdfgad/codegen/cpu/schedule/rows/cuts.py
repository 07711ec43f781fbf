"""One way to take rows apart, and what belongs to one iteration of its loop."""
from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.loops.rows import RowNumbering, maps_of
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Array, Block, Map, Range, Stmt
from sdfgad.ir.walk import children, map_accesses, map_stmt_indices, with_children


@dataclass(frozen=True)
class Cut:
    """One way to take rows apart: `width` neighbouring rows from `low` on per iteration of `loop`."""

    rows: RowNumbering
    loop: Range
    low: Ix
    high: Ix
    first: int
    last: int
    width: int


def hull(rows: RowNumbering, body: Block) -> tuple[int, int]:
    """The first row of all maps, and the one behind the last."""
    spans = [rows.span(m) for m in maps_of(body)]
    return min(s[0] for s in spans), max(s[1] for s in spans)


def tiled(stmt: Stmt, cut: Cut) -> Stmt:
    """The part of a statement that belongs to one iteration of the cut's loop."""
    if not isinstance(stmt, Map):
        return with_children(stmt, [tuple(tiled(s, cut) for s in b) for b in children(stmt)])
    var, shift = cut.rows.turns[id(stmt)]
    first, last = cut.rows.span(stmt)
    if cut.width == 1 and (first, last) == (cut.first, cut.last):
        rest = replace(stmt, domain=tuple(r for r in stmt.domain if r.var != var))
        return map_stmt_indices(rest, lambda i: i.subs({var: cut.low - shift}))
    low = cut.low if first == cut.first else maximum(cut.low, ix(first))
    high = cut.high if last == cut.last else minimum(cut.high, ix(last))
    part = Range(var, low - shift, high - shift)
    return replace(stmt, domain=tuple(part if r.var == var else r for r in stmt.domain))


def private_part(array: Array, cuts: tuple[Cut, ...]) -> Array | None:
    """The part of an array that one iteration sees."""
    width = {c.rows.places[array.name][0]: c.width for c in cuts if array.name in c.rows.places}
    if len(width) != len(cuts):
        return None
    # Neighbours in a strip, which are what is left to vectorise, come to lie side by side.
    return replace(array, shape=tuple(width.get(d, array.shape[d]) for d in _strips_last(width, len(array.shape))))


def _strips_last(width: Mapping[int, int], rank: int) -> list[int]:
    """The dimensions of a private array."""
    return sorted((d for d in range(rank) if width.get(d) != 1), key=lambda d: (d in width, d))


def laid_out(part: Array, cuts: tuple[Cut, ...]) -> Array:
    """The parts of an array that the iterations see, one behind the other."""
    return replace(part, shape=(*(c.loop.trips or 0 for c in cuts), *part.shape))


def moved(stmt: Stmt, private: Mapping[str, Array], cuts: tuple[Cut, ...], apart: Container[str] = ()) -> Stmt:
    """The statement with private arrays seen from the first row of the iteration, and others part by part."""

    def place(name: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        if name not in private and name not in apart:
            return index
        start = {c.rows.places[name][0]: (c, c.low + c.rows.places[name][1]) for c in cuts}
        width = {d: c.width for d, (c, _) in start.items()}
        inside = tuple(index[d] - start[d][1] if d in start else index[d] for d in _strips_last(width, len(index)))
        return (*(ix(c.loop.var) - c.loop.start for c in cuts), *inside) if name in apart else inside

    return map_accesses(stmt, place)
