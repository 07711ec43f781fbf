"""Keys of dicts and attributes of objects that only some of the ways to a point have set."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.state.attempts import ApartRefusal, of_kind
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Grown,
    IntValue,
    Iterated,
    ListValue,
    Masked,
    Maybe,
    Opaque,
    Record,
    Rows,
    Value,
    is_number,
)
from sdfgad.ir.index import Ix

_HELP = "give it a value before the loop or branch"
OF_NUMBERS = "both sides need the same shape and a number type"
OF_THINGS = "put what is done with it into the branches: if c: y = f(x), else: y = g(x)"


@dataclass(frozen=True, eq=False)
class Endless(Opaque):
    """An iterator without an end, good beside others: item k is `item(k)` of what is in `held`."""

    item: Callable[[Ix], Value]
    held: tuple[Value, ...] = ()

    def rows(self, count: Ix) -> Rows:
        """The first of its items."""
        return Rows(count, self.item, held=self.held)


@dataclass(frozen=True)
class Mixed(Opaque):
    """What a name stands for on several ways, where these are no one value."""

    ways: tuple[Value, ...]


def mixed(*values: Value) -> Maybe:
    """What a name stands for where ways meet that leave these, of which no value can be made."""
    return Maybe(Mixed(tuple(w for v in values for w in (v.value.ways if is_mixed(v) else (v,)))))


def is_mixed(value: Value) -> bool:
    return isinstance(value, Maybe) and isinstance(value.value, Mixed)


class ChangingRefusal(UnsupportedError):
    """A refusal because a name, key or item is of another kind after an iteration than before it: perhaps before the
    first alone."""


class ChoiceRefusal(ChangingRefusal, ApartRefusal):
    """A refusal of a choice among functions or objects: what follows may be run for each of them."""


class ItemRefusal(UnsupportedError):
    """A refusal of an item of a list at a place that a short loop counts: where that is written out, it is known."""


Box: TypeAlias = tuple[tuple[int, int], ...]
"""The least and largest value of every part of a key."""


class Renumber(Exception):
    """A long loop counts the places of items of `given`, a list or dict made at this depth, that are of these kinds."""

    def __init__(self, given: ListValue | Record, depth: int, box: Box, kinds: list[Any] | None = None,
                 form: Value = None) -> None:
        super().__init__()
        self.given, self.depth, self.box, self.kinds, self.form = given, depth, box, kinds, form


class GrowingRefusal(UnsupportedError):
    """A refusal because a loop makes a list, `changed`, longer or shorter."""

    changed: ListValue | Grown | None = None


def growing(found: UnsupportedError, changed: ListValue | Grown) -> GrowingRefusal:
    """A refusal as one of a list whose length changes."""
    made = of_kind(GrowingRefusal, found)
    made.changed = changed
    return made


def changing(found: UnsupportedError) -> ChangingRefusal:
    """A refusal as one of what changes."""
    return of_kind(ChangingRefusal, found)


def of_choice(found: UnsupportedError, ways: Sequence[Value]) -> UnsupportedError:
    """A refusal as one of a choice among functions or objects, if that is what the ways are."""
    return of_kind(ChoiceRefusal, found) if are_things(ways) else found


def are_things(ways: Sequence[Value]) -> bool:
    """Whether all of them are functions or objects."""
    return bool(ways) and not any(w is None or is_number(w) or isinstance(w, _VALUES) for w in ways)


_VALUES = (ArrayValue, IntValue, Masked, ListValue, Grown, Iterated, Rows, Maybe, Opaque, tuple, str)
"""What becomes one value where ways meet, or is refused in words of its own."""


def unsettled(ctx: Context, what: str) -> ChangingRefusal:
    """The refusal of something that only some ways to this point have set."""
    return changing(ctx.refuse(f"{what}, which may not be there at this point", _HELP, "SG107"))


def unused(ctx: Context, value: Iterated) -> bool:
    """Whether an iterator is used up here, and nobody has begun to."""
    return value.depth == len(ctx.builder.regions) and value.items not in ([], [_begun])


def taken(ctx: Context, value: Value, whole: bool = False) -> Value:
    """What an iterator gives, once; anything else as it is. whole: all of it is used up for certain, so that nothing
    is left; how much is left otherwise, nobody keeps count of."""
    if not isinstance(value, Iterated):
        return value
    if value.depth != len(ctx.builder.regions):
        raise ctx.refuse("an iterator made outside of the loop or branch that uses it up", "make a list of it", "SG102")
    if value.items == [_begun]:
        raise ctx.refuse("the rest of an iterator that something else has begun to use",
                         "take the items by their places, or in pairs: zip(x[::2], x[1::2])", "SG102")
    made = value.items.pop()() if value.items else ()
    if not whole:
        begin_to_use(value)
    for part in value.held if whole else ():
        if isinstance(part, Iterated) and part.items == [_begun]:
            part.items.clear()  # a generator expression has looked at all of it
    return made


def begin_to_use(value: Iterated) -> None:
    """Nobody keeps count of what is left of an iterator."""
    value.items.append(_begun)


def _begun() -> Value:
    """What stands in an iterator that has been used in part."""
    raise AssertionError


def settled(ctx: Context, owner: Record) -> dict[Any, Value]:
    """The items of a dict or object that is asked for all of them: they have to be the same on every way."""
    for key in owner.items:
        has(ctx, owner, key)
    return owner.items


def has(ctx: Context, owner: Record, key: Any) -> bool:
    """Whether a dict or object has an item or attribute, which every way has to answer alike."""
    if isinstance(owner.items.get(key), Maybe):
        what = f"the key {key!r}" if issubclass(owner.form, dict) else f"the attribute {key!r}"
        raise unsettled(ctx, f"{what} of {describe(owner)}")
    return key in owner.items
