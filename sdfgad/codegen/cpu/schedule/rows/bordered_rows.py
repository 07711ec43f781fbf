"""Temporary rows with a border of zeros: sums of neighbours need no pieces of their own at the ends."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.loops.rows import distance
from sdfgad.caches import LINE
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, map_indices
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Lib, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import children, expr_reads, map_accesses, reads, rebuild, statements, with_children, within, writes
from sdfgad.names import variable
from sdfgad.thresholds import thresholds
from sdfgad.transform.spelling import only_store

Rows = Mapping[str, int]
_HERE = variable("b")
_LINEAR: Mapping[str, Callable[..., Expr]] = MappingProxyType(
    {"add": algebra.add, "sub": algebra.sub, "neg": algebra.neg, "mul": algebra.mul})


def border_rows(program: Program) -> Program:
    """t: float64[n] ; for i: { map d: t[d] = f(d)
           map d = 0:n - 1: x[i, d] += t[d] + t[d + 1] ; map d = -1:0: x[i, d] += t[d + 1] ; x[i, n - 1] += t[n - 1] }
    ->  t: float64[8 + n + 8], zero at both ends ; for i: { map d: t[d + 8] = f(d)
           map d = -1:n: x[i, d] += t[d + 8] + t[d + 9] }

    For rows that nobody else sees, in loops. Pieces stand side by side, go to neighbouring elements of another array
    and add the same but for what would lie beyond the ends.
    """
    rows = _rows(program, program.live_out)
    merger = _PieceMerger(rows)
    body = tuple(merger.inside(s, False) for s in program.body) if rows else program.body
    beyond = {n: _border(program.arrays[n], k) for n, k in merger.beyond.items()}
    if not beyond:
        return program
    moved = tuple(map_accesses(s, lambda n, index: tuple(i + beyond[n] for i in index) if n in beyond else index)
                  for s in body)
    arrays = {n: replace(a, shape=(a.shape[0] + 2 * beyond[n],)) if n in beyond else a
              for n, a in program.arrays.items()}
    return program.but(arrays=arrays, body=_with_zeros(moved, arrays, beyond))


def _rows(program: Program, keep: Collection[str]) -> Rows:
    """The length of each temporary row that only maps and conditions touch, and no loop but the one it belongs to."""
    whole = {v.array for s in statements(program.body) if isinstance(s, Lib) for v in (*s.ins, *s.outs)}
    fixed = {*keep, *program.arguments, *program.live, *whole, *_astray(program.body)}
    return {n: a.shape[0] for n, a in program.arrays.items() if n not in fixed and a.role == "transient"
            and len(a.shape) == 1 and not a.packing and a.dtype.kind in "fc"}


def _astray(body: Block) -> Iterator[str]:
    """Arrays that belong to iterations of a loop and are seen outside of it as well, or belong to loops in each other.
    """
    def seen(block: Block, own: frozenset[str]) -> Iterator[str]:
        for stmt in block:
            names = frozenset(stmt.private) if isinstance(stmt, Loop) else frozenset()
            yield from (names & own) | ((reads(stmt) | writes(stmt)) & private - own)
            for inner in children(stmt):
                yield from seen(inner, own | names)

    private = {n for s in statements(body) if isinstance(s, Loop) for n in s.private}
    yield from seen(body, frozenset())


@dataclass(frozen=True)
class _RowPiece:
    """A map that does nothing but store, or add, along a row. store: in terms of the variable `_HERE`."""

    stmt: Map
    store: Store
    low: int
    high: int

    @property
    def target(self) -> tuple[object, ...]:
        return self.store.array, self.store.index, self.store.op


class _PieceMerger:
    """Joins pieces. beyond: by row, how many elements beyond its ends are read then."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.beyond: dict[str, int] = {}

    def inside(self, stmt: Stmt, looped: bool) -> Stmt:
        """The statement with the pieces joined in the blocks of its loops."""
        inner = looped or isinstance(stmt, (Loop, While))
        return with_children(stmt, [self.block([self.inside(s, inner) for s in b]) if inner else
                                    tuple(self.inside(s, inner) for s in b) for b in children(stmt)])

    def block(self, work: Sequence[Stmt]) -> Block:
        out: list[Stmt] = []
        while work:
            pieces = _pieces(work)
            whole = self.whole(pieces) if len(pieces) > 1 else None
            taken = len(pieces) if whole is not None else 1
            out += [whole] if whole is not None else work[:1]
            work = work[taken:]
        return tuple(out)

    def whole(self, pieces: Sequence[_RowPiece]) -> Map | None:
        """All pieces as one map, if the others are what the longest one comes to at the ends of rows."""
        longest = max(pieces, key=lambda p: p.high - p.low)
        ends = _Ends(self.rows)
        ordered = sorted(pieces, key=lambda p: p.low)
        if any(a.high != b.low for a, b in pairwise(ordered)) or \
                longest.store.array in expr_reads(longest.store.expr) or \
                any(ends.of(longest.store.expr, p) != p.store.expr for p in pieces) or not ends.beyond:
            return None
        for name, k in ends.beyond.items():
            self.beyond[name] = max(k, self.beyond.get(name, 0))
        r = longest.stmt.domain[0]
        return replace(longest.stmt, domain=(replace(r, start=ix(ordered[0].low), stop=ix(ordered[-1].high)),))


