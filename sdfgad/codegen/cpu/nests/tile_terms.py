"""The terms of sums in register tiles: which expressions mean the same on vectors and on numbers, and their C++ text.

What a comparison gives is a mask: a bool for one number; for several, a vector of integers with all bits set or none.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

from sdfgad.codegen.cpp import Frame, Writer, access, ctype, inside, literal
from sdfgad.codegen.expressions import WRAPPING
from sdfgad.errors import InvariantError
from sdfgad.ir.expr import Call, Const, Expr, Load, certain, loads, walk
from sdfgad.ir.index import Ix

_INFIX = MappingProxyType({"add": "+", "sub": "-", "mul": "*"})
_COMPARISONS = MappingProxyType({"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="})
_ON_MASKS = MappingProxyType({"and": "sg::both", "or": "sg::either", "not": "sg::negated"})
_ROOMY = 4
"""Bytes from which C++ computes integers as what they are."""


def is_term(expr: Expr) -> bool:
    """Whether an expression is plain arithmetic, comparisons and choices on real numbers."""
    return expr.dtype.kind != "b" and all(_has_vector_form(n) for n in walk(expr))


def _has_vector_form(n: Expr) -> bool:
    if isinstance(n, (Load, Const)):
        return _is_number(n)
    if not isinstance(n, Call):
        return False
    kinds = {a.dtype for a in n.args}
    if n.fn in _COMPARISONS:
        return len(kinds) == 1 and all(_is_number(a) for a in n.args)
    if n.fn in _ON_MASKS:
        return all(a.dtype.kind == "b" for a in n.args)
    if n.fn == "select":
        return _is_number(n) and n.args[0].dtype.kind == "b" and all(a.dtype == n.dtype for a in n.args[1:])
    if n.fn == "cast":
        return _is_number(n) and n.args[0].dtype.kind in ("fb" if n.dtype.kind == "f" else "b")
    return _is_number(n) and (n.fn in _INFIX or n.fn == "neg") and kinds == {n.dtype}


def _is_number(n: Expr) -> bool:
    return n.dtype.kind == "f" or (n.dtype.kind == "i" and n.dtype.itemsize >= _ROOMY)


def operations(expr: Expr) -> int:
    """What adding a term takes: with comparisons one operation each, for the sum and for each condition.

    Without, the arithmetic of a term is taken as one with the addition, as in a product.
    """
    return 1 + sum(n.fn in _COMPARISONS for n in walk(expr) if isinstance(n, Call))


def loads_ahead(frame: Frame, expr: Expr) -> bool:
    """Whether what only one branch of a choice reads may be loaded whichever branch is taken."""
    sure = {n for n in walk(expr, certain) if isinstance(n, Load)}
    return all(inside(frame, frame.arrays[n.array], n.index) for n in loads(expr) if n not in sure)


@dataclass(frozen=True)
class Cell:
    """One vector of sums: what the tile's variables are in it, how many lanes it has, and the local that holds it."""

    place: dict[str, Ix]
    lanes: int
    name: str


@dataclass
class Terms:
    """Texts of the terms at one point of the sums; every distinct load is made once."""

    writer: Writer
    frame: Frame
    vector: str
    loaded: dict[tuple[str, tuple[Ix, ...], int], str] = field(default_factory=dict)

    def text(self, node: Expr, cell: Cell) -> str:
        if isinstance(node, Const):
            return literal(node.value, node.dtype)
        if isinstance(node, Load):
            return self._load(node, cell)
        if not isinstance(node, Call):
            raise InvariantError(f"{node!r} has no vector form")
        return _call(node, [self.text(a, cell) for a in node.args])

    def _load(self, node: Load, cell: Cell) -> str:
        """A local with the lanes of an element and its neighbours, or with the one element all lanes use."""
        lanes = cell.lanes if any(self.vector in i.symbols for i in node.index) else 1
        index = tuple(i.subs(cell.place) for i in node.index)
        key = (node.array, index, lanes)
        if key not in self.loaded:
            name = self.loaded[key] = self.writer.fresh()
            element = access(self.frame, node.array, index)
            self.writer.line(f"const auto {name} = {element if lanes == 1 else f'sg::load<{lanes}>(&{element})'};")
        return self.loaded[key]


def _call(node: Call, args: list[str]) -> str:
    """One scalar function applied to vectors, numbers and masks."""
    if node.fn == "cast":
        convert = "number_of" if node.args[0].dtype.kind == "b" else "convert"
        return f"sg::{convert}<{ctype(node.dtype)}>({args[0]})"
    if node.dtype.kind == "i" and node.fn in WRAPPING:
        return f"sg::{WRAPPING[node.fn]}({', '.join(args)})"
    if node.fn == "neg":
        return f"(-{args[0]})"
    if node.fn == "select":
        return f"sg::choose<{ctype(node.dtype)}>({', '.join(args)})"
    if node.fn in _ON_MASKS:
        return f"{_ON_MASKS[node.fn]}({', '.join(args)})"
    return f"({args[0]} {(_COMPARISONS | _INFIX)[node.fn]} {args[1]})"
