"""Functions and gradients for batches: `vmap`."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from sdfgad.api import GradFunction
from sdfgad.calls.arguments import Bound, Leaves, as_called, bind, left_to_defaults, refuse_specs, resolve_wrt
from sdfgad.calls.directions import taken
from sdfgad.calls.results import one_or_all
from sdfgad.checkpoint.plan import Plan
from sdfgad.compiled import Compiled
from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.frontend.batches import BatchedFunction, SummedBatch
from sdfgad.frontend.graphs.function import GraphFunction, as_function
from sdfgad.products import Pullback
from sdfgad.second import DerivativeFunction, is_single
from sdfgad.shown import Shown
from sdfgad.tracebacks import shortened
from sdfgad.trees import contents, paths, step, with_leaves


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """A function for a batch, as `vmap(f)(xs)`, from one for a single element of it; compiled as one program.

    in_axes: where the axis of the batch lies in the arguments; None for an argument that all elements share. One number
    for all, a tuple with one entry for each argument, or in place of an entry a container like the argument. Numbers,
    flags and texts are the same for all elements. out_axes: where it lies in the results, a number or a container like
    the result. Arguments passed by name alone have it in front, if in_axes is a tuple. Arrays that are defaults are
    shared by all elements where a call leaves them to that.

    fn may be a function, a gradient (`vmap(grad(f))` gives the gradient of every element, also by arguments that all
    share), or the pullback of `vjp`, which then takes several seeds. What comes back may be differentiated like any
    function, and called inside of one.

    Raises UsageError and UnsupportedError for axes that do not fit, and what the function itself raises.
    """
    if isinstance(fn, Pullback):
        return _several_seeds(fn, in_axes, out_axes)
    if isinstance(fn, GradFunction):
        return BatchedGradient(fn, in_axes, out_axes)
    fn = as_function(fn)
    if isinstance(fn, DerivativeFunction):
        raise UnsupportedError("a batch of matrices of derivatives, or of derivatives of a gradient", code="SG123",
                               help="call it for each element, np.stack([h(x) for x in xs]): it is compiled once; "
                                    "sdfgad.jvp of sdfgad.vmap(f) takes a direction for all elements")
    if isinstance(fn, GraphFunction):
        raise UnsupportedError(f"vmap of {fn.__name__}, a graph of DaCe", code="SG123",
                               help="write the batch as a map in the graph, or call pullbacks with batched=True")
    if not callable(fn):
        raise UsageError(f"{fn!r} is not a function", code="SG205")
    if isinstance(fn, Compiled) and fn.options["distribute"] is not None:
        raise UsageError("vmap of a distributed function", code="SG205", help="give it the function itself")
    return Vmapped(fn.fn if isinstance(fn, Compiled) else fn, in_axes, out_axes)


class Vmapped(Shown, BatchedFunction):
    """What `vmap` makes of a function."""

    shown_as = "vmap"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._compiled = Compiled(self)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        return self._compiled(*args, **keywords)


class _Objective(SummedBatch):
    """The sum over a batch, which is differentiated."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return Compiled(self)(*args, **keywords)


def _several_seeds(pullback: Pullback, in_axes: Any, out_axes: Any) -> Callable[..., Any]:
    def pulled(*seeds: Any) -> Any:
        """The cotangents of the arguments for a batch of seeds."""
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(seeds)
        if len(axes) != len(seeds) or not all(isinstance(a, int) for a in (*axes, out_axes)):
            raise UsageError(f"in_axes={in_axes!r}, out_axes={out_axes!r} for {len(seeds)} seeds", code="SG205",
                             help="a pullback takes one axis for each seed")
        found = pullback(*(None if s is None else _moved(s, a, 0)
                           for s, a in zip(taken(seeds, "seed"), axes, strict=True)), batched=True)
        return pullback.mapped(lambda g: _moved(g, 0, out_axes), found)

    return pulled


_NOT_OF_BATCHES = ("plan", "donate", "spill", "distribute")


