"""Collectives whose parts differ in size: `[array, counts]`, `[array, (counts, displacements)]`, and with a type."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from typing import Any, TypeGuard

from sdfgad.frontend.elements.elementwise import BOOL, as_array, int_expr
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.collectives import collective
from sdfgad.frontend.mpi.given import assigned, flat_of, integers, is_in_place, part_of_flat, root_of, told_integers
from sdfgad.frontend.mpi.messages import (
    MessageBuffers,
    array_and_rest,
    incoming_buffer,
    outgoing_buffer,
    size_of,
)
from sdfgad.frontend.mpi.types import DerivedType, derived, typed_part
from sdfgad.frontend.state.builder import cast
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value, ViewValue
from sdfgad.ir.expr import Const, Expr, call
from sdfgad.ir.index import ix
from sdfgad.ir.messages import FLAG
from sdfgad.ir.program import Failure


@dataclass(frozen=True)
class RankParts:
    """A buffer with a part for each rank. counts: their elements; first: where each of them begins. Counts that are
    known in the call alone say how the whole buffer is divided; that they do is looked at when the message is sent.
    typed: the parts themselves where a derived type says where they lie; then `first` counts in the message."""

    buffer: ViewValue
    counts: tuple[int, ...] | tuple[Value, ...]
    first: tuple[int, ...] | None
    typed: tuple[ViewValue, ...] = ()

    @property
    def packed(self) -> bool:
        """Whether the parts are the buffer, one behind the other."""
        return not self.typed and (self.first is None or self.first == _places(
            self.counts) and self.total == size_of(self.buffer))

    @property
    def total(self) -> int:
        """The elements of all parts."""
        return size_of(self.buffer) if self.first is None else sum(self.counts)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The first element and the number of them of each part."""
        return list(zip(self.first or (), self.counts, strict=True))


def scatterv(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, root: Value = 0) -> None:
    here, rank = comm.Get_rank() == root, comm.Get_rank()
    parts = parts_of(ctx, comm.Get_size(), sendbuf, outgoing=True) if here else None
    into = _room(ctx, parts.places[rank][1], parts.buffer) if is_in_place(recvbuf) and _known(parts, ctx) else (
        incoming_buffer(ctx, recvbuf))
    if parts:
        _check_own(ctx, parts, rank, into)
    sent = (joined(ctx, parts),) if parts else ()
    collective(ctx, comm, "scatterv", MessageBuffers(sent, (into,), size_of(into), into.dtype), root_of(ctx, root),
               counts=_counts(comm, parts))


def gatherv(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value = None, root: Value = 0) -> None:
    here = comm.Get_rank() == root
    parts = parts_of(ctx, comm.Get_size(), recvbuf, outgoing=False) if here else None
    own = _given(ctx, comm, sendbuf, parts)
    got = _room(ctx, parts.total, parts.buffer) if parts else None
    collective(ctx, comm, "gatherv", MessageBuffers((own,), () if got is None else (got,), size_of(own), own.dtype),
               root_of(ctx, root), counts=_counts(comm, parts))
    if parts and got is not None:
        spread(ctx, parts, got)


