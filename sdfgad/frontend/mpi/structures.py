"""Objects made of numbers and arrays that ranks tell each other in lower case, and arrays of several shapes.

    theta, n = comm.bcast((theta, n)) ; parts = comm.gather(x[:comm.rank]) ; mine = comm.scatter(np.array_split(x, 3))

What they are made of is said in the agreement of the call, and so is what is known by then; their arrays go as messages
of their own.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from sdfgad.frontend.elements.elementwise import as_array
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.collectives import collective
from sdfgad.frontend.mpi.given import flat_of, object_of, part_of_flat, root_of
from sdfgad.frontend.mpi.messages import MessageBuffers, counted
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Record, Value, ViewValue, is_number
from sdfgad.ir.index import ix

Rule = Callable[..., Value]


@dataclass(frozen=True)
class Makeup:
    """What a value is made of. kind: "known", with the value in `parts`; "data", with the shape; "number", of
    which the value is not said; "tuple", "list" and
    "dict" with forms. keys: of a dict, or the name of the type of data."""

    kind: str
    parts: tuple[Any, ...] = ()
    keys: tuple[Any, ...] = ()

    @property
    def data(self) -> list[Makeup]:
        """The parts that are data, in order."""
        if self.kind in ("known", "data"):
            return [self] if self.kind == "data" else []
        return [one for part in self.parts for one in part.data]

    def takes(self, other: Any) -> bool:
        """Whether this is what another value is made of, but for numbers that are not said here."""
        if not isinstance(other, Makeup):
            return False
        if self.kind == "number":
            return other.kind == "number" or other.kind == "known" and is_number(other.parts[0])
        if self.kind in ("known", "data"):
            return self == other
        return (self.kind, self.keys, len(self.parts)) == (other.kind, other.keys, len(other.parts)) and all(
            a.takes(b) for a, b in zip(self.parts, other.parts, strict=True))

    def like(self, other: Makeup) -> bool:
        """Whether two values are made alike, whatever is known of them."""
        if self.kind in ("known", "data"):
            return (self.kind, self.keys) == (other.kind, other.keys)
        return (self.kind, self.keys, len(self.parts)) == (other.kind, other.keys, len(other.parts)) and all(
            a.like(b) for a, b in zip(self.parts, other.parts, strict=True))


def form_of(value: Value) -> Makeup | None:
    """None of what is no message."""
    if isinstance(value, (str, np.dtype)) or is_number(value) or value is None or isinstance(value, type):
        return Makeup("known", (value,))
    if isinstance(value, (ArrayValue, IntValue)):
        shape, dtype = (value.shape, value.dtype) if isinstance(value, ArrayValue) else ((), np.dtype(np.int64))
        sizes = tuple(n.const for n in shape)
        return None if None in sizes else Makeup("data", sizes, (dtype.str,))
    if isinstance(value, Record) and value.form is dict:
        kind, items, keys = "dict", list(value.items.values()), tuple(value.items)
    elif isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        kind, items, keys = type(value).__name__, list(value), ()
    elif isinstance(value, ListValue) and value.kind is list:
        kind, items, keys = "list", value.items, ()
    else:
        return None
    parts = [form_of(one) for one in items]
    return None if None in parts else Makeup(kind, tuple(parts), keys)


def is_structure(form: Makeup | None) -> bool:
    """Whether a value is no single number or array."""
    if form is None or form.kind == "data":
        return False
    return form.kind != "known" or form.parts[0] is not None and not is_number(form.parts[0])


def _data(value: Value) -> Iterator[Value]:
    """What of a value is data, in order."""
    if isinstance(value, (ArrayValue, IntValue)):
        yield value
    inner = value.items.values() if isinstance(value, Record) else value.items if isinstance(value, ListValue) else \
        value if isinstance(value, (tuple, list)) else ()
    for part in inner:
        yield from _data(part)


def _built(ctx: Context, form: Makeup, data: Iterator[Value]) -> Value:
    """The value of a form."""
    if form.kind == "known":
        return form.parts[0]
    if form.kind == "data":
        return next(data)
    parts, depth = [_built(ctx, part, data) for part in form.parts], len(ctx.builder.regions)
    if form.kind == "dict":
        return Record(dict, dict(zip(form.keys, parts, strict=True)), depth)
    return tuple(parts) if form.kind == "tuple" else ListValue(parts, depth)


def broadcast(ctx: Context, comm: Any, rule: Rule, forms: Sequence[Makeup], own: Value, root: Value) -> Value:
    """Each array of what the root gives goes on its own."""
    here = list(_data(own)) if comm.Get_rank() == root else [None] * len(forms[0].data)
    return _built(ctx, forms[0], iter(_sent(ctx, comm, rule, here, root)))


def gathered(ctx: Context, comm: Any, rule: Rule, forms: Sequence[Makeup], own: Value, *root: Value) -> Value:
    """A list of what all ranks give."""
    if not all(one.like(forms[0]) for one in forms):
        raise ctx.refuse("a gather of objects that are not made alike", "every rank has to give as many numbers and "
                         "arrays of the same types, in the same order", "SG109")
    parts, given = list(zip(*(form.data for form in forms), strict=True)), list(_data(own))

    def one_part(ctx: Context, comm: Any, value: Value, *root: Value) -> Value:
        part = parts[next(k for k, v in enumerate(given) if v is value)]
        several = len({makeup.parts for makeup in part}) > 1
        return gathered_parts(ctx, comm, part, value, *root) if several else rule(ctx, comm, value, *root)

    every = _sent(ctx, comm, one_part, given, *root)
    if root and comm.Get_rank() != root[0]:
        return None
    rows = [list(items_of(ctx, one)) for one in every]
    return ListValue([_built(ctx, form, iter([row[k] for row in rows])) for k, form in enumerate(forms)],
                     len(ctx.builder.regions))


def scattered(ctx: Context, comm: Any, rule: Rule, form: Makeup, own: Value, root: Value) -> Value:
    """An item of the root's list of objects: each array of it on its own."""
    if not all(one.like(form.parts[0]) for one in form.parts):
        raise ctx.refuse("a scatter of objects that are not made alike", "give every rank as many numbers and arrays "
                         "of the same types, in the same order", "SG109")
    ways = list(zip(*(one.data for one in form.parts), strict=True))
    rows = [list(_data(one)) for one in items_of(ctx, own)] if comm.Get_rank() == root else []
    given = [ListValue([row[k] for row in rows], len(ctx.builder.regions)) if rows else None for k in range(len(ways))]
    several = [len({one.parts for one in way}) > 1 for way in ways]
    got = [scattered_parts(ctx, comm, Makeup("list", way, way[0].keys), one, root) if uneven else
           rule(ctx, comm, one, root) for way, one, uneven in zip(ways, given, several, strict=True)]
    return _built(ctx, form.parts[comm.Get_rank()], iter(got))


