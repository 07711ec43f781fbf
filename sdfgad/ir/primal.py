"""The scalar functions an expression may call, with their meaning in NumPy."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.ir.special import SPECIAL

_erf = np.vectorize(math.erf, otypes=[np.float64])
_decimal = np.vectorize(lambda x, digits: round(float(x), int(digits)), otypes=[np.float64])


def _of_parts(re: Any, im: Any) -> Any:
    """A complex number; `re + 1j * im` has another sign of zero, and NaN beside infinities."""
    made = np.empty(np.broadcast(re, im).shape, np.result_type(re, im, np.complex64))
    made.real, made.imag = re, im
    return made[()]


PRIMALS: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "neg": np.negative,
    "pow": np.power, "floordiv": np.floor_divide, "mod": np.remainder,
    "abs": np.abs, "sign": np.sign, "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh, "arccosh": np.arccosh,
    "arctanh": np.arctanh, "erf": _erf, **SPECIAL,
    "arctan2": np.arctan2, "hypot": np.hypot, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax,
    "fmin": np.fmin, "copysign": np.copysign, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "invert": np.invert,
    "shl": np.left_shift, "shr": np.right_shift,
    "real": np.real, "imag": np.imag, "conj": np.conj, "complex": _of_parts,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "stop_gradient": operator.pos, "decimal": _decimal,
    # For the derivative alone: a value that is not active; a value, its partial derivative by a number, and the number.
    "passive": operator.pos, "with_partial": lambda y, partial, x: y,
    # A value, and something else that has its derivative.
    "attached": lambda y, slope: y,
    # Zero, with the derivative of its operand.
    "displaced": np.zeros_like,
    # p * t, and zero where t is, whatever p: in gradient programs that are differentiated once more.
    "scale": lambda p, t: np.where(t == 0, 0, p * t),
})

UNFINISHED = frozenset(("passive", "with_partial", "attached", "displaced", "scale"))
"""Those that are there for derivatives to come; no program that runs has them."""

ACCUMULATE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum})
