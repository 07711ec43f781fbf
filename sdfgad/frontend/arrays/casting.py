"""What NumPy stores in what: casts that it refuses, and copies into arrays that are there."""
from __future__ import annotations

import numpy as np

from sdfgad.frontend.arrays.masking import check_cast, only_where
from sdfgad.frontend.arrays.views import check_writable
from sdfgad.frontend.elements.elementwise import as_array, convert, describe, expand
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Value, ViewValue


def check_casting(ctx: Context, value: ArrayValue, dtype: np.dtype, casting: str = "same_kind") -> None:
    """Refuse a cast that NumPy refuses. Python's integers are of any dtype."""
    whole = value.weak and value.dtype.kind == "i" and dtype.kind in "iu" and casting != "no"
    if not whole and not np.can_cast(value.dtype, dtype, casting):  # type: ignore[arg-type]
        raise ctx.refuse(f"values of {value.dtype} stored as {dtype}, with casting={casting!r}",
                         "NumPy refuses this cast too: convert them with astype", "SG104")


def copyto(ctx: Context, dst: Value, src: Value, casting: str = "same_kind", where: Value = True) -> None:
    from_value = as_array(ctx, src)
    if not isinstance(dst, ViewValue) or dst.scalar:
        raise ctx.refuse(f"np.copyto into {describe(dst)}", code="SG105")
    check_writable(ctx, dst)
    check_casting(ctx, from_value, dst.dtype, casting)
    check_cast(ctx, from_value, dst)
    if where is not True:
        from_value = only_where(ctx, where, convert(ctx, from_value, dst.dtype), dst, dst)
    ctx.builder.assign(dst, expand(ctx, from_value, dst.shape))


def fill(ctx: Context, a: Value, value: Value) -> None:
    copyto(ctx, a, value, "unsafe")
