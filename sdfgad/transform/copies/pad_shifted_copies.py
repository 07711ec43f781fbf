"""Read what shifted copies hold from the array itself, which gets halos, or from one copy that has them."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product
from math import prod
from operator import add

from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import IN_MEMORY, Array, Block, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, children, expr_reads, reads, rebuild_blocks, statements, writes
from sdfgad.names import fresh, variable
from sdfgad.thresholds import PadLimits, thresholds
from sdfgad.transform.copies.shifted import CopyPiece, dropped, pieces_of, touching
from sdfgad.transform.spelling import whole_copy

Shift = tuple[int, ...]


def pad_shifted_copies(program: Program, limits: PadLimits | None = None) -> Program:
    """t[i + 1] = x[i] ; t[0] = x[n - 1] ; map i: y[i] = x[i] - t[i]
    ->   x[0] = x[n] ; map i: y[i] = x[i + 1] - x[i], as all elements of x moved up by one

    t[i] = x[i + 1] ; t[n - 1] = x[0] ; s[i + 1] = x[i] ; s[0] = x[n - 1] ; map i: x[i] = t[i] - s[i]
    ->   map i: p[i + 1] = x[i] ; p[0] = x[n - 1] ; p[n + 1] = x[0] ; map i: x[i] = p[i + 2] - p[i]

    For temporaries that maps of one block fill with an array shifted around its ends (`np.roll`), and at which only
    maps look after that. Where the array changes before the last look it is copied once; else it has the halos itself,
    if only maps touch it and nobody outside does. Halos are what programs for distributed memory keep of their
    neighbours.
    """
    found = _Search(program, limits or thresholds().padding).found
    if not found:
        return program
    work = _Padding(program, found)
    return program.but(body=rebuild_blocks(program.body, work.block), arrays=work.arrays)


@dataclass(frozen=True)
class _Root:
    """An array of which all of some axes is copied; numbers in `fixed` for the places in its other axes."""

    array: str
    fixed: tuple[int | None, ...]

    def at(self, index: Sequence[Ix]) -> tuple[Ix, ...]:
        """The index of an element that is at a place in the axes that are copied."""
        rest = iter(index)
        return tuple(ix(f) if f is not None else next(rest) for f in self.fixed)

    def along(self, sizes: Sequence[int]) -> Shift:
        """Sizes along the axes that are copied, and 0 along the others."""
        rest = iter(sizes)
        return tuple(0 if f is not None else next(rest) for f in self.fixed)


@dataclass(frozen=True)
class _ShiftedCopy:
    """An array that holds `root[(i + shift) % n]` at i. first, last: the places of the maps that copy into it; looked:
    of the last statement that looks at it."""

    array: Array
    root: _Root
    shift: Shift
    first: int
    last: int
    looked: int


@dataclass(frozen=True)
class _Halos:
    """Copies of one content of an array that can do with halos. inside: those of the array itself."""

    copies: tuple[_ShiftedCopy, ...]
    inside: bool

    @property
    def root(self) -> _Root:
        return self.copies[0].root

    @property
    def sizes(self) -> Shift:
        return self.copies[0].array.shape

    @cached_property
    def low(self) -> Shift:
        """How much of it lies in front of each axis, and behind (`high`)."""
        return tuple(max(0, *(-s for s in shifts), 0) for shifts in self._by_axis)

    @cached_property
    def high(self) -> Shift:
        return tuple(max(0, *shifts, 0) for shifts in self._by_axis)

    @property
    def _by_axis(self) -> Iterator[tuple[int, ...]]:
        return zip(*(c.shift for c in self.copies), strict=True)

    @property
    def shape(self) -> Shift:
        return tuple(a + n + b for a, n, b in zip(self.low, self.sizes, self.high, strict=True))

    def maps(self, target: str) -> Iterator[Map]:
        """What fills the parts that one of the shifts looks at, first the largest, all in places of the array: the
        halos have negative ones."""
        kinds = sorted(product((-1, 0, 1), repeat=len(self.sizes)), key=lambda sides: sum(map(abs, sides)))
        for sides in kinds[self.inside:]:
            if any(all(side * s > 0 for side, s in zip(sides, c.shift, strict=True) if side) for c in self.copies):
                yield self._map(target, sides)

    def _map(self, target: str, sides: Shift) -> Map:
        domain: list[Range] = []
        to, of = [], []
        for side, low, n, high in zip(sides, self.low, self.sizes, self.high, strict=True):
            var = variable("d", {r.var for r in domain})
            domain.append(Range(var, ix(0), ix((low, n, high)[side + 1])))
            to.append(ix(var) + (-low, 0, n)[side + 1])
            of.append(ix(var) + (n - low if side < 0 else 0))
        value = Load(self.root.array, self.root.at(of), self.copies[0].array.dtype)
        store = Store(target, self.root.at(to) if self.inside else tuple(to), value)
        return Map(tuple(domain), (store,), self.copies[0].array.source)


class _Search:
    """What can do with halos. own: arrays of the program's; movable: of those, the ones that only maps touch."""

    def __init__(self, program: Program, limits: PadLimits) -> None:
        self.arrays, self.limits = program.arrays, limits
        self.places = touching(program.body)
        self.own = [n for n, a in program.arrays.items() if n not in program.live_out and a.role == "transient"
                    and a.packing is None and a.dtype.kind in "fc"]
        by_maps = touching(tuple(s for s in statements(program.body) if isinstance(s, Map)), deep=False)
        self.movable = {n for n in self.own if by_maps.get(n) == self.places.get(n)}
        # Copies of whole arrays are read in place of those, and recorded for both.
        copied = [whole_copy(s, program.arrays) for s in statements(program.body)]
        into = Counter(c[0] for c in copied if c is not None)
        self.makers = Counter(n for s in statements(program.body) for n in writes(s))
        self.copies = {n for n in into if into[n] == self.makers[n]}
        found = [h for block in _blocks(program.body) for h in self._in(block)]
        # What goes has no halos: a loop may shift what was shifted in front of it.
        gone = {c.array.name for h in found for c in h.copies}
        self.found = [h for h in found if not h.inside or h.root.array not in gone]

    def _in(self, block: Block) -> Iterator[_Halos]:
        inside = touching(block)
        filled = {name: k for k, s in enumerate(block) for name in writes(s)}
        written = Counter(name for s in block for name in writes(s))
        copies: dict[str, _ShiftedCopy] = {}
        # By the map that fills them last: what a copy is made of comes before it.
        for name in sorted(filled.keys() & self.movable, key=lambda n: filled[n]):
            alone = inside[name] == self.places[name] and written[name] == self.makers[name] > 1
            if alone and self.arrays[name].size >= self.limits.size:
                copy = self._copy(block, name, copies)
                if copy is not None:
                    copies[name] = copy
        for group in _together(block, copies.values()):
            halos = self._halos(block, group)
            if halos is not None and prod(halos.shape) <= self.limits.room * prod(halos.sizes):
                yield halos

    def _copy(self, block: Block, name: str, before: Mapping[str, _ShiftedCopy]) -> _ShiftedCopy | None:
        """An array as a shifted copy that only maps look at, all of them behind those that fill it."""
        pieces = pieces_of(block, self.arrays[name])
        found = _shift(pieces, self.arrays[name], self.arrays)
        if found is None:
            return None
        makers = [k for k, s in enumerate(block) if name in writes(s)]
        lookers = [k for k, s in enumerate(block) if name in touching((s,)) and k not in makers]
        if not lookers or lookers[0] < makers[-1] or _only_copied([block[k] for k in lookers], name):
            return None
        first = min(p.place for p in pieces)
        copy = _ShiftedCopy(self.arrays[name], *found, first, makers[-1], lookers[-1])
        of = before.get(copy.root.array)
        if of is None:
            return copy
        if of.root.array in all_writes(block[of.first:copy.last + 1]):
            return None
        # What is shifted twice, along one axis and then along another, is one shift of the first array.
        both = _nearest(tuple(map(add, of.shift, copy.shift)), copy.array.shape)
        return replace(copy, root=of.root, shift=both, first=of.first)

    def _halos(self, block: Block, copies: Sequence[_ShiftedCopy]) -> _Halos | None:
        """None where nothing is shifted, or maps cut at the seams need neither halos nor copies."""
        root = copies[0].root.array
        if not any(any(c.shift) for c in copies):
            return None
        if root in all_writes(block[copies[0].first:max(c.looked for c in copies) + 1]):
            return _Halos(tuple(copies), False)
        return _Halos(tuple(copies), True) if root in self.movable - self.copies else None


