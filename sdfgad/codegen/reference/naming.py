"""Names of containers in a graph: the user's own, unless they mean something else in C++, Python or DaCe."""
from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable, Mapping

from sdfgad.codegen.cpp import container
from sdfgad.names import fresh, is_reserved

_USABLE = re.compile(r"(?!__|_[io][0-9])[A-Za-z_][A-Za-z0-9_]*")
"""Connectors are called `_i0` and `_o0`."""
_ALSO = frozenset("""
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t intptr_t uintptr_t sg Min Max min max
    HUGE_VAL BUFSIZ RAND_MAX errno stdin stdout stderr assert linux unix
    """.split())
"""Types, functions and macros that generated code sees, beside what no name of this package is."""


def usable(name: str) -> bool:
    """Whether a container may have this name in C++ and in Python."""
    return _USABLE.fullmatch(name) is not None and not (
        is_reserved(name) or name in _ALSO or keyword.iskeyword(name))


def container_names(arrays: Iterable[str], wanted: Mapping[str, str], hidden: Collection[str],
                    taken: Collection[str]) -> dict[str, str]:
    """The container of each array: `wanted` or its own name; another one where that is taken, unusable, or `hidden`,
    which are the arrays that formulas of the graph name. Earlier arrays choose first."""
    found: dict[str, str] = {}
    used = set(taken)
    for array in arrays:
        name = wanted.get(array, array)
        if not usable(name) or name in used or array in hidden:
            name = fresh(name if usable(name) and array not in hidden else container(name), used)
        used.add(name)
        found[array] = name
    return found
