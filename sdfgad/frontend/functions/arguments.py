"""Arguments that NumPy refuses, whatever the data are: what it has no parameter for, axes and dimensions."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.known import is_known, plain_list
from sdfgad.frontend.arrays.layout import known_order
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Masked, Value, is_int, is_number
from sdfgad.frontend.static.signatures import call_name


def _by_function(table: Mapping[Any, str]) -> Mapping[str, Mapping[str, Any]]:
    """`{what: "f.a f.b"}`   ->   `{"f": {"a": what, "b": what}}`"""
    found: dict[str, dict[str, Any]] = {}
    for what, names in table.items():
        for function, parameter in (n.split(".") for n in names.split()):
            found.setdefault(function, {})[parameter] = what
    return MappingProxyType(found)


_DIMENSIONS = _by_function({
    (0, 0): "interp.left interp.right interp.period",
    (0, 1): "argpartition.kth convolve.a convolve.v histogram.bins partition.kth polyder.p polyint.p repeat.repeats",
    (0, 2): "corrcoef.x cov.m",
    (1, 1): "bincount.x bincount.weights compress.condition correlate.a correlate.v digitize.bins interp.xp interp.fp "
            "outer.x1 outer.x2 polyfit.x searchsorted.a vander.x",
    (1, 2): "poly.seq_of_zeros polyfit.y",
    (2, 2): "tril_indices_from.arr triu_indices_from.arr",
    (1, 64): "fftshift.x ifftshift.x vecdot.x1 vecdot.x2",
    (2, 64): "matrix_power.a vsplit.ary",
    (3, 64): "dsplit.ary"})
"""How many dimensions arguments have, at least and at most."""

_DTYPES = _by_function({
    "iu": "argpartition.kth indices.dimensions pad.pad_width partition.kth ravel_multi_index.dims",
    "iub": "bincount.x choose.a delete.obj ravel_multi_index.multi_index take.indices unravel_index.indices "
           "unravel_index.shape",
    "iuf": "nanpercentile.a nanquantile.a percentile.a quantile.a",
    "iubf": "digitize.bins digitize.x interp.x interp.xp isneginf.x isposinf.x",
    "iufc": "fft.n hfft.n gradient.f ifft.n ihfft.n irfft.n median.a resize.new_shape rfft.n vander.N"})
"""Of which kinds the dtypes of arguments are."""

_FLOATS_ALONE = frozenset(("std", "var", "nanstd", "nanvar"))
"""Whose results may be given no dtype of integers."""

_OTHER_AXES = frozenset(("stack", "expand_dims", "apply_along_axis", "linspace", "geomspace", "logspace", "unstack",
                         "concatenate", "cross", "block"))
"""Whose axis is not one of the first argument's."""

_NO_LISTS = frozenset((
    "sum", "prod", "mean", "std", "var", "max", "min", "amax", "amin", "all", "any", "ptp", "squeeze", "nansum", "norm",
    "nanmean", "nanstd", "nanvar", "nanmax", "nanmin", "nanprod", "count_nonzero"))
"""Whose axes stand in a tuple, and in no list."""

_ONE_AXIS = frozenset(("argsort", "sort", "argmax", "argmin", "nanargmax", "nanargmin", "cumsum", "cumprod", "take",
                       "repeat", "diff", "partition", "argpartition", "unwrap", "trapezoid", "append", "compress"))


