"""The functions of Python's module `operator`, written with the operators they stand for."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


def add(a, b):
    return a + b


def sub(a, b):
    return a - b


def mul(a, b):
    return a * b


def truediv(a, b):
    return a / b


def floordiv(a, b):
    return a // b


def mod(a, b):
    return a % b


def power(a, b):
    return a ** b


def matmul(a, b):
    return a @ b


def neg(a):
    return -a


def pos(a):
    return +a


def absolute(a):
    return abs(a)


def lt(a, b):
    return a < b


def le(a, b):
    return a <= b


def gt(a, b):
    return a > b


def ge(a, b):
    return a >= b


def eq(a, b):
    return a == b


def ne(a, b):
    return a != b


def getitem(a, b):
    return a[b]


BODIES: Mapping[Any, Callable[..., Any]] = MappingProxyType({
    operator.add: add, operator.sub: sub, operator.mul: mul, operator.truediv: truediv, operator.floordiv: floordiv,
    operator.mod: mod, operator.pow: power, operator.matmul: matmul, operator.neg: neg, operator.pos: pos,
    operator.abs: absolute, operator.lt: lt, operator.le: le, operator.gt: gt, operator.ge: ge, operator.eq: eq,
    operator.ne: ne, operator.getitem: getitem})
"""Python's function -> its body."""