@dataclass
class _Ends:
    """What sums of neighbours come to at the ends of rows. beyond: how far they would read there, by row."""

    rows: Rows
    beyond: dict[str, int] = field(default_factory=dict)

    def of(self, e: Expr, piece: _RowPiece) -> Expr | None:
        """An expression with zeros for what lies beyond the ends at all points of a piece; None where only some do, or
        more than sums and multiples of elements of rows is in it."""
        if isinstance(e, Load):
            return self.load(e, piece)
        if not isinstance(e, Call) or e.fn not in _LINEAR:
            return None
        if e.fn == "mul" and isinstance(e.args[0], Const) and np.isfinite(e.args[0].value):
            found = self.of(e.args[1], piece)
            return None if found is None else algebra.mul(e.args[0], found)
        parts = [self.of(a, piece) for a in e.args] if e.fn != "mul" else [None]
        return None if None in parts else _LINEAR[e.fn](*parts)

    def load(self, e: Load, piece: _RowPiece) -> Expr | None:
        ahead = distance(e.index[0], _HERE) if e.array in self.rows else None
        if ahead is None:
            return None
        first, last, n = piece.low + ahead, piece.high - 1 + ahead, self.rows[e.array]
        if first >= 0 and last < n:
            return e
        if first < n and last >= 0 or max(-first, last + 1 - n) * e.dtype.itemsize > thresholds().border_bytes:
            return None
        self.beyond[e.array] = max(self.beyond.get(e.array, 0), -first, last + 1 - n)
        return algebra.zero(e.dtype)


def _pieces(work: Sequence[Stmt]) -> list[_RowPiece]:
    """The maps at the beginning of a block that store along the same row in the same way."""
    found: list[_RowPiece] = []
    for stmt in work:
        piece = _piece(stmt)
        if piece is None or found and piece.target != found[0].target:
            break
        found.append(piece)
    return found


def _piece(stmt: Stmt) -> _RowPiece | None:
    store = only_store(stmt) if isinstance(stmt, Map) and len(stmt.domain) == 1 else None
    if store is None or not isinstance(stmt, Map) or store.op not in (None, "+"):
        return None
    r = stmt.domain[0]
    if r.step != 1 or r.start.const is None or r.stop.const is None:
        return None
    names = {r.var: _HERE}
    index = tuple(i.subs(names) for i in store.index)
    return _RowPiece(stmt, replace(store, index=index, expr=map_indices(store.expr, lambda i: i.subs(names))),
                  r.start.const, r.stop.const)


def _border(array: Array, beyond: int) -> int:
    """Elements of a border, for reads so far beyond the ends."""
    step = max(1, LINE // array.dtype.itemsize)
    return -(-beyond // step) * step


def _with_zeros(body: Block, arrays: Mapping[str, Array], borders: Mapping[str, int]) -> Block:
    """Borders cleared where the iteration begins to which a row belongs, or before the first statement that has it."""
    private = {n for s in statements(body) if isinstance(s, Loop) for n in s.private}
    body = rebuild(body, lambda s: (_cleared(s, arrays, borders),))
    out: list[Stmt] = []
    left = {n: b for n, b in borders.items() if n not in private}
    for stmt in body:
        out += [_zeros(arrays[n], left.pop(n)) for n in sorted(left) if any(n in names for names in within(stmt))]
        out.append(stmt)
    return tuple(out)


def _cleared(stmt: Stmt, arrays: Mapping[str, Array], borders: Mapping[str, int]) -> Stmt:
    """A loop that clears the borders of the rows that belong to its iterations."""
    own = [n for n in stmt.private if n in borders] if isinstance(stmt, Loop) else []
    return replace(stmt, body=(*(_zeros(arrays[n], borders[n]) for n in own), *stmt.body)) \
        if isinstance(stmt, Loop) and own else stmt


def _zeros(array: Array, border: int) -> Map:
    places = ix(_HERE), ix(_HERE) + (array.shape[0] - border)
    zero = algebra.zero(array.dtype)
    return Map((Range(_HERE, ix(0), ix(border)),), tuple(Store(array.name, (i,), zero) for i in places))
