"""Scalar expressions: what one element of a statement computes. Immutable, hashed, shared freely."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from sdfgad.ir.index import Elem, Ix, mod
from sdfgad.ir.interned import Table

DType: TypeAlias = np.dtype


class _Node:
    """There is one node for each content: equal nodes are the same object."""

    __match_args__: ClassVar[tuple[str, ...]]
    dtype: DType
    size = 1
    """How many nodes it has when it is written out, shared ones as often as they are used."""
    depth = 1
    """How many nodes stand in each other at the most."""

    def __reduce__(self) -> tuple[object, ...]:
        """By what it is made of, so that what is read back is the node that is there."""
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)


_CONSTS, _INDICES, _LOADS, _LOCALS, _CALLS = Table(), Table(), Table(), Table(), Table()


@dataclass(frozen=True, eq=False, init=False)
class Const(_Node):
    """A number known when the program is compiled (Python bool, int, float or complex)."""

    value: bool | int | float | complex
    dtype: DType

    def __new__(cls, value: bool | int | float | complex, dtype: DType) -> Const:
        # Texts tell 1 from True and 0.0 from -0.0, and find NaN again.
        key = (repr(value), dtype)
        return _CONSTS.get(key) or _CONSTS.add(key, _made(cls, value=value, dtype=dtype))


@dataclass(frozen=True, eq=False, init=False)
class Index(_Node):
    """The value of an index expression, as a number."""

    ix: Ix
    dtype: DType

    def __new__(cls, ix: Ix, dtype: DType) -> Index:
        key = (ix, dtype)
        return _INDICES.get(key) or _INDICES.add(key, _made(cls, ix=ix, dtype=dtype))


@dataclass(frozen=True, eq=False, init=False)
class Load(_Node):
    """One element of an array, as it is when the statement runs."""

    array: str
    index: tuple[Ix, ...]
    dtype: DType

    def __new__(cls, array: str, index: tuple[Ix, ...], dtype: DType) -> Load:
        key = (array, index, dtype)
        return _LOADS.get(key) or _LOADS.add(key, _made(cls, array=array, index=index, dtype=dtype))


@dataclass(frozen=True, eq=False, init=False)
class Local(_Node):
    """A value bound by a `Let` earlier in the same map body."""

    name: str
    dtype: DType

    def __new__(cls, name: str, dtype: DType) -> Local:
        key = (name, dtype)
        return _LOCALS.get(key) or _LOCALS.add(key, _made(cls, name=name, dtype=dtype))


@dataclass(frozen=True, eq=False, init=False)
class Call(_Node):
    """A scalar function of the rule book applied to arguments. `select(c, a, b)` evaluates only the branch taken."""

    fn: str
    args: tuple[Expr, ...]
    dtype: DType

    def __new__(cls, fn: str, args: tuple[Expr, ...], dtype: DType) -> Call:
        key = (fn, args, dtype)
        return _CALLS.get(key) or _CALLS.add(
            key, _made(cls, fn=fn, args=args, dtype=dtype, size=1 + sum([a.size for a in args]),
                       depth=1 + max([a.depth for a in args], default=0)))


def _made(form: type[Any], **parts: Any) -> Any:
    made = object.__new__(form)
    made.__dict__.update(parts)
    return made


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
    return iter(_nodes(expr) if parts is operands else _in_order(expr, parts))


def _nodes(expr: Expr) -> tuple[Expr, ...]:
    """All distinct nodes; kept with the expression, which passes go through again and again."""
    known: tuple[Expr, ...] | None = expr.__dict__.get("_nodes")
    if known is None:
        known = tuple(_in_order(expr, operands))
        expr.__dict__["_nodes"] = known
    return known


def _in_order(expr: Expr, parts: Callable[[Expr], tuple[Expr, ...]]) -> Iterable[Expr]:
    found: dict[Expr, None] = {}
    stack = [expr]
    while stack:
        node = stack[-1]
        missing = [p for p in parts(node) if p not in found] if type(node) is Call and node not in found else None
        if missing:
            stack += reversed(missing)
        else:
            found[stack.pop()] = None
    return found


def rewrite(expr: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild bottom up; `replace` sees each node after its operands and returns None to keep it."""
    memo: dict[Expr, Expr] = {}
    for node in _nodes(expr):
        new = _around(node, memo) if type(node) is Call else node
        replaced = replace(new)
        memo[node] = new if replaced is None else replaced
    return memo[expr]


