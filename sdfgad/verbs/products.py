"""Products with the Jacobian of a function: cotangents pulled back, tangents pushed forward."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, bind, refuse_specs
from sdfgad.calls.asked import absent_of, asked_wrt, resolve_wrt
from sdfgad.calls.buffers import reusable
from sdfgad.calls.communicators import communicator_of
from sdfgad.calls.device_calls import check_place, copied_there, on_device
from sdfgad.calls.directions import batch_of, in_order, listed, seeds_of, taken, tangents_of
from sdfgad.calls.results import Gradients, one_or_all
from sdfgad.config import for_same_target, settings
from sdfgad.errors import OutputError, UnsupportedError
from sdfgad.frontend import Parsed
from sdfgad.frontend.graphs.function import as_function
from sdfgad.ir.program import Program
from sdfgad.memory import parse_bytes
from sdfgad.plans.request import differentiated, objective_of
from sdfgad.shown import Shown
from sdfgad.trees import contents
from sdfgad.verbs.api import GradFunction
from sdfgad.verbs.options import at_device, check_aux, check_options
from sdfgad.verbs.pipeline import Derivative, Primal, Request, derive, primal
from sdfgad.verbs.pushforwards import Pushforward, pushforward
from sdfgad.verbs.second import is_single, refuse_derivatives, refuse_options
from sdfgad.verbs.together import Running, agreed, refuse_batches
from sdfgad.verbs.tracebacks import shortened
from sdfgad.verbs.translations import once


@shortened
def vjp(fn: Callable[..., Any], *args: Any, wrt: Any = None, argnums: Any = None, output: Any = None,
        has_aux: bool = False, memory_limit: Any = None, device: str | None = None, source: str | None = None,
        **keywords: Any) -> tuple[Any, ...]:
    """`(out, pullback)`: `pullback(seed)` is the cotangent of the arguments for a cotangent of `out`.

    With several outputs pass one seed for each, as a tuple, or in containers like those that the function returns, as
    the tangent of `jvp` is. A seed has the shape of its output and a dtype that casts to the output's, or is None,
    which means zero; else it is an OutputError. What comes back has the shape and dtype of the argument: one array, or
    `Gradients`, as from `grad`, whose other errors are the same here. has_aux: the function returns `(out, aux)`, and
    the call `(out, pullback, aux)`. The pullback keeps copies of the arguments, and of arrays of the host from outside
    of the function. It may be called any number of times; with `batched=True` each seed has an axis more in front, and
    so has what comes back. keywords: arguments passed by name.
    """
    wrt = asked_wrt(wrt, argnums)
    if isinstance(fn, GradFunction):
        refuse_options({"output": output, "has_aux": has_aux, "memory_limit": memory_limit})
        return _pullback_of_gradient(fn, args, keywords, wrt, device)
    fn = as_function(fn)
    check_options(fn, None, device, None)
    check_aux(has_aux, output)
    bound, ranks = bind(fn, args, keywords), communicator_of(fn, args, keywords)
    refuse_specs(bound, True)
    # The pullback belongs to the target of now, whatever the settings are when it is called.
    there = for_same_target(device)

    def derived() -> Derivative:
        check_place(bound)
        limit = parse_bytes(settings(memory_limit=memory_limit).memory_limit, reusable())
        request = Request(resolve_wrt(fn, bound, wrt, ranks is not None), output, None, False, True, limit,
                          together=ranks is not None, aux=has_aux)
        made: Derivative = once(fn, ("vjp", bound.signature, repr(request)),
                                lambda: derive(fn, bound, request, source or ""))
        if ranks is not None:  # what fails fails before anybody sends anything
            made.check(bound)
        return made

    def based() -> Primal:
        made: Primal = once(fn, ("primal", bound.signature, repr(output)),
                            lambda: primal(fn, bound, output, source or ""))
        return made

    with there():
        derivative, base = agreed(ranks, derived), agreed(ranks, based)
        held = copied_there(base.code, bound) if on_device(bound) else _snapshot(bound, derivative.parsed)
        with Running(ranks):
            tree, named = base.run(bound, frozenset())
    out = tree if output is None else (tuple(named) if isinstance(output, (tuple, list)) else named[0])
    absent = {} if ranks is None else absent_of(wrt, bound)
    pullback = Pullback(derivative, held, there, is_single(wrt, derivative.request.wrt), ranks, absent)
    return (out[0], pullback, out[1]) if has_aux else (out, pullback)


class Pullback(Shown):
    """From cotangents of the outputs of a function to those of its arguments, as `vjp` makes it."""

    shown_as = "vjp"

    def __init__(self, derivative: Derivative, held: Bound, there: Callable[[], AbstractContextManager[None]],
                 single: bool, ranks: Any | None, absent: Mapping[str, None]) -> None:
        self._derivative, self._held, self._there, self._single = derivative, held, there, single
        self._ranks, self._absent, self.__name__ = ranks, absent, derivative.parsed.program.name

    @property
    def program(self) -> Program:
        """The function, as it is differentiated."""
        return self._derivative.parsed.program

    @shortened
    def __call__(self, *seeds: Any, batched: bool = False) -> Any:
        """The cotangents of the arguments for one seed of each output, side by side, as one tuple, or in containers
        like those that the function returns.

        batched: each seed has an axis more in front, and so has what comes back: one program for all of them, which
        goes through the function once. OutputError for seeds that do not fit, UsageError where their numbers differ.
        """
        arrays: list[tuple[Any, ...]] = []

        def seeded() -> Derivative:
            derivative, batch = self._derivative, None
            given = taken(self._in_order(seeds), "seed")
            if batched:
                refuse_batches(self._ranks)
                batch = batch_of(given, "seeds")
                made = derivative.batches
                derivative = made.get(batch) or made.setdefault(batch, derivative.of_several(batch))
            arrays.append(seeds_of(derivative.outputs, given, batch, on_device(self._held)))
            return derivative

        with self._there():
            derivative = agreed(self._ranks, seeded)
            with Running(self._ranks):
                _, grads = derivative.run(self._held, frozenset(), arrays[0])
        return one_or_all({**grads, **self._absent}, self._held, self._single)

    def _in_order(self, seeds: tuple[Any, ...]) -> Sequence[Any]:
        """One seed for each output; OutputError for containers that are none of the function's."""
        request, returns = self._derivative.request, self._derivative.parsed.program.returns
        tree = None if request.output is not None else differentiated(objective_of(returns, request))
        given = seeds[0] if len(seeds) == 1 and contents(seeds[0]) is not None else seeds
        made = in_order(tree, given) if contents(tree) is not None else None
        if made is None and not isinstance(given, (tuple, list)):
            raise OutputError(f"seeds in a container that is not like what the function returns: {given!r}")
        return given if made is None else made

    def mapped(self, change: Callable[[Any], Any], found: Any) -> Any:
        """What a call has given, with something else in place of each array."""
        return Gradients({n: change(g) for n, g in found.items()}, self._held.values) if isinstance(found, Gradients) \
            else change(found)