def allgatherv(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    parts = parts_of(ctx, comm.Get_size(), recvbuf, outgoing=False)
    own, got = _given(ctx, comm, sendbuf, parts), _room(ctx, parts.total, parts.buffer)
    collective(ctx, comm, "allgatherv", MessageBuffers((own,), (got,), size_of(own), own.dtype), counts=parts.counts)
    spread(ctx, parts, got)


def alltoallv(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    parts = parts_of(ctx, comm.Get_size(), recvbuf, outgoing=False)
    sent = parts if is_in_place(sendbuf) else parts_of(ctx, comm.Get_size(), sendbuf, outgoing=True)
    own, got = joined(ctx, sent), _room(ctx, parts.total, parts.buffer)
    collective(ctx, comm, "alltoallv", MessageBuffers((own,), (got,), size_of(own), own.dtype),
               counts=(*sent.counts, *parts.counts))
    spread(ctx, parts, got)


def parts_of(ctx: Context, ranks: int, value: Value, outgoing: bool) -> RankParts:
    """What a buffer says of its parts. Without counts they are as even as can be, the first ones the larger."""
    array, rest, kind = array_and_rest(ctx, value)
    buffer = (outgoing_buffer if outgoing else incoming_buffer)(ctx, array)
    if len(rest) == 1 and _is_pair(ctx, rest[0]):
        rest = list(items_of(ctx, rest[0]))
    if len(rest) > 2:
        raise ctx.refuse("this form of a buffer", "give [array, counts] or [array, (counts, displacements)]", "SG101")
    size = size_of(buffer)
    if kind is not None:
        return _typed_parts(ctx, buffer, derived(ctx, kind), rest, ranks)
    told = [None if n is None else told_integers(ctx, n, ranks) for n in rest]
    if any(n is not None for n in told):
        given = [n if n is not None or v is None else integers(ctx, v, ranks) for n, v in zip(told, rest, strict=True)]
        if len(given) == 2 and given[1] is not None:
            _check_places(ctx, given[0] or (), given[1])
        return RankParts(buffer, given[0] or (), None)
    counts = integers(ctx, rest[0], ranks) if rest else tuple(size // ranks + (r < size % ranks) for r in range(ranks))
    first = integers(ctx, rest[1], ranks) if len(rest) == 2 and rest[1] is not None else _places(counts)
    if any(f < 0 or n < 0 or f + n > size for f, n in zip(first, counts, strict=True)):
        raise ctx.refuse(f"parts of {counts} elements from {first} on in a buffer of {size}", "they have to lie in it",
                         "SG102")
    return RankParts(buffer, counts, first)


def _typed_parts(ctx: Context, buffer: ViewValue, kind: DerivedType, rest: Sequence[Value], ranks: int) -> RankParts:
    """Counts and displacements are in items of the type, from the start of one to the start of the next."""
    if not rest or rest[0] is None:
        raise ctx.refuse("a derived datatype without counts", "give [array, (counts, displacements), type]", "SG101")
    counts = integers(ctx, rest[0], ranks)
    first = integers(ctx, rest[1], ranks) if len(rest) == 2 and rest[1] is not None else _places(counts)
    moved = (replace(kind, first=kind.first + place * kind.extent) for place in first)
    typed = tuple(typed_part(ctx, buffer, m, [n]) for m, n in zip(moved, counts, strict=True))
    elements = tuple(size_of(part) for part in typed)
    return RankParts(buffer, elements, _places(elements), typed)


def _check_places(ctx: Context, counts: Sequence[Value], first: Sequence[Value]) -> None:
    """Places that are known in the call alone have to be those of parts one behind the other, else ValueError."""
    before: list[Expr] = []
    wrong: list[Expr] = []
    for count, place in zip(counts, first, strict=True):
        there = call("add", *before, dtype=FLAG) if len(before) > 1 else before[0] if before else Const(0, FLAG)
        wrong.append(call("ne", _number(ctx, place), there, dtype=BOOL))
        before = [there, _number(ctx, count)]
    condition = reduce(lambda a, b: call("or", a, b, dtype=BOOL), wrong)
    raise_if(ctx, condition, lambda: fail(ctx, Failure(ValueError, (_APART,))))


_APART = "places of parts that do not lie one behind the other; sdfgad takes such that are known before the call"


def _number(ctx: Context, value: Value) -> Expr:
    return cast(int_expr(ctx, value), FLAG) if isinstance(value, IntValue) else Const(int(value), FLAG)


def _is_pair(ctx: Context, value: Value) -> bool:
    """Whether this is (counts, displacements)."""
    if not isinstance(value, (ListValue, list, tuple)):
        return False
    items = list(items_of(ctx, value))
    return len(items) == 2 and (isinstance(items[0], (ListValue, list, tuple)) or (
        isinstance(items[0], ArrayValue) and items[0].ndim == 1))


def _known(parts: RankParts | None, ctx: Context) -> TypeGuard[RankParts]:
    """Whether the places of the parts are known here; IN_PLACE asks for them."""
    if parts is not None and parts.first is None:
        raise ctx.refuse("IN_PLACE beside counts that are known in the call alone", "give a buffer of its own", "SG109")
    return parts is not None


def _places(counts: Sequence[int]) -> tuple[int, ...]:
    return tuple(accumulate(counts, initial=0))[:-1]


def _counts(comm: Any, parts: RankParts | None) -> Sequence[Value]:
    """The root alone knows what the others have, and needs it."""
    return (0,) * comm.Get_size() if parts is None else parts.counts


def _given(ctx: Context, comm: Any, sendbuf: Value, parts: RankParts | None) -> ViewValue:
    """What this rank gives: what it says, or what lies in its part already."""
    rank = comm.Get_rank()
    if is_in_place(sendbuf) and _known(parts, ctx):
        part = flat_of(ctx, parts.typed[rank]) if parts.typed else part_of_flat(
            ctx, flat_of(ctx, parts.buffer), *parts.places[rank])
        return ctx.builder.fresh_copy(part, "message")
    own = outgoing_buffer(ctx, sendbuf)
    if parts:
        _check_own(ctx, parts, rank, own)
    return own


def _check_own(ctx: Context, parts: RankParts, rank: int, own: ViewValue) -> None:
    if parts.first is not None and size_of(own) != parts.counts[rank]:
        raise ctx.refuse(f"a part of {size_of(own)} elements, of which the counts say {parts.counts[rank]}",
                         "give counts of what each rank sends and receives", "SG103")


def _room(ctx: Context, count: int, like: ViewValue) -> ViewValue:
    return ctx.builder.view(ctx.builder.declare((ix(count),), like.dtype, "parts"))


def joined(ctx: Context, parts: RankParts) -> ViewValue:
    """The parts one behind the other."""
    if parts.packed:
        return parts.buffer
    out, place = _room(ctx, parts.total, parts.buffer), 0
    for count, part in _each(ctx, parts, parts.buffer):
        ctx.builder.assign(part_of_flat(ctx, out, place, count), flat_of(ctx, part))
        place += count
    return out


def spread(ctx: Context, parts: RankParts, got: ViewValue) -> None:
    """Put what came in where it belongs; what lies between the parts stays."""
    if parts.packed:
        assigned(ctx, parts.buffer, got)
        return
    whole = parts.buffer if parts.typed else ctx.builder.fresh_copy(flat_of(ctx, parts.buffer), "spread")
    place = 0
    for count, part in _each(ctx, parts, whole):
        assigned(ctx, part, part_of_flat(ctx, got, place, count))
        place += count
    if not parts.typed:
        assigned(ctx, parts.buffer, as_array(ctx, whole))


def _each(ctx: Context, parts: RankParts, whole: ViewValue) -> Iterator[tuple[int, ViewValue]]:
    """The elements and the place of each part that is not empty."""
    flat = flat_of(ctx, whole)
    for k, (first, count) in enumerate(parts.places):
        if count:
            yield count, parts.typed[k] if parts.typed else part_of_flat(ctx, flat, first, count)
