"""Stores of nests that go past the cache: what fills more than it holds has left it before anybody looks."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.caches import LINE, USUAL
from sdfgad.codegen.compiling.toolchain import vector_bytes
from sdfgad.codegen.cpp import Frame, Writer, access, ctype, flat, index_text, symbol
from sdfgad.codegen.cpu.nests.cost import domain_points
from sdfgad.codegen.cpu.nests.past import LEAST
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Loop, Map, Range, Store
from sdfgad.ir.walk import all_reads, expr_reads

CHUNK = 4096
"""Bytes that are collected in the nearest cache and then written line by line."""
VECTOR = 32
"""Bytes of the vectors from which on processors can write a line past the cache."""


def streamed(frame: Frame, block: Block, extents: Sequence[Range] = ()) -> frozenset[str]:
    """Arrays of which the nests of a block fill more than a cache holds row by row, and that it never looks at.
    extents: the loops around it.

    That their lines come to the cache before they are overwritten is half of what writing them costs.
    """
    if vector_bytes() < VECTOR:
        return frozenset()
    nests = list(_nests(block, tuple(extents)))
    looked_at = all_reads(block)
    return frozenset(
        p.array for loops, m in nests for p in m.body
        if isinstance(p, Store) and p.index and frame.arrays[p.array].bytes >= LEAST and p.array not in looked_at
        and _many(frame, loops, m, p))


def _nests(block: Block, path: tuple[Range, ...]) -> Iterator[tuple[tuple[Range, ...], Map]]:
    """The maps below, each with the loops that it consists of or that are around it."""
    for stmt in block:
        if isinstance(stmt, Map):
            yield (*path, *stmt.domain), stmt
        elif isinstance(stmt, Loop):
            yield from _nests(stmt.body, (*path, stmt.range))


def _many(frame: Frame, loops: tuple[Range, ...], stmt: Map, part: Store) -> bool:
    """Whether a store fills more than the cache holds, each time elsewhere, and is the map's only one to this array."""
    used = {s for i in part.index for s in i.symbols}
    for r in reversed(loops):
        used |= r.start.symbols | r.stop.symbols if r.var in used else set()
    filled = domain_points(loops, frame.bounds) * frame.arrays[part.array].dtype.itemsize
    alone = sum(isinstance(p, Store) and p.array == part.array for p in stmt.body) == 1
    return alone and all(r.var in used for r in loops) and filled >= LEAST


def past_stores(frame: Frame, stmt: Map, loops: Sequence[Range]) -> dict[int, Store]:
    """The stores of a nest, by their position, that go past the cache: along the innermost loop, element by element."""
    if not frame.streamed or not loops or loops[-1].step != 1:
        return {}
    trips = extent_bound(loops[-1], frame.bounds)
    found = {k: p for k, p in enumerate(stmt.body) if isinstance(p, Store) and p.op is None and
             p.array in frame.streamed and _side_by_side(frame, p, loops[-1].var)}
    return {k: p for k, p in found.items() if trips is None or trips * frame.arrays[p.array].dtype.itemsize >= CHUNK}


def apart_from_past(frame: Frame, stmt: Map) -> tuple[Map, ...]:
    """map i: { y[i] += a[i] * s ; z[i] = x[i] * t }   ->   map i: y[i] += a[i] * s ; map i: z[i] = x[i] * t

    With z past the cache. For rows that stay in a near cache meanwhile: streams make each other slower.
    """
    past = past_stores(frame, stmt, stmt.domain)
    rest = tuple(p for k, p in enumerate(stmt.body) if k not in past)
    if not past or not rest or len(stmt.domain) != 1 or not all(isinstance(p, Store) for p in rest):
        return (stmt,)
    trips = extent_bound(stmt.domain[0], frame.bounds)
    changed = {p.array for p in rest if isinstance(p, Store)}
    if trips is None or trips * LINE > USUAL.own or any(changed & expr_reads(p.expr) for p in past.values()):
        return (stmt,)
    return tuple(replace(stmt, body=body) for body in (rest, tuple(past.values())))


def _side_by_side(frame: Frame, part: Store, var: str) -> bool:
    array = frame.arrays[part.array]
    place = flat(array, part.index)
    return place.affine is not None and place.coefficient(var) == 1 and array.dtype.kind == "f"


@dataclass(frozen=True)
class Pieces:
    """The innermost loop in pieces: what goes past the cache is collected side by side and written after each.

    names: where a store of the map, by its position, collects.
    """

    writer: Writer
    frame: Frame
    stores: Mapping[int, Store]
    range: Range
    names: Mapping[int, str]
    end: str

    @staticmethod
    def of(writer: Writer, frame: Frame, stores: Mapping[int, Store], r: Range) -> Pieces:
        """The pieces of one loop."""
        return Pieces(writer, frame, stores, r, {k: writer.fresh("w") for k in stores}, writer.fresh("e"))

    @property
    def first(self) -> Ix:
        """The first iteration of a piece."""
        return ix(f"{self.range.var}'")

    @property
    def targets(self) -> dict[int, str]:
        """Where the stores go meanwhile."""
        here = f"{symbol(self.range.var)} - {index_text(self.frame, self.first)}"
        return {k: f"{name}[{here}]" for k, name in self.names.items()}

    def open(self, start: str, stop: str) -> tuple[str, str]:
        """Begin the loop over the pieces. Returns the ends of a piece."""
        first = index_text(self.frame, self.first)
        length = CHUNK // max(self.frame.arrays[p.array].dtype.itemsize for p in self.stores.values())
        place = self.place(next(iter(self.stores.values())))
        self.writer.open(f"for (int64_t {first} = {start}, {self.end}; {first} < {stop}; {first} = {self.end})")
        self.writer.line(f"{self.end} = sg::least({stop}, {first} + sg::whole_lines({place}, {length}));")
        for k, name in self.names.items():
            kind = ctype(self.frame.arrays[self.stores[k].array].dtype)
            self.writer.line(f"alignas({LINE}) {kind} {name}[{length}];")
        return first, self.end

    def close(self) -> None:
        """Write a piece, and end the loop."""
        count = f"{self.end} - {index_text(self.frame, self.first)}"
        for k, name in self.names.items():
            self.writer.line(f"sg::write_past({self.place(self.stores[k])}, {name}, {count});")
        self.writer.close()

    def place(self, part: Store) -> str:
        """Where the first element of a piece goes."""
        return f"&{access(self.frame, part.array, tuple(i.subs({self.range.var: self.first}) for i in part.index))}"
