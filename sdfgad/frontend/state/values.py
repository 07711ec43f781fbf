"""What an expression of the user's program evaluates to while it is being translated.

Python constants stand for themselves. `IntValue` is an integer known only at run time, `ViewValue` stored data with
NumPy's view semantics, `Lazy` a result that has not been stored yet and is used once.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sdfgad.ir.expr import Expr, Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import View, axis
from sdfgad.trees import assembled, is_named

if TYPE_CHECKING:
    from sdfgad.frontend.state.frames import CallFrame
    from sdfgad.frontend.syntax.source import SourceText

Shape: TypeAlias = tuple[Ix, ...]
Position: TypeAlias = tuple[Ix, ...]
Value: TypeAlias = Any
Element: TypeAlias = Callable[[tuple[Ix, ...]], Expr]


@dataclass(frozen=True, eq=False)
class IntValue:
    """An integer with a run-time value; `dtype` None means a Python int."""

    ix: Ix
    dtype: np.dtype | None = None


class ArrayValue:
    """Numbers laid out in `shape`; `scalar` ones are immutable, `weak` ones are Python numbers, `readonly` ones arrays
    that NumPy would not let anybody write."""

    shape: Shape
    dtype: np.dtype
    weak: bool
    scalar: bool
    readonly: bool

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def at(self, position: Position) -> Expr:
        """The expression of one element."""
        raise NotImplementedError

    @property
    def reads(self) -> frozenset[str]:
        """Names of the containers the value depends on."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ViewValue(ArrayValue):
    """Data in a container, aliased and not copied."""

    view: View
    scalar: bool = False
    weak: bool = False
    readonly: bool = False
    copied: bool = False  # NumPy has copied it: the container is that of another name as long as neither is updated

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        return self.view.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.view.dtype

    def at(self, position: Position) -> Expr:
        return Load(self.view.array, self.view.at(position), self.view.dtype)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({self.view.array, *(e.array for i in (*self.view.index, *self.view.shape) for e in i.elems)})

    @property
    def whole(self) -> bool:
        """Whether the index is the identity: the view shows its container element for element."""
        return self.view.index == tuple(ix(axis(k)) for k in range(len(self.view.shape)))


@dataclass(eq=False)
class Lazy(ArrayValue):
    """An elementwise result not stored yet. Once stored (`stored`), it is that view."""

    shape: Shape
    dtype: np.dtype
    element: Element | None
    sources: frozenset[str]
    weak: bool = False
    costly: bool = False
    stored: ViewValue | None = None
    order: int = 0
    parts: tuple[ArrayValue, ...] = ()  # values it is computed from, used up with it
    origins: frozenset[str] = frozenset()  # containers of which NumPy has it as a view
    any_order: bool | None = None  # whether NumPy may have it in another order than C; None: as what it is made of
    readonly: bool = False
    half: tuple[str, ViewValue] | None = None  # "real" or "imag", and the complex array that NumPy shows a half of

    @property
    def scalar(self) -> bool:  # type: ignore[override]
        return not self.shape

    @property
    def reads(self) -> frozenset[str]:
        return self.sources if self.stored is None else self.stored.reads

    def at(self, position: Position) -> Expr:
        if self.stored is not None:
            return self.stored.at(position)
        if self.element is None:
            raise LookupError("a value was used after it had been consumed")
        return self.element(position)


@dataclass(frozen=True, eq=False)
class Masked:
    """`base[mask]`: compressed data that only combines with scalars and with data of the same mask."""

    values: ArrayValue  # in the shape of the mask, or with trailing dimensions
    mask: ViewValue
    key: object  # the number of the formula of the mask
    table: PlaceTable | None = None  # the places of the mask, where somebody may ask for single ones
    first: IntValue | None = None  # how many, where they come first
    own: bool = False  # without a table, too: whether the values have an array that all names of this value share
    origins: frozenset[str] = frozenset()  # containers of which NumPy has these values as a view


