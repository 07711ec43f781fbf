"""Containers of data: what is inside a tuple, list, dict, namedtuple, dataclass or namespace, and how to make another.

A leaf is named by the parameter and the way to it: `p[0]`, `p['dt']`, `p.mesh.dx`.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from inspect import getattr_static
from types import SimpleNamespace
from typing import Any

DICTS = (dict, OrderedDict)


def contents(value: Any) -> Mapping[Any, Any] | None:
    """The items by position, key or name of the attribute; None for what is no container of data."""
    form = type(value)
    if is_named(form):
        return {name: getattr(value, name) for name in form._fields} if is_plain_named(form) else None
    if isinstance(value, (tuple, list)):
        return dict(enumerate(value))
    if form in DICTS:
        return value if all(map(_is_key, value)) else None
    if form is SimpleNamespace:
        return vars(value)
    return _fields(value) if is_plain_dataclass(form) else None


def _is_key(key: Any) -> bool:
    """Text, an integer, or a tuple of such."""
    return type(key) in (str, int) or type(key) is tuple and all(map(_is_key, key))


def _fields(value: Any) -> Mapping[str, Any] | None:
    found = {f.name: getattr(value, f.name, value) for f in fields(value)}
    complete = not any(v is value for v in found.values())
    kept = any(isinstance(getattr_static(type(value), name, None), cached_property)
               for name in getattr(value, "__dict__", {}) if name not in found)
    return found if complete and not kept else None  # what has been computed of the fields before stays as it was


def is_named(form: type) -> bool:
    """Whether a class is that of a namedtuple."""
    return issubclass(form, tuple) and hasattr(form, "_fields")


def is_plain_named(form: type) -> bool:
    """Whether instances of a namedtuple's class are looked into, compared and ordered as any tuple is."""
    return all(getattr_static(form, n) is getattr_static(tuple, n) for n in _OF_TUPLES) and not any(
        hasattr(form, n) for n in ("__bool__", "__getattr__"))


_OF_TUPLES = ("__iter__", "__len__", "__getitem__", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__",
              "__ge__", "__hash__", "__getattribute__")


def is_plain_dataclass(form: type) -> bool:
    """Whether instances are what their fields say. Stand-ins for arrays and classes that look attributes up in a way of
    their own are not."""
    return is_dataclass(form) and form.__getattribute__ is object.__getattribute__ and not (
        {"shape", "dtype"} <= form.__dataclass_fields__.keys())


def step(form: type, key: Any) -> str:
    """How the item under `key` is written behind the name of a container of this class."""
    return f".{key}" if is_named(form) or not issubclass(form, (tuple, list, dict)) else f"[{key!r}]"


def assembled(form: type, items: Mapping[Any, Any]) -> Any:
    """A container of this class with these items."""
    if is_named(form):
        return form._make(items.values())  # type: ignore[attr-defined]
    if issubclass(form, (tuple, list)):
        return form(items.values())
    if issubclass(form, dict):
        return form(items)
    made = SimpleNamespace() if form is SimpleNamespace else object.__new__(form)
    for name, item in items.items():
        object.__setattr__(made, name, item)
    return made


def mapped(leaf: Callable[[Any], Any], tree: Any) -> Any:
    """The same containers with `leaf(x)` in place of everything that is none."""
    inside = contents(tree)
    return leaf(tree) if inside is None else assembled(type(tree), {k: mapped(leaf, v) for k, v in inside.items()})


def leaves(tree: Any) -> list[Any]:
    """Everything in the containers that is none itself, in order."""
    inside = contents(tree)
    return [tree] if inside is None else [x for item in inside.values() for x in leaves(item)]


def paths(name: str, tree: Any) -> Iterator[tuple[str, Any]]:
    """The leaves with their names."""
    inside = contents(tree)
    if inside is None:
        yield name, tree
        return
    for key, item in inside.items():
        yield from paths(name + step(type(tree), key), item)


def chosen(name: str, tree: Any, found: Mapping[str, Any]) -> Any:
    """The container with what `found` has for its leaves: others are left out of dicts and None everywhere else."""
    inside = contents(tree)
    if inside is None:
        return found.get(name)
    items = {k: chosen(name + step(type(tree), k), v, found) for k, v in inside.items()}
    return assembled(type(tree), {k: v for k, v in items.items() if v is not None} if type(tree) in DICTS else items)


def with_leaves(name: str, tree: Any, found: Mapping[str, Any]) -> Any:
    """The container with what `found` has in place of leaves, and its own leaves elsewhere."""
    inside = contents(tree)
    if inside is None:
        return found.get(name, tree)
    return assembled(type(tree), {k: with_leaves(name + step(type(tree), k), v, found) for k, v in inside.items()})


def sequence(tree: Any) -> Sequence[Any] | None:
    """The items of a tuple or list, or of any other container in order; None for a leaf."""
    inside = contents(tree)
    return None if inside is None else tuple(inside.values())
