"""Scalar expressions written with Python's operators; folds literals and drops neutral elements on the way."""
from __future__ import annotations

from dataclasses import dataclass
from math import copysign
from typing import Any, TypeAlias, Union

import numpy as np

from sdfgad.ir.expr import Call, Const, Expr
from sdfgad.ir.primal import PRIMALS

Operand: TypeAlias = Union["Term", int, float, complex]


@dataclass(frozen=True, eq=False)
class Term:
    """An expression with arithmetic. Numbers that meet a term take its dtype."""

    expr: Expr

    def __add__(self, other: Operand) -> Term:
        return Term(add(self.expr, self._peer(other)))

    def __radd__(self, other: Operand) -> Term:
        return Term(add(self._peer(other), self.expr))

    def __sub__(self, other: Operand) -> Term:
        return Term(sub(self.expr, self._peer(other)))

    def __rsub__(self, other: Operand) -> Term:
        return Term(sub(self._peer(other), self.expr))

    def __mul__(self, other: Operand) -> Term:
        return Term(mul(self.expr, self._peer(other)))

    def __rmul__(self, other: Operand) -> Term:
        return Term(mul(self._peer(other), self.expr))

    def __truediv__(self, other: Operand) -> Term:
        return Term(div(self.expr, self._peer(other)))

    def __rtruediv__(self, other: Operand) -> Term:
        return Term(div(self._peer(other), self.expr))

    def __pow__(self, other: Operand) -> Term:
        return Term(Call("pow", (self.expr, self._peer(other)), self.expr.dtype))

    def __neg__(self) -> Term:
        return Term(neg(self.expr))

    def _peer(self, other: Operand) -> Expr:
        return other.expr if isinstance(other, Term) else number(other, self.expr.dtype)

    def compare(self, fn: str, other: Operand) -> Term:
        """A boolean term: `fn` is one of lt, le, gt, ge, eq, ne."""
        return Term(Call(fn, (self.expr, self._peer(other)), np.dtype(bool)))

    def apply(self, fn: str, *others: Operand) -> Term:
        """A scalar function of this term (first argument), of the same dtype."""
        return Term(Call(fn, (self.expr, *(self._peer(o) for o in others)), self.expr.dtype))


def where(condition: Term, yes: Operand, no: Operand) -> Term:
    """`yes` where the condition holds, else `no`; only the branch taken is evaluated."""
    known = yes if isinstance(yes, Term) else no
    if not isinstance(known, Term):
        raise TypeError("one branch of where() must be a term")
    return Term(select(condition.expr, known._peer(yes), known._peer(no)))


def number(value: Any, dtype: np.dtype) -> Const:
    """A literal converted to `dtype`, as a Python number; integers wrap around."""
    if dtype.kind in "iu" and isinstance(value, int):
        low = 0 if dtype.kind == "u" else -2 ** (8 * dtype.itemsize - 1)
        value = (value - low) % 2 ** (8 * dtype.itemsize) + low
    return Const(dtype.type(value).item(), dtype)


def zero(dtype: np.dtype) -> Const:
    """The literal 0 of a dtype."""
    return number(0, dtype)


def is_number(e: Expr, value: complex) -> bool:
    """Whether the expression is the literal `value`."""
    return isinstance(e, Const) and not isinstance(e.value, bool) and e.value == value


def add(a: Expr, b: Expr) -> Expr:
    """`a + b`"""
    if is_number(a, 0):
        return b
    if is_number(b, 0):
        return a
    if isinstance(b, Call) and b.fn == "neg":
        return sub(a, b.args[0])
    return _folded("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    """`a - b`"""
    if is_number(b, 0):
        return a
    return neg(b) if is_number(a, 0) else _folded("sub", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    """`a * b`; a literal zero factor gives zero."""
    for one, other in ((a, b), (b, a)):
        if is_number(one, 0):
            return zero(a.dtype)
        if is_number(one, 1):
            return other
        if is_number(one, -1):
            return neg(other)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Call) and one.fn == "neg":
            return neg(mul(one.args[0], other))
    return _folded("mul", a, b)


def div(a: Expr, b: Expr) -> Expr:
    """`a / b`"""
    if is_number(a, 0):
        return zero(a.dtype)
    return a if is_number(b, 1) else _folded("div", a, b)


def neg(a: Expr) -> Expr:
    """`-a`"""
    if isinstance(a, Call) and a.fn == "neg":
        return a.args[0]
    return number(-a.value, a.dtype) if isinstance(a, Const) else Call("neg", (a,), a.dtype)


def select(c: Expr, a: Expr, b: Expr) -> Expr:
    """`a if c else b`"""
    if isinstance(c, Const):
        return a if c.value else b
    return a if a == b else Call("select", (c, a, b), a.dtype)


def direction(a: Expr) -> Expr:
    """a / |a| of a complex number, 0 for 0, where the derivative is 0 too: the number of NumPy's `sign`."""
    at_zero = Call("eq", (a, zero(a.dtype)), np.dtype(bool))
    away = select(at_zero, number(1, a.dtype), a)
    return select(at_zero, zero(a.dtype), div(away, Call("cast", (Call("abs", (away,), component(a.dtype)),), a.dtype)))


def cast(a: Expr, dtype: np.dtype) -> Expr:
    """`a` in another dtype."""
    if a.dtype == dtype:
        return a
    return number(a.value, dtype) if isinstance(a, Const) and dtype.kind != "b" else Call("cast", (a,), dtype)


def both(a: Expr | None, b: Expr) -> Expr:
    """The conjunction of two conditions; None is no condition."""
    return b if a is None or a == b else Call("and", (a, b), np.dtype(bool))


def component(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def as_real(e: Expr) -> Expr | None:
    """What a complex expression is in real numbers, where it can be told: it was made of them, with +0 beside them."""
    if isinstance(e, Const):
        value = complex(e.value)
        known = e.dtype.kind == "c" and value.imag == 0 and copysign(1.0, value.imag) > 0
        return number(value.real, component(e.dtype)) if known else None
    if isinstance(e, Call) and e.fn == "cast" and e.dtype.kind == "c" and e.args[0].dtype == component(e.dtype):
        return e.args[0]
    return None


def real(e: Expr) -> Expr:
    """The real part of a complex expression."""
    known = as_real(e)
    if known is not None:
        return known
    if isinstance(e, Call) and e.fn == "conj":
        return real(e.args[0])
    if isinstance(e, Call) and e.fn == "neg":
        return neg(real(e.args[0]))
    if isinstance(e, Call) and e.fn == "select":
        return select(e.args[0], real(e.args[1]), real(e.args[2]))
    return Call("real", (e,), component(e.dtype))


def _folded(fn: str, a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const):
        with np.errstate(all="ignore"):
            value = PRIMALS[fn](a.dtype.type(a.value), b.dtype.type(b.value))
        if np.isfinite(value):
            return number(value, a.dtype)
    return Call(fn, (a, b), a.dtype)
