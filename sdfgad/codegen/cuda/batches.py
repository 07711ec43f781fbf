"""Loops over matrices as products of several matrices at once: program to program.

    for k: p[:] = a[k] @ b[k] ; c[k] = sin(p)   ->   p'[k] = a[k] @ b[k] for all k ; c[k] = sin(p'[k]) for all k

An iteration must touch nothing of another one's: of what a loop writes, it has a slice of its own, or fills a temporary
before it looks at it, which then becomes one temporary for each iteration (loop distribution and array expansion; Allen
and Kennedy, "Optimizing Compilers for Modern Architectures", 5.3, 6.2).
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from sdfgad.analysis.elements.cover import replaced
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Lib, Loop, Map, Program, Range, Stmt, View, axis, views_of
from sdfgad.ir.walk import children, map_accesses, reads, statements, with_children, writes

MATMULS = "matmuls"
"""Products of the matrices of three-dimensional operands."""
SPREAD = 2
"""Temporaries of all iterations may take so many times the bytes of the largest array that the loop touches anyway."""


def batched(program: Program) -> Program:
    """The program with such loops taken apart, and its temporaries."""
    pass_ = _Batches(program)
    body = pass_.block(program.body)
    return program.but(arrays=pass_.arrays, body=body)


@dataclass(frozen=True)
class _LoopApart:
    """A loop whose iterations are apart. private: temporaries of one iteration."""

    range: Range
    body: tuple[Map | Lib, ...]
    private: frozenset[str]


class _Batches:
    def __init__(self, program: Program) -> None:
        self.arrays = dict(program.arrays)
        self.kept = {*program.arguments, *program.constants, *program.live_out, *program.watched,
                     *(v.array for v in views_of(program.returns))}
        self.uses: dict[str, int] = {}
        for stmt in statements(program.body):
            for name in reads(stmt) | writes(stmt):
                self.uses[name] = self.uses.get(name, 0) + 1

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            parts = self.parts(stmt) if isinstance(stmt, Loop) else None
            if parts is not None:
                out += self.apart(parts)
            else:
                out.append(with_children(stmt, [self.block(b) for b in children(stmt)]))
        return tuple(out)

    def parts(self, stmt: Loop) -> _LoopApart | None:
        """A loop over products that may be taken apart; None otherwise."""
        r = stmt.range.upwards
        body = tuple(s for s in stmt.body if isinstance(s, (Map, Lib)))
        if stmt.until is not None or r.step != 1 or (r.trips or 0) < 2 or len(body) < len(stmt.body):
            return None
        products = [s for s in body if isinstance(s, Lib)]
        if not products or not all(_is_of_matrices(s, r.var) for s in products):
            return None
        if any(v.var == r.var for s in body if isinstance(s, Map) for v in s.domain):
            return None
        written = frozenset(n for s in body for n in writes(s))
        private = frozenset(n for n in written if not self.is_sliced(n, body, r.var))
        if all(self.is_private(n, body) for n in private) and self.fits(body, private, r.trips or 0):
            return _LoopApart(r, body, private)
        return None

    def is_sliced(self, name: str, body: tuple[Map | Lib, ...], var: str) -> bool:
        """Whether the loop's variable stands alone in one dimension of every access."""
        found = [index for stmt in body for index in accesses(stmt, name)]
        dimensions = range(len(self.arrays[name].shape))
        return any(all(index[d] == ix(var) for index in found) for d in dimensions)

    def is_private(self, name: str, body: tuple[Map | Lib, ...]) -> bool:
        """Whether every iteration fills it first, and nobody else knows it."""
        touching = [s for s in body if name in reads(s) | writes(s)]
        array = self.arrays[name]
        first = touching[0]
        plain = array.role == "transient" and array.packing is None and array.window is None
        alone = name not in self.kept and plain
        return alone and self.uses[name] == len(touching) and name not in reads(first) and \
            name in replaced(first, self.arrays)

    def fits(self, body: tuple[Map | Lib, ...], private: frozenset[str], count: int) -> bool:
        known = {n for s in body for n in reads(s) | writes(s)} - private
        most = max((self.arrays[n].bytes for n in known), default=0)
        return sum(self.arrays[n].bytes for n in private) * count <= SPREAD * most

    def apart(self, parts: _LoopApart) -> list[Stmt]:
        """Each statement for all iterations."""
        r, out = parts.range, list[Stmt]()
        for stmt in parts.body:
            moved = map_accesses(stmt, lambda name, index: (ix(r.var) - r.start, *index)
                                 if name in parts.private else index)
            if isinstance(moved, Map):
                out.append(replace(moved, domain=(r, *moved.domain)))
            elif isinstance(moved, Lib):
                out.append(_together(moved, r))
        for name in parts.private:
            array = self.arrays[name]
            self.arrays[name] = replace(array, shape=(r.trips or 0, *array.shape))
        return out


def _is_of_matrices(stmt: Lib, var: str) -> bool:
    """Whether an operation is a product of matrices of sizes that stay what they are, with nothing else to it."""
    views = (*stmt.outs, *stmt.ins)
    return stmt.op == "matmul" and len(views) == 3 and all(
        len(v.shape) == 2 and all(n.const is not None for n in v.shape) for v in views)


def accesses(stmt: Map | Lib, name: str) -> list[tuple[Ix, ...]]:
    """The indices by which a statement touches an array."""
    found: list[tuple[Ix, ...]] = []

    def seen(array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        if array == name:
            found.append(index)
        return index

    map_accesses(stmt, seen)
    return found


def _together(stmt: Lib, r: Range) -> Lib:
    """The variable of a loop as the first dimension of all operands."""
    def view(v: View) -> View:
        names = {axis(0): ix(axis(1)), axis(1): ix(axis(2)), r.var: r.start + ix(axis(0))}
        return View(v.array, (ix(r.trips or 0), *v.shape), tuple(i.subs(names) for i in v.index), v.dtype)

    attrs = {**stmt.attrs, "var": r.var}
    return Lib(MATMULS, tuple(map(view, stmt.outs)), tuple(map(view, stmt.ins)), attrs, stmt.source)


def one_of(stmt: Lib) -> tuple[Range, Lib]:
    """The product of the matrices with one number, and the range of these."""
    var = stmt.attrs["var"]

    def view(v: View) -> View:
        names = {axis(0): ix(var), axis(1): ix(axis(0)), axis(2): ix(axis(1))}
        return View(v.array, v.shape[1:], tuple(i.subs(names) for i in v.index), v.dtype)

    attrs = MappingProxyType({k: a for k, a in stmt.attrs.items() if k != "var"})
    one = Lib("matmul", tuple(map(view, stmt.outs)), tuple(map(view, stmt.ins)), attrs, stmt.source)
    return Range(var, ix(0), stmt.outs[0].shape[0]), one
