"""Texts, members of enumerations and None that data choose: a number stands for each of them.

mode = "a" if x[0] > 0 else "b"     ->   mode = number of "a" if x[0] > 0 else number of "b"
if mode == "a": ...                 ->   if mode == number of "a": ...
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any, NoReturn

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.state.values import Compound, Opaque, Value, is_number, like

_BITS = 48
"""Of the numbers: floats hold them, too, and two texts that share one are not met."""

IN_BRANCHES = "compare it with == or in; other uses belong into the branches that choose it"


@dataclass(frozen=True, eq=False)
class ChosenText(Compound, Opaque):
    """One of several texts or members, by the number of it. Python's own comparisons of it, which know nothing of the
    run, are refused."""

    number: Value
    described = "text, or a member of an enumeration, that data choose"

    @property
    def held(self) -> tuple[Value, ...]:
        return (self.number,)

    def _refuse(self, *_: Value) -> NoReturn:
        raise UnsupportedError(f"{self.described}, where it has to be known", help=IN_BRANCHES, code="SG102")

    __eq__ = __bool__ = __hash__ = __len__ = _refuse


def is_text(value: Value) -> bool:
    """Whether a number may stand for a value: its class does not say what is equal to it, or that it is false."""
    if value is None or isinstance(value, ChosenText):
        return True
    plain = isinstance(value, (str, Enum)) and type(value).__eq__ in (object.__eq__, str.__eq__)
    return plain and (isinstance(value, str) or bool(value))


def are_chosen(values: tuple[Value, ...]) -> bool:
    """Whether the values of several ways are texts or members, or None and such."""
    return all(map(is_text, values)) and any(v is not None for v in values)


def numbered_text(value: Value) -> ChosenText:
    """A text as one of several."""
    return value if isinstance(value, ChosenText) else ChosenText(_number(value))


def with_numbers(value: Value) -> Value:
    """A tuple with numbers in place of the texts in it: it is of one form then whichever of them data choose."""
    if not isinstance(value, tuple):
        return value
    return like(value, [numbered_text(v) if v is not None and is_text(v) else with_numbers(v) for v in value])


def compared(ufunc: np.ufunc, left: Value, right: Value, compare: Callable[[Value, Value], Value]) -> Value:
    """`left == right` or `left != right`, of which data choose one at least. compare: the same of numbers."""
    chosen, other = (left, right) if isinstance(left, ChosenText) else (right, left)
    if ufunc not in (np.equal, np.not_equal) or not isinstance(other, str) and not is_number(other) and (
            not is_text(other)):
        return chosen == other  # which refuses
    if is_number(other):
        return ufunc is np.not_equal
    return compare(chosen.number, numbered_text(other).number)


def _number(value: Any) -> int:
    """The same in every process, as compiled programs are kept; members that are texts are equal to these."""
    if value is None or isinstance(value, str):
        name = "None" if value is None else str.__repr__(value)
    else:
        name = f"{type(value).__module__} {type(value).__qualname__} {value.name}"
    return int.from_bytes(blake2b(name.encode("utf8", "surrogatepass"), digest_size=_BITS // 8).digest(), "big")