def _each(seeds: tuple[Any, ...]) -> Sequence[Any]:
    """One seed for each output, given side by side or as one tuple."""
    return seeds[0] if len(seeds) == 1 and isinstance(seeds[0], (tuple, list)) else seeds


def _pullback_of_gradient(fn: GradFunction, args: Sequence[Any], keywords: Mapping[str, Any], wrt: Any,
                          device: str | None) -> tuple[Any, ...]:
    """`vjp` of a gradient."""
    check_options(fn.fn, None, device, None)
    inner = fn.differentiated(device)
    bound = bind(inner.fn, args, keywords)
    refuse_specs(bound, True)
    names, there = resolve_wrt(inner.fn, bound, wrt), for_same_target(inner.device)
    made = inner.made(bound, names, inner.names(bound))
    held = copied_there(made.code, bound) if on_device(bound) else _snapshot(bound, made.parsed)

    @shortened
    def pullback(*seeds: Any, batched: bool = False) -> Any:
        if batched:
            raise UnsupportedError("several cotangents of a gradient at once", code="SG123",
                                   help="give one after the other, or use sdfgad.hessian")
        with there():
            found = inner.pulled(made, held, _each(seeds), names)
        return one_or_all(found, held, is_single(wrt, names))

    same = fn if device is None else GradFunction(fn.fn, **{**fn.options, "device": device})
    return same(*args, **keywords), pullback


@shortened
@at_device
def jvp(fn: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any] | Mapping[str, Any], *,
        output: Any = None, batched: bool = False, device: str | None = None, source: str | None = None,
        **keywords: Any) -> tuple[Any, Any]:
    """`(out, tangent)`. args: a tuple, or the only argument. tangents: one for each argument (None is zero), or a dict
    by name of argument.

    A tangent has the shape of its argument; the tangent that comes back has the shape and dtype of `out`. batched: each
    tangent has an axis more in front, and so has what comes back; the function itself is computed once. output,
    device, source: as in `grad`, the first for functions that update an argument in place. keywords: arguments passed
    by name.
    Raises UsageError for tangents that do not fit or belong to integers, UnsupportedError as `grad` does.
    """
    args = listed(args)
    if isinstance(fn, GradFunction):
        refuse_options({"output": output, "batched": batched})
        inner = fn.differentiated(device)
        bound = bind(inner.fn, args, keywords)
        refuse_specs(bound, True)
        return inner.pushed(bound, tangents_of(inner.fn, bound, tangents, len(args)))
    fn = as_function(fn)
    refuse_derivatives(fn)
    ranks = communicator_of(fn, args, keywords)
    found: list[tuple[Bound, dict[str, np.ndarray]]] = []

    def prepare() -> Pushforward:
        if batched:
            refuse_batches(ranks)
        bound = bind(fn, args, keywords)
        refuse_specs(bound, True)
        check_place(bound)
        given = tangents_of(fn, bound, tangents, len(args), ranks is not None, batched)
        found.append((bound, given))
        names, batch = tuple(given), batch_of(tuple(given.values()), "tangents") if batched else None
        made: Pushforward = once(fn, ("jvp", bound.signature, names, repr(output), batch),
                                 lambda: pushforward(fn, bound, names, output, source or "", batch))
        return made

    code = agreed(ranks, prepare)
    with Running(ranks):
        return code.run(*found[0])


def _snapshot(bound: Bound, parsed: Parsed) -> Bound:
    """Copies of the arguments, and of what the function takes from outside."""
    leaves = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in bound.leaves.items()}
    theirs, constants = [a for _, a in parsed.outside], parsed.program.constants
    outside = {n: a.copy() for n, a in constants.items() if any(np.may_share_memory(a, t) for t in theirs)}
    return Bound(bound.values, leaves, bound.signature, outside)
