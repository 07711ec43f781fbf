"""Functions that are linear over the reals: their derivative is themselves, their transpose is one line.

`transpose(g, dtype)` gives the cotangent of the operand whose dtype is `dtype`, for the cotangent `g` of the result.
Complex cotangents are steepest ascent (dL/dx + i dL/dy), so a complex product transposes with a conjugate.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr

Transpose = Callable[[Expr, np.dtype], Expr]


def conj(e: Expr) -> Expr:
    """The complex conjugate; real expressions are their own."""
    if e.dtype.kind != "c":
        return e
    if isinstance(e, Const):
        return algebra.number(complex(e.value).conjugate(), e.dtype)
    return e.args[0] if isinstance(e, Call) and e.fn == "conj" else Call("conj", (e,), e.dtype)


def _cast(g: Expr, dtype: np.dtype) -> Expr:
    """real -> complex transposes to the real part, a change of precision to the change back."""
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = algebra.real(g)
    return algebra.cast(g, dtype)


def _times_i(g: Expr, dtype: np.dtype) -> Expr:
    return Call("complex", (algebra.zero(g.dtype), g), dtype)


UNARY: Mapping[str, Transpose] = MappingProxyType({
    "neg": lambda g, dtype: algebra.neg(g),
    "conj": lambda g, dtype: conj(g),
    "cast": _cast,
    "real": lambda g, dtype: algebra.cast(g, dtype),
    "imag": _times_i,
})


def transposed_complex(g: Expr) -> tuple[Expr, Expr]:
    """`complex(re, im)` sends the parts of the cotangent back to its operands."""
    return algebra.real(g), Call("imag", (g,), algebra.component(g.dtype))


_as_functions: ContextVar[bool] = ContextVar("as_functions", default=False)


@contextmanager
def strong_products_kept() -> Iterator[None]:
    """Within, strong products stay functions, which have a derivative of their own where the second factor is zero."""
    token = _as_functions.set(True)
    try:
        yield
    finally:
        _as_functions.reset(token)


def are_strong_products_kept() -> bool:
    """Whether a program is made to be differentiated once more."""
    return _as_functions.get()


def strong_product(p: Expr, g: Expr) -> Expr:
    """`p * g`, but exactly 0 where g is 0 even if p is infinite or NaN."""
    if isinstance(p, Const):
        return algebra.mul(p, g)
    if _as_functions.get():
        return Call("scale", (p, g), g.dtype)
    return algebra.select(is_zero(g), algebra.zero(g.dtype), algebra.mul(p, g))


def product(p: Expr, t: Expr, singular: bool) -> Expr | None:
    """The linear term `p * t`; a singular partial times an exact zero is zero, and so is what a choice leaves out."""
    if algebra.is_number(p, 0):
        return None
    if algebra.is_number(p, 1):
        return t
    if algebra.is_number(p, -1):
        return Call("neg", (t,), t.dtype)
    if isinstance(p, Call) and _is_choice_of_numbers(p):
        sides = [product(side, t, singular) for side in p.args[1:]]
        return Call("select", (p.args[0], *(algebra.zero(t.dtype) if s is None else s for s in sides)), t.dtype)
    return Call("scale" if singular and not isinstance(p, Const) else "times", (p, t), t.dtype)


def _is_choice_of_numbers(p: Expr) -> bool:
    return isinstance(p, Call) and p.fn == "select" and all(
        isinstance(side, Const) or _is_choice_of_numbers(side) for side in p.args[1:])


def is_zero(g: Expr) -> Expr:
    """Whether nothing of a number is there."""
    return Call("eq", (g, algebra.zero(g.dtype)), np.dtype(bool))
