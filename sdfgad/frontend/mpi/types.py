"""Derived datatypes of MPI: where the elements of a message lie in a buffer, as a view of it.

The elements come in the order of the type map (MPI 4.1, chapter 5: Datatypes), each dimension of it one step.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.layout import as_in_memory
from sdfgad.frontend.arrays.views import remap
from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.state.builder import axes
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import MessageStatus, PersistentMessage, PostedMessage
from sdfgad.frontend.state.strides import steps_of
from sdfgad.frontend.state.values import ListValue, Method, Value, ViewValue, is_number
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import View
from sdfgad.ranks import is_communicator, is_datatype, library

_SUPPORTED = "contiguous, vector, hvector, indexed, subarray and resized types of one basic type are taken"
_MOST_BLOCKS = 256


@dataclass(frozen=True)
class DerivedType:
    """What `Create_vector` and its like give. dtype: of the elements. dims: size and step of each dimension, in
    elements. first: where the first element lies. extent: from one item of the type to the next. blocks: of a type
    whose blocks lie at any places, those of one item, in order, each in place of one element."""

    dtype: np.dtype
    dims: tuple[tuple[int, int], ...] = ()
    first: int = 0
    extent: int = 1
    blocks: tuple[DerivedType, ...] = ()

    @property
    def count(self) -> int:
        """Elements of one item."""
        return prod(n for n, _ in self.dims) * (sum(b.count for b in self.blocks) if self.blocks else 1)

    @property
    def pieces(self) -> list[DerivedType]:
        """The same one behind the other, each a part with steps of its own."""
        if not self.blocks:
            return [self]
        starts = [self.first + sum(k * s for k, (_, s) in zip(at, self.dims, strict=True))
                  for at in np.ndindex(*(n for n, _ in self.dims))]
        return [replace(b, first=b.first + start) for start in starts for b in self.blocks]

    @property
    def places(self) -> np.ndarray:
        """Where the elements lie, in order."""
        found = [np.array([b.first])[:, None] + _steps_of(b.dims) for b in self.pieces]
        return np.concatenate([f.ravel() for f in found])

    def items(self, count: int) -> DerivedType:
        """So many items one behind the other."""
        return replace(self, dims=((count, self.extent), *self.dims), extent=count * self.extent)


def _vector(old: DerivedType, count: int, blocklength: int, stride: int) -> DerivedType:
    block = old.items(blocklength)
    apart = stride * old.extent
    return replace(block, dims=((count, apart), *block.dims), extent=(count - 1) * apart + block.extent)


def _hvector(old: DerivedType, count: int, blocklength: int, stride: int) -> DerivedType:
    """The stride is in bytes."""
    block, apart = old.items(blocklength), _elements(old, stride)
    return replace(block, dims=((count, apart), *block.dims), extent=(count - 1) * apart + block.extent)


def _subarray(old: DerivedType, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int],
              order: int | None = None) -> DerivedType:
    mpi = library()
    turned = mpi is not None and order == mpi.ORDER_FORTRAN
    whole, part, where = (tuple(v)[::-1] if turned else tuple(v) for v in (sizes, subsizes, starts))
    if not len(whole) == len(part) == len(where) or any(
            w < 0 or n < 1 or w + n > size for w, n, size in zip(where, part, whole, strict=True)):
        raise ValueError(f"parts of {list(subsizes)} from {list(starts)} on of {list(sizes)}")
    steps = [old.extent * n for n in accumulate(whole[:0:-1], int.__mul__, initial=1)][::-1]
    return replace(old, dims=(*zip(part, steps, strict=True), *old.dims), extent=old.extent * prod(whole),
                   first=old.first + sum(w * s for w, s in zip(where, steps, strict=True)))


def _hindexed(old: DerivedType, blocklengths: Sequence[int], displacements: Sequence[int]) -> DerivedType:
    """Displacements are in bytes."""
    return _at_places(old, blocklengths, [_elements(old, d) for d in displacements])


def _indexed(old: DerivedType, blocklengths: Sequence[int], displacements: Sequence[int]) -> DerivedType:
    return _at_places(old, blocklengths, [d * old.extent for d in displacements])


def _at_places(old: DerivedType, sizes: Sequence[int], places: Sequence[int]) -> DerivedType:
    """Blocks of so many items at any places."""
    if old.blocks or len(sizes) != len(places) or not sizes or min(sizes) < 0 or min(places) < 0:
        raise ValueError(f"blocks of {list(sizes)} at {list(places)}")
    blocks = tuple(replace(old.items(n), first=old.first + place) for n, place in zip(sizes, places, strict=True) if n)
    ends = [place + n * old.extent for n, place in zip(sizes, places, strict=True)]
    return DerivedType(old.dtype, (), 0, max(ends) - min(places), blocks)


def _steps_of(dims: Sequence[tuple[int, int]]) -> np.ndarray:
    """How far from the first one each element lies."""
    found = np.zeros(1, int)
    for count, step in dims:
        found = (found[:, None] + step * np.arange(count)).ravel()
    return found


def _resized(old: DerivedType, lb: int, extent: int) -> DerivedType:
    if lb:
        raise ValueError(f"a lower bound of {lb}")
    return replace(old, extent=_elements(old, extent))


def _elements(old: DerivedType, size: int) -> int:
    if size % old.dtype.itemsize:
        raise ValueError(f"{size} bytes are no number of elements")
    return size // old.dtype.itemsize


_MAKERS: Mapping[str, Callable[..., DerivedType]] = MappingProxyType({
    "contiguous": DerivedType.items, "vector": _vector, "hvector": _hvector, "subarray": _subarray,
    "resized": _resized, "dup": lambda old: old, "indexed": _indexed, "hindexed": _hindexed,
    "indexed_block": lambda old, blocklength, displacements: _indexed(
        old, [blocklength] * len(displacements), displacements),
    "hindexed_block": lambda old, blocklength, displacements: _hindexed(
        old, [blocklength] * len(displacements), displacements)})
"""By the names that MPI has for the ways to make a type; arguments are called as in mpi4py."""


def derived(ctx: Context, kind: Value) -> DerivedType:
    """A type of MPI, read off the library where the program was given it."""
    if isinstance(kind, DerivedType):
        return kind
    assert is_datatype(kind)
    if kind.is_predefined:
        return DerivedType(_basic(ctx, kind))
    base, combiner, given = kind.decode()
    rule = _MAKERS.get(combiner.lower())
    if rule is None:
        raise ctx.refuse(f"a datatype made by {combiner.lower()}", _SUPPORTED, "SG121")
    return _checked(ctx, rule, derived(ctx, base), [], given)


def _basic(ctx: Context, kind: Any) -> np.dtype:
    try:
        return np.dtype(kind.typechar)
    except TypeError as error:
        raise ctx.refuse(f"a datatype made of {kind.name}", _SUPPORTED, "SG121") from error


def _checked(ctx: Context, rule: Callable[..., DerivedType], old: DerivedType, arguments: Sequence[Any],
             keywords: Mapping[str, Any]) -> DerivedType:
    """What a rule makes of a type, if MPI takes it and no elements of it coincide."""
    try:
        bound = inspect.signature(rule).bind(old, *arguments, **keywords)
        made = rule(*bound.args, **bound.kwargs)
    except (TypeError, ValueError) as error:
        raise ctx.refuse(f"this datatype: {error}", _SUPPORTED, "SG101") from error
    reach = 0
    for count, step in sorted(made.dims, key=lambda d: d[1]):
        if count < 1 or count > 1 and step <= reach:
            raise ctx.refuse("a datatype that is empty, runs backwards, or has an element twice",
                             "give sizes and strides that are positive", "SG101")
        reach += (count - 1) * step
    if made.blocks and (len(made.pieces) > _MOST_BLOCKS or len(np.unique(made.places)) < made.count):
        raise ctx.refuse(f"a datatype of more than {_MOST_BLOCKS} blocks, or with an element twice",
                         "send a copy of what it names: x[places]", "SG101")
    return made


def of_datatype(ctx: Context, owner: Value, name: str, arguments: Sequence[Value],
                keywords: Mapping[str, Value]) -> Value:
    """What a method of a type is: nothing is asked of MPI, which has no part in the messages of a program."""
    kind = derived(ctx, owner)
    if name == "Commit":
        return kind
    if name == "Free":
        return None
    if name in ("Get_size", "Get_extent"):
        size = kind.dtype.itemsize
        return kind.count * size if name == "Get_size" else (0, kind.extent * size)
    rule = _MAKERS.get(name.removeprefix("Create_").lower())
    if rule is None:
        raise ctx.refuse(f"the method {name!r} of a datatype", _SUPPORTED, "SG121")
    return _checked(ctx, rule, kind, [_known(ctx, a) for a in arguments],
                    {k: _known(ctx, v) for k, v in keywords.items()})


def _known(ctx: Context, value: Value) -> Any:
    if isinstance(value, (ListValue, tuple, list)):
        return [_known(ctx, v) for v in items_of(ctx, value)]
    if not is_number(value) or value != int(value):
        raise ctx.refuse(f"{describe(value)} in a datatype", "sizes are integers that are known before the call",
                         "SG109")
    return int(value)


def is_derived(kind: Value) -> bool:
    """Whether elements of a type may lie apart."""
    return isinstance(kind, DerivedType) or is_datatype(kind) and not kind.is_predefined


def is_of_ranks(callee: Value) -> bool:
    """Whether a value that is called belongs to mpi4py, or is a method of a request."""
    if isinstance(callee, Method):
        return isinstance(callee.owner, (PostedMessage, PersistentMessage, MessageStatus, DerivedType))
    mpi, owner = library(), getattr(callee, "__self__", None)
    if mpi is None:
        return False
    return is_communicator(owner) or is_request_class(owner) or callee is mpi.Compute_dims or callee is mpi.Wtime or (
        isinstance(callee, type) and callee.__module__ == mpi.__name__) or type(owner).__module__ == mpi.__name__


def is_request_class(owner: Any) -> bool:
    """Whether this is a class of requests, whose methods take several."""
    mpi = library()
    return mpi is not None and (owner is mpi.Request or owner is mpi.Prequest)


def typed_part(ctx: Context, buffer: ViewValue, kind: Value, counts: Sequence[Value]) -> ViewValue:
    """The elements of `[buffer, count, type]`, which lie in one block with steps."""
    found = typed_parts(ctx, buffer, kind, counts, 1)
    if len(found) > 1:
        raise ctx.refuse("a datatype of several blocks for parts of ranks", "give each rank one block, or a copy",
                         "SG121")
    return found[0]


def typed_parts(ctx: Context, buffer: ViewValue, kind: Value, counts: Sequence[Value], parts: int) -> list[ViewValue]:
    """The elements of `[buffer, count, type]` or `[buffer, type]`, in the order of the message, block by block. parts:
    ranks for each of which the count counts."""
    type_, size = derived(ctx, kind), prod(n.const or 0 for n in buffer.shape)
    if type_.dtype != buffer.dtype:
        raise ctx.refuse(f"a datatype of {type_.dtype} for a buffer of {buffer.dtype}", "give both the same type",
                         "SG104")
    if len(counts) > 1 or not counts and (type_.extent < 1 or size % type_.extent):
        raise ctx.refuse(f"a buffer of {size} elements for a datatype whose extent is {type_.extent}",
                         "give [array, count, type]", "SG101")
    whole = type_.items(int(counts[0]) * parts if counts else size // type_.extent)
    buffer = as_in_memory(ctx, buffer)
    found = [_placed(ctx, buffer, one) or _placed(ctx, *_in_array(ctx, buffer, one)) or _in_a_row(ctx, buffer, one)
             for one in _few(ctx, whole)]
    placed = [one for one in found if one is not None]
    if len(placed) < len(found):
        raise ctx.refuse(f"a count or a datatype that reaches beyond a buffer of {size} elements, or over the ends of "
                         "its rows", "give a larger part of the array, or send a slice of it", "SG102")
    return placed


def _few(ctx: Context, kind: DerivedType) -> list[DerivedType]:
    pieces = kind.pieces
    if len(pieces) > _MOST_BLOCKS:
        raise ctx.refuse(f"a message of {len(pieces)} blocks", "send a copy of what it names: x[places]", "SG101")
    return pieces


def _placed(ctx: Context, buffer: ViewValue, kind: DerivedType) -> ViewValue | None:
    """The elements as a view of the buffer; None where a step goes over the end of a row."""
    sizes = [n.const for n in buffer.shape]
    if None in sizes or _steps(ctx, buffer) != _rows(sizes):
        return None
    index: list[Ix] = []
    apart, rest = [s for _, s in kind.dims], kind.first
    for size, step in zip(sizes, _rows(sizes), strict=True):
        parts, most = [s // step for s in apart], rest // step
        apart, rest = [s % step for s in apart], rest % step
        place: Ix = ix(most)
        for k, (factor, (n, _)) in enumerate(zip(parts, kind.dims, strict=True)):
            place, most = place + ix(axis(k)) * factor, most + factor * (n - 1)
        if most >= (size or 0):
            return None
        index.append(place)
    part = remap(ctx, buffer, tuple(ix(n) for n, _ in kind.dims), index)
    return part if isinstance(part, ViewValue) else None


def _in_array(ctx: Context, buffer: ViewValue, kind: DerivedType) -> tuple[ViewValue, DerivedType]:
    """The same elements, counted from the start of the array that the buffer is a part of, as MPI may go beyond it."""
    array = ctx.builder.arrays[buffer.view.array]
    start = [i.const for i in buffer.view.at((ix(0),) * buffer.ndim) if i.const is not None]
    if len(start) < len(array.shape) or array.name in ctx.builder.any_order and len(array.shape) > 1:
        return buffer, kind
    flat = sum(s * w for s, w in zip(start, _rows(array.shape), strict=True))
    return replace(ctx.builder.view(array), readonly=buffer.readonly), replace(kind, first=kind.first + flat)


def _in_a_row(ctx: Context, buffer: ViewValue, kind: DerivedType) -> ViewValue | None:
    """The same where steps go over the ends of rows."""
    flat = ctx.invoke(ctx, np.reshape, [buffer, (-1,)], {})
    here = isinstance(flat, ViewValue) and flat.view.array == buffer.view.array
    return _placed(ctx, flat, kind) if here else None


def _steps(ctx: Context, buffer: ViewValue) -> list[int] | None:
    return steps_of(ctx.builder.arrays[buffer.view.array].shape, buffer.view.index, axes(buffer.ndim))


def _rows(sizes: Sequence[int | None]) -> list[int]:
    """Steps of an array in C order."""
    return [prod(n or 0 for n in sizes[k + 1:]) for k in range(len(sizes))]


def joined_blocks(ctx: Context, blocks: Sequence[ViewValue]) -> ViewValue:
    """Several blocks of a message one behind the other, in a place of their own."""
    if len(blocks) == 1:
        return blocks[0]
    rows = [ctx.invoke(ctx, np.reshape, [one, (-1,)], {}) for one in blocks]
    every = ctx.invoke(ctx, np.concatenate, [ListValue(rows, len(ctx.builder.regions))], {})
    return ctx.builder.fresh_copy(as_array(ctx, every), "blocks")


def emptied_rooms(ctx: Context) -> None:
    """What has arrived for several blocks goes there, but for what is not waited for yet."""
    waiting, kept = ctx.builder.mail.awaited, []
    for room, blocks in ctx.builder.mail.rooms:
        if room.view.array in waiting:
            kept.append((room, blocks))
            continue
        first = 0
        for block in blocks:
            sizes = tuple(n.const or 0 for n in block.shape)
            count = int(np.prod(sizes, dtype=np.int64))
            view = View(room.view.array, (ix(count),), (ix(axis(0)) + first,), room.dtype)
            ctx.builder.assign(block, as_array(ctx, ctx.invoke(ctx, np.reshape, [ViewValue(view), sizes], {})))
            first += count
    ctx.builder.mail = replace(ctx.builder.mail, rooms=tuple(kept))
