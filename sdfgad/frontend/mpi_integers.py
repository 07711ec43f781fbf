"""Integers that ranks know before the call and tell each other in lower case: sizes and places come from them.

    counts = comm.allgather(x.shape[0]) ; n = comm.allreduce(len(x)) ; first = comm.exscan(len(x))

The messages go as others do. What they bring is known beforehand where the rank that gives it has said so in the
agreement of the call. Where it has not, the others read the message.
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any

from sdfgad.frontend.context import Context
from sdfgad.frontend.mpi_given import how_of
from sdfgad.frontend.values import ListValue, Value
from sdfgad.ranks import (
    NOBODY_SAYS,
    IntegersNeeded,
    ObjectForm,
    ObjectWay,
    handle_of,
    lineage,
    members,
    objects_sent,
    settled,
)

Combine = Callable[[Context, Any, Sequence[int], Mapping[str, Value]], Value]
"""What a rank gets when all that the ranks of `givers` give is known."""


def of_integers(rule: Callable[..., Value], combine: Combine, rooted: bool = False) -> Callable[..., Value]:
    """The rule, with a number of Python in place of what it reads where that is known. rooted: the root alone gives."""
    form = inspect.signature(rule)

    @wraps(rule)
    def told(ctx: Context, comm: Any, *values: Value, **more: Value) -> Value:
        given = form.bind(ctx, comm, *values, **more)
        given.apply_defaults()
        own, root = list(given.arguments.values())[2], given.arguments.get("root", 0)
        known = _known(ctx, comm, own, (root,) if rooted else range(comm.Get_size()))
        found = rule(ctx, comm, *values, **more)
        return found if known is None or found is None else combine(ctx, comm, known, given.arguments)

    return told


def _known(ctx: Context, comm: Any, own: Value, givers: Sequence[Any]) -> list[int] | None:
    """What the givers have said of this collective. All collectives of a communicator meet in order, which is known as
    long as none of them is in a loop or a branch that the call decides on."""
    handle, rank = handle_of(comm), comm.Get_rank()
    before = [outside for one, outside in ctx.builder.mail.collectives if one == handle]
    if ctx.builder.regions or not all(before):
        return None
    ways = [ObjectWay(members(comm), lineage(handle), giver, None, len(before), "collectives") for giver in givers]
    integer = isinstance(own, int) and not isinstance(own, bool)
    if rank in givers:
        form = ObjectForm("", (), True, own if integer else None)
        ctx.surroundings.sent.append((ways[list(givers).index(rank)], form))
    if not integer and own is not None:
        return None
    if comm.Get_size() == 1:
        return [own] if integer else None
    found = [_said(ctx, way) for way in ways]
    return None if None in found else found  # type: ignore[return-value]


def _said(ctx: Context, way: ObjectWay) -> int | None:
    said = objects_sent()
    form = next((form for other, form in said[-1] if other.meets(way)), None) if said else None
    if form is None and (not said or said[-1] is not NOBODY_SAYS and not settled(2)):
        raise IntegersNeeded(tuple(ctx.surroundings.sent))
    if form is None:
        return None
    ctx.surroundings.received.append((way, form))
    return form.value


def _listed(ctx: Context, comm: Any, known: Sequence[int], how: Mapping[str, Value]) -> Value:
    return ListValue(list(known), len(ctx.builder.regions))


def _reduced(ctx: Context, comm: Any, known: Sequence[int], how: Mapping[str, Value]) -> Value:
    return _REDUCTIONS[how_of(ctx, how["op"], "i")](known)


def _before(ctx: Context, comm: Any, known: Sequence[int], how: Mapping[str, Value]) -> Value:
    return _reduced(ctx, comm, known[:comm.Get_rank()], how)


def _up_to(ctx: Context, comm: Any, known: Sequence[int], how: Mapping[str, Value]) -> Value:
    return _reduced(ctx, comm, known[:comm.Get_rank() + 1], how)


def _of_root(ctx: Context, comm: Any, known: Sequence[int], how: Mapping[str, Value]) -> Value:
    return known[0]


_REDUCTIONS: Mapping[str, Callable[[Sequence[int]], int]] = MappingProxyType({
    "sum": sum, "prod": math.prod, "max": max, "min": min})
COMBINED: Mapping[str, Combine] = MappingProxyType({
    "allgather": _listed, "gather": _listed, "allreduce": _reduced, "reduce": _reduced, "scan": _up_to,
    "exscan": _before, "bcast": _of_root})
"""What methods of communicators give of integers that are known."""
