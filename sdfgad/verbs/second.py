"""Derivatives of gradients: forward over reverse, whoever asks for them.

The gradient of `x -> <s, grad f(x)>` is the Hessian of f times s, as the Hessian is symmetric. So what pulls a
cotangent of a gradient back is what pushes a tangent through it, and both are a tangent of the gradient program.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, bind, refuse_specs
from sdfgad.calls.asked import resolve_wrt
from sdfgad.calls.device_calls import check_place, fetched, handed_on, nameless, on_device
from sdfgad.calls.directions import fitting, plain
from sdfgad.calls.results import one_or_all
from sdfgad.config import config
from sdfgad.errors import OutputError, UnsupportedError, UsageError
from sdfgad.plans.request import Request
from sdfgad.shown import Shown
from sdfgad.verbs.pushforwards import Pushforward, curvature
from sdfgad.verbs.together import refuse_ranks
from sdfgad.verbs.tracebacks import shortened
from sdfgad.verbs.translations import once


class DerivativeFunction(Shown):
    """What a verb makes of a function, and the front end takes for no function of its own."""


def device_of(fn: Any) -> str | None:
    """What a gradient or a compiled function was told with device=."""
    found: str | None = getattr(fn, "options", {}).get("device") if isinstance(fn, Shown) else None
    return found


def refuse_derivatives(fn: Any) -> None:
    """UnsupportedError for what would be one derivative more than there are rules for."""
    if isinstance(fn, DerivativeFunction):
        raise UnsupportedError("the derivative of a derivative in this place", code="SG123",
                               help="grad, value_and_grad, vjp, jvp and jacobian take sdfgad.grad(f), hvp and hessian "
                                    "the function f itself; there are no third derivatives")
    if device_of(fn):  # which says where that function runs, and not where its derivative does
        raise UsageError("the derivative of sdfgad.forward(f, device=...)", code="SG205",
                         help="give it f itself, and device= to the derivative")


@dataclass(frozen=True)
class Differentiated:
    """A gradient function, as one more derivative sees it."""

    fn: Callable[..., Any]
    wrt: Any
    output: Any
    reduce: str | None
    device: str | None
    source: str

    def names(self, bound: Bound) -> tuple[str, ...]:
        """The arguments of the inner gradient."""
        return resolve_wrt(self.fn, bound, self.wrt)

    def single(self, names: Sequence[str]) -> bool:
        """Whether the gradient is one array, and not `Gradients`."""
        return is_single(self.wrt, names)

    def tangent(self, bound: Bound, rows: Sequence[str], along: Mapping[str, Any],
                batch: int | None = None) -> tuple[list[Any], list[Any]]:
        """The gradients by `rows`, and their derivatives along tangents. batch: so many, along a first axis of each."""
        return self._run(self.made(bound, rows, tuple(along), batch), bound, along)

    def _run(self, made: Pushforward, bound: Bound, along: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        with config(device=self.device):
            found = made.run(bound, along)
        gradients, products = ([t[()] if isinstance(t, np.ndarray) and not t.ndim else t for t in made]
                               for made in found)
        return gradients, products

    def made(self, bound: Bound, rows: Sequence[str], along: tuple[str, ...], batch: int | None = None) -> Pushforward:
        """What computes gradients by `rows` and their derivatives along tangents of these arguments."""
        with config(device=self.device):
            check_place(bound)
            request = Request(tuple(rows), self.output, self.reduce)
            return curvature_of(self.fn, bound, request, along, self.source, batch)

    def pushed(self, bound: Bound, along: Mapping[str, Any]) -> tuple[Any, Any]:
        """`(gradient, tangent)`, as `jvp` gives them."""
        names = self.names(bound)
        made = self.tangent(bound, names, along)
        gradient, tangent = (one_or_all(dict(zip(names, m, strict=True)), bound, self.single(names)) for m in made)
        return gradient, tangent

    def pulled(self, made: Pushforward, bound: Bound, seeds: Sequence[Any], wrt: Sequence[str]) -> dict[str, Any]:
        """The cotangents of arguments for one cotangent of each gradient, None for zero. made: what computes the
        gradients by them along all that the gradient is by."""
        names = self.names(bound)
        there = on_device(bound)
        places = [plain(bound.leaves[n], there, range(0)) for n in names]
        along = dict(zip(names, fitting([(p.shape, p.dtype) for p in places], seeds, there), strict=True))
        return dict(zip(wrt, self._run(made, bound, along)[1], strict=True))


def is_single(wrt: Any, names: Sequence[str]) -> bool:
    """Whether what `wrt` asks for is one array."""
    return isinstance(wrt, (str, int)) or (wrt is None and len(names) == 1)


def curvature_of(fn: Callable[..., Any], bound: Bound, request: Request, along: tuple[str, ...],
                 source: str | None, batch: int | None = None) -> Pushforward:
    """The compiled tangent of a gradient program, made once. batch: for so many tangents at once."""
    refuse_ranks("the second derivative", fn, tuple(bound.values.values()), {})
    made: Pushforward = once(fn, ("hvp", bound.signature, along, repr(request), batch),
                             lambda: curvature(fn, bound, request, along, source or "", batch))
    return made


class SecondGradient(DerivativeFunction):
    """The gradient of a gradient, `grad(grad(f))`; fn: the undecorated function. A call gives what `grad` gives."""

    def __init__(self, inner: Differentiated, *, wrt: Any, reduce: str | None, value: bool) -> None:
        functools.update_wrapper(self, inner.fn)
        self.fn, self._inner, self._wrt, self._reduce, self._value = inner.fn, inner, wrt, reduce, value
        self.shown_as = "value_and_grad of the gradient" if value else "grad of the gradient"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        value, gradient = self.value_and_grad(*args, **keywords)
        return (value, gradient) if self._value else gradient

    @shortened
    def value_and_grad(self, *args: Any, **keywords: Any) -> Any:
        """`(value, gradient)` of one call; the value is the inner gradient, or the real part of its sum."""
        bound = bind(self.fn, args, keywords)
        refuse_specs(bound, True)
        inner, outer = self._inner.names(bound), resolve_wrt(self.fn, bound, self._wrt)
        if not self._reduce:
            _check_number(bound, inner)
        there = on_device(bound)
        seeds = {n: plain(bound.leaves[n], there) for n in inner}
        rows = tuple(dict.fromkeys((*inner, *outer)))
        gradients, products = self._inner.tangent(nameless(bound) if there else bound, rows, seeds)
        values = [gradients[rows.index(n)] for n in inner]
        value = float(sum(np.sum(np.real(fetched(v))) for v in values)) if self._reduce else handed_on(
            values[0], bound, inner[0])
        found = {n: handed_on(products[rows.index(n)], bound, n) for n in outer}
        return value, one_or_all(found, bound, is_single(self._wrt, outer))


def _check_number(bound: Bound, names: Sequence[str]) -> None:
    leaf = plain(bound.leaves[names[0]], True, range(0))
    if len(names) > 1 or leaf.shape or leaf.dtype.kind != "f":
        raise OutputError("the gradient is not one real scalar",
                          help='pass reduce="sum", name one number with wrt= of the inner grad, or use sdfgad.hessian '
                               "or sdfgad.vjp")


_OF_FUNCTIONS = ("memory_limit", "plan", "donate", "store", "recompute", "snapshot", "spill", "has_aux", "output",
                 "batched", "distribute", "deterministic", "replicated")
"""Options of gradients that its derivatives do not take."""


def refuse_options(options: Mapping[str, Any]) -> None:
    """UsageError for options that derivatives of gradients have not."""
    # An output of 0 is the first one, and equal to False.
    given = [n for n in _OF_FUNCTIONS if not (options.get(n) is None or options[n] is False or options[n] == ())]
    if given:
        raise UsageError(f"{', '.join(given)} with a derivative of a gradient", code="SG205",
                         help="leave it out: a derivative of a gradient stores what the plan without a limit stores, "
                              "and wrt= of the gradient says what its output is")