def put(expr: Expr, table: Mapping[Expr, Expr]) -> Expr:
    """The expression with others in place of some of its parts, as they are before any is replaced."""
    memo: dict[Expr, Expr] = {}
    for node in _nodes(expr):
        memo[node] = table[node] if node in table else _around(node, memo) if type(node) is Call else node
    return memo[expr]


def _around(node: Call, memo: Mapping[Expr, Expr]) -> Call:
    """The node with what its operands have become."""
    args = tuple([memo[a] for a in node.args])
    return node if args == node.args else Call(node.fn, args, node.dtype)


def map_indices(expr: Expr, change: Callable[[Ix], Ix]) -> Expr:
    """Apply `change` to every index expression inside."""
    table: dict[Expr, Expr] = {}
    for node in _nodes(expr):
        if type(node) is Load:
            index = tuple([change(i) for i in node.index])
            if index != node.index:
                table[node] = Load(node.array, index, node.dtype)
        elif type(node) is Index:
            place = change(node.ix)
            if place is not node.ix:
                table[node] = Index(place, node.dtype)
    return put(expr, table) if table else expr


def moved(expr: Expr, places: Mapping[str, Ix]) -> Expr:
    """The expression with other indices in place of symbols; kept with it, as the same is asked again and again."""
    known: dict[tuple[tuple[str, Ix], ...], Expr] = expr.__dict__.setdefault("_moved", {})
    key = tuple(places.items())
    if key not in known:
        known[key] = map_indices(expr, lambda i: i.subs(places))
    return known[key]


def loads(expr: Expr) -> list[Load]:
    """The distinct loads of an expression, in the order of evaluation."""
    return list(_known(expr)[0])


def symbols_of(expr: Expr) -> frozenset[str]:
    """Variables that indices inside the expression name; kept with the object."""
    found: frozenset[str] | None = expr.__dict__.get("_symbols")
    if found is None:
        places = (n.index if isinstance(n, Load) else (n.ix,) for n in walk(expr) if isinstance(n, (Load, Index)))
        found = frozenset().union(*(i.symbols for index in places for i in index))
        expr.__dict__["_symbols"] = found
    return found


def index_elems(expr: Expr) -> list[Elem]:
    """Integer array elements read by indices inside the expression."""
    return list(_known(expr)[1])


def _known(expr: Expr) -> tuple[tuple[Load, ...], tuple[Elem, ...]]:
    """Loads, and elements read by indices; kept with the expression: every pass asks for them."""
    found: tuple[tuple[Load, ...], tuple[Elem, ...]] | None = expr.__dict__.get("_known")
    if found is None:
        found = _looked_up(expr)
        expr.__dict__["_known"] = found
    return found


def _looked_up(expr: Expr) -> tuple[tuple[Load, ...], tuple[Elem, ...]]:
    found: list[Load] = []
    elems: dict[Elem, None] = {}
    for node in walk(expr):
        if isinstance(node, Load):
            found.append(node)
        parts = node.index if isinstance(node, Load) else (node.ix,) if isinstance(node, Index) else ()
        for part in parts:
            elems.update(dict.fromkeys(part.elems))
    return tuple(found), tuple(elems)


def wraps(dtype: np.dtype | None) -> bool:
    """Whether arithmetic in a dtype soon wraps around, which that of indices does not."""
    return dtype is not None and (dtype.kind == "u" or dtype.itemsize < 4)


def around(i: Ix, dtype: np.dtype, exactly: bool = False) -> Ix:
    """What arithmetic in a dtype makes of a sum or product of data. Sums and small multiples of numbers of 32 bits
    are taken to fit, as places in arrays do, unless they have to be told `exactly`."""
    alone = len(i.terms) == 1 and i.terms[0][1] == 1 and len(i.terms[0][0]) == 1
    fits = dtype.itemsize == 4 and not exactly and not any(
        abs(factor) >= 2 ** 16 or sum(isinstance(a, Elem) for a in atoms) > 1 for atoms, factor in i.terms)
    if alone or fits or dtype.itemsize == 8 or not i.elems and not exactly:
        return i
    count = 2 ** (8 * dtype.itemsize)
    below = 0 if dtype.kind == "u" else count // 2
    return mod(i + below, count) - below
