"""Library operations on matrices: their operands, their results, and which matrices they fail for."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.elements.caught import note
from sdfgad.frontend.elements.elementwise import BOOL, apply, as_array, convert, describe, same_size, select
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Value, ViewValue
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Failure

_PIVOTS = np.dtype(np.int32)
"""What LAPACK says about exchanged rows."""


def system_dtype(dtype: np.dtype) -> np.dtype:
    """What NumPy computes in."""
    return np.dtype(np.float64) if dtype.kind not in "fc" else dtype


def square(ctx: Context, value: ArrayValue, what: str) -> None:
    """Refuse what is not one square matrix."""
    if value.ndim != 2 or not same_size(ctx, *value.shape):
        raise ctx.refuse(f"{what} of {describe(value)}", "one square matrix at a time", "SG103")


def stored(ctx: Context, value: ArrayValue, dtype: np.dtype) -> ViewValue:
    """An operand of a library operation: data in memory, in the right dtype."""
    if value.dtype != dtype:
        value = convert(ctx, value, dtype)
    before, ctx.label = ctx.label, ""
    try:
        return ctx.builder.materialise(value, "operand")
    finally:
        ctx.label = before


def library(ctx: Context, op: str, shape: Sequence[Ix | int], ins: Sequence[ViewValue], kind: np.dtype,
             **attrs: object) -> ViewValue:
    """The result of a library operation of one output."""
    extents = tuple(ix(n) for n in shape)
    ins = ins if attrs.get("unit") else factorable(ctx, op, ins)
    array = ctx.builder.declare(extents, kind, ctx.label or op)
    result = ctx.builder.view(array, extents)
    ctx.builder.library(op, (result.view,), tuple(v.view for v in ins), **attrs)
    return result


def factorised(ctx: Context, matrix: ViewValue) -> tuple[ViewValue, ViewValue]:
    """The triangular factors of a matrix in one array, and how rows were exchanged."""
    made = []
    for shape, dtype, label in ((matrix.shape, matrix.dtype, "factors"), (matrix.shape[:1], _PIVOTS, "pivots")):
        made.append(ctx.builder.view(ctx.builder.declare(shape, dtype, label), shape))
    ctx.builder.library("lu", tuple(v.view for v in made), (matrix.view,))
    return made[0], made[1]


_ASKED: Mapping[str, Callable[[Context, ViewValue], Value]] = MappingProxyType({
    "cholesky": lambda ctx, a: subscript(ctx, library(ctx, "definite", (1,), [a], BOOL), 0),
    "inv": lambda ctx, a: apply(ctx, np.not_equal, subscript(
        ctx, library(ctx, "detsign", (1,), factorised(ctx, a), a.dtype), 0), 0),
    "trsolve": lambda ctx, a: ctx.invoke(ctx, np.all, [ctx.invoke(ctx, np.diagonal, [a], {})], {}),
    "eig": lambda ctx, a: ctx.invoke(ctx, np.all, [apply(ctx, np.isfinite, a)], {}),
    "svd": lambda ctx, a: _no_nan(ctx, a), "pinv": lambda ctx, a: _no_nan(ctx, a)})
"""Which matrices a library operation has a result for, where it raises LinAlgError for others."""


def factorable(ctx: Context, op: str, ins: Sequence[ViewValue]) -> Sequence[ViewValue]:
    """The operands of an operation; if a `try` statement is looked through for LinAlgError, one without a result is
    noted, and an identity in the place of its matrix."""
    if not ctx.watches or (question := _ASKED.get(op)) is None:
        return ins
    matrix, *others = ins
    found: list[Value] = []

    def bad() -> Value:
        found.append(ctx.builder.materialise(as_array(ctx, question(ctx, matrix)), "fine"))
        return apply(ctx, np.logical_not, found[0])

    note(ctx, Failure(np.linalg.LinAlgError, ("a matrix is singular or not positive definite",)), bad)
    if not found:
        return ins
    instead = ctx.invoke(ctx, np.eye, [n.const or 0 for n in matrix.shape], {})
    return [stored(ctx, select(ctx, found[0], matrix, instead), matrix.dtype), *others]


def _no_nan(ctx: Context, a: ViewValue) -> Value:
    return ctx.invoke(ctx, np.all, [apply(ctx, np.equal, a, a)], {})
