"""How NumPy would have an array in memory, as far as it decides what is a view and what a copy.

Containers of the program are in C order. NumPy keeps the order of what the caller passes, and of the operands of an
elementwise result: such arrays may lie in any order, and what `reshape` makes of them is a view or a copy of them. Here
it is a copy, a twin of the array: when one of the two is updated, the other may not be read. Likewise for parts whose
sizes or steps are no numbers.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.views import origins_of, remap
from sdfgad.frontend.elements.elementwise import UFUNCS
from sdfgad.frontend.state.builder import axes, reads_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.strides import made_of_turned, regroups, steps_of, turned
from sdfgad.frontend.state.values import ArrayValue, Lazy, Shape, Value, ViewValue, contained

_C_ORDER = (np.dot, np.matmul, np.inner, np.outer, np.tensordot, np.kron, np.take, np.repeat, np.tile, np.interp,
            np.ascontiguousarray, np.linalg.inv, np.linalg.solve, np.linalg.cholesky)
"""What gives arrays in C order, whatever the order of its arguments: measured, as the manual does not say so."""
_TURNING = (np.insert, np.cross, np.apply_along_axis, np.histogram2d)
"""What may turn an array that is in C order."""
_VIEWS = (np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal,
          np.expand_dims, np.squeeze, np.broadcast_to, np.reshape, np.ravel)
"""What shows an array, or a copy in C order: its steps say all."""


def viewed(ctx: Context, a: Value, dtype: Value = None, type: Value = None) -> Value:
    """The method `view`: another name of the array, where its numbers are not to be taken for others."""
    kept = [np.ndarray, None, *([a.dtype, a.dtype.type, a.dtype.name] if isinstance(a, ArrayValue) else ())]
    if not any(dtype is k or isinstance(k, (str, np.dtype)) and dtype == k for k in kept) or type not in kept[:2]:
        raise ctx.refuse("view in another type", ".astype(...) converts; complex numbers have .real and .imag", "SG101")
    return a


def needs_no_copy(ctx: Context, value: ArrayValue, shape: Shape, flat: bool = False) -> bool:
    """Whether NumPy can show these strides in that shape without moving data; `flat`: and in C order."""
    if not isinstance(value, ViewValue) or (value.shape == shape and not flat):
        return True
    if _any_order(ctx, value, flat):
        return False
    sizes, target = [n.const for n in value.shape], [n.const for n in shape]
    steps = _strides(ctx, value)
    if steps is None or None in sizes or None in target:
        return value.whole
    if flat:
        return _flags(sizes, steps).c_contiguous
    return regroups([n or 0 for n in sizes], steps, [n or 0 for n in target])


def copied_or_shared(ctx: Context, value: ArrayValue, shape: Shape) -> ViewValue:
    """A copy to be shown in `shape`; a twin of what it is made of where NumPy might have shown that itself."""
    origins = origins_of(value) if isinstance(value, ViewValue) and _undecided(ctx, value, shape) else frozenset()
    copy = ctx.builder.fresh_copy(value, "tmp")
    if not origins and isinstance(value, ViewValue):
        ctx.builder.any_order.discard(copy.view.array)
    if origins:
        ctx.builder.shared = ctx.builder.shared.twinned(copy.view.array, origins)
    return copy


def _undecided(ctx: Context, value: ViewValue, shape: Shape) -> bool:
    """Whether nobody knows here if NumPy shows the value in that shape where it is: of arrays in any order, and of
    parts whose sizes or steps are no numbers."""
    if _any_order(ctx, value, True) or _strides(ctx, value) is None:
        return True
    return any(n.const is None for n in (*value.shape, *shape))


def order_of(ctx: Context, value: ArrayValue) -> str:
    """The order of the elements in memory, "C" or "F"."""
    view = ctx.builder.materialise(value, "tmp")
    steps, sizes = _strides(ctx, view), [n.const for n in view.shape]
    if steps is not None and None not in sizes and not _any_order(ctx, view, True):
        flags = _flags(sizes, steps)
        if flags.c_contiguous or flags.f_contiguous:
            return "C" if flags.c_contiguous else "F"
    raise ctx.refuse("the order of elements in memory of an array that may be in any", 'use order="C"', "SG101")


def known_order(ctx: Context, order: Value) -> str:
    """One of the four orders that NumPy knows."""
    if not isinstance(order, str) or order.upper() not in ("C", "F", "A", "K"):
        raise ctx.refuse(f"order={order!r}" if isinstance(order, str) else "an order that is no text",
                         "NumPy knows 'C', 'F', 'A' and 'K'", "SG103")
    return order


def as_in_memory(ctx: Context, value: ViewValue) -> ViewValue:
    """The elements in the order in which they lie in memory, for those who look at memory alone: a[i, j] -> a[j, i]
    where the second axis is the slow one. UnsupportedError for an array that may lie in any order."""
    if _any_order(ctx, value, False):
        raise ctx.refuse("a message of an array that may lie in memory in any order, as what is made of transposes",
                         "send np.ascontiguousarray of it, or receive into an array made by np.empty", "SG101")
    steps, sizes = _strides(ctx, value), [n.const for n in value.shape]
    if steps is None or None in sizes:
        return value
    flags = _flags(sizes, steps)
    if flags.c_contiguous or not flags.f_contiguous:
        return value
    turned = remap(ctx, value, value.shape[::-1], axes(value.ndim)[::-1])
    assert isinstance(turned, ViewValue)
    return turned


def steps_in_memory(ctx: Context, value: ViewValue) -> list[int] | None:
    """How many elements of memory each dimension moves on; None for arrays in any order, and where it is no number."""
    return None if _any_order(ctx, value, True) else _strides(ctx, value)


def _flags(sizes: list[int | None], steps: list[int]) -> Any:
    """NumPy's flags of an array with these steps."""
    return np.lib.stride_tricks.as_strided(np.empty(1, np.int8), sizes, steps).flags  # type: ignore[arg-type]


