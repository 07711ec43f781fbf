"""The functions of Python's module `operator`, written with the operators they stand for."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


def setitem(a, b, c):
    a[b] = c


def delitem(a, b):
    del a[b]


def iadd(a, b):
    a += b
    return a


def iconcat(a, b):
    if isinstance(a, list):
        a.extend(b)
        return a
    return a + b


def isub(a, b):
    a -= b
    return a


def imul(a, b):
    a *= b
    return a


def itruediv(a, b):
    a /= b
    return a


BODIES: Mapping[Any, Callable[..., Any]] = MappingProxyType({
    operator.add: lambda a, b: a + b,
    operator.sub: lambda a, b: a - b,
    operator.mul: lambda a, b: a * b,
    operator.truediv: lambda a, b: a / b,
    operator.floordiv: lambda a, b: a // b,
    operator.mod: lambda a, b: a % b,
    operator.pow: lambda a, b: a ** b,
    operator.matmul: lambda a, b: a @ b,
    operator.neg: lambda a: -a,
    operator.pos: lambda a: +a,
    operator.abs: lambda a: abs(a),
    operator.lt: lambda a, b: a < b,
    operator.le: lambda a, b: a <= b,
    operator.gt: lambda a, b: a > b,
    operator.ge: lambda a, b: a >= b,
    operator.eq: lambda a, b: a == b,
    operator.ne: lambda a, b: a != b,
    operator.getitem: lambda a, b: a[b],
    operator.lshift: lambda a, b: a << b,
    operator.rshift: lambda a, b: a >> b,
    operator.and_: lambda a, b: a & b,
    operator.or_: lambda a, b: a | b,
    operator.xor: lambda a, b: a ^ b,
    operator.invert: lambda a: ~a,
    operator.is_: lambda a, b: a is b,
    operator.is_not: lambda a, b: a is not b,
    operator.contains: lambda a, b: b in a,
    operator.concat: lambda a, b: a + b,
    operator.countOf: lambda a, b: sum([1 if item is b or item == b else 0 for item in a]),
    operator.setitem: setitem,
    operator.delitem: delitem,
    operator.iadd: iadd,
    operator.isub: isub,
    operator.imul: imul,
    operator.itruediv: itruediv,
    operator.not_: lambda a: not a,
    operator.truth: lambda a: bool(a),
    operator.iconcat: iconcat,
})
"""Python's function -> its body."""
