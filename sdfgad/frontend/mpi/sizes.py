"""Integers that ranks know before the call and tell each other in buffers, and plain objects that they broadcast.

    comm.Allgather(np.array([n]), counts) ; comm.Bcast(counts) ; comm.Alltoall(there, back)

The messages go as others do; what they bring is known where all ranks that give it have said so in the agreement of the
call. What is no data at all, as the shape of an array, is told there alone.
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.known import is_fixed
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.given import how_of, is_in_place, is_logical, known_integers
from sdfgad.frontend.mpi.integers import said_by
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, ListValue, Value, ViewValue

_MOST = 256
Share = Callable[[Context, Any, Sequence[np.ndarray], Mapping[str, Value]], np.ndarray]
"""What a rank's buffer holds when all that the ranks of `givers` give is known."""


def of_buffers(rule: Callable[..., Value], share: Share, rooted: str = "") -> Callable[..., Value]:
    """The rule, which fills a buffer of integers that are known. rooted: "gives" or "gets" where the root alone does
    so."""
    form = inspect.signature(rule)

    @wraps(rule)
    def told(ctx: Context, comm: Any, *values: Value, **more: Value) -> Value:
        given = form.bind(ctx, comm, *values, **more)
        given.apply_defaults()
        sent, place = (_buffer(ctx, given.arguments.get(n, given.arguments.get("buf"))) for n in ("sendbuf", "recvbuf"))
        known, exact = None, ctx.builder.held.exact
        # Without a place of its own a rank is refused, and must not leave others with a question.
        if (_of_sizes(sent) or _of_sizes(place)) and (place is None or isinstance(place, ViewValue)):
            known = _known(ctx, comm, sent, given.arguments.get("root", 0), rooted)
        before = exact.held.get(place.view.array) if isinstance(place, ViewValue) else None
        rule(ctx, comm, *values, **more)
        if known is None or before is None or not isinstance(place, ViewValue) or not is_fixed(place.view):
            return
        found, shape = share(ctx, comm, known, given.arguments), tuple(n.const or 0 for n in place.shape)
        if found.size == math.prod(shape):
            exact.learn(place.view, found.reshape(shape), before)

    return told


def _known(ctx: Context, comm: Any, sent: Value, root: Value, rooted: str) -> list[np.ndarray] | None:
    """What all that give something give, as far as this rank wants to know."""
    own, here = _numbers(ctx, sent), comm.Get_rank() == root
    givers = (root,) if rooted == "gives" else range(comm.Get_size())
    alone, idle = rooted == "gives" and here, rooted == "gets" and not here
    found = said_by(ctx, comm, own, givers, here or rooted != "gives", ask=not alone and not idle)
    if alone and own is not None:
        found = [own]
    return None if found is None or not all(isinstance(n, tuple) for n in found) else [np.array(n) for n in found]


def _buffer(ctx: Context, value: Value) -> Value:
    """The array of a buffer, without what is said of it."""
    items = list(items_of(ctx, value)) if isinstance(value, (ListValue, list, tuple)) else []
    return items[0] if items else value


def _of_sizes(value: Value) -> bool:
    """Whether this may hold sizes: a few integers."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu" and value.size <= _MOST
    return isinstance(value, ArrayValue) and value.dtype.kind in "iu" and all(
        n.const is not None and n.const <= _MOST for n in value.shape)


def _numbers(ctx: Context, value: Value) -> tuple[int, ...] | None:
    if value is None or is_in_place(value) or not _of_sizes(value):
        return None
    found = value if isinstance(value, np.ndarray) else known_integers(ctx, value)
    return None if found is None else tuple(int(n) for n in np.ravel(found))


def _every(ctx: Context, comm: Any, known: Sequence[np.ndarray], how: Mapping[str, Value]) -> np.ndarray:
    return np.concatenate(known)


def _own_of_root(ctx: Context, comm: Any, known: Sequence[np.ndarray], how: Mapping[str, Value]) -> np.ndarray:
    return known[0]


def _own_part(ctx: Context, comm: Any, known: Sequence[np.ndarray], how: Mapping[str, Value]) -> np.ndarray:
    return np.concatenate([np.array_split(one, comm.Get_size())[comm.Get_rank()] for one in known])


def _total(ctx: Context, comm: Any, known: Sequence[np.ndarray], how: Mapping[str, Value]) -> np.ndarray:
    flags = is_logical(how["op"]) and len(known) > 1
    every = np.stack([one != 0 if flags else one for one in known])
    if is_logical(how["op"]) and not flags:
        return every[0]
    return np.asarray(_REDUCTIONS[how_of(ctx, how["op"], "b" if flags else "i")].reduce(every, axis=0))


def _up_to(ctx: Context, comm: Any, known: Sequence[np.ndarray], how: Mapping[str, Value]) -> np.ndarray:
    return _total(ctx, comm, known[:comm.Get_rank() + 1], how)


def _before(ctx: Context, comm: Any, known: Sequence[np.ndarray], how: Mapping[str, Value]) -> np.ndarray:
    return _total(ctx, comm, known[:comm.Get_rank()], how) if comm.Get_rank() else np.empty(0, int)


_REDUCTIONS: Mapping[str, np.ufunc] = MappingProxyType({
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum})
SHARES: Mapping[str, tuple[Share, str]] = MappingProxyType({
    "Bcast": (_own_of_root, "gives"), "Scatter": (_own_part, "gives"), "Gather": (_every, "gets"),
    "Allgather": (_every, ""), "Alltoall": (_own_part, ""), "Allreduce": (_total, ""), "Reduce": (_total, "gets"),
    "Scan": (_up_to, ""), "Exscan": (_before, "")})
"""What methods with buffers give of integers that are known."""
