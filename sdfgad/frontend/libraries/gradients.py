"""Gradients inside of functions: `sdfgad.grad(f)(x, w)`, of functions that are made in there or outside.

g = pulled(1, x..., read...)   of the routine   x... -> f(x..., w)

Forces of an energy in a loop over time steps, slopes that a loss compares with data. What comes out are statements like
any other once derivatives of routines are written out (`reverse/written_out.py`), and differentiated with the program
around them: second derivatives, reverse over reverse or forward over reverse.
"""
from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.libraries.routines import Translated, derivatives, routine, stored
from sdfgad.frontend.state.context import Context, held
from sdfgad.frontend.state.values import Applied, ArrayValue, Function, ListValue, Record, Value, ViewValue, is_number
from sdfgad.ir.own import PULLED

CODE = "SG101"
INSIDE = ("grad", "value_and_grad")
"""What may be called inside of functions."""
_CHOSEN = ("wrt", "argnums", "reduce")
"""Options that say which gradient it is; all others say how a call of its own takes place."""


@dataclass(eq=False)
class GradientInside(Translated):
    """The gradient of `function`, and its value before it if `value` says so. wrt: names or positions."""

    function: Callable[..., Any]
    wrt: Any = None
    reduce: bool = False
    value: bool = False

    def __post_init__(self) -> None:
        self.stand_for(self.function)

    def apply(self, ctx: Context, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        given = {n: kept(ctx, v) for n, v in self._bound(ctx, arguments, keywords).items()}
        objective = partial(self._objective, ctx, len(arguments))
        chosen = self._chosen(ctx, given)
        single = isinstance(self.wrt, (str, int)) or self.wrt is None and len(chosen) == 1
        with held(ctx, *given.values()), derivatives(ctx, True):
            places = {n: stored(ctx, as_array(ctx, given[n]), "place") for n in chosen}
            made = self._gradients(ctx, places, lambda own: objective({**given, **own}))
        gradient = made[0] if single else _named(chosen, made)
        if not self.value:
            return gradient
        with held(ctx, *given.values(), *made):  # the function may work in place on what the gradient got a copy of
            own = {n: ctx.invoke(ctx, np.copy, [p], {}) for n, p in places.items() if p.shape}
            return objective({**given, **own}), gradient

    def _gradients(self, ctx: Context, places: Mapping[str, ViewValue],
                   objective: Callable[[Mapping[str, Value]], Value]) -> list[ViewValue]:
        """Those of a function of values at places."""
        of = routine(ctx, self._name, list(places.values()),
                     lambda *v: [objective(dict(zip(places, v, strict=True)))], code=CODE)
        builder = ctx.builder
        one = stored(ctx, as_array(ctx, of.routine.arrays[of.routine.gives[0] or ""].dtype.type(1)), "seed")
        outs = [builder.view(builder.declare(p.shape, p.dtype, "gradient"), p.shape, scalar=not p.shape)
                for p in places.values()]
        ins = (one.view, *(p.view for p in places.values()), *of.read)
        builder.library(PULLED, tuple(v.view for v in outs), ins, of=of.routine, by=of.routine.takes)
        return outs

    def _objective(self, ctx: Context, count: int, given: Mapping[str, Value]) -> Value:
        """The value of the function, which has to be one real number. count: of the arguments by position."""
        rest = dict(given)
        first = [rest.pop(name) for name in list(given)[:count]]
        value = ctx.invoke(ctx, self.function, first, rest)
        if self.reduce:
            value = ctx.invoke(ctx, np.sum, [value], {})
        found = as_array(ctx, value) if isinstance(value, ArrayValue) or is_number(value) else None
        if found is None or found.shape or found.dtype.kind != "f":
            raise ctx.refuse(f"the gradient of {self._name}, whose value is {describe(value)}",
                             "return one real floating point number, or give reduce='sum'", CODE)
        return value

    @property
    def _name(self) -> str:
        function = self.function
        while isinstance(function, (partial, Applied)):
            function = function.func if isinstance(function, partial) else function.function
        return function.code.name if isinstance(function, Function) else str(
            getattr(function, "__name__", type(function).__name__))

    def _bound(self, ctx: Context, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments of the call by name."""
        names = _parameters(ctx, self.function, self._name)
        known = dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names) or keywords.keys() & known.keys():
            raise ctx.refuse(f"{len(arguments) + len(keywords)} arguments for {len(names)} parameters of {self._name}",
                             code="SG102")
        given = {**known, **keywords}
        return {n: given[n] for n in sorted(given, key=lambda n: names.index(n) if n in names else len(names))}

    def _chosen(self, ctx: Context, given: Mapping[str, Value]) -> list[str]:
        """Names of the arguments to differentiate: those asked for, or, as `resolve_wrt` has it, every floating or
        complex array; every float where there is no array at all."""
        if self.wrt is None:
            left = _defaults(self.function)
            values = {**given, **{n: v for n, v in left.items() if n not in given}}
            arrays = any(_is_array(v) for v in values.values())
            found = [n for n, v in values.items() if _carries(v) and (_has_dtype(v) or not arrays)]
            unclear = [n for n, v in values.items() if isinstance(v, _CONTAINERS) or n in found and n not in given]
            if unclear:
                raise ctx.refuse(f"the gradient of {self._name} by what is in {unclear[0]}, too",
                                 "say by which arrays and numbers of the call it is taken, with wrt=", CODE)
            if not found:
                raise ctx.refuse(f"the gradient of {self._name}, no argument of which is a floating or complex array",
                                 "say which one with wrt=", CODE)
            return found
        parameters = _parameters(ctx, self.function, self._name)
        names = []
        for entry in self.wrt if isinstance(self.wrt, tuple) else (self.wrt,):
            counts = isinstance(entry, int) and -len(parameters) <= entry < len(parameters)
            name = parameters[entry] if counts else entry
            if name not in given or not _carries(given[name]):
                raise ctx.refuse(f"the gradient of {self._name} with respect to {entry!r}"
                                 + (f", which is {describe(given[name])}" if name in given else ""),
                                 f"name arguments that are floating or complex arrays or numbers: {', '.join(given)}",
                                 CODE)
            names.append(name)
        if len(set(names)) != len(names):
            raise ctx.refuse(f"the gradient of {self._name} by the same argument twice", code=CODE)
        return names


def _parameters(ctx: Context, function: Value, name: str) -> list[str]:
    """What arguments by position are called."""
    if isinstance(function, Applied):
        inside = _parameters(ctx, function.function, name)[len(function.arguments):]
        return [n for n in inside if n not in function.keywords]
    if isinstance(function, GradientInside):
        return _parameters(ctx, function.function, name)
    if isinstance(function, Function):
        given = function.code.node.args
        if given.vararg is None and given.kwarg is None and not given.posonlyargs:
            return [a.arg for a in (*given.args, *given.kwonlyargs)]
    else:
        found = _signature(function)
        own = function.keywords if isinstance(function, partial) else {}
        if found and all(p.kind in _NAMED for p in found):
            return [p.name for p in found if p.name not in own]
    raise ctx.refuse(f"the gradient of {name}, whose arguments have no names",
                     "write out its parameters instead of * and /", CODE)


def _signature(function: Any) -> list[inspect.Parameter]:
    """Nothing for what does not say it, as functions of NumPy's."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _defaults(function: Value) -> Mapping[str, Value]:
    """What parameters are that a call leaves out."""
    if isinstance(function, GradientInside):
        return _defaults(function.function)
    if isinstance(function, Applied):
        inside = _defaults(function.function)
        return {n: v for n, v in inside.items() if n not in function.keywords}
    if isinstance(function, Function):
        names = [a.arg for a in function.code.node.args.args][-len(function.defaults):] if function.defaults else []
        return {**dict(zip(names, function.defaults, strict=True)), **function.keyword_defaults}
    own = function.keywords if isinstance(function, partial) else {}
    return {p.name: p.default for p in _signature(function) if p.default is not p.empty and p.name not in own}


def _named(names: Sequence[str], gradients: Sequence[Value]) -> Value:
    """Several gradients, as a namedtuple: unpacked, by position or by name."""
    made: Callable[..., Value] = namedtuple("Gradients", names, rename=True)  # type: ignore[misc]
    return made(*gradients)


_CONTAINERS = (tuple, list, dict, ListValue, Record)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _is_array(value: Value) -> bool:
    return isinstance(value, np.ndarray) or isinstance(value, ArrayValue) and not value.scalar


def _has_dtype(value: Value) -> bool:
    """Where Python runs the function: arrays and NumPy's numbers."""
    return isinstance(value, (np.ndarray, np.generic)) or isinstance(value, ArrayValue) and not value.weak


def _carries(value: Value) -> bool:
    numbers = isinstance(value, (ArrayValue, np.ndarray)) or is_number(value)
    return numbers and (value if isinstance(value, ArrayValue) else np.asarray(value)).dtype.kind in "fc"


def made_inside(ctx: Context, verb: str, arguments: Sequence[Value], options: Mapping[str, Value]) -> GradientInside:
    """What `sdfgad.grad(f, ...)` makes inside of a function."""
    if len(arguments) != 1:
        raise ctx.refuse(f"sdfgad.{verb} inside another function without a function", f"write sdfgad.{verb}(f, ...)(x)",
                         CODE)
    function = arguments[0]
    if isinstance(function, Record) and (called := inspect.getattr_static(function.form, "__call__", None)) is not None:
        function = partial(called, function)
    if not callable(function) and not isinstance(function, (Function, Applied)):
        raise ctx.refuse(f"sdfgad.{verb} of {describe(function)}", f"write sdfgad.{verb}(f, ...)(x)", CODE)
    return _with(ctx, verb, function, options)


def made_outside(ctx: Context, made: Any) -> GradientInside | None:
    """A gradient that has been made outside, to be called inside; None for what is none."""
    verb = getattr(made, "shown_as", "")
    if verb not in INSIDE:
        return None
    return _with(ctx, verb, made.fn, MappingProxyType({n: v for n, v in made.options.items() if n != "value"}))


def _with(ctx: Context, verb: str, function: Value, options: Mapping[str, Any]) -> GradientInside:
    told = {n: v for n, v in options.items()
            if not (v is None or v is False or n == "gather" or isinstance(v, tuple) and not v)}
    others = sorted(told.keys() - set(_CHOSEN))
    if others:
        raise ctx.refuse(f"sdfgad.{verb} with {others[0]}= inside another function",
                         "what is made inside has the memory and the device of the gradient around it: leave it out",
                         CODE)
    if "wrt" in told and "argnums" in told or told.get("reduce", "sum") != "sum":
        raise ctx.refuse(f"these options of sdfgad.{verb}", "give wrt= or argnums=, and reduce='sum' or none", CODE)
    wrt = told.get("argnums", told.get("wrt"))
    several = wrt.items if isinstance(wrt, ListValue) else wrt if isinstance(wrt, (tuple, list)) else None
    return GradientInside(function, wrt if several is None else tuple(several), told.get("reduce") == "sum",
                          verb == "value_and_grad")
