"""Scalar expressions: what one element of a statement computes. Immutable, hashed, shared freely."""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import is_
from typing import Any, ClassVar, TypeAlias

import numpy as np

from sdfgad.ir.index import Elem, Ix

DType: TypeAlias = np.dtype
_DIGEST = 16
"""Bytes that stand for the structure of a node: two structures share them once in 2**64 programs of 2**32 nodes."""


class _Node:
    """Its hash is made with the node, from those of its operands: no question about a node ever goes down its tree."""

    __match_args__: ClassVar[tuple[str, ...]]
    _hash: int
    dtype: DType
    size = 1
    """How many nodes it has when it is written out, shared ones as often as they are used."""

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._hash == other._hash and self._same(other))

    def _same(self, other: Any) -> bool:
        """Whether another node of the same class and hash is equal."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[object, ...]:
        """By what it is made of: hashes of texts are good in one process only."""
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)

    @property
    def digest(self) -> bytes:
        """What nodes of one structure share and others do not, in any process."""
        found: bytes | None = self.__dict__.get("_digest")
        return _digest_of(self) if found is None else found

    def _own_digest(self) -> bytes:
        """The digest, when those of the operands are there."""
        raise NotImplementedError


def _digest_of(root: _Node) -> bytes:
    """Merkle: A digital signature based on a conventional encryption function (CRYPTO 1987). What is shared is looked
    at once, and nothing recurses: expressions may be deep."""
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [a for a in node.args if "_digest" not in a.__dict__] if isinstance(node, Call) else []
        if missing:
            stack += missing
        elif "_digest" not in stack.pop().__dict__:
            node.__dict__["_digest"] = node._own_digest()
    return root.digest


def _hashed(*parts: str | bytes) -> bytes:
    made = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        made.update(len(data).to_bytes(4, "little"))
        made.update(data)
    return made.digest()


@dataclass(frozen=True, eq=False)
class Const(_Node):
    """A number known when the program is compiled (Python bool, int, float or complex)."""

    value: bool | int | float | complex
    dtype: DType

    def __post_init__(self) -> None:
        self.__dict__["_hash"] = hash(("const", repr(self.value), self.dtype))

    def _same(self, other: Any) -> bool:
        return bool(self.dtype == other.dtype and repr(self.value) == repr(other.value))

    def _own_digest(self) -> bytes:
        return _hashed("const", repr(self.value), self.dtype.str)


@dataclass(frozen=True, eq=False)
class Index(_Node):
    """The value of an index expression, as a number."""

    ix: Ix
    dtype: DType

    def __post_init__(self) -> None:
        self.__dict__["_hash"] = hash(("index", self.ix, self.dtype))

    def _same(self, other: Any) -> bool:
        return bool(self.dtype == other.dtype and self.ix == other.ix)

    def _own_digest(self) -> bytes:
        return _hashed("index", str(self.ix), self.dtype.str)


@dataclass(frozen=True, eq=False)
class Load(_Node):
    """One element of an array, as it is when the statement runs."""

    array: str
    index: tuple[Ix, ...]
    dtype: DType

    def __post_init__(self) -> None:
        self.__dict__["_hash"] = hash((self.array, self.index, self.dtype))

    def _same(self, other: Any) -> bool:
        return bool(self.array == other.array and self.dtype == other.dtype and self.index == other.index)

    def _own_digest(self) -> bytes:
        return _hashed("load", self.array, self.dtype.str, *map(str, self.index))


@dataclass(frozen=True, eq=False)
class Local(_Node):
    """A value bound by a `Let` earlier in the same map body."""

    name: str
    dtype: DType

    def __post_init__(self) -> None:
        self.__dict__["_hash"] = hash((self.name, self.dtype))

    def _same(self, other: Any) -> bool:
        return bool(self.name == other.name and self.dtype == other.dtype)

    def _own_digest(self) -> bytes:
        return _hashed("local", self.name, self.dtype.str)


@dataclass(frozen=True, eq=False)
class Call(_Node):
    """A scalar function of the rule book applied to arguments. `select(c, a, b)` evaluates only the branch taken."""

    fn: str
    args: tuple[Expr, ...]
    dtype: DType

    def __post_init__(self) -> None:
        self.__dict__["_hash"] = hash((self.fn, self.args, self.dtype))
        self.__dict__["size"] = 1 + sum([a.size for a in self.args])

    def _same(self, other: Any) -> bool:
        if self.fn != other.fn or self.dtype != other.dtype or len(self.args) != len(other.args):
            return False
        return all(map(is_, self.args, other.args)) or self.digest == other.digest

    def _own_digest(self) -> bytes:
        return _hashed("call", self.fn, self.dtype.str, *(a.digest for a in self.args))


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
        missing = [] if node in found else [p for p in parts(node) if p not in found]
        if missing:
            stack += reversed(missing)
        else:
            found[stack.pop()] = None
    return found


def rewrite(expr: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild bottom up; `replace` sees each node after its operands and returns None to keep it."""
    memo: dict[Expr, Expr] = {}
    for node in walk(expr):
        new = node
        if isinstance(node, Call):
            args = tuple([memo[a] for a in node.args])
            if not all(map(is_, args, node.args)):
                new = Call(node.fn, args, node.dtype)
        replaced = replace(new)
        memo[node] = new if replaced is None else replaced
    return memo[expr]


def map_indices(expr: Expr, change: Callable[[Ix], Ix]) -> Expr:
    """Apply `change` to every index expression inside."""

    def one(node: Expr) -> Expr | None:
        if isinstance(node, Load):
            index = tuple([change(i) for i in node.index])
            return None if all(map(is_, index, node.index)) else Load(node.array, index, node.dtype)
        if isinstance(node, Index):
            place = change(node.ix)
            return None if place is node.ix else Index(place, node.dtype)
        return None

    return rewrite(expr, one)


def loads(expr: Expr) -> list[Load]:
    """The distinct loads of an expression, in the order of evaluation."""
    return list(_known(expr)[0])


def symbols_of(expr: Expr) -> frozenset[str]:
    """Variables that indices inside the expression name; kept with the object."""
    found: frozenset[str] | None = expr.__dict__.get("_symbols")
    if found is None:
        places = (n.index if isinstance(n, Load) else (n.ix,) for n in walk(expr) if isinstance(n, (Load, Index)))
        found = frozenset().union(*(i.symbols for index in places for i in index))
        object.__setattr__(expr, "_symbols", found)
    return found


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
