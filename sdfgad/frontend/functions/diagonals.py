"""Triangles and diagonals of matrices."""
from __future__ import annotations

from sdfgad.frontend.arrays.views import as_view, check_writable, read_only, remap, to_int
from sdfgad.frontend.bodies import joining
from sdfgad.frontend.elements.elementwise import (
    INT,
    as_array,
    describe,
    expand,
    int_ix,
    int_value,
)
from sdfgad.frontend.functions.creation import below, zeros
from sdfgad.frontend.functions.shaping import axis_number
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, Value, ViewValue
from sdfgad.ir.expr import Expr, Index, call, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import axis


def tril(ctx: Context, m: Value, k: Value = 0) -> Value:
    return _triangle(ctx, m, k, True)


def triu(ctx: Context, m: Value, k: Value = 0) -> Value:
    return _triangle(ctx, m, k, False)


def _triangle(ctx: Context, m: Value, k: Value, lower: bool) -> Value:
    value, shift = as_array(ctx, m), int_ix(to_int(ctx, k))
    if value.ndim == 0:
        raise ctx.refuse(f"a triangle of {describe(value)}", code="SG103")
    if value.ndim == 1:  # NumPy takes it for each row of a square.
        value = expand(ctx, value, (value.shape[0], value.shape[0]))
    zero = const(0, value.dtype)

    def element(p: tuple[Ix, ...]) -> Expr:
        inside = below(p, shift) if lower else call("not", below(p, shift - 1), dtype="bool")
        return call("select", inside, value.at(p), zero, dtype=value.dtype)

    return ctx.builder.lazy(value.shape, value.dtype, element, value.reads, parts=(value,))


def diagonal(ctx: Context, a: Value, offset: Value = 0, axis1: Value = 0, axis2: Value = 1) -> Value:
    """`np.diagonal`: a view that nobody may write."""
    return read_only(_on(ctx, a, offset, axis1, axis2))


def _on(ctx: Context, a: Value, offset: Value = 0, axis1: Value = 0, axis2: Value = 1) -> ArrayValue:
    value, shift = as_array(ctx, a), to_int(ctx, offset)
    i, j = axis_number(ctx, axis1, value.ndim), axis_number(ctx, axis2, value.ndim)
    if isinstance(shift, IntValue):
        raise ctx.refuse("a diagonal chosen at run time", code="SG105")
    if i == j:
        raise ctx.refuse(f"a diagonal along the axis {i} alone", "name two axes", "SG103")
    rows, columns = value.shape[i] - max(-shift, 0), value.shape[j] - max(shift, 0)
    scope = ctx.builder.scope
    count = scope.greatest(scope.least(rows, columns), ix(0))
    rest = [k for k in range(value.ndim) if k not in (i, j)]
    index: list[Ix] = [ix(0)] * value.ndim
    for new, old in enumerate(rest):
        index[old] = ix(axis(new))
    index[i], index[j] = ix(axis(len(rest))) + max(-shift, 0), ix(axis(len(rest))) + max(shift, 0)
    return remap(ctx, value, (*(value.shape[k] for k in rest), count), index)


def diag(ctx: Context, v: Value, k: Value = 0) -> Value:
    value, shift = as_array(ctx, v), to_int(ctx, k)
    if value.ndim == 2:
        return diagonal(ctx, value, k)
    if value.ndim != 1 or isinstance(shift, IntValue):
        raise ctx.refuse(f"np.diag of {describe(value)}", code="SG103")
    size = value.shape[0] + abs(shift)
    value = ctx.builder.materialise(value, "tmp")
    if shift == 0:
        return _on_diagonal(ctx, value)
    matrix = zeros(ctx, (int_value(size), int_value(size)), value.dtype)
    target = ctx.builder.materialise(as_array(ctx, matrix), "matrix")
    place = as_view(_on(ctx, target, shift))
    ctx.builder.assign(place, expand(ctx, value, place.shape))
    return target


def _on_diagonal(ctx: Context, value: ArrayValue) -> Value:
    """A matrix that is not stored: every element may ask for the one of its row, since there is one."""
    zero = const(0, value.dtype)

    def element(p: tuple[Ix, ...]) -> Expr:
        on = call("eq", Index(p[0], INT), Index(p[1], INT), dtype="bool")
        return call("select", on, value.at((p[0],)), zero, dtype=value.dtype)

    shape = (value.shape[0], value.shape[0])
    return ctx.builder.lazy(shape, value.dtype, element, value.reads, parts=(value,))


def fill_diagonal(ctx: Context, a: Value, val: Value, wrap: Value = False) -> None:
    place = _on(ctx, a)
    if not isinstance(place, ViewValue) or a.ndim != 2:
        raise ctx.refuse(f"np.fill_diagonal of {describe(a)}", code="SG105")
    check_writable(ctx, place)
    if wrap:
        ctx.invoke(ctx, joining.fill_wrapped, [a, val], {})
        return
    ctx.builder.assign(place, expand(ctx, as_array(ctx, val), place.shape))
