"""NumPy's subscripted helpers: `np.mgrid[...]`, `np.ogrid[...]`, `np.s_[...]`, `np.r_[...]` and `np.c_[...]`."""
from __future__ import annotations

import re
from typing import Any

import numpy as np

from sdfgad.frontend.elements.elementwise import as_array, promote
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, Value, is_number

_DIRECTIONS = re.compile(r"\s*(-?\d+)\s*(?:,\s*(-?\d+)\s*(?:,\s*(-?\d+)\s*)?)?")
"""`axis`, `axis,ndmin` or `axis,ndmin,trans1d`."""


def index_trick(ctx: Context, base: Any, items: Value) -> Value:
    """What a subscript of one of them gives."""
    if base is np.s_ or base is np.index_exp:
        return items if base is np.s_ or isinstance(items, tuple) else (items,)
    if base is np.r_ or base is np.c_:
        return _joined(ctx, base, items if isinstance(items, tuple) else (items,))
    if base is not np.mgrid and base is not np.ogrid:
        raise ctx.refuse(f"a subscript of {type(base).__name__}", "use np.concatenate or np.stack", "SG101")
    slices = items if isinstance(items, tuple) else (items,)
    vectors = [_grid_line(ctx, s) for s in slices]
    if base is np.mgrid:
        grids = ctx.invoke(ctx, np.meshgrid, vectors, {"indexing": "ij"})
        return ctx.invoke(ctx, np.stack, [grids], {}) if isinstance(items, tuple) else vectors[0]
    count = len(vectors)
    open_ = [ctx.invoke(ctx, np.reshape, [v, tuple(-1 if k == j else 1 for j in range(count))], {})
             for k, v in enumerate(vectors)]
    return tuple(open_) if isinstance(items, tuple) else open_[0]


def _joined(ctx: Context, base: Any, items: tuple) -> Value:
    """Arrays, numbers and ranges side by side. A text before them says along which axis, how many dimensions there are
    at least, and where the dimensions of an array with fewer go; `np.c_`, which makes columns, is `np.r_["-1,2,0"]`."""
    axis, least, first = (-1, 2, 0) if base is np.c_ else (0, 1, -1)
    if items and isinstance(items[0], str):
        found = _DIRECTIONS.fullmatch(items[0])
        if found is None:
            raise ctx.refuse(f"{items[0]!r} in np.r_ or np.c_", "matrices are not understood: use np.concatenate or "
                             "np.stack", "SG101")
        axis, least, first = (given if text is None else int(text)
                              for text, given in zip(found.groups(), (axis, least, first), strict=True))
        items = items[1:]
    if any(isinstance(i, str) for i in items) or not items:
        raise ctx.refuse("np.r_ or np.c_ with nothing, or a text behind the first place", "write the axis first",
                         "SG101")
    parts = [_grid_line(ctx, i) if hasattr(i, "step") else i for i in items]
    arrays = [as_array(ctx, ctx.invoke(ctx, np.atleast_1d, [p], {})) for p in parts]
    kind = promote(ctx, [as_array(ctx, p) if _is_weak(p) else a for p, a in zip(parts, arrays, strict=True)])
    raised = tuple(_raised(ctx, a, least, first % least if hasattr(i, "step") and least > 0 else first)
                   for i, a in zip(items, arrays, strict=True))
    return ctx.invoke(ctx, np.concatenate, [raised], {"axis": axis, "dtype": kind})


def _is_weak(part: Value) -> bool:
    return is_number(part) or isinstance(part, IntValue) or getattr(part, "weak", False)


def _raised(ctx: Context, array: ArrayValue, least: int, first: int) -> ArrayValue:
    """The array with so many dimensions. first: where its own ones begin; from the last place on where it is negative.
    """
    missing = least - array.ndim
    if missing <= 0:
        return array
    before = first if first >= 0 else first + missing + 1
    if not 0 <= before <= missing:
        raise ctx.refuse(f"an array of np.r_ with {array.ndim} dimensions from the one numbered {first} on",
                         "use np.reshape and np.concatenate", "SG105")
    places = (*range(before), *range(before + array.ndim, least))
    return as_array(ctx, ctx.invoke(ctx, np.expand_dims, [array, places], {}))


def _grid_line(ctx: Context, part: Value) -> Value:
    if not hasattr(part, "step"):
        raise ctx.refuse("a grid that is not made of slices", code="SG105")
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return ctx.invoke(ctx, np.linspace, [start, part.stop, int(abs(part.step))], {})
    return ctx.invoke(ctx, np.arange, [start, part.stop, 1 if part.step is None else part.step], {})
