"""Names that sdfgad makes up, and which ones the generated C++ cannot take."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count

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


_LOOP = re.compile(r"k|row|column|here|strip|block|kept|_\d*|cell\d+|[cempw]\d+(_\d+)?|[a-z]+\d+_"
                   r"|.+_(part|round|slot|again|back)")
"""Variables of the loops that passes make up. An index moved into such a loop must not mean another variable there."""


def grad_of(name: str) -> str:
    """The cotangent of array ``name``."""
    return GRAD + name


def tape_of(name: str) -> str:
    """The array that stores values of ``name`` for the reverse sweep."""
    return TAPE + name


def again_of(name: str) -> str:
    """The array that holds recomputed values of ``name``."""
    return AGAIN + name


def is_generated(name: str) -> bool:
    """Whether a user's ``name`` would collide with the names made up here."""
    return name.startswith((GRAD, TAPE, AGAIN))


def safe(name: str) -> str:
    """``name`` when generated C++ can use it, else a variant of it: ``do`` -> ``u_do``, ``grad_x`` -> ``u_grad_x``."""
    usable = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}" for c in name)
    clash = usable in _RESERVED or is_generated(usable) or usable.startswith("__") or not usable[:1].isidentifier()
    return f"u_{usable}" if clash else usable


def loop_variable(name: str) -> str:
    """A user's name for a loop variable, or a variant that no pass makes up: ``k`` -> ``u_k``."""
    usable = safe(name)
    return f"u_{usable}" if _LOOP.fullmatch(usable) else usable


def loop_name(variable: str) -> str:
    """What the user called a loop variable: ``u_k`` -> ``k``."""
    plain = variable.removeprefix("u_")
    return plain if plain != variable and loop_variable(plain) == variable else variable


def fresh(base: str, taken: Container[str]) -> str:
    """``base``, or ``base_1``, ``base_2``, ... : the first that is not in ``taken``."""
    if base not in taken:
        return base
    return next(name for i in count(1) if (name := f"{base}_{i}") not in taken)
