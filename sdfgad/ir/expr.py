"""Scalar expressions: what one element of a statement computes. Immutable, hashed, shared freely."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from sdfgad.ir.index import Elem, Ix

DType: TypeAlias = np.dtype


@dataclass(frozen=True, eq=False)
class _Node:
    @cached_property
    def key(self) -> tuple:
        raise NotImplementedError

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    @property
    def size(self) -> int:
        """How many nodes it has when it is written out, shared ones as often as they are used."""
        return 1

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._hash == other._hash and self.key == other.key)


@dataclass(frozen=True, eq=False)
class Const(_Node):
    """A number known when the program is compiled (Python bool, int, float or complex)."""

    value: bool | int | float | complex
    dtype: DType

    @cached_property
    def key(self) -> tuple:
        return (repr(self.value), self.dtype.str)


@dataclass(frozen=True, eq=False)
class Index(_Node):
    """The value of an index expression, as a number."""

    ix: Ix
    dtype: DType

    @cached_property
    def key(self) -> tuple:
        return (self.ix, self.dtype.str)


@dataclass(frozen=True, eq=False)
class Load(_Node):
    """One element of an array, as it is when the statement runs."""

    array: str
    index: tuple[Ix, ...]
    dtype: DType

    @cached_property
    def key(self) -> tuple:
        return (self.array, self.index, self.dtype.str)


@dataclass(frozen=True, eq=False)
class Local(_Node):
    """A value bound by a `Let` earlier in the same map body."""

    name: str
    dtype: DType

    @cached_property
    def key(self) -> tuple:
        return (self.name, self.dtype.str)


@dataclass(frozen=True, eq=False)
class Call(_Node):
    """A scalar function of the rule book applied to arguments. `select(c, a, b)` evaluates only the branch taken."""

    fn: str
    args: tuple[Expr, ...]
    dtype: DType

    @cached_property
    def key(self) -> tuple:
        return (self.fn, self.args, self.dtype.str)

    @cached_property
    def size(self) -> int:
        return 1 + sum(a.size for a in self.args)


Expr: TypeAlias = Const | Index | Load | Local | Call


def const(value: bool | int | float | complex, dtype: DType | str) -> Const:
    """A literal of the given dtype."""
    return Const(value, np.dtype(dtype))


def call(fn: str, *args: Expr, dtype: DType | str | None = None) -> Call:
    """Apply a scalar function; the dtype defaults to that of the first argument."""
    return Call(fn, args, args[0].dtype if dtype is None else np.dtype(dtype))


def operands(node: Expr) -> tuple[Expr, ...]:
    return node.args if isinstance(node, Call) else ()


def certain(node: Expr) -> tuple[Expr, ...]:
    """The operands that are evaluated whenever the node is: what only one branch of a choice reads may lie outside its
    array where the other one is taken."""
    return operands(node)[:1] if isinstance(node, Call) and node.fn == "select" else operands(node)


def walk(expr: Expr, parts: Callable[[Expr], tuple[Expr, ...]] = operands) -> Iterator[Expr]:
    """Each distinct node once that is reached through `parts`, operands before the nodes that use them."""
    seen: set[Expr] = set()
    found: list[Expr] = []

    def visit(node: Expr) -> None:
        if node not in seen:
            seen.add(node)
            for part in parts(node):
                visit(part)
            found.append(node)

    visit(expr)
    return iter(found)


def rewrite(expr: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild bottom up; `replace` sees each node after its operands and returns None to keep it."""
    memo: dict[Expr, Expr] = {}

    def visit(node: Expr) -> Expr:
        if node in memo:
            return memo[node]
        new = node
        if isinstance(node, Call):
            args = tuple(visit(a) for a in node.args)
            if any(a is not b for a, b in zip(args, node.args, strict=True)):
                new = Call(node.fn, args, node.dtype)
        replaced = replace(new)
        memo[node] = new if replaced is None else replaced
        return memo[node]

    return visit(expr)


def map_indices(expr: Expr, change: Callable[[Ix], Ix]) -> Expr:
    """Apply `change` to every index expression inside."""

    def one(node: Expr) -> Expr | None:
        if isinstance(node, Load):
            return Load(node.array, tuple(change(i) for i in node.index), node.dtype)
        if isinstance(node, Index):
            return Index(change(node.ix), node.dtype)
        return None

    return rewrite(expr, one)


def loads(expr: Expr) -> list[Load]:
    """The distinct loads of an expression, in the order of evaluation."""
    return list(_known(expr)[0])


def symbols_of(expr: Expr) -> set[str]:
    """Variables that indices inside the expression name."""
    return {s for n in walk(expr) if isinstance(n, (Load, Index))
            for i in (n.index if isinstance(n, Load) else (n.ix,)) for s in i.symbols}


def index_elems(expr: Expr) -> list[Elem]:
    """Integer array elements read by indices inside the expression."""
    return list(_known(expr)[1])


def _known(expr: Expr) -> tuple[tuple[Load, ...], tuple[Elem, ...]]:
    """Kept with the object, so that mostly nothing has to be compared; and by value, for equal objects."""
    found: tuple[tuple[Load, ...], tuple[Elem, ...]] | None = expr.__dict__.get("_known")
    if found is None:
        found = _looked_up(expr)
        object.__setattr__(expr, "_known", found)
    return found


@lru_cache(maxsize=1 << 13)
def _looked_up(expr: Expr) -> tuple[tuple[Load, ...], tuple[Elem, ...]]:
    """Loads, and elements read by indices: every pass asks for those of the same expressions."""
    found: list[Load] = []
    elems: dict[Elem, None] = {}
    for node in walk(expr):
        if isinstance(node, Load):
            found.append(node)
        parts = node.index if isinstance(node, Load) else (node.ix,) if isinstance(node, Index) else ()
        for part in parts:
            elems.update(dict.fromkeys(part.elems))
    return tuple(found), tuple(elems)