def check_arguments(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> None:
    """Refuse a call of NumPy that fails there for the form of its arguments."""
    if (signature := _signature(callee)) is None:
        return
    try:
        bound = signature.bind(*arguments, **keywords).arguments
    except TypeError as error:
        raise ctx.refuse(f"this call of {call_name(callee)}: {error}", code="SG101") from error
    for name, (low, high) in _DIMENSIONS.get(callee.__name__, {}).items():
        count = _dimensions(bound.get(name))
        if count is not None and not low <= count <= high:
            raise ctx.refuse(f"{describe(bound[name])} as {name!r} of {call_name(callee)}",
                             "NumPy takes no array of so many dimensions there", "SG103")
    for name, kinds in _DTYPES.get(callee.__name__, {}).items():
        if _kinds(bound.get(name)) - set(kinds):
            raise ctx.refuse(f"{describe(bound[name])} as {name!r} of {call_name(callee)}",
                             "NumPy takes no numbers of this dtype there", "SG104")
    if "c" in _kinds(bound.get("initial")) and "c" not in _kinds(bound.get("a")):
        raise ctx.refuse(f"{describe(bound['initial'])} as 'initial' of {call_name(callee)}",
                         "NumPy begins real numbers with no complex one", "SG104")
    _check_dtype(ctx, callee, bound.get("dtype"))
    _check_axis(ctx, callee, bound.get("a", next(iter(bound.values()), None)), bound.get("axis"))
    _check_names(ctx, callee, bound)


@lru_cache(maxsize=1024)
def _of_numpy(callee: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(callee)
    except (TypeError, ValueError):
        return None


def _signature(callee: Value) -> inspect.Signature | None:
    """The parameters of a function of NumPy's, as far as it says what they are."""
    if isinstance(callee, np.ufunc) or not str(getattr(callee, "__module__", "")).startswith("numpy"):
        return None
    public = isinstance(callee, FunctionType) or type(callee).__name__ == "_ArrayFunctionDispatcher"
    return _of_numpy(callee) if public else None


def _dimensions(value: Value) -> int | None:
    """How many dimensions an argument has as an array; None where that is not known here, or it is not given."""
    if isinstance(value, ArrayValue):
        return value.ndim
    if isinstance(value, Masked):
        return value.values.ndim - value.mask.ndim + 1
    if is_number(value) or isinstance(value, IntValue):
        return 0
    items = value.items if isinstance(value, ListValue) else value
    if not isinstance(items, (tuple, list)):
        return None
    inside = _dimensions(items[0]) if items else 0
    return None if inside is None else 1 + inside


def _kinds(value: Value) -> set[str]:
    """The kinds of the dtypes in an argument; of what is empty or not known, none."""
    if isinstance(value, ArrayValue):
        return {value.dtype.kind}
    if isinstance(value, Masked):
        return {value.values.dtype.kind}
    if isinstance(value, IntValue):
        return {"i"}
    if is_number(value):
        known = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else np.asarray(value).dtype.kind
        return {known}
    items = value.items if isinstance(value, ListValue) else value
    return set().union(*map(_kinds, items)) if isinstance(items, (tuple, list)) else set()


def _check_dtype(ctx: Context, callee: Value, dtype: Value) -> None:
    if callee.__name__ in _FLOATS_ALONE and dtype is not None and is_known(dtype) and np.dtype(dtype).kind not in "fc":
        raise ctx.refuse(f"{call_name(callee)} with dtype={np.dtype(dtype)}", "NumPy casts no spread", "SG104")


def _check_axis(ctx: Context, callee: Value, array: Value, axis: Value) -> None:
    """Axes are integers, of which an array has some."""
    if axis is None:
        return
    axis = plain_list(axis)
    several = isinstance(axis, (tuple, list))
    wrong = isinstance(axis, list) and callee.__name__ in _NO_LISTS or several and callee.__name__ in _ONE_AXIS
    axes = list(axis) if several else [axis]
    wrong = wrong or any(_dimensions(a) or isinstance(a, str) or _kinds(a) - {"i", "u"} for a in axes)
    if wrong:
        raise ctx.refuse(f"axis={axis!r} of {call_name(callee)}", "NumPy takes other forms of it", "SG103")
    count = array.ndim if isinstance(array, ArrayValue) else None
    if not count or callee.__name__ in _OTHER_AXES or not all(isinstance(a, (int, np.integer)) for a in axes):
        return
    if any(not -count <= a < count for a in axes):
        raise ctx.refuse(f"axis={axis!r} of {describe(array)}", "it has fewer axes", "SG103")


def _check_names(ctx: Context, callee: Value, bound: Mapping[str, Value]) -> None:
    """Options that are one of a few texts, or a flag."""
    order, keepdims = bound.get("order"), bound.get("keepdims", False)
    if order is not None and callee.__name__ in ("copy", "ravel", "reshape"):
        known_order(ctx, order)
    if keepdims is None or isinstance(keepdims, ArrayValue) or is_number(keepdims) and not isinstance(
            keepdims, (bool, np.bool_)) and not is_int(keepdims):
        raise ctx.refuse(f"keepdims={describe(keepdims)} of {call_name(callee)}", "NumPy takes True or False", "SG103")
