"""Python's functions of integers, for those that the run tells."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

MOST_FACTORS = 20
"""Of more factors a factorial has more than 64 bits."""
FACTORIALS = np.array([math.factorial(n) for n in range(MOST_FACTORS + 1)])


def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    if n > MOST_FACTORS:
        raise OverflowError("a factorial of more than 64 bits, which Python's integers may have: use math.gamma(n + 1)")
    return int(FACTORIALS[min(n, MOST_FACTORS)])


def perm(n, k=None):
    if k is None:
        return factorial(n)
    if n < 0 or k < 0:
        raise ValueError("n and k must be non-negative integers")
    found = 1
    for i in range(k):
        found = found * (n - i)
    return found


def comb(n, k):
    if n < 0 or k < 0:
        raise ValueError("n and k must be non-negative integers")
    found = 1
    for i in range(k):
        found = found * (n - i) // (i + 1)
    return found


def gcd(a, b):
    a, b = abs(a), abs(b)
    while b > 0:
        a, b = b, a % b
    return a


def lcm(a, b):
    a, b = abs(a), abs(b)
    both = gcd(a, b)
    return a // max(both, 1) * b


BODIES: Mapping[Any, Callable[..., Any]] = MappingProxyType({
    math.factorial: factorial, math.perm: perm, math.comb: comb, math.gcd: gcd, math.lcm: lcm})
"""Python's function -> its body."""
