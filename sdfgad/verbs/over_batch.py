"""Batches: where their axis lies in the arguments of a call, and the sum of all elements, which is differentiated."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import update_wrapper
from inspect import Parameter
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, bind, left_to_defaults, refuse_specs
from sdfgad.calls.asked import resolve_wrt
from sdfgad.errors import UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.frontend.libraries.batches import BatchedFunction, SummedBatch
from sdfgad.shown import Shown
from sdfgad.trees import contents, paths, step, with_leaves
from sdfgad.verbs.compiled import Compiled
from sdfgad.verbs.second import DerivativeFunction


class Vmapped(Shown, BatchedFunction):
    """What `vmap` makes of a function."""

    shown_as = "vmap"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._compiled = Compiled(self)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        return self._compiled(*args, **keywords)


class BatchObjective(SummedBatch):
    """The sum over a batch, which is differentiated."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return Compiled(self)(*args, **keywords)


class OverBatch(DerivativeFunction):
    """Derivatives of all elements of a batch. What all elements share and is differentiated by is given to each, as the
    derivative by it has as many parts.

    fn: the undecorated function.
    """

    def __init__(self, fn: Callable[..., Any], shown_as: str, in_axes: Any, out_axes: Any) -> None:
        update_wrapper(self, fn)
        self.fn, self.shown_as, self._in_axes, self._out_axes = fn, f"vmap of {shown_as}", in_axes, out_axes
        self._kinds = {n: p.kind for n, p in inspect.signature(fn).parameters.items()}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError

    def asked(self, args: Sequence[Any], keywords: Mapping[str, Any],
              *wrt: Any) -> tuple[Bound, Mapping[str, int | None], tuple[tuple[str, ...], ...]]:
        """The arguments of a call, the axes of the batch in them, and what is differentiated by, for each `wrt`."""
        bound = bind(self.fn, args, keywords)
        refuse_specs(bound, True)
        axes = dict(_axes(bound, self._in_axes, self._kinds, left_to_defaults(self.fn, args, keywords)))
        size = _size(bound, axes)
        names = tuple(resolve_wrt(self.fn, element(bound, axes), one) for one in wrt)
        shared = [n for n in dict.fromkeys(n for some in names for n in some) if axes[n] is None]
        if there := [n for n in shared if isinstance(bound.leaves[n], DeviceArray)]:
            raise UsageError(f"the gradient by {there[0]!r} for each element of a batch, which all of them share, on a "
                             "graphics processor", code="SG212", help="give each element a copy of it")
        leaves = {n: np.broadcast_to(v, (size, *np.shape(v))) if n in shared else v for n, v in bound.leaves.items()}
        axes.update(dict.fromkeys(shared, 0))
        values = {n: with_leaves(n, v, leaves) for n, v in bound.values.items()}
        return Bound(values, leaves, ()), axes, names

    def places(self, bound: Bound, axes: Mapping[str, int | None]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Where the batch lies in the arguments, as `in_axes` and `named` of a `BatchedFunction`."""
        found = {n: with_leaves(n, v, axes) if contents(v) is not None or n in axes else None
                 for n, v in bound.values.items()}
        by_place: list[Any] = []
        named: dict[str, Any] = {}
        for name, axis in found.items():
            if self._kinds[name] is Parameter.VAR_POSITIONAL:
                by_place.extend(axis or ())
            elif self._kinds[name] is Parameter.VAR_KEYWORD:
                named.update(axis or {})
            elif self._kinds[name] is Parameter.KEYWORD_ONLY:
                named[name] = axis
            else:
                by_place.append(axis)
        return tuple(by_place), named


def moved(array: Any, source: int, place: int) -> Any:
    """An array with one axis somewhere else; one of a device stays as it is."""
    if isinstance(array, (np.ndarray, np.generic, float, complex, list, tuple)):
        return np.moveaxis(np.asarray(array), source, place)
    if source != place:
        raise UsageError("a batch along another axis than the first one, of an array on a graphics processor",
                         code="SG212", help="leave in_axes and out_axes at 0, and turn the array yourself")
    return array


def _axes(bound: Bound, in_axes: Any, kinds: Mapping[str, Any],
          left: Collection[str]) -> Iterator[tuple[str, int | None]]:
    """The axis of the batch in each leaf of the arguments. kinds: of the parameters. left: to defaults."""
    given = _given(bound, in_axes, kinds, left) if isinstance(in_axes, (tuple, list)) else None
    for name, value in bound.values.items():
        axis = None if name in left else in_axes if given is None else given.get(name, 0)
        yield from ((n, a) for n, a in _leaf_axes(name, value, axis) if n in bound.leaves)


def _given(bound: Bound, in_axes: Sequence[Any], kinds: Mapping[str, Any], left: Collection[str]) -> dict[str, Any]:
    """What a tuple of axes says of the parameters that take a place, those behind a star together."""
    places = [n for n in bound.values if kinds[n] not in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD)]
    starred = [n for n in places if kinds[n] is Parameter.VAR_POSITIONAL]
    parts = [(n, v) for n in places for v in (bound.values[n] if n in starred else (bound.values[n],))]
    count = len(parts)
    untold = any(np.ndim(leaf) for n, v in parts[len(in_axes):] if n not in left for _, leaf in paths(n, v))
    if untold or len(in_axes) > count:
        raise UsageError(f"in_axes with {len(in_axes)} entries for {count} arguments", code="SG205",
                         help="None stands for an argument that all elements share")
    each = [*in_axes, *[None] * (count - len(in_axes))]
    return dict(zip(places, each, strict=False)) | {n: tuple(each[len(places) - 1:]) for n in starred}


def _leaf_axes(name: str, value: Any, axis: Any) -> Iterator[tuple[str, int | None]]:
    inside, entries = contents(value), contents(axis)
    if inside is None or entries is None:
        yield from ((n, _axis(n, v, axis)) for n, v in paths(name, value))
        return
    if list(inside) != list(entries):
        raise UsageError(f"in_axes of {name} is built in another way than the argument", code="SG205")
    for key, item in inside.items():
        yield from _leaf_axes(name + step(type(value), key), item, entries[key])


def _axis(name: str, value: Any, axis: Any) -> int | None:
    """Numbers are the same for all elements."""
    if axis is None or not isinstance(value, (np.ndarray, DeviceArray)) or not value.shape:
        return None
    if not isinstance(axis, int) or isinstance(axis, bool) or not -value.ndim <= axis < value.ndim:
        raise UsageError(f"axis {axis!r} of {name}, which has {value.ndim} axes", code="SG205")
    return axis % value.ndim


def _size(bound: Bound, axes: Mapping[str, int | None]) -> int:
    found = {n: bound.leaves[n].shape[axis] for n, axis in axes.items() if axis is not None}
    if len(set(found.values())) != 1:
        told = ", ".join(f"{n} of {name}" for name, n in found.items()) or "none"
        raise UsageError(f"a batch whose arguments have no common number of elements: {told}", code="SG205",
                         help="in_axes says which axis of each argument is that of the batch")
    return next(iter(found.values()))


def element(bound: Bound, axes: Mapping[str, int | None]) -> Bound:
    """The arguments of one element, as far as their kinds go."""
    leaves = {n: v if (axis := axes[n]) is None else np.empty((*v.shape[:axis], *v.shape[axis + 1:]), v.dtype)[()]
              for n, v in bound.leaves.items()}
    return Bound({n: with_leaves(n, v, leaves) for n, v in bound.values.items()}, leaves, ())
