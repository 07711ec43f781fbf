"""Programs in normal form: arrays, and a tree of statements in program order.

A statement is one computation (`Map`, `Lib`) or one control region (`Loop`, `While`, `If`). What happens when is said
by the tree alone, so reversing is structural recursion. Every extent is a number: a program is specialised to its
shapes.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np

from sdfgad.errors import OutOfBoundsError, SdfgadError, SourceLine, located
from sdfgad.ir.expr import Expr, Load
from sdfgad.ir.index import Ix, Like, ix
from sdfgad.ir.layout import Packing, axis
from sdfgad.names import variables
from sdfgad.trees import leaves

FAILED = "failed"
"""The array that a program writes where it raises an exception: somebody always looks at it."""
ORDER = "message_order"
"""The array that every message between ranks reads and writes, so that no two change places: it is looked at, too."""
IN_MEMORY = ("argument", "transient", "constant")
"""Roles of arrays that lie in memory, under one name."""


LASTING = "lasting"


@dataclass(frozen=True)
class Array:
    """A container: `shape` in elements (empty for a scalar), C order.

    role: "argument" belongs to the call, "disk" is a file, "constant" a table, "transient" the program's own, "tape" a
    stack of such arrays, one of which the name stands for (`Push`, `Pop`). LASTING: what a graph of DaCe keeps from
    call to call, which only the front end says.
    packing: the part of the box that has room in memory, when that is not all of it; nothing else is ever touched.
    window: the part of the caller's array that it is, where a rank has no more of it: first and behind last by axis.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    role: str = "transient"
    source: SourceLine | None = None
    label: str = ""  # the user's name for it, for reports
    packing: Packing | None = None
    window: tuple[tuple[int, int], ...] | None = None

    @property
    def size(self) -> int:
        """Elements it has room for."""
        return self.packing.size if self.packing else int(np.prod(self.shape, dtype=np.int64))

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def whole(self) -> View:
        return view_of(self)


@dataclass(frozen=True)
class Range:
    """`for var in range(start, stop, step)`; `step` is a non-zero number. early: it may end before `stop`."""

    var: str
    start: Ix
    stop: Ix
    step: int = 1
    early: bool = False

    @cached_property
    def trips(self) -> int | None:
        """The number of iterations when both ends are numbers."""
        if self.start.const is None or self.stop.const is None:
            gap = (self.stop - self.start).const
            return None if gap is None else len(range(0, gap, self.step))
        return len(range(self.start.const, self.stop.const, self.step))

    @property
    def upwards(self) -> Range:
        """The same numbers in rising order, where they fall by one; else the range itself."""
        return replace(self, start=self.stop + 1, stop=self.start + 1, step=1) if self.step == -1 else self


def over(sides: Iterable[tuple[Like, Like]], stem: str = "c") -> tuple[Range, ...]:
    """Ranges of a map from the first to the last side of each pair: `c0 = a:b, c1 = c:d`. stem: one letter."""
    return tuple(Range(var, ix(low), ix(high)) for var, (low, high) in zip(variables(stem), sides, strict=False))


def all_of(shape: Iterable[Like], stem: str = "c") -> tuple[Range, ...]:
    """Ranges of a map over so many positions in each dimension."""
    return over(((0, n) for n in shape), stem)


@dataclass(frozen=True)
class View:
    """Part of an array seen with its own shape: element (d0, d1, ...) is `array[index(d0, d1, ...)]`.

    Indices are written in the placeholder symbols `axis(0)`, `axis(1)`, ...; extents may depend on loop variables.
    """

    array: str
    shape: tuple[Ix, ...]
    index: tuple[Ix, ...]
    dtype: np.dtype

    def at(self, position: tuple[Ix, ...]) -> tuple[Ix, ...]:
        """The base array's index of one element of the view."""
        mapping = {axis(k): p for k, p in enumerate(position)}
        return tuple(i.subs(mapping) for i in self.index)

    @property
    def bytes(self) -> int:
        """Of its elements; 0 where an extent is known only at run time."""
        return math.prod(n.const or 0 for n in self.shape) * self.dtype.itemsize

    def load(self, position: tuple[Ix, ...]) -> Load:
        """One element of the view."""
        return Load(self.array, self.at(position), self.dtype)

    def points(self, stem: str = "c") -> tuple[tuple[Range, ...], tuple[Ix, ...]]:
        """Ranges of a map over its elements, and the position where the map is."""
        domain = all_of(self.shape, stem)
        return domain, tuple(ix(r.var) for r in domain)

    @property
    def transposed(self) -> View:
        """The view with its dimensions the other way round: of a matrix its transpose, of a vector itself."""
        names = {axis(k): ix(axis(j)) for k, j in enumerate(reversed(range(len(self.shape))))}
        return View(self.array, self.shape[::-1], tuple(i.subs(names) for i in self.index), self.dtype)


def view_of(array: Array) -> View:
    """The whole array as a view."""
    shape = tuple(ix(n) for n in array.shape)
    return View(array.name, shape, tuple(ix(axis(k)) for k in range(len(shape))), array.dtype)


def views_of(tree: Any) -> list[View]:
    """Every view in a `Program.returns` tree."""
    return [v for v in leaves(tree) if isinstance(v, View)]


@dataclass(frozen=True)
class Let:
    """Bind a local name inside a map body."""

    name: str
    expr: Expr


@dataclass(frozen=True)
class Store:
    """`array[index] = expr`, or `array[index] op= expr` for op "+", "*", "min", "max" (commutative accumulation)."""

    array: str
    index: tuple[Ix, ...]
    expr: Expr
    op: str | None = None


