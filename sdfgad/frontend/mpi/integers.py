"""What ranks know before the call and tell each other in lower case: sizes and places come from integers.

    counts = comm.allgather(x.shape[0]) ; n = comm.allreduce(len(x)) ; first = comm.exscan(len(x))

The messages go as others do. What they bring is known beforehand where the rank that gives it has said so in the
agreement of the call. Where it has not, the others read the message.
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.given import how_of
from sdfgad.frontend.mpi.messages import count_on, say
from sdfgad.frontend.mpi.structures import (
    Makeup,
    broadcast,
    form_of,
    gathered,
    gathered_parts,
    is_structure,
    scattered,
    scattered_parts,
    share_of,
)
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ListValue, Value
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


def of_integers(name: str, rule: Callable[..., Value]) -> Callable[..., Value]:
    """The rule, with a number of Python in place of what it reads where that is known; objects are taken apart."""
    form, rooted = inspect.signature(rule), name in ("bcast", "scatter")

    @wraps(rule)
    def told(ctx: Context, comm: Any, *values: Value, **more: Value) -> Value:
        given = form.bind(ctx, comm, *values, **more)
        given.apply_defaults()
        own, root = list(given.arguments.values())[2], given.arguments.get("root", 0)
        known = _known(ctx, comm, name, own, (root,) if rooted else range(comm.Get_size()))
        if known is not None and all(isinstance(n, Makeup) for n in known):
            found = _of_forms(ctx, comm, name, rule, known, own, *([root] if "root" in form.parameters else []))
            if found is not None:
                return found[0]
        found = rule(ctx, comm, *values, **more)
        if found is None or known is None or name not in COMBINED or not all(isinstance(n, _INTEGERS) for n in known):
            return found
        return COMBINED[name](ctx, comm, known, given.arguments)

    return told


def _known(ctx: Context, comm: Any, name: str, own: Value, givers: Sequence[Any]) -> list[Any] | None:
    """What the givers have said of a collective: integers, or the forms of objects."""
    gives, form = comm.Get_rank() in givers, form_of(own)
    integer = isinstance(own, _INTEGERS) and not isinstance(own, bool)
    objects = name in _OF_OBJECTS and form is not None and (is_structure(form) or name in _OF_SHAPES and form.data)
    if name == "scatter" and form is not None and _is_uneven(form):
        form = replace(form, keys=(np.result_type(*(v.dtype for v in items_of(ctx, own))).str,))
    said = own if integer else form if objects else None
    return said_by(ctx, comm, said, givers, gives, ask=said is not None or own is None)


def _is_uneven(form: Makeup) -> bool:
    """Whether this is a list of arrays of several shapes."""
    if form.kind not in ("list", "tuple") or not all(part.kind == "data" for part in form.parts):
        return False
    return len({part.parts for part in form.parts}) > 1 and len({part.keys for part in form.parts}) == 1


def _of_forms(ctx: Context, comm: Any, name: str, rule: Callable[..., Value], forms: Sequence[Makeup], own: Value,
              *root: Value) -> tuple[Value] | None:
    """What a collective gives of objects; None where its rule says that."""
    single = not any(map(is_structure, forms))
    if name == "bcast":
        return (broadcast(ctx, comm, rule, forms, own, *root),)
    if name in _OF_SHAPES and not (single and all(form.like(forms[0]) for form in forms)):
        return (gathered(ctx, comm, rule, forms, own, *root),)
    if name in _OF_SHAPES and len({form.parts for form in forms}) > 1 and all(f.kind == "data" for f in forms):
        return (gathered_parts(ctx, comm, forms, own, *root),)
    lists = name in ("scatter", "alltoall") and all(len(f.parts) == comm.Get_size() for f in forms)
    if not lists or single:
        return None
    if not any(form.data for form in forms):
        found = share_of(ctx, comm, forms)
        return (found.items[0],) if name == "scatter" else (found,)
    if name == "scatter" and any(map(is_structure, forms[0].parts)):
        return (scattered(ctx, comm, rule, forms[0], own, *root),)
    return (scattered_parts(ctx, comm, forms[0], own, *root),) if name == "scatter" and _is_uneven(forms[0]) else None


def said_by(ctx: Context, comm: Any, own: Any, givers: Sequence[Any], gives: bool,
            ask: bool = True) -> list[Any] | None:
    """What the givers have said that they give to this collective; None where one of them does not know it. All
    collectives of a communicator meet in order, which is known as long as none of them is in a loop or a branch that
    the call decides on. own: what this rank gives, None if that is not known; ask: whether it wants to know."""
    handle, rank = handle_of(comm), comm.Get_rank()
    before = [outside for one, outside in ctx.builder.mail.collectives if one == handle]
    if ctx.builder.regions or not all(before):
        return None
    ways = [ObjectWay(members(comm), lineage(handle), giver, None, len(before), "collectives") for giver in givers]
    if gives:
        say(ctx, ways[list(givers).index(rank)], ObjectForm("", (), True, own))
    if not ask or gives and own is None:
        return None
    if comm.Get_size() == 1:
        return None if own is None else [own]
    found = [_said(ctx, way) for way in ways]
    return None if None in found else found


def _said(ctx: Context, way: ObjectWay) -> Any:
    said = objects_sent()
    form = next((form for other, form in said[-1] if other.meets(way)), None) if said else None
    if form is None and (not said or said[-1] is not NOBODY_SAYS and not settled(2)):
        raise IntegersNeeded(ctx.builder.mail.sent)
    if form is None:
        return None
    count_on(ctx, way, form)
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
_INTEGERS = (int, np.integer)
_OF_SHAPES = frozenset(("gather", "allgather"))
_OF_OBJECTS = frozenset(("bcast", "scatter", "alltoall", *_OF_SHAPES))