def _sent(ctx: Context, comm: Any, rule: Rule, data: Sequence[Value], *root: Value) -> list[Value]:
    """What a rule makes of each of these; where there is none, the ranks have met all the same."""
    if not data:
        counted(ctx, comm)
    return [rule(ctx, comm, one, *root) for one in data]


def share_of(ctx: Context, comm: Any, forms: Sequence[Makeup]) -> Value:
    """This rank's part of the list that each of the others gives it one of."""
    counted(ctx, comm)
    parts = [_built(ctx, form.parts[comm.Get_rank()], iter(())) for form in forms]
    return ListValue(parts, len(ctx.builder.regions))


# arrays of several shapes

def gathered_parts(ctx: Context, comm: Any, forms: Sequence[Makeup], own: Value, *root: Value) -> Value:
    """A list of arrays of which each rank gives one."""
    given, sizes = object_of(ctx, own), [math.prod(form.parts) for form in forms]
    flat = _room(ctx, flat_of(ctx, given))
    place = root_of(ctx, root[0]) if root else 0
    here = not root or comm.Get_rank() == place
    got = (ctx.builder.view(ctx.builder.declare((ix(sum(sizes)),), given.dtype, "parts")),) if here else ()
    buffers = MessageBuffers((flat,), got, sizes[comm.Get_rank()], given.dtype)
    collective(ctx, comm, "gatherv" if root else "allgatherv", buffers, place,
               counts=sizes if here else (0,) * comm.Get_size())
    first = list(accumulate(sizes, initial=0))[:-1]
    places = zip(first, sizes, forms, strict=True)
    return ListValue([_shaped(ctx, part_of_flat(ctx, every, a, n), f.parts) for a, n, f in places],
                     len(ctx.builder.regions)) if (every := next(iter(got), None)) is not None else None


def scattered_parts(ctx: Context, comm: Any, form: Makeup, own: Value, root: Value) -> Value:
    """This rank's array of the root's list."""
    shapes, rank = [part.parts for part in form.parts], comm.Get_rank()
    sizes = [math.prod(shape) for shape in shapes]
    sent: tuple[ViewValue, ...] = ()
    if rank == root:
        rows = [flat_of(ctx, object_of(ctx, one)) for one in items_of(ctx, own)]
        every = ctx.invoke(ctx, np.concatenate, [ListValue(rows, len(ctx.builder.regions))], {})
        sent = (_room(ctx, as_array(ctx, every)),)
    dtype = np.dtype(form.keys[0])
    into = ctx.builder.view(ctx.builder.declare((ix(sizes[rank]),), dtype, "part"))
    collective(ctx, comm, "scatterv", MessageBuffers(sent, (into,), sizes[rank], dtype), root_of(ctx, root),
               counts=sizes if sent else (0,) * comm.Get_size())
    return _shaped(ctx, into, shapes[rank])


def _room(ctx: Context, value: ArrayValue) -> ViewValue:
    return ctx.builder.materialise(value, "message")


def _shaped(ctx: Context, value: ArrayValue, shape: Sequence[int]) -> Value:
    return ctx.invoke(ctx, np.reshape, [value, tuple(shape)], {})