@dataclass(frozen=True, eq=False)
class SelectedColumns:
    """`x[mask].T`: good for products with what the same mask selects."""

    rows: Masked


@dataclass(frozen=True, eq=False)
class Block:
    """`K[np.ix_(rows, columns)]` of two masks, each as what it selects of itself: good for the same as `Masked`."""

    values: ArrayValue  # the whole matrix
    rows: Masked
    columns: Masked
    stored: bool = False  # whether the values have an array of their own, which all names of this value share


@dataclass(frozen=True)
class Reading:
    """What a clock shows, or something computed with it: known to nobody, and part of no result."""


@dataclass(frozen=True)
class Method:
    """`value.name` before it is called."""

    owner: Value
    name: str


@dataclass(frozen=True, eq=False)
class Function:
    """A function or lambda defined inside the program, with the frame it sees."""

    code: SourceText
    frame: CallFrame
    defaults: tuple[Value, ...]
    keyword_defaults: dict[str, Value]


@dataclass(eq=False)
class ListValue:
    """A list of known length; `depth` is the region it was made in, `kind` its class: `list` or that of a deque."""

    items: list[Value]
    depth: int
    kind: type = list


@dataclass(frozen=True)
class LengthNow:
    """How long a list is at this point, and the region it may change in. While a loop makes it longer, `begun` is its
    length at the head of the iteration, and `loop` says which loop it is. Where data decide how long it becomes, `most`
    is the most that this iteration has made it longer, and `around` how many loops and ranges its head is in."""

    length: Ix
    depth: int
    begun: Ix | None = None
    loop: object = None
    most: int = 0
    around: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class Grown:
    """A list that a loop of the program makes longer: item k is `form` with row k of `rows` in place of their numbers.

    All names and containers that hold it hold the same one; only `now` changes. counter: holds the length where data
    decide it; place: what its room goes by where that may be too small.
    """

    rows: tuple[ViewValue, ...]
    form: Value
    now: LengthNow
    kind: type = list
    counter: Record | None = None
    place: str = ""

    @property
    def length(self) -> Ix:
        """How long it is at this point."""
        found = self.now.length if self.counter is None else self.counter.items["length"]
        return found.ix if isinstance(found, IntValue) else ix(found)


@dataclass(eq=False)
class Record:
    """A dict, or an object that is what its attributes say, of class `form`; `depth` is the region it was made in."""

    form: type
    items: dict[Any, Value]
    depth: int


@dataclass(frozen=True, eq=False)
class Entries:
    """`keys()`, `values()` or `items()` of a dict: what it has now, whenever that is asked."""

    owner: Record
    kind: str

    def at(self, k: int) -> Value:
        key, value = list(self.owner.items.items())[k]
        return {"keys": key, "values": value, "items": (key, value)}[self.kind]


@dataclass(frozen=True)
class Maybe:
    """A name bound in only some of the ways to this point; reading it is refused. `when` names the
    flag that, raised, says that the name is bound. `trips` is a container of the number of times that the loop has run
    which binds it: reading the name is an error of the run where that is zero."""

    value: Value
    when: str = ""
    trips: str = ""


@dataclass(frozen=True, eq=False)
class RangeValue:
    """`range(start, stop, step)` with run-time ends."""

    start: Ix
    stop: Ix
    step: int


@dataclass(frozen=True, eq=False)
class Rows:
    """What a `for` walks over at run time: `count` items, at most `most`, item k made by `item(k)` of those `held`."""

    count: Ix
    item: Callable[[Ix], Value] = field(repr=False)
    span: tuple[Ix, Ix, int] | None = None  # start, stop, step when the items are those of a range
    held: tuple[Value, ...] = ()
    most: int | None = None


@dataclass(eq=False)
class Iterated:
    """An iterator under a name: what makes its items, once; its region, what it looks at, and whose names it sees.
    total: adds the items to a value, where there need be no list of them."""
    items: list[Callable[[], Value]]
    depth: int
    held: tuple[Value, ...] = ()
    frame: CallFrame | None = None
    total: Callable[[Value], Value] | None = None


