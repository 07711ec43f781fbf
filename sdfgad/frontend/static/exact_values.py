"""Values of integers that are known while translating, as far as stores of known numbers tell."""
from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue
from sdfgad.ir.index import ix

_MOST = 256
"""Elements of an array that is looked through."""


def exact_number(ctx: Context, value: ArrayValue) -> int | np.integer | None:
    """A number without dimensions, if it is known at this point."""
    e = value.at(())
    found = ctx.builder.held.exact.number(e) if e.dtype.kind in "iu" else None
    if found is None or not _stay(ctx, value.reads):
        return None
    return found if getattr(value, "weak", False) else e.dtype.type(found)


def exact_array(ctx: Context, value: ArrayValue) -> np.ndarray | None:
    """What a small array of integers or flags holds, if that is known at this point."""
    sizes = [n.const for n in value.shape]
    if value.dtype.kind not in _kinds(ctx) or None in sizes or not math.prod(sizes) <= _MOST:  # type: ignore[arg-type]
        return None
    found = np.empty(sizes, value.dtype)  # type: ignore[arg-type]
    for place in np.ndindex(found.shape):
        number = ctx.builder.held.exact.number(value.at(tuple(map(ix, place))))
        if number is None:
            return None
        found[place] = number
    return found if _stay(ctx, value.reads) else None


def _kinds(ctx: Context) -> str:
    return "iub" if ctx.builder.assumed.known_masks else "iu"


def _stay(ctx: Context, arrays: Iterable[str]) -> bool:
    """Whether arrays hold the same in every iteration of the loops here: noted, as it is wrong where one of them is
    stored into further down. Whether integers from outside still are the same, later calls look."""
    builder = ctx.builder
    inner = [a for a in arrays if a not in builder.constants and builder.inner(a)]
    if any(a in builder.assumed.fragile or a in builder.managed for a in inner):
        return False  # what loops hand on changes with them
    builder.frozen.update(inner)
    return True
