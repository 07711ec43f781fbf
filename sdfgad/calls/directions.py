"""What derivatives are taken along: seeds of outputs, tangents of arguments."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sdfgad.arrays import Spec
from sdfgad.calls.arguments import Bound, by_parameter, is_differentiable
from sdfgad.errors import OutputError, UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.foreign.reading import adopted
from sdfgad.ir.program import View
from sdfgad.trees import contents, paths


@dataclass(frozen=True)
class PlainDirection(Spec):
    """A direction that is made where a program runs: zeros, but for the elements of `ones` in C order."""

    ones: range = range(0)

    def made(self) -> np.ndarray:
        """In the memory of the host."""
        found = np.zeros(self.shape, self.dtype)
        found.reshape(-1)[self.ones.start:self.ones.stop] = 1
        return found


def plain(leaf: Any, there: bool, ones: range | None = None) -> Any:
    """A direction of the kind of an array or number. there: for a program on a device. ones: the elements that are one,
    by default all of them."""
    shape, dtype = tuple(np.shape(leaf)), np.dtype(getattr(leaf, "dtype", type(leaf)))
    found = PlainDirection(shape, dtype, range(prod(shape)) if ones is None else ones)
    return found if there and shape else found.made()


def seeds_of(outputs: Sequence[View], given: Sequence[Any], batch: int | None = None, there: bool = False) -> Any:
    """The cotangents given for some outputs, as arrays of their shapes and dtypes, None for zero; OutputError where one
    does not fit. batch: so many of each, along a first axis. there: for a program on a device, where zeros are made."""
    first = () if batch is None else (batch,)
    return fitting([((*first, *(n.const or 0 for n in v.shape)), v.dtype) for v in outputs], given, there)


def in_order(tree: Any, given: Any) -> Sequence[Any] | None:
    """One seed for each leaf of what a function returns, of seeds in containers like those, where None stands for all
    that is in one; None where they are other containers. tree: with None in place of what takes no seed."""
    inside = contents(tree)
    if inside is None:
        return () if tree is None else (given,)
    own = dict.fromkeys(inside) if given is None else contents(given)
    if own is None or own.keys() != inside.keys():
        return None
    parts = [in_order(part, own[key]) for key, part in inside.items()]
    return None if None in parts else [seed for part in parts for seed in part or ()]


def taken(given: Sequence[Any], what: str) -> list[Any]:
    """Directions as they are given, with a `DeviceArray` for each array of a graphics processor."""
    return list(adopted({f"{what} {k}": g for k, g in enumerate(given)}).values())


def batch_of(given: Sequence[Any], what: str) -> int:
    """How many directions there are, along the first axis of each array that is given; UsageError where that differs.
    """
    sizes = {np.shape(g)[0] if np.ndim(g) else -1 for g in given if g is not None}
    if len(sizes) != 1 or -1 in sizes:
        told = ", ".join(str(np.shape(g)) for g in given if g is not None) or "none"
        raise UsageError(f"{what} with no common first axis: shapes {told}", code="SG205",
                         help="with batched=True each has an axis more in front, of the same length; None is zero")
    return sizes.pop()


def fitting(outputs: Sequence[tuple[tuple[int, ...], np.dtype]], given: Sequence[Any], there: bool = False) -> Any:
    """The same for outputs of these shapes and dtypes. A rank that returns None may give None for it."""
    if not outputs and len(given) == 1 and given[0] is None:
        return fitting(outputs, (), there)
    if len(given) != len(outputs):
        raise OutputError(f"{len(outputs)} outputs, {len(given)} seeds",
                          help="give one seed for each output; the seed of an array is an array: np.asarray(...)")
    seeds = []
    for seed, (shape, dtype) in zip(taken(given, "seed"), outputs, strict=True):
        array = plain(Spec(shape, dtype), there, range(0)) if seed is None else seed if isinstance(seed, Spec) else \
            np.asarray(seed)
        # Nobody casts elements on a device.
        casts = array.dtype == dtype if isinstance(array, DeviceArray) else np.can_cast(array.dtype, dtype, "same_kind")
        if array.shape != shape or not casts:
            raise OutputError(f"a seed of shape {array.shape} and dtype {array.dtype} does not fit an output of shape "
                              f"{shape} and dtype {dtype}")
        seeds.append(array if isinstance(array, Spec) else np.ascontiguousarray(array, dtype).reshape(shape))
    return tuple(seeds)


def listed(args: Any) -> tuple[Any, ...]:
    """The arguments, or their tangents: an array or number in place of a tuple is the only one."""
    alone = hasattr(args, "shape") or isinstance(args, (int, float, complex))
    return (args,) if alone else tuple(args)


def _carrying(bound: Bound) -> list[str]:
    return [n for n, leaf in bound.leaves.items() if is_differentiable(leaf)]


def tangents_of(fn: Callable[..., Any], bound: Bound, tangents: Sequence[Any] | Mapping[str, Any], given: int,
                together: bool = False, batched: bool = False) -> dict[str, Any]:
    """Tangents by name of leaf: one for each of the `given` arguments, or for those left to their defaults as well.

    together: other ranks may have some, so that this one needs none. batched: several of each, along a first axis.
    """
    if not isinstance(tangents, Mapping):
        tangents = by_parameter(fn, bound, listed(tangents), given)
    found, tangents = {}, adopted(tangents)
    spread = [leaf for n, t in tangents.items() for leaf in ([(n, t)] if n in bound.leaves else paths(n, t))]
    for name, t in spread:
        if t is None:
            continue
        if name not in bound.leaves or not is_differentiable(bound.leaves[name]):
            raise UsageError(f"argument {name!r} has no tangent: it is no floating or complex array or number",
                             code="SG204", help=f"those that have one are {', '.join(_carrying(bound)) or 'none'}")
        if np.shape(t)[batched:] != np.shape(bound.leaves[name]) or np.ndim(t) < batched:
            raise UsageError(f"the tangent of {name!r} has shape {np.shape(t)}, the argument "
                             f"{np.shape(bound.leaves[name])}", code="SG205")
        if isinstance(t, DeviceArray) and t.dtype != (kind := plain(bound.leaves[name], True, range(0)).dtype):
            raise UsageError(f"the tangent of {name!r} has elements of {t.dtype}, the argument of {kind}", code="SG212",
                             help="nobody casts elements on a device: cast it yourself")
        t = t if isinstance(t, Spec) else np.asarray(t)
        if not np.can_cast(t.dtype, kind := plain(bound.leaves[name], True, range(0)).dtype, "same_kind"):
            raise UsageError(f"the tangent of {name!r} has elements of {t.dtype}, the argument of {kind}", code="SG205",
                             help="a real argument has real tangents")
        found[name] = t
    if not found and not together:
        raise UsageError("no tangent was given", code="SG205")
    return found
