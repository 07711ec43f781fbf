"""NumPy's functions of data selected by a mask: element by element, or as if other elements were not numbers."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.masking import CHOSEN, as_masked, is_stored, mask_view, masked, over_mask, packed, same_mask
from sdfgad.frontend.arrays.submatrices import of_block
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.elementwise import UFUNCS, as_array, int_value
from sdfgad.frontend.functions.arithmetic import on_masked
from sdfgad.frontend.functions.meshes import mesh
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    ListValue,
    Masked,
    MaskPlaces,
    Method,
    Opaque,
    SelectedColumns,
    Value,
)

_POINTWISE = frozenset((np.where, np.round, np.around, np.isclose, np.nan_to_num, np.sinc, np.fix, np.ones_like,
                        np.zeros_like, np.empty_like, np.full_like))
"""What makes each element of those at the same place, beside the functions that NumPy itself calls elementwise."""

_ALONG: Mapping[Callable[..., Any], tuple[str, ...]] = MappingProxyType({
    np.interp: ("x", "xp", "fp", "left", "right"), np.polyval: ("p", "x")})
"""The same of one argument, whatever the others are: the names of all."""

_UNCHANGED = frozenset((np.ravel, np.squeeze))
"""What leaves one dimension as it is."""

_WITHOUT_NAN = frozenset((np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanstd, np.nanvar, np.nanprod, np.nanmedian,
                          np.nanquantile, np.nanpercentile))

_RANKED: Mapping[Callable[..., Any], Callable[..., Any]] = MappingProxyType({
    np.median: np.nanmedian, np.quantile: np.nanquantile, np.percentile: np.nanpercentile})
"""What depends on the order of numbers, and the same without those that are none."""

_JOINED: Mapping[Callable[..., Any], int] = MappingProxyType({
    np.column_stack: 1, np.vstack: 0, np.array: 0, np.asarray: 0, np.stack: 0})
"""What makes a matrix of vectors: along which axis they stand side by side."""

_ALONG_ROWS: Mapping[Callable[..., Any], Callable[..., Any]] = MappingProxyType({
    np.diff: choosing.diff_of_selected, np.trapezoid: choosing.trapezoid_of_selected,
    np.argmax: choosing.argmax_of_selected, np.argmin: choosing.argmin_of_selected})
"""What looks at neighbours or counts places, of numbers that come first: as written with parts."""

_RUNNING: Mapping[Callable[..., Any], int] = MappingProxyType({np.cumsum: 0, np.cumprod: 1})
"""What goes on from one number to the next, and what changes nothing of it."""

_OF_NUMBERS = frozenset((
    np.max, np.min, np.amax, np.amin, np.sum, np.mean, np.average, np.median, np.std, np.var))
"""What an index array of `np.nonzero` may be given to, as numbers that a mask selects."""

_STACKED = frozenset((np.stack, np.vstack))


def of_selected(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """What a function gives for data selected by a mask; None where nothing special is known of it."""
    if callee is np.ix_:
        return mesh(ctx, arguments)
    if callee is np.outer and len(arguments) == 2 and not keywords and any(isinstance(a, Masked) for a in arguments):
        return ctx.invoke(ctx, choosing.outer_of_selected, arguments, {})
    if callee in _GIVING and arguments and (found := _GIVING[callee](ctx, *arguments, **keywords)) is not None:
        return found
    if arguments and isinstance(arguments[0], Block):
        found = of_block(ctx, callee, arguments, keywords)
        if found is not None:
            return found
    if callee in _JOINED and (found := _joined(ctx, callee, arguments, keywords)) is not None:
        return found
    if callee in _OF_NUMBERS and arguments and isinstance(arguments[0], MaskPlaces) and arguments[0].part is not None:
        return ctx.invoke(ctx, callee, [as_masked(ctx, arguments[0]), *arguments[1:]], keywords)
    if callee is np.bincount and arguments and isinstance(as_masked(ctx, arguments[0]), Masked):
        return ctx.invoke(ctx, choosing.bincount_of_selected, [as_masked(ctx, a) for a in arguments], keywords)
    if not any(isinstance(a, CHOSEN) for a in (*arguments, *keywords.values())) or not callable(callee):
        return None
    if callee in _OF_COLUMNS and isinstance(arguments[0], SelectedColumns) and len(arguments) == 1 and not keywords:
        return _OF_COLUMNS[callee](ctx, arguments[0])
    if callee is np.polyfit or callee is np.linalg.lstsq:
        return _fitted(ctx, callee, arguments, keywords)
    elementwise = (isinstance(callee, np.ufunc) and callee.nout == 1 and callee.signature is None and
                   callee not in UFUNCS)
    if (elementwise or callee in _POINTWISE) and not any(isinstance(v, CHOSEN) for v in keywords.values()):
        return on_masked(ctx, partial(callee, **keywords) if keywords else callee, *arguments)
    if callee in _ALONG:
        return _along(ctx, callee, {**dict(zip(_ALONG[callee], arguments, strict=False)), **keywords})
    return _of_first(ctx, callee, arguments, keywords)


def _of_first(ctx: Context, callee: Callable[..., Any], arguments: Sequence[Value],
              keywords: Mapping[str, Value]) -> Value:
    """The same where the first argument says what is made: numbers in a row."""
    first = arguments[0] if arguments else None
    if callee in _STACKED and isinstance(first, Masked) and len(arguments) == 1 and keywords.get("axis", 0) == 0:
        return _stacked(ctx, callee, first)
    if not isinstance(first, Masked) or first.values.ndim != first.mask.ndim or "axis" in keywords:
        return None
    if callee is np.average and isinstance(keywords.get("weights"), Masked) and len(keywords) == len(arguments) == 1:
        return ctx.invoke(ctx, choosing.average_of_selected, [first, keywords["weights"]], {})
    alone = len(arguments) == 1 and not keywords and first.mask.ndim == 1
    if callee in _RUNNING and alone:
        first = packed(ctx, first)
        found = ctx.invoke(ctx, callee, [over_mask(ctx, first, _RUNNING[callee])], {})
        return replace(first, values=as_array(ctx, found), origins=frozenset())
    if callee in _ALONG_ROWS:
        return ctx.invoke(ctx, _ALONG_ROWS[callee], arguments, keywords)
    if callee in _UNCHANGED and len(arguments) == 1 and not keywords:
        return first
    if callee is np.copy:
        return ctx.invoke(ctx, Method(first, "copy"), [], {})
    if callee is np.prod and len(arguments) == 1:
        return ctx.invoke(ctx, callee, [over_mask(ctx, first, 1)], keywords)
    if first.values.dtype.kind != "f":
        return None
    if callee is np.sort and alone:
        first = packed(ctx, first)
        found = ctx.invoke(ctx, np.sort, [over_mask(ctx, first, np.nan)], {})  # where NumPy has what is no number, too
        return replace(first, values=as_array(ctx, found), origins=frozenset())
    if callee in _WITHOUT_NAN:
        return ctx.invoke(ctx, callee, [over_mask(ctx, first, np.nan), *arguments[1:]], keywords)
    if callee in _RANKED:
        given = [_RANKED[callee], first.values, mask_view(ctx, first), *arguments[1:]]
        return ctx.invoke(ctx, choosing.ranked_of_selected, given, keywords)
    return None


def _ravelled(ctx: Context, value: SelectedColumns) -> Masked:
    """`x[mask].T.ravel()`   ->   `x.T[[mask] * columns]`"""
    rows = value.rows
    if is_stored(rows):
        raise ctx.refuse("columns with a name in a row, which may be a view of them", "use flatten()", "SG105")
    columns = as_array(ctx, ctx.invoke(ctx, np.moveaxis, [rows.values, -1, 0], {}))
    mask = ctx.invoke(ctx, np.broadcast_to, [rows.mask, tuple(int_value(n) for n in columns.shape)], {})
    return masked(ctx, columns, as_array(ctx, mask))


_OF_COLUMNS: Mapping[Callable[..., Any], Callable[..., Value]] = MappingProxyType({
    np.ravel: _ravelled, np.copy: lambda ctx, value: ctx.invoke(ctx, Method(value, "copy"), [], {})})


def _joined(ctx: Context, callee: Callable[..., Any], arguments: Sequence[Value],
            keywords: Mapping[str, Value]) -> Value:
    """`np.column_stack((x[mask], y[mask]))`   ->   `np.column_stack((x, y))[mask]`; of rows, that transposed."""
    if len(arguments) != 1 or not isinstance(arguments[0], (tuple, list, ListValue)):
        return None
    vectors = list(arguments[0].items if isinstance(arguments[0], ListValue) else arguments[0])
    axis = keywords.get("axis", _JOINED[callee]) if callee is np.stack else _JOINED[callee]
    if not vectors or keywords.keys() > {"axis"} or axis not in (0, 1, -1) or not all(
            isinstance(v, Masked) and v.values.ndim == 1 and same_mask(v, vectors[0]) for v in vectors):
        return None
    matrix = ctx.invoke(ctx, np.column_stack, [tuple(v.values for v in vectors)], {})
    rows = Masked(as_array(ctx, matrix), vectors[0].mask, vectors[0].key)
    return rows if axis else SelectedColumns(rows)


def _fitted(ctx: Context, callee: Callable[..., Any], arguments: Sequence[Value],
            keywords: Mapping[str, Value]) -> Value:
    """A fit to points that a mask selects: all others count nothing."""
    given = dict(zip(("at", "values", "option"), arguments, strict=False)) | {
        {"deg": "option", "rcond": "option"}.get(n, n): v for n, v in keywords.items()}
    at, values = given.get("at"), given.get("values")
    if callee is np.linalg.lstsq and isinstance(at, SelectedColumns) and isinstance(values, ArrayValue) and (
            at.rows.mask.ndim == 1):
        rows = at.rows
        found = ctx.invoke(ctx, choosing.lstsq_of_columns, [rows.values, values, rows.mask, given.get("option")], {})
        return replace(rows, values=as_array(ctx, found), table=None, own=False), Opaque(), Opaque(), Opaque()
    if given.keys() > {"at", "values", "option"} or not isinstance(at, Masked) or not isinstance(values, Masked) or (
            at.mask.ndim, values.values.ndim) != (1, 1) or not same_mask(at, values):
        return None
    if callee is np.polyfit:
        return ctx.invoke(ctx, choosing.polyfit_of_selected, [at.values, values.values, at.mask, given["option"]], {})
    found = ctx.invoke(ctx, choosing.lstsq_of_selected, [at.values, values.values, at.mask, given.get("option")], {})
    return found, Opaque(), Opaque(), Opaque()  # how many residuals there are depends on the data
def _stacked(ctx: Context, callee: Callable[..., Any], items: Masked) -> Masked:
    """Items of which data decide how many there are as rows of one array."""
    if callee is np.vstack and items.values.ndim == items.mask.ndim:
        return replace(items, values=as_array(ctx, ctx.invoke(ctx, np.expand_dims, [items.values, -1], {})))
    return items


def _side_by_side(ctx: Context, parts: Value, *others: Value, **named: Value) -> Value:
    """`np.hstack` of vectors."""
    flat = all((p.values if isinstance(p, Masked) else as_array(ctx, p)).ndim == 1 for p in plain(parts) if isinstance(
        p, (Masked, ArrayValue)))
    return _appended(ctx, parts, *others, **named) if flat else None


def _appended(ctx: Context, parts: Value, axis: Value = 0, *others: Value, **named: Value) -> Value:
    """`np.concatenate((x[mask], y))`   ->   `np.concatenate((x, y))[np.concatenate((mask, everywhere))]`"""
    given = [as_masked(ctx, p) for p in plain(parts)]
    if axis != 0 or others or named or not any(isinstance(p, Masked) for p in given):
        return None
    pairs = [(p.values, p.mask) if isinstance(p, Masked) else (p, _everywhere(ctx, p)) for p in given]
    values, masks = (ctx.invoke(ctx, np.concatenate, [column], {}) for column in zip(*pairs, strict=True))
    return masked(ctx, as_array(ctx, values), as_array(ctx, masks))


def _everywhere(ctx: Context, value: Value) -> Value:
    return ctx.invoke(ctx, np.ones, [int_value(as_array(ctx, value).shape[0]), np.bool_], {})


def _reshaped(ctx: Context, a: Value, shape: Value = None, *others: Value, **named: Value) -> Value:
    """`x[mask].reshape(-1)`, and as a column or a row."""
    sizes = tuple(plain(shape)) or (shape,)
    if not isinstance(a, Masked) or a.mask.ndim != 1 or a.values.ndim != 1 or others or named or not all(
            isinstance(n, int) for n in sizes) or sizes not in _ITEMS:
        return None
    return ctx.invoke(ctx, operator.getitem, [a, _ITEMS[sizes]], {}) if len(sizes) > 1 else a


_ITEMS: Mapping[tuple[int, ...], Any] = MappingProxyType({
    (-1,): slice(None), (-1, 1): (slice(None), None), (1, -1): (None, slice(None))})
"""What subscripts give vectors other shapes."""


def plain(items: Value) -> Sequence[Value]:
    """Arguments in a list or tuple."""
    found = items.items if isinstance(items, ListValue) else items
    return found if isinstance(found, (tuple, list)) else ()


def _covariance(ctx: Context, m: Value, *others: Value, rowvar: Value = True, ddof: Value = None,
                **named: Value) -> Value:
    rows = m if not rowvar else m.rows if isinstance(m, SelectedColumns) else None
    if others or named or not isinstance(rows, Masked) or (rows.mask.ndim, rows.values.ndim) != (1, 2):
        return None
    return ctx.invoke(ctx, choosing.covariance_of_rows, [rows, 1 if ddof is None else ddof], {})


def _correlation(ctx: Context, x: Value, y: Value = None, rowvar: Value = True, *others: Value,
                 **named: Value) -> Value:
    if others or named:
        return None
    if isinstance(x, Masked) and isinstance(y, Masked) and x.values.ndim == y.values.ndim == 1:
        x, rowvar = ctx.invoke(ctx, np.column_stack, [(x, y)], {}), False
    elif y is not None:
        return None
    table = _covariance(ctx, x, rowvar=rowvar)
    return None if table is None else ctx.invoke(ctx, choosing.correlation_of, [table], {})


_GIVING: Mapping[Callable[..., Any], Callable[..., Value]] = MappingProxyType({
    np.concatenate: _appended, np.hstack: _side_by_side, np.reshape: _reshaped,
    np.cov: _covariance, np.corrcoef: _correlation})
"""What is good for more than one form of what masks select; none of them where another one is asked of it."""


def _along(ctx: Context, callee: Callable[..., Any], given: Mapping[str, Value]) -> Value:
    """`np.interp(x[mask], xp, fp)`   ->   `np.interp(x, xp, fp)[mask]`"""
    names = list(given)
    chosen = [n for n in names if isinstance(given[n], Masked)]
    if chosen != ["x"]:
        return None
    before = [given[n] for n in names[:names.index("x")]]
    behind = {n: given[n] for n in names[names.index("x") + 1:]}
    return on_masked(ctx, partial(callee, *before, **behind), given["x"])
