"""Special functions that are one scalar function of the rule book: those of SciPy, and those of whole orders."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.elements.elementwise import FLOAT, as_array, convert, describe, lift
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import SELECTED, ArrayValue, Value, is_number
from sdfgad.ir.expr import call, const

NAMES: Mapping[str, str] = MappingProxyType({
    "erf": "erf", "erfc": "erfc", "erfcx": "erfcx", "erfinv": "erfinv", "ndtri": "ndtri", "gamma": "gamma",
    "gammaln": "gammaln", "psi": "digamma", "exp1": "exp1", "expi": "expi"})
"""What SciPy calls a function element by element, and what the rule book does."""


def of_scipy(ctx: Context, ufunc: np.ufunc, x: Value) -> Value:
    """One of SciPy's functions of real numbers, in the precision that SciPy computes it in."""
    value = as_array(ctx, x)
    return special(ctx, NAMES[ufunc.__name__], value, _precision(ctx, ufunc, value))


def in_dtypes(ctx: Context, ufunc: np.ufunc, arguments: Sequence[Value], numbers: bool = False) -> list[Value]:
    """The arguments in the dtypes that NumPy or SciPy compute in; known numbers as they are unless `numbers`."""
    kinds = [v if is_number(v) else as_array(ctx, v) for v in arguments]
    asked = [np.result_type(v) if isinstance(v, (bool, np.generic)) else type(v) if is_number(v) else
             v.dtype if not v.weak else _OF_PYTHON.get(v.dtype.kind, v.dtype) for v in kinds]
    try:
        found = ufunc.resolve_dtypes((*asked, *(None for _ in range(ufunc.nout))))
    except TypeError as error:
        raise ctx.refuse(f"{ufunc.__name__} of {', '.join(map(describe, arguments))}", str(error), "SG104") from error
    return [(kind.type(v) if numbers else v) if is_number(v) else given if v.dtype == kind else convert(ctx, v, kind)
            for given, v, kind in zip(arguments, kinds, found, strict=False)]


def in_loop(ctx: Context, ufunc: np.ufunc, arguments: Sequence[Value], dtype: np.dtype) -> list[Value]:
    """The arguments in the dtypes that NumPy computes in where `dtype=` says what the result is of."""
    values = [as_array(ctx, v) for v in arguments]
    kinds = [_OF_PYTHON.get(v.dtype.kind, v.dtype) if v.weak else v.dtype for v in values]
    asked = [v.dtype for v in values] if all(v.weak for v in values) else kinds
    try:
        found = ufunc.resolve_dtypes((*asked, None), signature=(*(None for _ in values), dtype), casting="same_kind")
    except TypeError as error:
        raise ctx.refuse(f"numpy.{ufunc.__name__} of {', '.join(map(describe, values))} with dtype={dtype}", str(error),
                         "SG104") from error
    return [convert(ctx, v, kind) for v, kind in zip(values, found, strict=False)]


_OF_PYTHON: Mapping[str, type] = MappingProxyType({"i": int, "f": float, "c": complex})


def of_numpy(ctx: Context, callee: Value, arguments: Sequence[Value]) -> Sequence[Value]:
    """What a body that stands for one of NumPy's functions of elements is given: the dtypes that NumPy computes in."""
    if not isinstance(callee, np.ufunc) or callee.signature or len(arguments) != callee.nin:
        return arguments
    return arguments if any(isinstance(a, SELECTED) for a in arguments) else in_dtypes(ctx, callee, arguments, True)


def of_numbers(ctx: Context, fn: str, x: Value) -> Value:
    """A function of real numbers in their own precision, the double one for integers."""
    value = as_array(ctx, x)
    return special(ctx, fn, value, value.dtype if value.dtype.kind in "cf" else FLOAT)


def special(ctx: Context, fn: str, value: ArrayValue, kind: np.dtype) -> Value:
    """A scalar function of the rule book on every element."""
    if value.dtype.kind == "c":
        raise ctx.refuse(f"{fn} of {describe(value)}", "special functions are those of real numbers", "SG104")
    return lift(ctx, (convert(ctx, value, kind),), kind, lambda e: call(fn, e), costly=True)


def _precision(ctx: Context, ufunc: np.ufunc, value: ArrayValue) -> np.dtype:
    if value.dtype.kind in "cf":
        return value.dtype
    return FLOAT if value.weak else ufunc.resolve_dtypes((value.dtype, None))[0]


def of_order(ctx: Context, fn: str, order: Value, x: Value) -> Value:
    """A function of a number and a whole order that is known before the call."""
    if not is_number(order) or isinstance(order, complex) or order != int(order):
        told = order if is_number(order) else "known only at run time"
        raise ctx.refuse(f"{fn} of the order {told}", "orders are whole numbers, known before the call", "SG101")
    return _with_numbers(ctx, fn, x, order)


def of_shapes(ctx: Context, fn: str, x: Value, *shapes: Value) -> Value:
    """A function of a number and of shapes that are known before the call: along those there is no formula."""
    for shape in shapes:
        if not is_number(shape) or isinstance(shape, complex) or fn != "bessel_k" and not shape > 0:
            told = shape if is_number(shape) else "known only at run time"
            raise ctx.refuse(f"{fn} of the shape {told}", "shapes are positive numbers, known before the call: "
                             "derivatives are those by the argument alone", "SG101")
    return _with_numbers(ctx, fn, x, *shapes)


def _with_numbers(ctx: Context, fn: str, x: Value, *numbers: Value) -> Value:
    value = as_array(ctx, x)
    if value.dtype.kind == "c":
        raise ctx.refuse(f"{fn} of {describe(value)}", "special functions are those of real numbers", "SG104")
    kind = value.dtype if value.dtype.kind == "f" else FLOAT
    known = [const(float(n), kind) for n in numbers]
    return lift(ctx, (convert(ctx, value, kind),), kind, lambda e: call(fn, e, *known), costly=True)


def stop_gradient(ctx: Context, x: Value) -> Value:
    """The value, through which no derivative flows."""
    value = as_array(ctx, x)
    return lift(ctx, (value,), value.dtype, lambda e: call("stop_gradient", e), value.weak)