@dataclass(frozen=True, eq=False)
class SliceValue:
    """A slice with run-time ends."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, eq=False)
class PlaceTable:
    """Where a mask holds, one place per row of `rows`, of which the first `count` are there: `np.argwhere`."""

    rows: ViewValue
    count: Ix


@dataclass(frozen=True, eq=False)
class MaskPlaces:
    """Where a mask holds, a tuple of index arrays; `part`: one of them. How long they are depends on the data."""

    mask: ArrayValue
    table: PlaceTable
    part: int | None = None

    @property
    def parts(self) -> tuple[MaskPlaces, ...]:
        """The index arrays, one for each dimension of the mask."""
        return tuple(replace(self, part=k) for k in range(self.mask.ndim)) if self.part is None else ()


SELECTED = (Masked, MaskPlaces, PlaceTable, SelectedColumns, Block)
"""What a mask selects, in any form: how much that is depends on the data."""


class Opaque:
    """What a library function makes that is good for other ones alone, as factors of a matrix: never a result."""


@dataclass(frozen=True, eq=False)
class NoneOr(Opaque):
    """What is None on some of the ways to this point: `there` says whether it is not, `value` is what it is then. told:
    which of the two it is, where tests around this point say so."""

    there: Value
    value: Value
    told: bool | None = None


class Unbound(NoneOr):
    """A name that is not bound on some of the ways to this point, in place of None."""


@dataclass(frozen=True)
class RunText(Opaque):
    """Text with values of the run in it, which stand there as they do in the source: for messages alone."""

    text: str


@dataclass(frozen=True, eq=False)
class Applied:
    """`functools.partial`: a call of which some arguments are there."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: Mapping[str, Value]


class Compound:
    """A value that says itself what is in it."""

    @property
    def held(self) -> tuple[Value, ...]:
        raise NotImplementedError


def contained(value: Value, into: Callable[[Value], bool] = lambda _: True) -> Iterator[Value]:
    """The value and, where `into` says so, everything inside tuples, lists, dicts and objects, in order."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if into(value):
            within = _WITHIN.get(type(value))
            held = value.held if isinstance(value, Compound) else value if isinstance(value, (tuple, list)) else ()
            waiting += [*(within(value) if within else held)][::-1]


_WITHIN: Mapping[type, Callable[[Any], Iterable[Value]]] = MappingProxyType({
    ListValue: lambda v: v.items, Record: lambda v: v.items.values(), Grown: lambda v: (*v.rows, v.counter),
    **dict.fromkeys((Rows, Iterated), lambda v: v.held), **dict.fromkeys((Entries, Method), lambda v: (v.owner,)),
    Maybe: lambda v: (v.value,), **dict.fromkeys((NoneOr, Unbound), lambda v: (v.there, v.value)),
    partial: lambda v: (*v.args, *v.keywords.values()), Masked: lambda v: (v.values, v.mask, v.table),
    Applied: lambda v: (v.function, *v.arguments, *v.keywords.values()), SelectedColumns: lambda v: (v.rows,),
    Block: lambda v: (v.values, v.rows, v.columns), SliceValue: lambda v: (v.start, v.stop, v.step),
    MaskPlaces: lambda v: (v.mask, v.table), PlaceTable: lambda v: (v.rows, IntValue(v.count))})


def like(value: tuple, items: Sequence[Value]) -> tuple:
    """A tuple of these items, a namedtuple when `value` is one."""
    return assembled(type(value), dict(enumerate(items))) if is_named(type(value)) else tuple(items)


def is_number(value: Value) -> bool:
    """Whether a value is a compile-time number."""
    return isinstance(value, (bool, int, float, complex, np.number, np.bool_))


def is_int(value: Value) -> bool:
    """Whether a value is an integer, known now or at run time (booleans excepted)."""
    return isinstance(value, (int, np.integer, IntValue)) and not isinstance(value, bool)
