"""Products with the Jacobian of a function: vjp with its transpose, jvp with itself."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sdfgad.api import check_options, refuse_gradients
from sdfgad.calls.arguments import Bound, absent_of, bind, resolve_wrt
from sdfgad.calls.buffers import reusable
from sdfgad.calls.communicators import communicator_of
from sdfgad.calls.directions import seeds_of, tangents_of
from sdfgad.calls.results import one_or_all
from sdfgad.config import chosen_target, config
from sdfgad.memory import parse_bytes
from sdfgad.pipeline import Derivative, Primal, Pushforward, derive, primal, pushforward
from sdfgad.plans.request import Request
from sdfgad.together import Running, agreed
from sdfgad.tracebacks import shortened
from sdfgad.translations import once


@shortened
def vjp(fn: Callable[..., Any], *args: Any, wrt: Any = None, output: Any = None, memory_limit: Any = None,
        device: str | None = None, source: str | None = None) -> tuple[Any, Callable[..., Any]]:
    """`(out, pullback)`: `pullback(seed)` is the cotangent of the arguments for a cotangent of `out`.

    With several outputs pass one seed for each, as a tuple. A seed has the shape of its output and a dtype that casts
    to the output's, or it is an OutputError. What comes back has the shape and dtype of the argument: one array, or
    `Gradients`, as from `grad`, whose other errors are the same here. The pullback keeps copies of the arguments and
    may be called any number of times.
    """
    check_options(fn, None, device, None)
    bound, ranks = bind(fn, args, {}), communicator_of(fn, args, {})
    held = _snapshot(bound)
    # The pullback belongs to the target of now, whatever the settings are when it is called.
    target = chosen_target(device)

    def derived() -> Derivative:
        request = Request(resolve_wrt(fn, bound, wrt, ranks is not None), output, None, False, True,
                          parse_bytes(memory_limit, reusable()), together=ranks is not None)
        made: Derivative = once(fn, ("vjp", bound.signature, repr(request)),
                                lambda: derive(fn, bound, request, source or ""))
        made.check(bound)
        return made

    def based() -> Primal:
        made: Primal = once(fn, ("primal", bound.signature, repr(output)),
                            lambda: primal(fn, bound, output, source or ""))
        return made

    with config(target=target):
        derivative, base = agreed(ranks, derived), agreed(ranks, based)
        with Running(ranks):
            tree, named = base.run(bound, frozenset())
    out = tree if output is None else (tuple(named) if isinstance(output, (tuple, list)) else named[0])
    single = isinstance(wrt, (str, int)) or (wrt is None and len(derivative.request.wrt) == 1)

    def pullback(*seeds: Any) -> Any:
        given = seeds[0] if len(seeds) == 1 and isinstance(seeds[0], (tuple, list)) else seeds
        arrays: list[tuple[np.ndarray, ...]] = []

        def seeded() -> Derivative:
            arrays.append(seeds_of(derivative.outputs, given))
            return derivative

        with config(target=target):
            agreed(ranks, seeded)
            with Running(ranks):
                _, grads = derivative.run(held, frozenset(), arrays[0])
        absent = {} if ranks is None else absent_of(wrt, bound)
        return one_or_all({**grads, **absent}, bound, single)

    return out, pullback


@shortened
def jvp(fn: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any] | Mapping[str, Any], *,
        output: Any = None, source: str | None = None, **keywords: Any) -> tuple[Any, Any]:
    """`(out, tangent)`. tangents: one for each argument (None is zero), or a dict by name of argument.

    A tangent has the shape of its argument; the tangent that comes back has the shape and dtype of `out`. output,
    source: as in `grad`, the first for functions that update an argument in place. keywords: arguments passed by name.
    Raises UsageError for tangents that do not fit or belong to integers, UnsupportedError as `grad` does.
    """
    refuse_gradients(fn)
    ranks = communicator_of(fn, args, keywords)
    found: list[tuple[Bound, dict[str, np.ndarray]]] = []

    def prepare() -> Pushforward:
        bound = bind(fn, tuple(args), keywords)
        found.append((bound, given := tangents_of(bound, tangents, len(args), ranks is not None)))
        made: Pushforward = once(fn, ("jvp", bound.signature, tuple(given), repr(output)),
                                 lambda: pushforward(fn, bound, tuple(given), output, source or ""))
        return made

    code = agreed(ranks, prepare)
    with Running(ranks):
        return code.run(*found[0])


def _snapshot(bound: Bound) -> Bound:
    leaves = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in bound.leaves.items()}
    return Bound(bound.values, leaves, bound.signature)
