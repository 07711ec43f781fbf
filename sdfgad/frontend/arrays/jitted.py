"""Functions that numba compiles: their own source says what they do, and numba's is not looked at.

`@vectorize` makes a function of numbers one of arrays, `@guvectorize` one of rows (of blocks) one of arrays of those.
Classes and makers are known by their names, as numba need not be there.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.bodies import mapping as mapping_bodies
from sdfgad.frontend.elements.elementwise import FLOAT, as_array
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Applied, Function, Value

_LOOPS = "write loops over the elements, with prange where they are independent"


def is_numba(thing: Value, *names: str) -> bool:
    """Whether numba has made a function or class, and it is called so."""
    return getattr(thing, "__name__", None) in names and str(getattr(thing, "__module__", "")).split(".")[0] == "numba"


def is_compiler(callee: Value) -> bool:
    """Whether a call gives a function that does what the one that it is given does, or is waiting for one."""
    return is_numba(callee, "jit", "njit", "vectorize", "guvectorize", "stencil")


def compiled(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """`njit(f)` is f; `njit(types, parallel=True)` waits for it."""
    if keywords.get("locals"):
        raise ctx.refuse("types of local names given to numba", "convert where they are computed", "SG104")
    functions = [a for a in arguments if isinstance(a, (Function, FunctionType))]
    if is_numba(callee, "guvectorize", "stencil") or is_numba(callee, "vectorize") and len(functions) < len(arguments):
        raise ctx.refuse(f"numba.{callee.__name__} with these arguments inside of a function",
                         f"make it outside, or {_LOOPS}", "SG101")
    if not functions:
        return callee
    return Applied(each, (functions[0],), {}) if is_numba(callee, "vectorize") else functions[0]


def call_of(callee: Value) -> Callable[..., Value] | None:
    """The rule of what numba has made outside of the function."""
    return _CALLS.get(type(callee).__name__) if is_numba(type(callee), *_CALLS) else None


def _elements(ctx: Context, made: Any, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A function of `@vectorize`."""
    if keywords or len(arguments) != made.nin:
        raise ctx.refuse("these arguments of a function of numba.vectorize", "out= and where= are not understood",
                         "SG101")
    if made._frozen and "d" * made.nin + "->d" not in made.types:
        raise ctx.refuse("a function of numba.vectorize without a signature of float64 alone",
                         'add one: "float64(float64)"', "SG104")
    return each(ctx, made.__wrapped__, *arguments)


def each(ctx: Context, function: Value, *arguments: Value) -> Value:
    given = [as_array(ctx, a) for a in arguments]
    if any(a.dtype != FLOAT and (a.shape or a.dtype.kind not in "iub") for a in given):
        raise ctx.refuse("a function of numba.vectorize of something other than float64",
                         "convert the arrays: x.astype(float)", "SG104")
    given = [a if a.dtype == FLOAT else ctx.invoke(ctx, np.float64, [a], {}) for a in given]
    if not any(as_array(ctx, a).shape for a in given):
        return ctx.invoke(ctx, function, given, {})
    return ctx.invoke(ctx, mapping_bodies.each_element, [function, *given], {})


@dataclass(frozen=True)
class _Form:
    """Of a function of rows: the lengths of axes in it, as texts; which inputs of no axis come as arrays of one."""

    inputs: Sequence[Sequence[str]]
    outputs: Sequence[Sequence[str]]
    boxed: Sequence[bool]


def _rows(ctx: Context, made: Any, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A function of `@guvectorize`, with its outputs behind the inputs or without them."""
    builder = made.gufunc_builder
    count, outs = len(builder.sin), len(builder.sout)
    if keywords or len(arguments) not in (count, count + outs):
        raise ctx.refuse("these arguments of a function of numba.guvectorize", _LOOPS, "SG101")
    types = getattr(builder._sigs[0], "args", builder._sigs[0])[:count] if builder._sigs else [None] * count
    boxed = [bool(getattr(t, "ndim", 0)) and not axes for t, axes in zip(types, builder.sin, strict=True)]
    given = [as_array(ctx, a) for a in arguments]
    kinds = "".join(a.dtype.char for a in given)
    found = [t for t in made.types if t.replace("->", "").startswith(kinds)]
    if not found and (made._frozen or len(given) == count):
        raise ctx.refuse(f"a function of numba.guvectorize without a signature of these types: {kinds}",
                         "convert the arguments, or add a signature", "SG104")
    return _on_rows(ctx, made.__wrapped__, _Form(builder.sin, builder.sout, boxed), given,
                    found[0].split("->")[1] if found else "")


def _on_rows(ctx: Context, function: Value, form: _Form, given: Sequence[Any], kinds: str) -> Value:
    count = len(form.inputs)
    shapes = [_known_shape(ctx, a) for a in given]
    sizes = {n: s for shape, axes in zip(shapes, form.inputs, strict=False) if axes
             for n, s in zip(axes, shape[-len(axes):], strict=False)}
    axes_of = [*form.inputs, *form.outputs]
    around = [shape[:len(shape) - len(axes)] for shape, axes in zip(shapes, axes_of, strict=False)]
    loops = np.broadcast_shapes(*around[:count])
    whole = [(*loops, *(sizes.get(n, -1) for n in axes)) for axes in axes_of]
    fit = all(s == (*o, *w[len(loops):]) for s, o, w in zip(shapes, around, whole, strict=False))
    if not fit or any(-1 in w for w in whole) or shapes[count:] not in ([], whole[count:]):
        raise ctx.refuse("arguments of these shapes of a function of numba.guvectorize", _LOOPS, "SG103")
    inputs = [a if s == w else ctx.invoke(ctx, np.broadcast_to, [a, w], {})
              for a, s, w in zip(given[:count], shapes, whole, strict=False)]
    inputs = [_boxed(ctx, a) if box else a for a, box in zip(inputs, form.boxed, strict=True)]
    if made := len(given) == count:
        outputs = [ctx.invoke(ctx, np.empty, [w if axes else (*w, 1), np.dtype(kind)], {})
                   for w, axes, kind in zip(whole[count:], form.outputs, kinds, strict=True)]
    else:
        outputs = [a if axes else _boxed(ctx, a) for a, axes in zip(given[count:], form.outputs, strict=True)]
    ctx.invoke(ctx, mapping_bodies.each_row, [function, tuple(inputs), tuple(outputs), len(loops)], {})
    if not made:
        return None
    results = [o if axes else ctx.invoke(ctx, np.squeeze, [o, -1], {})
               for o, axes in zip(outputs, form.outputs, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def _known_shape(ctx: Context, array: Any) -> tuple[int, ...]:
    shape = tuple(s if isinstance(s, int) else s.const for s in array.shape)
    if None in shape:
        raise ctx.refuse("an array whose size the run decides, in a function of numba.guvectorize", _LOOPS, "SG103")
    return shape


def _boxed(ctx: Context, array: Value) -> Value:
    """With an axis of one element behind, for a function that takes numbers as `r[0]`."""
    return ctx.invoke(ctx, np.expand_dims, [array, -1], {})


def _stencil(ctx: Context, made: Any, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    raise ctx.refuse("a function of numba.stencil", "write it with slices, or loops over the inner elements", "SG101")


_CALLS: Mapping[str, Callable[..., Value]] = MappingProxyType({
    "DUFunc": _elements, "GUFunc": _rows, "StencilFunc": _stencil})
