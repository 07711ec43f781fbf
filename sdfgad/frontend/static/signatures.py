"""Arguments by place of functions whose rules have fewer parameters: each gets to the parameter that has its name."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Value
from sdfgad.frontend.static.settled import taken

_IN_PART = (zip, enumerate, map, filter, any, all, reversed, iter)
"""What may leave a part of the iterators that it is given."""
_THEMSELVES = (next, sum)
"""Whose rules look at the iterators themselves."""


def by_name(ctx: Context, callee: Value, rule: Callable[..., Value], skipped: int, arguments: Sequence[Value],
            keywords: Mapping[str, Value]) -> tuple[list[Value], dict[str, Value]]:
    """The arguments of `callee` for `rule`, whose first `skipped` parameters are its own.

    From the first parameter on that is another one in the rule, arguments by place become those by name. One that the
    rule does not have is left out if it is what the function of NumPy or SciPy has by default, and refused otherwise.
    Iterators are used up.
    """
    if callee not in _THEMSELVES:
        whole = callee not in _IN_PART and getattr(callee, "__module__", "") != "itertools"
        arguments = [taken(ctx, a, whole) for a in arguments]
    package = str(getattr(callee, "__module__", "")).split(".")[0]
    if package not in ("numpy", "scipy") or isinstance(callee, np.ufunc) or not inspect.isroutine(callee):
        return list(arguments), dict(keywords)
    theirs, common, names = _difference(callee, rule, skipped)
    given, named = list(arguments[:common]), dict(keywords)
    for parameter, value in zip(theirs[common:], arguments[common:], strict=False):
        if parameter.name in names or parameter.name == "out":
            named[parameter.name] = value
        elif value is not parameter.default:
            raise ctx.refuse(f"the argument {parameter.name!r} of {callee.__name__}", "leave it out", "SG101")
    return given + list(arguments[max(common, len(theirs)):]), named


@lru_cache(maxsize=4096)
def _difference(callee: Any, rule: Callable[..., Value], skipped: int) -> tuple[
        tuple[inspect.Parameter, ...], int, frozenset[str]]:
    """The parameters of a function, how many of them the rule has at the same place, and the names of those it has."""
    try:
        theirs = _by_place(callee)
        every = frozenset(inspect.signature(callee).parameters)
    except (TypeError, ValueError):  # what C implements may say nothing of its parameters
        return (), 0, frozenset()
    ours, names = _by_place(rule)[skipped:], frozenset(inspect.signature(rule).parameters)
    for k, (their, our) in enumerate(zip(theirs, ours, strict=False)):
        # Some have another name for the same one.
        if their.name != our.name and (their.name == "out" or their.name in names or our.name in every):
            return theirs, k, names
    free = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(rule).parameters.values())
    return theirs, len(theirs) if free else min(len(ours), len(theirs)), names


def _by_place(function: Any) -> tuple[inspect.Parameter, ...]:
    found = inspect.signature(function).parameters.values()
    return tuple(p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def call_name(callee: Value) -> str:
    """What a message calls a function."""
    return getattr(callee, "__qualname__", None) or getattr(callee, "__name__", None) or str(callee)
