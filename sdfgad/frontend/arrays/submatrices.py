"""Submatrices of which masks select the rows and the columns, `K[np.ix_(m, n)]`: the whole matrix, and both masks.

What is not selected counts as zeros in sums and products, and as rows of the identity where a system is solved: the
factors of such a matrix are those of the submatrix beside a one for each row that is not there.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.masking import check_cast, masked, over_mask, same_mask
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.elementwise import as_array, expand, int_value, select
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Block, Masked, SelectedColumns, Value, ViewValue, is_int
from sdfgad.ir.index import Ix

_SOLVED = frozenset(("solve", "solve_triangular"))
_OF_SQUARE = frozenset(("inv", "cholesky"))
_TO_NUMBERS = frozenset(("det", "slogdet"))
"""Functions of NumPy and SciPy, by their names."""

Sides = tuple[Masked | None, ...]


def outer(ctx: Context, block: Block) -> ArrayValue:
    """Where elements are selected: a mask of the whole matrix."""
    rows = ctx.invoke(ctx, np.expand_dims, [block.rows.mask, 1], {})
    return as_array(ctx, ctx.invoke(ctx, np.logical_and, [rows, block.columns.mask], {}))


def over_block(ctx: Context, block: Block, outside: Value) -> ArrayValue:
    """The whole matrix, with `outside` where nothing is selected."""
    return select(ctx, outer(ctx, block), block.values, outside)


def flat(ctx: Context, block: Block) -> Masked:
    """The elements as those that one mask selects, in a row."""
    return masked(ctx, block.values, outer(ctx, block))


def with_own_array(ctx: Context, block: Block, label: str) -> Block:
    """The same with an array of its own, as a name has it."""
    if block.stored:
        return block
    return Block(ctx.builder.fresh_copy(over_block(ctx, block, block.values.dtype.type(0)), label), block.rows,
                 block.columns, True)


def transposed(ctx: Context, value: Value) -> Value:
    """`value.T`."""
    if isinstance(value, SelectedColumns):
        return value.rows
    if isinstance(value, Block):
        return Block(transposed(ctx, value.values), value.columns, value.rows, value.stored)
    if not isinstance(value, Masked):
        return ctx.invoke(ctx, np.transpose, [value], {})
    beside = value.values.ndim - value.mask.ndim
    if beside > 1:
        raise ctx.refuse("the transpose of arrays selected by a mask", "use np.where", "SG105")
    return SelectedColumns(value) if beside else value


# element by element

def is_outer(values: Sequence[Value]) -> bool:
    """Whether operands make a submatrix: one is, or a column meets a row."""
    return any(isinstance(v, Block) for v in values) or (
        any(_is_column(v) for v in values) and any(_row(v) is not None for v in values))


def _is_column(value: Value) -> bool:
    return isinstance(value, Masked) and (value.mask.ndim, value.values.ndim) == (1, 2) and (
        value.values.shape[1].const == 1)


def _row(value: Value) -> Masked | None:
    """What one row selects, of a vector or of a matrix with one row."""
    if isinstance(value, SelectedColumns):
        return value.rows if _is_column(value.rows) else None
    return value if isinstance(value, Masked) and value.mask.ndim == value.values.ndim == 1 else None


def on_blocks(ctx: Context, function: Callable[..., Any], values: Sequence[Value]) -> Block:
    """An operation element by element on submatrices of one shape, rows, columns and numbers."""
    rows: list[Masked] = []
    columns: list[Masked] = []
    parts = []
    for value in values:
        row = _row(value)
        if isinstance(value, Block):
            rows.append(value.rows)
            columns.append(value.columns)
            parts.append(value.values)
        elif row is not None:
            columns.append(row)
            parts.append(ctx.invoke(ctx, np.ravel, [row.values], {}))
        elif _is_column(value):
            rows.append(value)
            parts.append(value.values)
        elif isinstance(value, (Masked, SelectedColumns)) or isinstance(value, ArrayValue) and value.ndim:
            raise ctx.refuse("a submatrix that masks select combined with an array that they do not",
                             "select both with the same masks, or use np.where", "SG105")
        else:
            parts.append(value)
    least = [min(v, key=lambda m: m.mask.shape[0].const or 0) for v in (rows, columns)]
    if not all(_agree(ctx, first, v) for first, others in zip(least, (rows, columns), strict=True) for v in others):
        raise ctx.refuse("submatrices that different masks select in one expression", "use np.where", "SG105")
    extents = [slice(m.mask.shape[0].const) for m in least]
    parts = [subscript(ctx, p, tuple(extents[-p.ndim:])) if isinstance(p, ArrayValue) and p.ndim else p for p in parts]
    return Block(as_array(ctx, ctx.invoke(ctx, function, parts, {})), least[0], least[1])


def _agree(ctx: Context, a: Masked, b: Masked) -> bool:
    """Whether both select the same: for certain, or the first of some rows, of which the run looks how many."""
    if same_mask(a, b):
        return True
    if a.first is None or b.first is None:
        return False
    ctx.invoke(ctx, choosing.check_equal, [a.first, b.first], {})
    return True


def _sized(ctx: Context, whole: ArrayValue, count: Ix) -> ArrayValue:
    """An array that is zero where nothing is selected, with so many rows."""
    return whole if whole.shape[0] == count else as_array(
        ctx, ctx.invoke(ctx, choosing.sized, [whole, int_value(count)], {}))


def of_elements(ctx: Context, rule: Callable[..., Value], a: Block, axis: Value, *others: Value,
                **options: Value) -> Value:
    """A reduction of all elements, or along the rows or columns."""
    if axis is None:
        return rule(ctx, flat(ctx, a), None, *others, **options)
    keepdims = options.pop("keepdims", False)
    if axis not in (0, 1, -1, -2) or True in others or keepdims not in (False, True):
        raise ctx.refuse("a reduction of this kind of a submatrix that masks select", "use axis=0 or 1 alone", "SG105")
    along, beside = (a.rows, a.columns) if axis in (0, -2) else (a.columns, a.rows)
    values = a.values if along is a.rows else as_array(ctx, ctx.invoke(ctx, np.transpose, [a.values], {}))
    found = rule(ctx, Masked(values, along.mask, along.key), 0, *others, **options)
    made = Masked(as_array(ctx, found), beside.mask, beside.key, first=beside.first)
    if not keepdims:
        return made
    column = replace(made, values=as_array(ctx, ctx.invoke(ctx, np.expand_dims, [made.values, 1], {})))
    return column if beside is a.rows else SelectedColumns(column)


def item_of_block(ctx: Context, block: Block, items: Value, at: Callable[[Masked, Value], Value]) -> Value:
    """`m[i, j]`, a row or a column. at: where among all the one is that is selected at a place."""
    parts = items if isinstance(items, tuple) else (items,)
    parts = (*parts, *(slice(None),) * (2 - len(parts)))
    if len(parts) > 2 or not all(is_int(p) or p == slice(None) for p in parts):
        raise ctx.refuse("part of a submatrix that masks select", "take an item, a row or a column", "SG105")
    sides = (block.rows, block.columns)
    where = tuple(at(s, p) if is_int(p) else p for s, p in zip(sides, parts, strict=True))
    found = subscript(ctx, ctx.builder.materialise(block.values, "block"), where)
    kept = tuple(s for s, p in zip(sides, parts, strict=True) if not is_int(p))
    return block if len(kept) == 2 else selected_along(ctx, as_array(ctx, found), kept) if kept else found


# matrices

def _faces(ctx: Context, value: Value) -> tuple[ArrayValue, Sides]:
    """The whole array, zero where nothing is selected, and for each dimension what is selected along it."""
    if isinstance(value, Block):
        return over_block(ctx, value, 0), (value.rows, value.columns)
    if isinstance(value, SelectedColumns):
        whole, sides = _faces(ctx, value.rows)
        return as_array(ctx, ctx.invoke(ctx, np.transpose, [whole], {})), sides[::-1]
    if isinstance(value, Masked) and (value.mask.ndim, value.values.ndim) in ((1, 1), (1, 2)):
        return over_mask(ctx, value, 0), (value, *(None,) * (value.values.ndim - 1))
    if isinstance(value, Masked) or isinstance(value, ArrayValue) and not 0 < value.ndim < 3:
        raise ctx.refuse("a product over data selected by a mask", "use vectors and matrices", "SG105")
    whole = as_array(ctx, value)
    return whole, (None,) * whole.ndim


def selected_along(ctx: Context, whole: ArrayValue, sides: Sides) -> Value:
    """An array as what is selected of it along its dimensions."""
    first, second = (*sides, None, None)[:2]
    if first is not None and second is not None:
        return Block(whole, first, second)
    if first is not None:
        return Masked(whole, first.mask, first.key, first=first.first)
    if second is not None:
        rows = as_array(ctx, ctx.invoke(ctx, np.transpose, [whole], {}))
        return SelectedColumns(Masked(rows, second.mask, second.key, first=second.first))
    return whole


def times(ctx: Context, a: Value, b: Value) -> Value:
    """`a @ b`, where masks select rows or columns of one of them, or of both."""
    if isinstance(a, Masked) and isinstance(b, Masked) and a.values.ndim == a.mask.ndim == b.values.ndim == b.mask.ndim:
        return ctx.invoke(ctx, np.sum, [ctx.invoke(ctx, np.multiply, [a, b], {})], {})
    if isinstance(b, SelectedColumns) and b.rows.mask.ndim > 1 and isinstance(a, ArrayValue) and a.ndim in (1, 2):
        return transposed(ctx, _from_right(ctx, b.rows, transposed(ctx, a)))
    if isinstance(a, Masked) and a.values.ndim > a.mask.ndim > 1 and isinstance(b, ArrayValue) and b.ndim in (1, 2):
        return _from_right(ctx, a, b)
    (left, of_left), (right, of_right) = _faces(ctx, a), _faces(ctx, b)
    _check_same(ctx, of_left[-1], of_right[0])
    product = as_array(ctx, ctx.invoke(ctx, np.matmul, [left, _sized(ctx, right, left.shape[-1])], {}))
    return selected_along(ctx, product, (*of_left[:-1], *of_right[1:]))


def _from_right(ctx: Context, rows: Masked, matrix: Value) -> Masked:
    """`x[mask] @ matrix`   ->   `(x @ matrix)[mask]`, for a mask of several dimensions."""
    return replace(rows, values=as_array(ctx, ctx.invoke(ctx, np.matmul, [rows.values, matrix], {})), table=None)


def _check_same(ctx: Context, a: Masked | None, b: Masked | None) -> None:
    if (a is None) != (b is None) or a is not None and b is not None and not _agree(ctx, a, b):
        raise ctx.refuse("a product over data selected by a mask", "select both with the same mask", "SG105")


def of_block(ctx: Context, callee: Callable[..., Any], arguments: Sequence[Value],
             keywords: Mapping[str, Value]) -> Value:
    """What a function of matrices gives for a submatrix; None where nothing special is known of it."""
    first, *others = arguments
    if not isinstance(first, Block):
        return None
    name = callee.__name__ if str(callee.__module__).partition(".")[0] in ("numpy", "scipy") else ""
    if name in _SOLVED and len(others) == 1:
        whole, sides = _faces(ctx, others[0])
        _check_same(ctx, first.columns, sides[0])
        matrix = _square(ctx, first)
        found = ctx.invoke(ctx, callee, [matrix, _sized(ctx, whole, matrix.shape[0])], keywords)
        sides = (first.columns, *sides[1:])
        return selected_along(ctx, as_array(ctx, found), sides)
    if name in _OF_SQUARE and not others:
        found = ctx.invoke(ctx, callee, [_square(ctx, first)], keywords)
        return Block(as_array(ctx, found), first.rows, first.columns)
    if name in _TO_NUMBERS and not others:
        return ctx.invoke(ctx, callee, [_square(ctx, first)], keywords)
    if name == "norm" and not others and not keywords:
        return ctx.invoke(ctx, callee, [over_block(ctx, first, 0)], {})
    if callee in _DIAGONAL and not others and not keywords:
        _check_same(ctx, first.rows, first.columns)
        found = ctx.invoke(ctx, np.diagonal, [first.values], {})
        return _DIAGONAL[callee](ctx, selected_along(ctx, as_array(ctx, found), (first.rows,)))
    return None


_DIAGONAL: Mapping[Callable[..., Any], Callable[[Context, Value], Value]] = MappingProxyType({
    np.diag: lambda ctx, v: v, np.diagonal: lambda ctx, v: v,
    np.trace: lambda ctx, v: ctx.invoke(ctx, np.sum, [v], {})})


def _square(ctx: Context, block: Block) -> ArrayValue:
    """The submatrix in its place in the identity."""
    _check_same(ctx, block.rows, block.columns)
    return over_block(ctx, block, ctx.invoke(ctx, np.eye, [block.values.shape[0].const], {"dtype": block.values.dtype}))


def write_block(ctx: Context, base: ViewValue, place: Value, value: Value) -> None:
    """`base[np.ix_(rows, columns)] = value`."""
    if not isinstance(place, Block):
        raise ctx.refuse("an assignment to rows of a mask and known columns at once", "use np.where", "SG105")
    source = on_blocks(ctx, _second, (place, value)).values
    check_cast(ctx, source, base)
    chosen = select(ctx, outer(ctx, place), source, base)
    ctx.builder.assign(base, expand(ctx, chosen, base.shape))


def _second(a, b):  # type: ignore[no-untyped-def]
    return b