@dataclass(frozen=True)
class Map:
    """Run `body` for every point of `domain`.

    Iterations are independent: no iteration reads what another one writes, and plain stores of different iterations hit
    different elements. Accumulating stores may collide. An empty domain is one scalar statement. Ranges may depend on
    variables of earlier ranges of the same domain and of enclosing loops.
    """

    domain: tuple[Range, ...]
    body: tuple[Let | Store, ...]
    source: SourceLine | None = None


@dataclass(frozen=True)
class Lib:
    """A library operation (`rules/nodes.py`): `outs = op(ins, **attrs)`. Outs never overlap ins."""

    op: str
    outs: tuple[View, ...]
    ins: tuple[View, ...]
    attrs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    source: SourceLine | None = None


@dataclass(frozen=True)
class Behind:
    """How a loop that counts from 0, in an iteration of a parallel loop, follows the same loop of the one before.

    Its own iteration k begins when that one has done `ahead` more than k, or all of them. progress: so many iterations
    each has done, in rows of a cache line; this one's row is `number` + 1, and the first row holds all of them.
    """

    number: Ix
    ahead: int
    progress: str


@dataclass(frozen=True)
class Loop:
    """A counted loop in order. With `until` (a bool scalar) it also ends before an iteration that finds it True.

    When `until` is set, `trips` names an int64 scalar holding the number of iterations really run: set to 0 before the
    loop and raised by the first statement of the body (both written out as statements). Once the program is prepared
    all of that may be gone where nobody asks.

    The iterations of a `parallel` loop are independent of each other, but for a loop in them that stays `behind`.
    `private` arrays belong to one iteration: nothing is in them at its start, and nobody looks at them afterwards.
    """

    range: Range
    body: Block
    source: SourceLine | None = None
    until: str | None = None
    trips: str | None = None
    label: str = ""
    parallel: bool = False
    private: tuple[str, ...] = ()
    behind: Behind | None = None


@dataclass(frozen=True)
class While:
    """Run `body` while the bool scalar `flag` is True; `trips` counts as in `Loop`."""

    flag: str
    body: Block
    trips: str
    source: SourceLine | None = None
    label: str = ""


@dataclass(frozen=True)
class If:
    """Run one of two blocks. `cond` is a bool expression over loop variables and loads."""

    cond: Expr
    then: Block
    orelse: Block
    source: SourceLine | None = None


@dataclass(frozen=True)
class Push:
    """From here on the name of a tape stands for a new entry on top of it; nothing is in it. shape: what is used."""

    tape: str
    shape: tuple[Ix, ...]
    source: SourceLine | None = None


@dataclass(frozen=True)
class Pop:
    """Take the last entry off a tape; until the next `Push` or `Pop` the name stands for it. shape: as pushed."""

    tape: str
    shape: tuple[Ix, ...]
    source: SourceLine | None = None


Stmt: TypeAlias = Map | Lib | Loop | While | If | Push | Pop
Block: TypeAlias = tuple[Stmt, ...]


class Raising(Protocol):
    """What may end a program."""

    def error(self) -> BaseException:
        """The exception that its call raises."""


@dataclass(frozen=True)
class Failure:
    """An exception that a program may raise. keywords: arguments by name. source: the statement that says so."""

    form: type[Exception]
    arguments: tuple[Any, ...] = ()
    source: SourceLine | None = None
    keywords: tuple[tuple[str, Any], ...] = ()

    def error(self) -> Exception:
        made = self.form(*self.arguments, **dict(self.keywords))
        return made if self.source is None or isinstance(made, SdfgadError) else located(made, self.source)


@dataclass(frozen=True)
class Lookup:
    """A statement with an index into `extent` elements that data decide."""

    extent: int
    source: SourceLine | None


def strayed(lookups: Sequence[Lookup], index: int, extent: int) -> OutOfBoundsError:
    """What a call raises in which an index has left its array. The line is the first one with so many elements."""
    places = list(dict.fromkeys(k.source for k in lookups if k.extent == extent and k.source is not None))
    others = ", ".join(str(s.line) for s in places[1:])
    return OutOfBoundsError(
        f"index {index} is out of bounds for {extent} elements", source=places[0] if places else None,
        help="NumPy raises IndexError here as well: the index comes from data"
        + (f"; or it is that of another line with so many elements: {others}" if others else ""))


@dataclass(frozen=True)
class Program:
    """A whole specialised program.

    arrays: every container by name. arguments: those the caller passes, in order. returns: the value of the call as a
    tree of tuples, lists and constants with a `View` for every array or scalar result. live: constants whose contents
    may be others at the next call. failures: what the `fail` operations in the body raise, by their number. live_out:
    arrays that somebody reads after the program. lookups: indices that the run looks at.
    """

    name: str
    arrays: Mapping[str, Array]
    arguments: tuple[str, ...]
    body: Block
    returns: Any = None
    constants: Mapping[str, np.ndarray] = field(default_factory=lambda: MappingProxyType({}))
    source: SourceLine | None = None
    live: frozenset[str] = frozenset()
    failures: tuple[Raising, ...] = ()
    live_out: frozenset[str] = frozenset()
    lookups: tuple[Lookup, ...] = ()

    @property
    def watched(self) -> tuple[str, ...]:
        """What somebody looks at beside the results."""
        return (*((FAILED,) if self.failures else ()), *((ORDER,) if ORDER in self.arrays else ()))

    def but(self, **changes: Any) -> Program:
        return replace(self, **changes)
