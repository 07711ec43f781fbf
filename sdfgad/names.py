"""Names that sdfgad makes up, and which ones the generated C++ cannot take."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from itertools import count
from typing import Any

GRAD = "grad_"
"""Prefix of the cotangent of an array."""
TAPE = "tape_"
"""Prefix of values stored by the forward sweep."""
AGAIN = "again_"
"""Prefix of values computed a second time in the reverse sweep."""

_RESERVED = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor "
    "xor_eq NULL I INFINITY NAN M_PI M_E EOF main std dace math __state".split()
)


_MADE = re.compile(r"[a-z]+[0-9]+(_.*)?")
"""The form of variables that are made up, which no user's variable has. One letter before the number: of maps. A word:
of loops. So what is moved into a loop never means another variable there, and a map may be made of whatever names the
loops around it."""


def grad_of(name: str) -> str:
    """The cotangent of array ``name``."""
    return GRAD + name


def is_generated(name: str) -> bool:
    """Whether a user's ``name`` would collide with the names made up here."""
    return name.startswith((GRAD, TAPE, AGAIN))


def is_reserved(name: str) -> bool:
    """Whether C++, or what generated code includes, means something else by a name."""
    return name in _RESERVED


def safe(name: str) -> str:
    """``name`` when generated C++ can use it, else a variant of it: ``do`` -> ``u_do``, ``grad_x`` -> ``u_grad_x``."""
    usable = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}" for c in name)
    clash = usable in _RESERVED or is_generated(usable) or usable.startswith("__") or not usable[:1].isidentifier()
    return f"u_{usable}" if clash else usable


def of_function(fn: Any, written: str) -> str:
    """What a program is called: as its function is written, an object that can be called by its own name or class."""
    fn = getattr(fn, "__self__", fn)
    name = getattr(fn, "__name__", type(fn).__name__) if written == "__call__" else written
    return safe(name) if name.isidentifier() else "lambda" if written == "<lambda>" else "program"


def loop_variable(name: str) -> str:
    """A user's name for a loop variable, or a variant that nobody makes up: ``x1`` -> ``u_x1``, ``_0`` -> ``u__0``."""
    usable = safe(name)
    plain = usable
    while plain.startswith("u_"):
        plain = plain.removeprefix("u_")
    return f"u_{usable}" if is_made_up(plain) or plain.startswith("_") else usable


def loop_name(variable: str) -> str:
    """What the user called a loop variable: ``u_x1`` -> ``x1``."""
    plain = variable.removeprefix("u_")
    return plain if loop_variable(plain) == variable else variable


def is_made_up(variable: str) -> bool:
    """Whether a variable is none of the user's."""
    return _MADE.fullmatch(variable) is not None


def variable(stem: str, taken: Container[str] = ()) -> str:
    """A made-up variable: ``c0``, or ``c1``, ``c2``, ... : the first that is not in ``taken``.

    stem: a letter for a range of a map, which must differ from the others of its domain (``taken``); a word for that of
    a loop, which must differ from all variables of the program.
    """
    return next(variables(stem, taken))


def variables(stem: str, taken: Container[str] = ()) -> Iterator[str]:
    """One such variable after the other, without end."""
    return (name for k in count() if (name := f"{stem}{k}") not in taken)


def variable_of(stem: str, variable: str) -> str:
    """The loop variable ``stem`` that belongs to another loop's: ``part0_i``. One for each loop, as its variable is."""
    return f"{stem}0_{variable}"


def fresh(base: str, taken: Container[str], first: int = 1) -> str:
    """``base``, or ``base_1``, ``base_2``, ... : one that is not in ``taken``. first: the smallest number."""
    if base not in taken:
        return base
    return numbered(base, taken, first)


def numbered(base: str, taken: Container[str], first: int = 0) -> str:
    """``base_0``, or ``base_1``, ... : one that is not in ``taken``, while the one before it is.

    It is sought by doubling and halving: a long program has thousands of one kind.
    """
    low, high = first - 1, first
    while f"{base}_{high}" in taken:
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if f"{base}_{middle}" in taken else (low, middle)
    return f"{base}_{high}"
