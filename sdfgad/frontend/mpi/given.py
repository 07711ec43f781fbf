"""What calls of mpi4py are given: buffers, roots, operations."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.known import contents, plain_list
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.mpi.messages import size_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value, ViewValue, is_number
from sdfgad.frontend.static.exact_values import exact_array, exact_number
from sdfgad.ir.index import ix
from sdfgad.ranks import library


def same_parts(ctx: Context, comm: Any, wholes: Sequence[ArrayValue], part: ArrayValue) -> None:
    for whole in wholes:
        if size_of(whole) != comm.Get_size() * size_of(part):
            raise ctx.refuse(f"parts of {size_of(part)} elements of an array of {size_of(whole)} on {comm.Get_size()} "
                             "ranks", "all parts have to be of one size", "SG103")


def integers(ctx: Context, value: Value, count: int) -> tuple[int, ...]:
    """So many counts or places, one for each rank, which are known now."""
    data = known_integers(ctx, value)
    items = data.tolist() if data is not None else value if isinstance(value, range) else plain_list(value)
    if not isinstance(items, (tuple, list, range)) or len(items) != count or not all(is_number(n) for n in items):
        raise ctx.refuse(f"{describe(value)} as counts of the {count} ranks", "give a list or tuple of integers that "
                         "are known before the call: arguments, shapes, what is computed from rank and size", "SG109")
    return tuple(int(n) for n in items)


def known_integers(ctx: Context, value: Value) -> np.ndarray | None:
    """What an array or a list of integers holds, if that is known at this point."""
    if isinstance(value, ListValue) and any(isinstance(n, ArrayValue) for n in value.items):
        found = [exact_number(ctx, n) if isinstance(n, ArrayValue) and not n.shape else n for n in value.items]
        return np.array(found) if all(map(is_number, found)) else None
    if not isinstance(value, ArrayValue) or value.dtype.kind not in "iu":
        return None
    data = contents(ctx, value)
    return exact_array(ctx, value) if data is None else data


def told_integers(ctx: Context, value: Value, count: int) -> tuple[Value, ...] | None:
    """So many counts that are known in the call alone: integers of an array or a list; None if they are known now."""
    items = list(value.items) if isinstance(value, ListValue) else []
    if isinstance(value, ArrayValue) and value.ndim == 1 and value.dtype.kind in "iu" and value.shape[0].const == count:
        whole = ctx.builder.materialise(value, "counts")
        items = [subscript(ctx, whole, k) for k in range(count)]
    if len(items) != count or not any(isinstance(n, (ArrayValue, IntValue)) for n in items):
        return None
    found = tuple(to_int(ctx, n) for n in items)
    return None if all(map(is_number, found)) else found


def same_size(ctx: Context, own: ArrayValue, into: ArrayValue) -> None:
    if size_of(own) != size_of(into):
        raise ctx.refuse(f"a message of {size_of(own)} elements into {size_of(into)}", "give both the same size",
                         "SG103")


def root_of(ctx: Context, root: Value) -> int:
    if not is_number(root):
        raise ctx.refuse(f"{describe(root)} as a root", "the root has to be known before the call", "SG109")
    return int(root)


def object_of(ctx: Context, value: Value) -> ViewValue:
    """What a method in lower case may take, in memory: numbers and arrays, which need no pickling. The order in which
    an array lies in memory says nothing to them."""
    value = kept(ctx, value, "message")
    if isinstance(value, ArrayValue) or is_number(value) or hasattr(value, "ix"):
        return ctx.builder.materialise(as_array(ctx, value), "message")
    raise ctx.refuse(f"a message of {describe(value)}", "send numbers and arrays; every rank has to give one of the "
                     "same shape", "SG109")


def is_in_place(value: Value) -> bool:
    mpi = library()
    return mpi is not None and value is mpi.IN_PLACE


def is_logical(op: Value) -> bool:
    """Whether an operation is of flags; integers may stand for them."""
    mpi = library()
    return mpi is not None and (op is mpi.LAND or op is mpi.LOR)


def is_located(op: Value) -> str:
    """The name of an operation that says who has the largest or the least number, else nothing."""
    mpi = library()
    return next((n for n in ("MAXLOC", "MINLOC") if mpi is not None and op is getattr(mpi, n)), "")


def how_of(ctx: Context, op: Value, kind: str = "f") -> str:
    """The name of a reduction. kind: of what is reduced, as in NumPy's types."""
    mpi = library()
    assert mpi is not None
    known = ((mpi.SUM, "sum"), (mpi.PROD, "prod"), (mpi.MAX, "max"), (mpi.MIN, "min"), (mpi.LOR, "max"),
             (mpi.LAND, "min"))
    found = next((name for one, name in known if op is None or op is one), None)
    if found is None or (kind == "b") != is_logical(op) or kind == "c" and (
            found not in ("sum", "prod")):
        raise ctx.refuse(f"a reduction of {'flags' if kind == 'b' else 'numbers'} by this operation",
                         "SUM, PROD, MAX and MIN of numbers are taken, LAND and LOR of flags", "SG121")
    return found


def rows_of(ctx: Context, comm: Any, given: ViewValue) -> ViewValue:
    """Room for what each rank gives."""
    return ctx.builder.view(ctx.builder.declare((ix(comm.Get_size()), *given.shape), given.dtype, "every"))


def flat_of(ctx: Context, value: Value) -> ArrayValue:
    """All elements in a row."""
    return as_array(ctx, ctx.invoke(ctx, np.reshape, [value, (-1,)], {}))


def part_of_flat(ctx: Context, flat: ArrayValue, first: int, count: int) -> ViewValue:
    """So many elements of a row, from one on."""
    part = subscript(ctx, flat, slice(first, first + count))
    return ctx.builder.materialise(as_array(ctx, part), "part")


def front_of(ctx: Context, whole: ViewValue, count: int) -> ViewValue:
    """The first elements of a buffer, to be written."""
    part = part_of_flat(ctx, flat_of(ctx, whole), 0, count)
    if part.view.array != whole.view.array:
        raise ctx.refuse("a reduction in place into a part of an array that is not in one piece",
                         "give a whole array, or rows of it", "SG109")
    return part


def own_part(ctx: Context, comm: Any, whole: ViewValue) -> ViewValue:
    """A copy of the part of this rank in a buffer that has one of each: what IN_PLACE stands for."""
    each = size_of(whole) // comm.Get_size()
    return ctx.builder.fresh_copy(part_of_flat(ctx, flat_of(ctx, whole), comm.Get_rank() * each, each), "message")


def assigned(ctx: Context, into: ViewValue, value: ArrayValue) -> None:
    """Let a buffer hold as many elements as a value has."""
    shape = tuple(n.const for n in into.shape)
    ctx.builder.assign(into, as_array(ctx, ctx.invoke(ctx, np.reshape, [value, shape], {})))
