"""What derivatives are taken along: seeds of outputs, tangents of arguments."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, is_differentiable
from sdfgad.errors import OutputError, UsageError
from sdfgad.ir.program import View
from sdfgad.trees import paths


def seeds_of(outputs: Sequence[View], given: Sequence[Any], batch: int | None = None) -> tuple[np.ndarray, ...]:
    """The cotangents given for some outputs, as arrays of their shapes and dtypes, None for zero; OutputError where one
    does not fit. batch: so many of each, along a first axis."""
    first = () if batch is None else (batch,)
    return fitting([((*first, *(n.const or 0 for n in v.shape)), v.dtype) for v in outputs], given)


def batch_of(given: Sequence[Any], what: str) -> int:
    """How many directions there are, along the first axis of each array that is given; UsageError where that differs.
    """
    sizes = {np.shape(g)[0] if np.ndim(g) else -1 for g in given if g is not None}
    if len(sizes) != 1 or -1 in sizes:
        told = ", ".join(str(np.shape(g)) for g in given if g is not None) or "none"
        raise UsageError(f"{what} with no common first axis: shapes {told}", code="SG205",
                         help="with batched=True each has an axis more in front, of the same length; None is zero")
    return sizes.pop()


def fitting(outputs: Sequence[tuple[tuple[int, ...], np.dtype]], given: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """The same for outputs of these shapes and dtypes."""
    if len(given) != len(outputs):
        raise OutputError(f"{len(outputs)} outputs, {len(given)} seeds")
    seeds = []
    for seed, (shape, dtype) in zip(given, outputs, strict=True):
        array = np.zeros(shape, dtype) if seed is None else np.asarray(seed)
        if array.shape != shape or not np.can_cast(array.dtype, dtype, "same_kind"):
            raise OutputError(f"a seed of shape {array.shape} and dtype {array.dtype} does not fit an output of shape "
                              f"{shape} and dtype {dtype}")
        seeds.append(np.ascontiguousarray(array, dtype).reshape(shape))
    return tuple(seeds)


def tangents_of(bound: Bound, tangents: Sequence[Any] | Mapping[str, Any], given: int,
                together: bool = False, batched: bool = False) -> dict[str, np.ndarray]:
    """Tangents by name of leaf: one for each of the `given` arguments, or for those left to their defaults as well.

    together: other ranks may have some, so that this one needs none. batched: several of each, along a first axis.
    """
    if not isinstance(tangents, Mapping):
        if len(tangents) not in (given, len(bound.values)):
            raise UsageError(f"{given} arguments, {len(tangents)} tangents", code="SG205")
        tangents = dict(zip(bound.values, tangents, strict=False))
    found = {}
    spread = [leaf for n, t in tangents.items() for leaf in ([(n, t)] if n in bound.leaves else paths(n, t))]
    for name, t in spread:
        if t is None:
            continue
        if name not in bound.leaves or not is_differentiable(bound.leaves[name]):
            raise UsageError(f"argument {name!r} has no tangent", code="SG204")
        if np.shape(t)[batched:] != np.shape(bound.leaves[name]) or np.ndim(t) < batched:
            raise UsageError(f"the tangent of {name!r} has shape {np.shape(t)}, the argument "
                             f"{np.shape(bound.leaves[name])}", code="SG205")
        found[name] = np.asarray(t)
    if not found and not together:
        raise UsageError("no tangent was given", code="SG205")
    return found