def _any_order(ctx: Context, value: ViewValue, flat: bool) -> bool:
    """Whether the array may lie in memory in another order; that of one dimension only matters to what is `flat`."""
    return value.view.array in ctx.builder.any_order and (flat or sum(n.const != 1 for n in value.shape) > 1)


def like_order(ctx: Context, model: ArrayValue) -> bool:
    """Whether an array made like this one may lie in any order."""
    if isinstance(model, Lazy) and model.stored is None and model.any_order is not None:
        return model.any_order
    position = axes(model.ndim)
    return turned(ctx.builder.arrays, ctx.builder.any_order, model, model.at(position), position)


def laid_out(ctx: Context, callee: Any, arguments: Sequence[Value], keywords: Mapping[str, Value],
             call: Callable[..., Value]) -> Value:
    """What a call gives. Functions of NumPy keep, or may keep, the order of what they are given, but for those that
    always make arrays in C order; a few of them and those of SciPy may turn any array."""
    if not _is_numpys(callee) or _among(callee, _VIEWS):
        return call(ctx, callee, arguments, keywords)
    every = (one for value in (*arguments, *keywords.values()) for one in contained(value))
    given = [one for one in every if isinstance(one, ArrayValue)]
    before, turns = reads_of(*given), _turns(callee) or any(is_turned(ctx, one) for one in given)
    result = call(ctx, callee, arguments, keywords)
    if _among(callee, _C_ORDER):
        _in_c_order(ctx, result, before)
    elif turns or any(isinstance(one, ViewValue) and is_turned(ctx, one) for one in contained(result)):
        # What is a turned view here need not be one of NumPy's.
        in_any_order(ctx, result, before)
    return result


def is_turned(ctx: Context, value: Value) -> bool:
    """Whether this is an array of several dimensions that is in another order than C, or may be in any."""
    return isinstance(value, ArrayValue) and made_of_turned(ctx.builder.arrays, ctx.builder.any_order, value)


def in_any_order(ctx: Context, result: Value, before: Set[str]) -> None:
    """Note that arrays of a result may lie in another order than C, but for views of the containers `before`."""
    for one in contained(result):
        view = one.stored if isinstance(one, Lazy) else one
        if isinstance(one, Lazy) and view is None:
            one.any_order = True if one.any_order is None else one.any_order
        elif isinstance(view, ViewValue) and view.view.array not in before:
            ctx.builder.any_order.add(view.view.array)


def contracted(ctx: Context, result: Value, names: Sequence[str], output: str, optimized: bool,
               before: Set[str]) -> Value:
    """What `np.einsum` gives: turned where an operand has letters in another order than the result, or where products
    of pairs are asked for."""
    places = [[output.index(c) for c in n if c in output] for n in names]
    if optimized or any(p != sorted(p) for p in places):
        in_any_order(ctx, result, before)
    return result


def _in_c_order(ctx: Context, result: Value, before: Set[str]) -> None:
    """Note that a result is an array in C order, whatever it has been made of."""
    if isinstance(result, Lazy) and result.stored is None:
        result.any_order = False
    elif isinstance(result, ViewValue) and result.whole and result.view.array not in before:
        ctx.builder.any_order.discard(result.view.array)


def _turns(callee: Any) -> bool:
    """Whether a function may give an array in another order than C whatever it is given."""
    return _among(callee, _TURNING) or _package(callee) == "scipy"


def _is_numpys(callee: Any) -> bool:
    """Whether this is a function of NumPy or SciPy, but for elementwise ones, whose results say what they are of."""
    if isinstance(callee, np.ufunc):
        return callee not in UFUNCS
    return isinstance(getattr(callee, "__self__", None), np.ufunc) or _package(callee) in ("numpy", "scipy")


def _package(callee: Any) -> str:
    return (getattr(callee, "__module__", None) or "").split(".")[0]


def _among(callee: Any, known: Sequence[Any]) -> bool:
    return any(callee is f for f in known)


def _strides(ctx: Context, value: ViewValue) -> list[int] | None:
    """How far the flat position in the container moves with each dimension."""
    return steps_of(ctx.builder.arrays[value.view.array].shape, value.view.index, axes(value.ndim))
