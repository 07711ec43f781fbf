"""What a function takes from the Python program around it, and whether that is still the same at a later call.

A compiled program has the numbers, functions and lists of its surroundings built in. Python would look them up at every
call, so every look is noted with what it found and a later call looks again: what has changed is translated anew.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from sdfgad.ranks import ObjectForm, ObjectWay

LIBRARIES = frozenset({"numpy", "scipy", "sdfgad", "dace", "builtins"})
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
_REPLACEABLE = ("scipy.sparse", "scipy.interpolate", "numpy.polynomial")
"""Where objects come from whose arrays can be replaced, though the libraries made them."""
GONE = object()


@dataclass(frozen=True, eq=False)
class _Same:
    """Equal to itself alone, whatever the equality of `thing`."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.thing is self.thing

    __hash__ = object.__hash__


def _form(value: Any) -> Any:
    """What has to stay equal: numbers and text by value, containers by their items, anything else is itself."""
    if isinstance(value, _BY_VALUE):
        return (type(value), repr(value))
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(_form(v) for v in value))
    if isinstance(value, dict):
        return (type(value), tuple((_form(k), _form(v)) for k, v in value.items()))
    if isinstance(value, (set, frozenset)):
        return (type(value), frozenset(_form(v) for v in value))
    if isinstance(value, MethodType):  # made anew at every look
        return (MethodType, _Same(value.__func__), _Same(value.__self__))
    return _Same(value)


class Cells(Mapping[str, Any]):
    """What the variables of enclosing functions hold now; those without a value are left out."""

    def __init__(self, cells: Mapping[str, CellType]) -> None:
        self._cells = cells

    def __getitem__(self, name: str) -> Any:
        try:
            return self._cells[name].cell_contents
        except ValueError:  # assigned later than the function is made, or never
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return (n for n in self._cells if n in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._cells and self.get(name, GONE) is not GONE

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, eq=False)
class _Lookup:
    """A name in a scope, or an attribute of an object, and what was found there."""

    place: Any
    name: str
    value: Any
    form: Any
    fixed: bool  # the value cannot change and stay the same object

    def again(self) -> bool:
        """Whether the same is found now."""
        if isinstance(self.place, Mapping):
            now = self.place.get(self.name, GONE)
        else:
            now = getattr(self.place, self.name, GONE)
        return (self.fixed and now is self.value) or _form(now) == self.form


@dataclass(eq=False)
class Surroundings:
    """looks: everything found outside. arrays: those found, by identity. watched: pairs of an array whose contents
    became part of the translation and what they were. communicators: those that messages go through, by handle.
    agreed: a digest of what all ranks have decided about it; outdated: another rank wants to decide anew.

    sent, received: messages in lower case; told: a digest of what all ranks have said since that they send. anybody:
    whether something is received from whatever rank sends first."""

    looks: dict[tuple[int, str], _Lookup] = field(default_factory=dict)
    arrays: dict[int, np.ndarray] = field(default_factory=dict)
    watched: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    communicators: dict[int, Any] = field(default_factory=dict)
    agreed: str = "0"
    outdated: bool = False
    sent: list[tuple[ObjectWay, ObjectForm]] = field(default_factory=list)
    received: list[tuple[ObjectWay, ObjectForm]] = field(default_factory=list)
    told: str = "0"
    anybody: bool = False

    def note(self, place: Any, name: str, value: Any) -> None:
        """Remember what `place` held under `name`."""
        if isinstance(value, ModuleType) or _settled(place):
            return
        fixed = isinstance(value, (*_BY_VALUE, np.ndarray, FunctionType, BuiltinFunctionType, type))
        self.looks.setdefault((id(place), name), _Lookup(place, name, value, _form(value), fixed))

    def unchanged(self) -> bool:
        """Whether a translation now would find what this one found."""
        if self.outdated:
            return False
        if not self.looks and not self.watched:  # most functions use NumPy alone, and every call asks
            return True
        return all(look.again() for look in self.looks.values()) and \
            all(now.shape == then.shape and np.array_equal(now, then) for now, then in self.watched)


def _settled(place: Any) -> bool:
    """Whether nobody changes what is found there: parts of the libraries, numbers, types of data."""
    if isinstance(place, ModuleType):
        return place.__name__.split(".")[0] in LIBRARIES | sys.stdlib_module_names
    if isinstance(place, Mapping):  # what NumPy's functions are written with here is sdfgad's own
        return str(place.get("__name__", "")).split(".")[0] in LIBRARIES
    if isinstance(place, (type, FunctionType)):
        return False
    form = type(place).__module__
    if isinstance(place, np.poly1d) or form.startswith(_REPLACEABLE):
        return False
    return form.split(".")[0] in LIBRARIES
