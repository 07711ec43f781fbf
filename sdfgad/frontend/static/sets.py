"""Sets of what is known while translating: they change then, as lists do, and go in the order that Python has."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.values import ListValue, Record, Value, is_number
from sdfgad.frontend.static.settled import settled

_CHANGES = frozenset({"add", "discard", "remove", "update", "clear", "intersection_update", "difference_update",
                      "symmetric_difference_update"})
_READS = frozenset({"union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset",
                    "isdisjoint", "copy"})
_MASK = "note it in an array of booleans: seen[k] = True"
METHODS = _CHANGES | _READS
_OPERATORS: Mapping[np.ufunc, Callable[..., Any]] = MappingProxyType({
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.subtract: operator.sub,
    np.bitwise_xor: operator.xor})
_IN_PLACE: Mapping[np.ufunc, str] = MappingProxyType({
    np.bitwise_and: "intersection_update", np.bitwise_or: "update", np.subtract: "difference_update",
    np.bitwise_xor: "symmetric_difference_update"})


def is_set(value: Value) -> bool:
    return isinstance(value, (SetValue, frozenset))


def made(ctx: Context, items: Sequence[Value] | set[Value]) -> SetValue:
    """A set of these items."""
    if not all(map(_is_member, items)):
        raise ctx.refuse("a set of values only known at run time", "use a tuple", "SG102")
    return SetValue(set(items), len(ctx.builder.regions))


def _is_member(item: Value) -> bool:
    return is_number(item) or isinstance(item, str) or isinstance(item, tuple) and all(map(_is_member, item))


def combined(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> Value:
    """`left op right` of two sets; None for an operator that they do not have."""
    rule = _OPERATORS.get(ufunc)
    return None if rule is None else _value(ctx, rule(plain(left), plain(right)))


def updated(ctx: Context, owner: SetValue, ufunc: np.ufunc, value: Value) -> None:
    """`owner op= value`."""
    if ufunc not in _IN_PLACE or not is_set(value):
        raise ctx.refuse("this update of a set", "use its methods", "SG102")
    call(ctx, owner, _IN_PLACE[ufunc], [value])


def plain(value: Value) -> Any:
    """A set as one of Python's; anything else as it is."""
    return value.items if isinstance(value, (SetValue, ListValue)) else value


def call(ctx: Context, owner: Value, name: str, arguments: Sequence[Value]) -> Value:
    """`owner.name(...)`. What changes it happens while translating: every run has to come by."""
    arguments = [[*settled(ctx, a)] if isinstance(a, Record) and issubclass(a.form, dict) else a for a in arguments]
    parts = [p for a in arguments for p in (plain(a) if isinstance(plain(a), (set, frozenset, list, tuple)) else [a])]
    if not all(isinstance(p, range) or _is_member(p) for p in parts):
        raise ctx.refuse("a set of values only known at run time", _MASK, "SG102")
    if name in _CHANGES and owner.depth != len(ctx.builder.regions):
        raise ctx.refuse("a set changed inside a loop or branch", _MASK, "SG102")
    try:
        return _value(ctx, getattr(plain(owner), name)(*map(plain, arguments)))
    except KeyError as error:
        raise ctx.raises(KeyError, f"the item {error}, which is not in the set", code="SG105") from error
    except TypeError as error:
        raise ctx.refuse(f"this call of {name!r} of a set: {error}", code="SG102") from error


def _value(ctx: Context, found: Any) -> Value:
    return SetValue(found, len(ctx.builder.regions)) if isinstance(found, set) else found
