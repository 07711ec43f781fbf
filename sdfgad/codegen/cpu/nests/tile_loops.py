"""C++ text of register tiles: blocks of sums in vector variables around the loops over their terms."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from sdfgad.codegen.cpp import Frame, Writer, access, ctype, index_text, symbol
from sdfgad.codegen.cpu.nests.term_loops import require_terms, trip_tests
from sdfgad.codegen.cpu.nests.tile_terms import Cell, Terms
from sdfgad.codegen.cpu.nests.tiles import Tile
from sdfgad.codegen.expressions import combine
from sdfgad.errors import InvariantError
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Map, Range, Store
from sdfgad.names import variable_of

SHORT_LOOP = 8
"""Innermost loops of so few iterations are unrolled."""


def emit_tile(writer: Writer, frame: Frame, stmt: Map, tile: Tile) -> None:
    """Write a map that is one sum as loops over tiles; what is left over at the ends gets smaller ones."""
    part = stmt.body[0]
    if not isinstance(part, Store):
        raise InvariantError("a tile is made of a store")
    inner = frame.inside([r.upwards for r in stmt.domain])
    terms = () if tile.strip else tile.terms  # a strip has some
    tests = trip_tests(inner.bounds, terms) or ()
    require_terms(inner.bounds, terms, tests)
    writer.open()
    vector = tile.vector
    loops = [replace(vector, var=variable_of("strip", vector.var), step=tile.strip)] if tile.strip else []
    if tile.strip:
        tile = _strip_of(tile, ix(loops[0].var))
    for r in (*loops, *tile.outer):
        _open_loop(writer, inner, r)
    unrolled = [*tile.steps, *([] if tile.summed_lanes else [(tile.vector, tile.lanes * tile.chunks)])]
    if tests:
        writer.open(f"if ({' && '.join(_runs(inner, r) for r in tests)})")
    for pieces in product(*(_pieces(r, size, tile.lanes) for r, size in unrolled)):
        _Block(writer, inner, part, tile, pieces).emit()
    for _ in (*loops, *tile.outer, *tests[:1], None):
        writer.close()


def _runs(frame: Frame, r: Range) -> str:
    return f"{index_text(frame, r.start)} < {index_text(frame, r.stop)}"


def _strip_of(tile: Tile, start: Ix) -> Tile:
    """The tile over the terms of one strip."""
    part = replace(tile.vector, start=start, stop=minimum(tile.vector.stop, start + tile.strip))
    return replace(tile, vector=part, strip=0)


@dataclass(frozen=True)
class _Unrolled:
    """Part of an unrolled range: blocks of `size` values from `start` up to `stop`."""

    var: str
    start: Ix
    stop: Ix
    size: int


def _pieces(r: Range, size: int, lanes: int) -> Iterator[_Unrolled]:
    """Whole blocks, and the rest: in vectors and single values where it is not known how much that is."""
    if r.trips is not None:
        whole, rest = divmod(r.trips, size)
        middle = r.start + whole * size
        if whole:
            yield _Unrolled(r.var, r.start, middle, size)
        if rest:
            yield _Unrolled(r.var, middle, middle + rest, rest)
        return
    start = r.start
    for part in sorted({size, lanes, 1}, reverse=True):
        stop = start + maximum(r.stop - start, ix(0)) // part * part
        yield _Unrolled(r.var, start, stop, part)
        start = stop


def _widths(size: int, most: int) -> list[tuple[int, int]]:
    """(offset, lanes) of the vectors that cover `size` values: the widest first, then powers of two."""
    out, offset = [], 0
    while offset < size:
        lanes = min(most, 1 << ((size - offset).bit_length() - 1))
        out.append((offset, lanes))
        offset += lanes
    return out


@dataclass
class _Block:
    """The loops over one kind of block, and its sums."""

    writer: Writer
    frame: Frame
    part: Store
    tile: Tile
    pieces: tuple[_Unrolled, ...]

    def emit(self) -> None:
        for p in self.pieces:
            self._open_blocks(p)
        self.writer.open()
        cells = [replace(c, name=self._begin(c)) for c in self._cells()]
        self._sums(cells)
        for cell in cells:
            self._end(cell)
        for _ in (*self.pieces, None):
            self.writer.close()

    def _open_blocks(self, p: _Unrolled) -> None:
        _open_loop(self.writer, self.frame, Range(p.var, p.start, p.stop, p.size))

    def _cells(self) -> Iterator[Cell]:
        """Every value of the unrolled variables, with the vectors along the lanes."""
        vector = self.tile.vector
        offsets = [[(p.var, k) for k in range(p.size)] for p in self.pieces if p.var != vector.var]
        for values in product(*offsets):
            place = {var: ix(var) + k for var, k in values}
            for start, lanes in self._vectors():
                yield Cell({**place, vector.var: start}, lanes, "")

    def _vectors(self) -> list[tuple[Ix, int]]:
        """Where the vectors of one cell begin: in the target, or in the terms when the lanes are summed over."""
        vector, most = self.tile.vector, self.tile.lanes
        if not self.tile.summed_lanes:
            size = next(p.size for p in self.pieces if p.var == vector.var)
            return [(ix(vector.var) + k, lanes) for k, lanes in _widths(size, most)]
        looped, rest = self._summed()
        return [*((ix(vector.var), p.size) for p in looped), *((p.start + k, lanes) for p in rest
                                                               for k, lanes in _widths(p.size, most))]

    def _summed(self) -> tuple[list[_Unrolled], list[_Unrolled]]:
        """Terms that take a loop, and the few that are left over, when lanes are summed over."""
        lanes = self.tile.lanes
        pieces = list(_pieces(self.tile.vector, lanes, lanes))
        looped = [p for p in pieces if self.tile.vector.trips is None or p.size == lanes]
        return looped, [p for p in pieces if p not in looped]

    def _begin(self, cell: Cell) -> str:
        name, kind = self.writer.fresh("sum"), ctype(self.frame.arrays[self.part.array].dtype)
        first = "{}" if self.tile.summed_lanes else f" = sg::load<{cell.lanes}>(&{self._target(cell)})"
        self.writer.line(f"sg::Lanes<{kind}, {cell.lanes}> {name}{first};")
        return name

    def _end(self, cell: Cell) -> None:
        target = self._target(cell)
        self.writer.line(self._more(target, f"sg::total<{cell.lanes}>({cell.name})") if self.tile.summed_lanes else
                         f"sg::store<{cell.lanes}>(&{target}, {cell.name});")

    def _more(self, target: str, value: str) -> str:
        return combine("+", target, value, self.frame.arrays[self.part.array].dtype.kind)

    def _target(self, cell: Cell) -> str:
        return access(self.frame, self.part.array, tuple(i.subs(cell.place) for i in self.part.index))

    def _sums(self, cells: list[Cell]) -> None:
        """The loops over the terms; lanes that are summed over are the innermost one."""
        tile, vector = self.tile, self.tile.vector
        for r in tile.sums:
            _open_loop(self.writer, self.frame, r, short=r is tile.sums[-1])
        if tile.summed_lanes:
            for p in self._summed()[0]:
                self._open_blocks(p)
                self._add([c for c in cells if c.place[vector.var] == ix(vector.var) and c.lanes == p.size])
                self.writer.close()
            cells = [c for c in cells if c.place[vector.var] != ix(vector.var)]
        self._add(cells)
        for _ in tile.sums:
            self.writer.close()

    def _add(self, cells: list[Cell]) -> None:
        terms = Terms(self.writer, self.frame, self.tile.vector.var)
        for cell in cells:
            self.writer.line(self._more(cell.name, terms.text(self.part.expr, cell)))


def _open_loop(writer: Writer, frame: Frame, r: Range, short: bool = False) -> None:
    var, stop = symbol(r.var), writer.fresh("e")
    writer.line(f"const int64_t {stop} = {index_text(frame, r.stop)};")
    if short and (r.trips or SHORT_LOOP + 1) <= SHORT_LOOP:
        writer.line(f"#pragma GCC unroll {SHORT_LOOP}")
    more = f"{var} {'<' if r.step > 0 else '>'} {stop}"
    writer.open(f"for (int64_t {var} = {index_text(frame, r.start)}; {more}; {var} += {r.step})")
