"""`as_strided`: views made of steps along the dimensions of an array, whatever their order in memory."""
from __future__ import annotations

from collections.abc import Sequence

from sdfgad.frontend.arrays.layout import steps_in_memory
from sdfgad.frontend.arrays.views import read_only, remap
from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.creation import shape_of
from sdfgad.frontend.state.builder import axes
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.strides import Stride
from sdfgad.frontend.state.values import Shape, Value, ViewValue, is_number
from sdfgad.ir.index import Ix, ix


def strides_of(ctx: Context, value: Value) -> tuple[Stride, ...]:
    """`x.strides`: one step along each dimension."""
    view = _stored(ctx, value)
    return tuple(Stride(view.view, tuple(int(k == d) for k in range(view.ndim))) for d in range(view.ndim))


def as_strided(ctx: Context, x: Value, shape: Value = None, strides: Value = None, subok: Value = False,
               writeable: Value = True) -> Value:
    """Strides (s0, s1, s0) of x   ->   x[i + k, j], which may leave none of the dimensions of x."""
    view = _stored(ctx, x)
    sizes = view.shape if shape is None else shape_of(ctx, shape)
    moves = [_moves(ctx, view, s) for s in (strides_of(ctx, view) if strides is None else items_of(ctx, strides))]
    if len(sizes) != len(moves):
        raise ctx.refuse(f"{len(sizes)} sizes and {len(moves)} strides", code="SG105")
    by_dimension = list(zip(*moves, strict=True))
    if not all(_inside(size, along, sizes) for size, along in zip(view.shape, by_dimension, strict=True)):
        raise ctx.refuse("strides that may lead from one row into another, or out of the array", code="SG105")
    position = axes(len(sizes))
    index = [sum((p * m for p, m in zip(position, along, strict=True)), ix(0)) for along in by_dimension]
    return read_only(remap(ctx, view, tuple(sizes), index))


def _stored(ctx: Context, value: Value) -> ViewValue:
    return ctx.builder.materialise(as_array(ctx, value), "strided")


def _moves(ctx: Context, view: ViewValue, step: Value) -> tuple[int, ...]:
    """How far one step leads along each dimension of x."""
    if is_number(step) and step == 0:
        return (0,) * view.ndim
    if isinstance(step, Stride) and step.view == view.view:
        return step.moves
    found = _in_bytes(steps_in_memory(ctx, view), step, view.dtype.itemsize) if isinstance(step, int) else None
    if found is None:
        raise ctx.refuse(f"{describe(step)} as a stride", "make strides of x.strides, x being that array", "SG105")
    return found


def _in_bytes(along: Sequence[int] | None, step: int, itemsize: int) -> tuple[int, ...] | None:
    """A step in bytes as one along each dimension, the longest first; None where it is none, or nobody knows."""
    if along is None or step % itemsize:
        return None
    left, moves = step // itemsize, [0] * len(along)
    for d in sorted((d for d, a in enumerate(along) if a), key=lambda d: -abs(along[d])):
        moves[d] = int(left / along[d])
        left -= moves[d] * along[d]
    return tuple(moves) if not left else None


def _inside(size: Ix, moves: Sequence[int], sizes: Shape) -> bool:
    """Whether a dimension is never left."""
    ends = [m * (n.const - 1) for m, n in zip(moves, sizes, strict=True) if n.const is not None]
    if size.const is None or len(ends) < len(sizes):
        return False
    return any(n.const == 0 for n in sizes) or min(ends, default=0) >= 0 and sum(ends) < size.const
