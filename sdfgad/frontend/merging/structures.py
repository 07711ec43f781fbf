"""Tuples, lists, dicts and objects as trees: how they are built, and the leaves that hold the data."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from sdfgad.frontend.elements.chosen_ranges import ChosenRange
from sdfgad.frontend.state.chosen_texts import ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ListValue, Masked, NoneOr, Record, Value, contained
from sdfgad.frontend.static.outside import found_outside, outside
from sdfgad.trees import DICTS, assembled, contents, is_named, is_plain_dataclass, step

_UNNAMED = (NoneOr, ChosenText, Masked)
"""What is one value where it is written, however many parts it has."""
_SINGLE: Mapping[type, str] = MappingProxyType({
    ChosenText: "a text that data choose", Masked: "data selected by a mask"})


@cache
def deque_of(most: int | None) -> type:
    """The class of deques of at most `most` items."""
    return type("deque", (deque,), {"most": most})


@dataclass(frozen=True)
class Form:
    """The class of a container, and what it has under each key; a leaf has none. of: what a mask selects, itself."""

    kind: type
    items: tuple[tuple[Any, Form | None], ...]
    of: Masked | None = field(default=None, compare=False)


def items_in(value: Value) -> Mapping[Any, Value] | None:
    """What is in a container, by position, key or name; None for a leaf."""
    if isinstance(value, Record):
        return value.items
    if isinstance(value, ListValue):
        return dict(enumerate(value.items))
    if isinstance(value, NoneOr):
        return {"?": value.there, "": value.value}
    if isinstance(value, ChosenText):
        return {"": value.number}
    if isinstance(value, Masked):
        return {"?": value.mask, "": value.values}
    if isinstance(value, ChosenRange):
        return value.items
    return contents(value) if isinstance(value, (tuple, list)) else None


def is_tree(value: Value) -> bool:
    """Whether a value is a container with items."""
    return items_in(value) is not None


def taken_in(ctx: Context, value: Value) -> Value:
    """A dict or object of data from outside as one of the program."""
    form = type(value)
    data = form in DICTS or is_plain_dataclass(form) and form.__module__.split(".")[0] != "sdfgad"
    if not data or contents(value) is None:
        return value
    if isinstance(value, dict):
        return Record(type(value), {k: taken_in(ctx, outside(ctx, v, str(k))) for k, v in value.items()}, -1)
    found = {k: found_outside(ctx, value, k, v) for k, v in (contents(value) or {}).items()}
    return Record(type(value), {k: taken_in(ctx, v) for k, v in found.items()}, -1)


def form_of(value: Value) -> Form | None:
    """How a value is built."""
    items = items_in(value)
    if items is None:
        return None
    kind = value.form if isinstance(value, Record) else value.kind if isinstance(value, ListValue) else type(value)
    of = value if isinstance(value, Masked) else None
    return Form(kind, tuple((k, form_of(v)) for k, v in items.items()), of)


def leaves_of(value: Value, path: str = "") -> Iterator[tuple[str, Value]]:
    """The leaves, each with the way to it as it is written in the source."""
    items = items_in(value)
    if items is None:
        yield path, value
        return
    kind = value.form if isinstance(value, Record) else type(value)
    for key, item in items.items():
        yield from leaves_of(item, path + _step(kind, key))


def selections(value: Value, first: int = 0) -> Iterator[tuple[int, Masked]]:
    """What masks select in a container, each with the number of the leaf that its mask is."""
    if isinstance(value, Masked):
        yield first, value
        return
    for item in (items_in(value) or {}).values():
        yield from selections(item, first)
        first += sum(1 for _ in leaves_of(item))


def _step(kind: type, key: Any) -> str:
    return key if issubclass(kind, _UNNAMED) else f"[{key}]" if kind is ListValue else step(kind, key)


def rebuilt(form: Form | None, leaves: Iterator[Value], depth: int) -> Value:
    """A container of this form with other leaves; what can be changed in it, may be at `depth`."""
    if form is None:
        return next(leaves)
    items = {k: rebuilt(f, leaves, depth) for k, f in form.items}
    if issubclass(form.kind, NoneOr):
        there = items["?"]
        return items[""] if there is True else None if there is False and form.kind is NoneOr else form.kind(
            there, items[""])
    if form.kind is ChosenText:
        return ChosenText(items[""])
    if form.kind is Masked:
        as_it_was = form.of is not None and items[""] is form.of.values and items["?"] is form.of.mask
        return form.of if as_it_was else Masked(items[""], items["?"], object(), own=True)
    if form.kind is ChosenRange:
        return ChosenRange(**items)
    if issubclass(form.kind, tuple):
        return assembled(form.kind if is_named(form.kind) else tuple, items)
    if issubclass(form.kind, (list, deque)):
        return ListValue(list(items.values()), depth, form.kind)
    return Record(form.kind, items, depth)


def mapped(value: Value, leaf: Callable[[Value], Value], depth: int) -> Value:
    """The same container with `leaf(x)` in place of every leaf."""
    return rebuilt(form_of(value), iter([leaf(v) for _, v in leaves_of(value)]), depth)


def mutable_parts(value: Value) -> list[ListValue | Record]:
    """The lists, dicts and objects in a value, itself among them."""
    return [v for v in contained(value) if isinstance(v, (ListValue, Record))]


def difference(before: Form | None, after: Form | None, path: str) -> str:
    """What tells two forms apart, in the words of an error message; "" if nothing does."""
    if before == after:
        return ""
    if before is None or after is None:
        return f"{path} is {_named(before)} first, then {_named(after)}"
    if before.kind is not after.kind:
        return f"{path} is {_named(before)} first, then {_named(after)}"
    keys, others = [k for k, _ in before.items], [k for k, _ in after.items]
    if keys != others and issubclass(before.kind, (tuple, list)):
        return f"{path} has {len(keys)} items first, then {len(others)}"
    if keys != others:
        told = sorted(map(repr, set(keys) ^ set(others)))
        return f"{path} has {', '.join(told)} only sometimes" if told else f"the keys of {path} change their order"
    return next(found for (k, a), (_, b) in zip(before.items, after.items, strict=True)
                if (found := difference(a, b, path + _step(before.kind, k))))


def _named(form: Form | None) -> str:
    if form is None or issubclass(form.kind, _UNNAMED):
        return "a single value" if form is None else _SINGLE.get(form.kind, "None or a value")
    return f"a {form.kind.__name__}"
