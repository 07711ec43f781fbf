"""C++ text of register tiles: blocks of sums in vector variables around the loops over their terms."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType

from sdfgad.codegen.cpp import Frame, Writer, access, ctype, index_text, literal, symbol
from sdfgad.codegen.tiles import Tile, upward
from sdfgad.errors import InvariantError
from sdfgad.ir.expr import Call, Const, Expr, Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Range, Store

_INFIX = MappingProxyType({"add": "+", "sub": "-", "mul": "*"})
SHORT_LOOP = 8
"""Innermost loops of so few iterations are unrolled."""


@dataclass(frozen=True)
class _Cell:
    """One vector of sums: what the tile's variables are in it, how many lanes it has, and the local that holds it."""

    place: dict[str, Ix]
    lanes: int
    name: str


@dataclass
class _Terms:
    """Texts of the terms at one point of the sums; every distinct load is made once."""

    writer: Writer
    frame: Frame
    vector: str
    loaded: dict[tuple[str, tuple[Ix, ...], int], str] = field(default_factory=dict)

    def text(self, node: Expr, cell: _Cell) -> str:
        if isinstance(node, Const):
            return literal(node.value, node.dtype)
        if isinstance(node, Load):
            return self._load(node, cell)
        if not isinstance(node, Call):
            raise InvariantError(f"{node!r} has no vector form")
        args = [self.text(a, cell) for a in node.args]
        if node.fn == "cast":
            return f"sg::convert<{ctype(node.dtype)}>({args[0]})"
        return f"(-{args[0]})" if node.fn == "neg" else f"({args[0]} {_INFIX[node.fn]} {args[1]})"

    def _load(self, node: Load, cell: _Cell) -> str:
        """A local with the lanes of an element and its neighbours, or with the one element all lanes use."""
        lanes = cell.lanes if any(self.vector in i.symbols for i in node.index) else 1
        index = tuple(i.subs(cell.place) for i in node.index)
        key = (node.array, index, lanes)
        if key not in self.loaded:
            name = self.loaded[key] = self.writer.fresh()
            element = access(self.frame, node.array, index)
            self.writer.line(f"const auto {name} = {element if lanes == 1 else f'sg::load<{lanes}>(&{element})'};")
        return self.loaded[key]


def emit_tile(writer: Writer, frame: Frame, stmt: Map, tile: Tile) -> None:
    """Write a map that is one sum as loops over tiles; what is left over at the ends gets smaller ones."""
    part = stmt.body[0]
    if not isinstance(part, Store):
        raise InvariantError("a tile is made of a store")
    inner = frame.inside([upward(r) for r in stmt.domain])
    writer.open()
    for r in tile.outer:
        _open_loop(writer, inner, r)
    unrolled = [*tile.steps, *([] if tile.summed_lanes else [(tile.vector, tile.lanes * tile.chunks)])]
    for pieces in product(*(_pieces(r, size) for r, size in unrolled)):
        _Block(writer, inner, part, tile, pieces).emit()
    for _ in (*tile.outer, None):
        writer.close()


@dataclass(frozen=True)
class _Piece:
    """Part of an unrolled range: `count` blocks of `size` values from `start` on."""

    var: str
    start: Ix
    count: int
    size: int


def _pieces(r: Range, size: int) -> Iterator[_Piece]:
    """Whole blocks, and the rest."""
    trips = r.trips or 0
    whole, rest = divmod(trips, size)
    if whole:
        yield _Piece(r.var, r.start, whole, size)
    if rest:
        yield _Piece(r.var, r.start + whole * size, 1, rest)


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
    pieces: tuple[_Piece, ...]

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

    def _open_blocks(self, p: _Piece) -> None:
        var, start = symbol(p.var), index_text(self.frame, p.start)
        stop = index_text(self.frame, p.start + p.count * p.size)
        self.writer.open(f"for (int64_t {var} = {start}; {var} < {stop}; {var} += {p.size})")

    def _cells(self) -> Iterator[_Cell]:
        """Every value of the unrolled variables, with the vectors along the lanes."""
        vector = self.tile.vector
        offsets = [[(p.var, k) for k in range(p.size)] for p in self.pieces if p.var != vector.var]
        for values in product(*offsets):
            place = {var: ix(var) + k for var, k in values}
            for start, lanes in self._vectors():
                yield _Cell({**place, vector.var: start}, lanes, "")

    def _vectors(self) -> list[tuple[Ix, int]]:
        """Where the vectors of one cell begin: in the target, or in the terms when the lanes are summed over."""
        vector, most = self.tile.vector, self.tile.lanes
        if not self.tile.summed_lanes:
            size = next(p.size for p in self.pieces if p.var == vector.var)
            return [(ix(vector.var) + k, lanes) for k, lanes in _widths(size, most)]
        whole = (vector.trips or 0) // most
        rest = _widths((vector.trips or 0) - whole * most, most)
        return [*([(ix(vector.var), most)] if whole else []),
                *((vector.start + whole * most + k, lanes) for k, lanes in rest)]

    def _begin(self, cell: _Cell) -> str:
        name, kind = self.writer.fresh("sum"), ctype(self.frame.arrays[self.part.array].dtype)
        first = "{}" if self.tile.summed_lanes else f" = sg::load<{cell.lanes}>(&{self._target(cell)})"
        self.writer.line(f"sg::Lanes<{kind}, {cell.lanes}> {name}{first};")
        return name

    def _end(self, cell: _Cell) -> None:
        target = self._target(cell)
        self.writer.line(f"{target} += sg::total<{cell.lanes}>({cell.name});" if self.tile.summed_lanes else
                         f"sg::store<{cell.lanes}>(&{target}, {cell.name});")

    def _target(self, cell: _Cell) -> str:
        return access(self.frame, self.part.array, tuple(i.subs(cell.place) for i in self.part.index))

    def _sums(self, cells: list[_Cell]) -> None:
        """The loops over the terms; lanes that are summed over are the innermost one."""
        tile, vector = self.tile, self.tile.vector
        for r in tile.sums:
            _open_loop(self.writer, self.frame, r, short=r is tile.sums[-1])
        if tile.summed_lanes:
            looped = [c for c in cells if c.place[vector.var] == ix(vector.var)]
            self._open_blocks(_Piece(vector.var, vector.start, (vector.trips or 0) // tile.lanes, tile.lanes))
            self._add(looped)
            self.writer.close()
            cells = [c for c in cells if c.place[vector.var] != ix(vector.var)]
        self._add(cells)
        for _ in tile.sums:
            self.writer.close()

    def _add(self, cells: list[_Cell]) -> None:
        terms = _Terms(self.writer, self.frame, self.tile.vector.var)
        for cell in cells:
            self.writer.line(f"{cell.name} += {terms.text(self.part.expr, cell)};")


def _open_loop(writer: Writer, frame: Frame, r: Range, short: bool = False) -> None:
    var, stop = symbol(r.var), writer.fresh("e")
    writer.line(f"const int64_t {stop} = {index_text(frame, r.stop)};")
    if short and (r.trips or SHORT_LOOP + 1) <= SHORT_LOOP:
        writer.line(f"#pragma GCC unroll {SHORT_LOOP}")
    more = f"{var} {'<' if r.step > 0 else '>'} {stop}"
    writer.open(f"for (int64_t {var} = {index_text(frame, r.start)}; {more}; {var} += {r.step})")
