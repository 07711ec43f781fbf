"""Functions and gradients for batches: `vmap`."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sdfgad.calls.arguments import Bound, as_called
from sdfgad.calls.asked import Leaves
from sdfgad.calls.directions import taken
from sdfgad.calls.results import one_or_all
from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.frontend.graphs.function import GraphFunction, as_function
from sdfgad.plans.plan import Plan
from sdfgad.verbs.api import GradFunction
from sdfgad.verbs.batched_matrices import BatchedMatrix
from sdfgad.verbs.compiled import Compiled
from sdfgad.verbs.matrices import MatrixFunction
from sdfgad.verbs.over_batch import BatchObjective, OverBatch, Vmapped, moved
from sdfgad.verbs.products import Pullback
from sdfgad.verbs.second import DerivativeFunction, is_single
from sdfgad.verbs.tracebacks import shortened


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, device: str | None = None) -> Any:
    """A function for a batch, as `vmap(f)(xs)`, from one for a single element of it; compiled as one program.

    in_axes: where the axis of the batch lies in the arguments; None for an argument that all elements share. One number
    for all, a tuple with one entry for each argument, or in place of an entry a container like the argument. Numbers,
    flags and texts are the same for all elements. out_axes: where it lies in the results, a number or a container like
    the result. Arguments passed by name alone have it in front, if in_axes is a tuple. Arrays that are defaults are
    shared by all elements where a call leaves them to that.

    fn may be a function, a gradient (`vmap(grad(f))` gives the gradient of every element, also by arguments that all
    share), what `hessian` and `jacobian` make (the matrix of every element, by as many products as for one), or the
    pullback of `vjp`, which then takes several seeds. What comes back of a function may be differentiated like any, and
    called inside of one. device: no option here; a batch is computed where the settings say, and its gradient where
    the one of `grad` does.

    Raises UsageError and UnsupportedError for axes that do not fit, and what the function itself raises.
    """
    if device is not None:
        raise UsageError("vmap with device=", code="SG205", help="sdfgad.forward(sdfgad.vmap(f), device=...) and "
                         "sdfgad.vmap(sdfgad.grad(f, device=...)) say where they run")
    if isinstance(fn, Pullback):
        return _several_seeds(fn, in_axes, out_axes)
    if isinstance(fn, GradFunction):
        return BatchedGradient(fn, in_axes, out_axes)
    fn = as_function(fn)
    if isinstance(fn, MatrixFunction):
        return BatchedMatrix(fn, in_axes, out_axes)
    if isinstance(fn, DerivativeFunction):
        raise UnsupportedError("a batch of derivatives of a gradient", code="SG123",
                               help="call it for each element, np.stack([h(x) for x in xs]): it is compiled once; "
                                    "sdfgad.vmap(sdfgad.hessian(f)) gives all second derivatives")
    if isinstance(fn, GraphFunction):
        raise UnsupportedError(f"vmap of {fn.__name__}, a graph of DaCe", code="SG123",
                               help="write the batch as a map in the graph, or call pullbacks with batched=True")
    if not callable(fn):
        raise UsageError(f"{fn!r} is not a function", code="SG205")
    if isinstance(fn, Compiled) and (fn.options["distribute"] is not None or fn.options["device"]):
        raise UsageError("vmap of a function that is distributed, or has a device", code="SG205",
                         help="give it the function itself")
    return Vmapped(fn.fn if isinstance(fn, Compiled) else fn, in_axes, out_axes)


def _several_seeds(pullback: Pullback, in_axes: Any, out_axes: Any) -> Callable[..., Any]:
    def pulled(*seeds: Any) -> Any:
        """The cotangents of the arguments for a batch of seeds."""
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(seeds)
        if len(axes) != len(seeds) or not all(isinstance(a, int) for a in (*axes, out_axes)):
            raise UsageError(f"in_axes={in_axes!r}, out_axes={out_axes!r} for {len(seeds)} seeds", code="SG205",
                             help="a pullback takes one axis for each seed")
        found = pullback(*(None if s is None else moved(s, a, 0)
                           for s, a in zip(taken(seeds, "seed"), axes, strict=True)), batched=True)
        return pullback.mapped(lambda g: moved(g, 0, out_axes), found)

    return pulled


_NOT_OF_BATCHES = ("plan", "donate", "spill", "distribute")


class BatchedGradient(OverBatch):
    """The gradients of all elements of a batch, as `vmap(grad(f))` makes them: one program, which is that of the
    gradient of the sum over the batch. plan(*args): what a call will store.
    """

    def __init__(self, gradient: GradFunction, in_axes: Any, out_axes: Any) -> None:
        super().__init__(gradient.fn, gradient.shown_as, in_axes, out_axes)
        self._options = gradient.options
        given = [n for n in _NOT_OF_BATCHES if self._options[n]]
        if given or isinstance(self._options["output"], (str, tuple, list)) or not isinstance(out_axes, int):
            raise UsageError(f"vmap of a gradient with {', '.join(given) or 'this output= or out_axes'}", code="SG205",
                             help="leave it out; output takes one position, out_axes one number")
        self._made: dict[Any, GradFunction] = {}

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
        bound, axes, (names,) = self.asked(args, keywords, self._options["wrt"])
        call, named = as_called(self.fn, bound)
        return self._summed(bound, axes, names).plan(*call, **named)

    @shortened
    def _called(self, args: Sequence[Any], keywords: Mapping[str, Any], value: bool) -> Any:
        bound, axes, (names,) = self.asked(args, keywords, self._options["wrt"])
        call, named = as_called(self.fn, bound)
        (_, found), grads = self._summed(bound, axes, names).value_and_grad(*call, **named)
        each = {n: moved(grads[n], axes[n] or 0, self._out_axes) for n in names}
        gradient = one_or_all(each, bound, is_single(self._options["wrt"], names))
        if self._options["has_aux"]:
            return (found, gradient) if value else (gradient, found[1])
        if value and self._options["reduce"]:
            raise UsageError('the values of a batch with reduce="sum"', code="SG205",
                             help="let the function return the sum for each element")
        return (found, gradient) if value else gradient

    def _summed(self, bound: Bound, axes: Mapping[str, int | None], names: tuple[str, ...]) -> GradFunction:
        key = (tuple(axes.items()), names)
        if key not in self._made:
            asked = ("wrt", "output", "reduce", "has_aux", "value")
            options = {n: v for n, v in self._options.items() if n not in asked}
            in_axes, by_name = self.places(bound, axes)
            of = BatchObjective(self.fn, in_axes, self._out_axes, by_name, self._options["output"],
                           self._options["reduce"] is not None, self._options["has_aux"])
            self._made[key] = GradFunction(of, wrt=Leaves(names), has_aux=True, **options)
        return self._made[key]