class BatchedGradient(DerivativeFunction):
    """The gradients of all elements of a batch, as `vmap(grad(f))` makes them: one program, which is that of the
    gradient of the sum over the batch. What all elements share is given to each, as the gradient by it has as many
    parts.

    fn: the undecorated function. plan(*args): what a call will store.
    """

    def __init__(self, gradient: GradFunction, in_axes: Any, out_axes: Any) -> None:
        update_wrapper(self, gradient.fn)
        self.fn, self._in_axes, self._out_axes = gradient.fn, in_axes, out_axes
        self.shown_as = f"vmap of {gradient.shown_as}"
        self._options = gradient.options
        given = [n for n in _NOT_OF_BATCHES if self._options[n]]
        if given or isinstance(self._options["output"], (str, tuple, list)) or not isinstance(out_axes, int):
            raise UsageError(f"vmap of a gradient with {', '.join(given) or 'this output= or out_axes'}", code="SG205",
                             help="leave it out; output takes one position, out_axes one number")
        self._made: dict[Any, GradFunction] = {}
        self._by_name = frozenset(n for n, p in inspect.signature(self.fn).parameters.items()
                                  if p.kind is inspect.Parameter.KEYWORD_ONLY)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        return self._called(args, keywords, self._options["value"])

    def value_and_grad(self, *args: Any, **keywords: Any) -> Any:
        """`(values, gradients)` of one call."""
        __tracebackhide__ = True
        return self._called(args, keywords, True)

    @shortened
    def plan(self, *args: Any, **keywords: Any) -> Plan:
        """What a call with these arrays will store; nothing is compiled or allocated."""
        made, bound, _, _ = self._asked(args, keywords)
        call, named = as_called(self.fn, bound)
        return made.plan(*call, **named)

    @shortened
    def _called(self, args: Sequence[Any], keywords: Mapping[str, Any], value: bool) -> Any:
        made, bound, axes, names = self._asked(args, keywords)
        call, named = as_called(self.fn, bound)
        (_, found), grads = made.value_and_grad(*call, **named)
        moved = {n: _moved(grads[n], axes[n] or 0, self._out_axes) for n in names}
        gradient = one_or_all(moved, bound, is_single(self._options["wrt"], names))
        if self._options["has_aux"]:
            return (found, gradient) if value else (gradient, found[1])
        if value and self._options["reduce"]:
            raise UsageError('the values of a batch with reduce="sum"', code="SG205",
                             help="let the function return the sum for each element")
        return (found, gradient) if value else gradient

    def _asked(self, args: Sequence[Any],
               keywords: Mapping[str, Any]) -> tuple[GradFunction, Bound, Mapping[str, int | None], tuple[str, ...]]:
        """The gradient of the sum, its arguments, the axes of the batch in them, and what is differentiated by."""
        bound = bind(self.fn, args, keywords)
        refuse_specs(bound, True)
        axes = dict(_axes(bound, self._in_axes, self._by_name, left_to_defaults(self.fn, args, keywords)))
        size = _size(bound, axes)
        names = resolve_wrt(self.fn, _element(bound, axes), self._options["wrt"])
        shared = [n for n in names if axes[n] is None]
        if there := [n for n in shared if isinstance(bound.leaves[n], DeviceArray)]:
            raise UsageError(f"the gradient by {there[0]!r} for each element of a batch, which all of them share, on a "
                             "graphics processor", code="SG212", help="give each element a copy of it")
        leaves = {n: np.broadcast_to(v, (size, *np.shape(v))) if n in shared else v for n, v in bound.leaves.items()}
        axes.update(dict.fromkeys(shared, 0))
        values = {n: with_leaves(n, v, leaves) for n, v in bound.values.items()}
        return self._summed(bound, axes, names), Bound(values, leaves, ()), axes, names

    def _summed(self, bound: Bound, axes: Mapping[str, int | None], names: tuple[str, ...]) -> GradFunction:
        key = (tuple(axes.items()), names)
        if key not in self._made:
            asked = ("wrt", "output", "reduce", "has_aux", "value")
            options = {n: v for n, v in self._options.items() if n not in asked}
            found = {n: with_leaves(n, v, axes) if contents(v) is not None or n in axes else None
                     for n, v in bound.values.items()}
            of = _Objective(self.fn, tuple(a for n, a in found.items() if n not in self._by_name), self._out_axes,
                            {n: found[n] for n in self._by_name & found.keys()}, self._options["output"],
                            self._options["reduce"] is not None, self._options["has_aux"])
            self._made[key] = GradFunction(of, wrt=Leaves(names), has_aux=True, **options)
        return self._made[key]


def _moved(array: Any, source: int, place: int) -> Any:
    """An array with one axis somewhere else; one of a device stays as it is."""
    if isinstance(array, (np.ndarray, np.generic, float, complex, list, tuple)):
        return np.moveaxis(np.asarray(array), source, place)
    if source != place:
        raise UsageError("a batch along another axis than the first one, of an array on a graphics processor",
                         code="SG212", help="leave in_axes and out_axes at 0, and turn the array yourself")
    return array


def _axes(bound: Bound, in_axes: Any, by_name: Collection[str],
          left: Collection[str]) -> Iterator[tuple[str, int | None]]:
    """The axis of the batch in each leaf of the arguments. by_name: those that take no place. left: to defaults."""
    places = [n for n in bound.values if n not in by_name]
    each = isinstance(in_axes, (tuple, list))
    if each and len(in_axes) > len(places):
        raise UsageError(f"in_axes with {len(in_axes)} entries for {len(places)} arguments", code="SG205")
    given = dict.fromkeys(places) | dict(zip(places, in_axes, strict=False)) if each else {}
    for name, value in bound.values.items():
        axis = None if name in left else given.get(name, 0) if each else in_axes
        yield from ((n, a) for n, a in _leaf_axes(name, value, axis) if n in bound.leaves)


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


def _element(bound: Bound, axes: Mapping[str, int | None]) -> Bound:
    """The arguments of one element, as far as their kinds go."""
    leaves = {n: v if (axis := axes[n]) is None else np.empty((*v.shape[:axis], *v.shape[axis + 1:]), v.dtype)[()]
              for n, v in bound.leaves.items()}
    return Bound({n: with_leaves(n, v, leaves) for n, v in bound.values.items()}, leaves, ())