class _Padding:
    def __init__(self, program: Program, found: Sequence[_Halos]) -> None:
        self.arrays = dict(program.arrays)
        self.moves: dict[str, _Move] = {}
        self.made: dict[str, tuple[str, tuple[Map, ...]]] = {}
        """What to do where the first map fills the copy of this name with elements of that array."""
        for name, inside in groupby(sorted((h for h in found if h.inside), key=_of), key=_of):
            self._inside(self.arrays[name], list(inside))
        for halos in found:
            if not halos.inside:
                self._copied(halos)

    def _inside(self, array: Array, found: Sequence[_Halos]) -> None:
        """Let an array have room for all its halos."""
        low, high = (tuple(map(max, zip(*(h.root.along(s) for h, s in sizes), strict=True)))
                     for sizes in ([(h, h.low) for h in found], [(h, h.high) for h in found]))
        shape = tuple(map(sum, zip(low, array.shape, high, strict=True)))
        self.arrays[array.name] = replace(array, shape=shape)
        self.moves[array.name] = _Move(array.name, low)
        for h in found:
            self.made[h.copies[0].array.name] = array.name, tuple(h.maps(array.name))
            for c in h.copies:
                self.moves[c.array.name] = _Move(array.name, low, c.shift, h.root)

    def _copied(self, halos: _Halos) -> None:
        some, root = halos.copies[0].array, self.arrays[halos.root.array]
        name = fresh(f"{root.name}_halos", self.arrays)
        label = f"{root.label or root.name} halos"
        self.arrays[name] = Array(name, halos.shape, some.dtype, source=some.source, label=label)
        self.moves[name] = _Move(name, halos.low)
        self.made[some.name] = halos.root.array, tuple(halos.maps(name))
        for c in halos.copies:
            self.moves[c.array.name] = _Move(name, halos.low, c.shift)

    def block(self, block: list[Stmt]) -> Block:
        """The block with halos in place of copies."""
        out: list[Stmt] = []
        for stmt in block:
            filled = [n for n in writes(stmt) if n in self.moves and self.moves[n].array != n]
            for name in filled:
                if name in self.made and self.made[name][0] in reads(stmt):
                    out += map(self._moved, self.made.pop(name)[1])
            left: Block = (stmt,)
            for name in filled:
                left = tuple(s for part in left for s in dropped(part, name))
            out += map(self._moved, left)
        return tuple(out)

    def _moved(self, stmt: Stmt) -> Stmt:
        """The statement with its elements where they are now."""
        if not isinstance(stmt, Map) or (reads(stmt) | writes(stmt)).isdisjoint(self.moves):
            return stmt

        def one(n: Expr) -> Expr | None:
            if not isinstance(n, Load) or n.array not in self.moves:
                return None
            move = self.moves[n.array]
            return replace(n, array=move.array, index=move.place(n.index))

        parts = [replace(p, expr=rewrite(p.expr, one)) for p in stmt.body]
        return replace(stmt, body=tuple(replace(p, index=self.moves[p.array].place(p.index)) if isinstance(
            p, Store) and p.array in self.moves else p for p in parts))


