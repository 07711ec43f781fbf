"""Statements on arrays of other names."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sdfgad.ir.expr import Expr, Load, index_elems, loads, map_indices, put
from sdfgad.ir.index import Atom, Elem, Ix, elem
from sdfgad.ir.program import Block, If, Let, Lib, Loop, Map, Pop, Push, Range, Stmt, Store, View
from sdfgad.ir.walk import change_range, change_view, rebuild


@dataclass(frozen=True)
class RenamedArrays:
    """Other names for the arrays of expressions, indices and views."""

    name: Callable[[str], str]

    def index(self, i: Ix) -> Ix:
        return i.rebuild(self._atom) if i.elems else i

    def _atom(self, atom: Atom) -> Ix | None:
        return elem(self.name(atom.array), atom.parts) if isinstance(atom, Elem) else None

    def expr(self, e: Expr) -> Expr:
        moved = map_indices(e, self.index) if index_elems(e) else e
        return put(moved, {n: Load(self.name(n.array), n.index, n.dtype) for n in loads(moved)})

    def range(self, r: Range) -> Range:
        return change_range(r, self.index)

    def view(self, v: View) -> View:
        return replace(change_view(v, self.index), array=self.name(v.array))

    def part(self, p: Let | Store) -> Let | Store:
        if isinstance(p, Let):
            return replace(p, expr=self.expr(p.expr))
        return Store(self.name(p.array), tuple(self.index(i) for i in p.index), self.expr(p.expr), p.op)

    def own(self, stmt: Stmt) -> Stmt:
        """A statement with other names, but for what it holds and the flags of loops."""
        if isinstance(stmt, Map):
            return replace(stmt, domain=tuple(map(self.range, stmt.domain)), body=tuple(map(self.part, stmt.body)))
        if isinstance(stmt, Lib):
            return replace(stmt, outs=tuple(map(self.view, stmt.outs)), ins=tuple(map(self.view, stmt.ins)))
        if isinstance(stmt, Loop):
            return replace(stmt, range=self.range(stmt.range))
        if isinstance(stmt, (Push, Pop)):
            return replace(stmt, tape=self.name(stmt.tape), shape=tuple(map(self.index, stmt.shape)))
        return replace(stmt, cond=self.expr(stmt.cond)) if isinstance(stmt, If) else stmt


def renamed(block: Block, names: Mapping[str, str]) -> Block:
    """The statements on other arrays; the flags of loops keep their names."""
    change = RenamedArrays(lambda n: names.get(n, n))
    return rebuild(block, lambda s: (change.own(s),))
