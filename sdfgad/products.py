"""Products with the Jacobian of a function: cotangents pulled back, tangents pushed forward."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sdfgad.api import GradFunction, check_aux, check_options
from sdfgad.calls.arguments import Bound, asked_wrt, bind, resolve_wrt
from sdfgad.calls.buffers import reusable
from sdfgad.calls.directions import seeds_of, tangents_of
from sdfgad.calls.results import one_or_all
from sdfgad.config import chosen_target, config
from sdfgad.memory import parse_bytes
from sdfgad.pipeline import Derivative, Primal, Pushforward, Request, derive, primal, pushforward
from sdfgad.second import is_single, refuse_derivatives, refuse_options
from sdfgad.tracebacks import shortened
from sdfgad.translations import once


@shortened
def vjp(fn: Callable[..., Any], *args: Any, wrt: Any = None, argnums: Any = None, output: Any = None,
        has_aux: bool = False, memory_limit: Any = None, device: str | None = None,
        source: str | None = None) -> tuple[Any, ...]:
    """`(out, pullback)`: `pullback(seed)` is the cotangent of the arguments for a cotangent of `out`.

    With several outputs pass one seed for each, as a tuple. A seed has the shape of its output and a dtype that casts
    to the output's, or is None, which means zero; else it is an OutputError. What comes back has the shape and dtype of
    the argument: one array, or `Gradients`, as from `grad`, whose other errors are the same here. has_aux: the function
    returns `(out, aux)`, and the call `(out, pullback, aux)`. The pullback keeps copies of the arguments and may be
    called any number of times.
    """
    wrt = asked_wrt(wrt, argnums)
    if isinstance(fn, GradFunction):
        refuse_options({"output": output, "has_aux": has_aux, "memory_limit": memory_limit})
        return _pullback_of_gradient(fn, args, wrt, device)
    check_options(fn, None, device, None)
    check_aux(has_aux, output)
    bound = bind(fn, args, {})
    held = _snapshot(bound)
    names = resolve_wrt(fn, bound, wrt)
    request = Request(names, output, None, False, True, parse_bytes(memory_limit, reusable()), aux=has_aux)
    # The pullback belongs to the target of now, whatever the settings are when it is called.
    target = chosen_target(device)
    with config(target=target):
        derivative: Derivative = once(fn, ("vjp", bound.signature, repr(request)),
                                      lambda: derive(fn, bound, request, source or ""))
        base: Primal = once(fn, ("primal", bound.signature, repr(output)),
                            lambda: primal(fn, bound, output, source or ""))
        tree, named = base.run(bound, frozenset())
    out = tree if output is None else (tuple(named) if isinstance(output, (tuple, list)) else named[0])
    single = is_single(wrt, names)

    def pullback(*seeds: Any) -> Any:
        with config(target=target):
            _, grads = derivative.run(held, frozenset(), seeds_of(derivative.outputs, _each(seeds)))
        return one_or_all(grads, bound, single)

    return (out[0], pullback, out[1]) if has_aux else (out, pullback)


def _each(seeds: tuple[Any, ...]) -> Sequence[Any]:
    """One seed for each output, given side by side or as one tuple."""
    return seeds[0] if len(seeds) == 1 and isinstance(seeds[0], (tuple, list)) else seeds


def _pullback_of_gradient(fn: GradFunction, args: Sequence[Any], wrt: Any, device: str | None) -> tuple[Any, ...]:
    """`vjp` of a gradient."""
    check_options(fn.fn, None, device, None)
    inner = fn.differentiated(device)
    held = _snapshot(bind(inner.fn, args, {}))
    names, target = resolve_wrt(inner.fn, held, wrt), chosen_target(inner.device)

    @shortened
    def pullback(*seeds: Any) -> Any:
        with config(target=target):
            found = inner.pulled(held, _each(seeds), names)
        return one_or_all(found, held, is_single(wrt, names))

    return fn(*args), pullback


@shortened
def jvp(fn: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any] | Mapping[str, Any], *,
        output: Any = None, source: str | None = None, **keywords: Any) -> tuple[Any, Any]:
    """`(out, tangent)`. tangents: one for each argument (None is zero), or a dict by name of argument.

    A tangent has the shape of its argument; the tangent that comes back has the shape and dtype of `out`. output,
    source: as in `grad`, the first for functions that update an argument in place. keywords: arguments passed by name.
    Raises UsageError for tangents that do not fit or belong to integers, UnsupportedError as `grad` does.
    """
    if isinstance(fn, GradFunction):
        refuse_options({"output": output})
        inner = fn.differentiated()
        bound = bind(inner.fn, tuple(args), keywords)
        return inner.pushed(bound, tangents_of(bound, tangents, len(args)))
    refuse_derivatives(fn)
    bound = bind(fn, tuple(args), keywords)
    given = tangents_of(bound, tangents, len(args))
    names = tuple(given)
    code: Pushforward = once(fn, ("jvp", bound.signature, names, repr(output)),
                              lambda: pushforward(fn, bound, names, output, source or ""))
    return code.run(bound, given)


def _snapshot(bound: Bound) -> Bound:
    leaves = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in bound.leaves.items()}
    return Bound(bound.values, leaves, bound.signature)