@dataclass(frozen=True)
class _Move:
    """Where elements of an array are now: those of a copy `shift` further on in its `root`, and there `low` more."""

    array: str
    low: Shift
    shift: Shift = ()
    root: _Root | None = None

    def place(self, index: Sequence[Ix]) -> tuple[Ix, ...]:
        at = tuple(map(add, index, self.shift)) if self.shift else tuple(index)
        return tuple(map(add, self.root.at(at) if self.root else at, self.low))


def _only_copied(lookers: Iterable[Stmt], name: str) -> bool:
    """Whether an array is only copied on, from which no halos save anybody."""
    return all(isinstance(s, Map) and all(isinstance(p, Store) and p.op is None and isinstance(p.expr, Load)
                                          for p in s.body if name in expr_reads(p.expr)) for s in lookers)


def _of(halos: _Halos) -> str:
    return halos.root.array


def _blocks(block: Block) -> Iterator[Block]:
    """A block and all that are inside of it."""
    yield block
    for stmt in statements(block):
        yield from children(stmt)


def _together(block: Sequence[Stmt], copies: Iterable[_ShiftedCopy]) -> list[list[_ShiftedCopy]]:
    """Copies of the same content, from the first to the last of them."""
    groups: dict[_Root, list[list[_ShiftedCopy]]] = {}
    for copy in sorted(copies, key=lambda c: c.first):
        mine = groups.setdefault(copy.root, [])
        if not mine or copy.root.array in all_writes(tuple(block[mine[-1][0].first:copy.last + 1])):
            mine.append([])
        mine[-1].append(copy)
    return [g for mine in groups.values() for g in mine]


def _shift(pieces: Sequence[CopyPiece], array: Array, arrays: Mapping[str, Array]) -> tuple[_Root, Shift] | None:
    """From which array pieces come, and how far around its ends it is shifted; None where they are something else."""
    if not pieces or any(p.source.array != pieces[0].source.array for p in pieces):
        return None
    main, of = pieces[0], arrays[pieces[0].source.array]
    axes = _axes(main)
    if axes is None or of.role not in IN_MEMORY or [of.shape[e] for e in axes] != list(array.shape):
        return None
    root = _Root(of.name, tuple(None if e in axes else i.const for e, i in enumerate(main.source.index)))
    far = [_far(p, axes, root) for p in pieces]
    shifts = {_nearest(f, array.shape) for f in far if f is not None}
    return (root, shifts.pop()) if None not in far and len(shifts) == 1 else None


def _axes(piece: CopyPiece) -> list[int] | None:
    """The axis of the source along each axis of the copy, in the same order; its other indices are numbers."""
    found = []
    for i in piece.index:
        along = [e for e, j in enumerate(piece.source.index) if i.symbols and j.symbols == i.symbols]
        if len(along) != 1:
            return None
        found += along
    rest = (i for e, i in enumerate(piece.source.index) if e not in found)
    return found if found == sorted(set(found)) and all(i.const is not None for i in rest) else None


def _far(piece: CopyPiece, axes: Sequence[int], root: _Root) -> Shift | None:
    """From a place in the copy to that in the source."""
    index = piece.source.index
    gaps = [(index[e] - i).const for e, i in zip(axes, piece.index, strict=True)]
    known = tuple(g for g in gaps if g is not None)
    fixed = all(f is None or i.const == f for f, i in zip(root.fixed, index, strict=True))
    return known if fixed and len(known) == len(gaps) else None


def _nearest(shift: Sequence[int], shape: Shift) -> Shift:
    """The same shift around the ends, the short way."""
    return tuple((s + n // 2) % n - n // 2 for s, n in zip(shift, shape, strict=True))
