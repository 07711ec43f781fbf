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


def lshift(a, b):
    return a << b


def rshift(a, b):
    return a >> b


def and_(a, b):
    return a & b


def or_(a, b):
    return a | b


def xor(a, b):
    return a ^ b


def invert(a):
    return ~a


def not_(a):
    return not a


def truth(a):
    return bool(a)


def is_(a, b):
    return a is b


def is_not(a, b):
    return a is not b


def contains(a, b):
    return b in a


def count_of(a, b):
    return sum([1 if item is b or item == b else 0 for item in a])


def setitem(a, b, c):
    a[b] = c


def delitem(a, b):
    del a[b]


def iadd(a, b):
    a += b
    return a


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
    operator.add: add, operator.sub: sub, operator.mul: mul, operator.truediv: truediv, operator.floordiv: floordiv,
    operator.mod: mod, operator.pow: power, operator.matmul: matmul, operator.neg: neg, operator.pos: pos,
    operator.abs: absolute, operator.lt: lt, operator.le: le, operator.gt: gt, operator.ge: ge, operator.eq: eq,
    operator.ne: ne, operator.getitem: getitem, operator.lshift: lshift, operator.rshift: rshift, operator.and_: and_,
    operator.or_: or_, operator.xor: xor, operator.invert: invert, operator.is_: is_, operator.is_not: is_not,
    operator.contains: contains, operator.concat: add, operator.countOf: count_of, operator.setitem: setitem,
    operator.delitem: delitem, operator.iadd: iadd, operator.isub: isub, operator.imul: imul,
    operator.itruediv: itruediv, operator.not_: not_, operator.truth: truth, operator.iconcat: iadd})
"""Python's function -> its body."""
