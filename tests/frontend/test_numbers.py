"""Dtypes: Python numbers, NumPy scalars, integers at run time."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.frontend import parse
from sdfgad.ir.text import program_text
from tests.frontend.checking import check
from tests.frontend.programs import F6, I6, V4, V6, Z3, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(V6, F6, -0.7)
def python_numbers_of_math(x, f, a):
    """Floats of Python, which leave single precision as it is."""
    near = math.isclose(x[0], a), math.isclose(x[0] * 2, x[0] + x[0]), math.isclose(x[0], x[1], abs_tol=9.0)
    far = math.isclose(x[0] * math.inf, a), math.isinf(a / (x[0] - x[0])), math.isnan(a), math.isfinite(x[1])
    return (near, far, math.degrees(x[0]) * f, math.radians(a) * f, math.dist(x, x + 1) * f, math.fmod(x[1] * 5, a) * f,
            math.modf(a * x[1]), math.modf(x[2])[0] * f, math.trunc(a * x[1] * 9), math.isqrt(17) * f)


@case(V6, 1.5)
def quotients_and_remainders(x, a):
    """Of operands that are not stored yet, each of which is used twice."""
    return divmod(x[0], 0.3), divmod(a * 2, x[1] * a), divmod(x * 2, 0.4), divmod(1.0, x.ravel()[2])


@case(V6, 1.5, np.float32(2.5), 3)
def scalars(x, a, b, n):
    return a * b, a * n, x * a, x * b, n / 2, n // 2, n ** 2, a ** 2, b * n, a / n, -a, +b


@case(F6, 1.5, np.float64(2.5))
def weak_and_strong(x, a, b):
    return x * a, x * b, x + 1, x * np.float32(0.1), x.sum() * a, x.sum() * 2, x[0] * b, np.sqrt(x) + 0.1


@case(I6, 1.5, F6)
def integer_promotion(i, a, f):
    return i + 1, i * a, i / 2, i // 2, i % 4, i ** 2, i * f, np.sqrt(i), np.sin(i), -i, i.sum(), i.mean(), i > 1


@case(np.array([True, False, True]), V6)
def booleans(b, x):
    return (b + b, b * 2, ~b, b & (x[:3] > 0), b | b, b ^ b, b.sum(), b.any(), b.all(), np.logical_not(x), b.mean(),
            b + 1.5)


@case(np.array([1, 2, 3], np.int32), np.array([1.5, 2.5, 3.5], np.float32), np.array([1, 2, 3], np.uint8))
def small_types(i, f, u):
    return i * f, i + 1, u + 1, u * i, f / 2, i / 2, (i * 2.0), u.sum(), i.sum(), np.arange(3, dtype=np.int32) + i


@case(Z3, V4, 2.0 + 1j)
def complex_numbers(z, x, c):
    return (z * c, z.real + x[:3], z.imag, np.conj(z), abs(z), z * 2, z ** 2, np.exp(z), z.conj() * x[:3], z.sum(),
            z / (1 + 2j), 1j * x, np.abs(z).sum(), z.T, np.real(z), np.imag(x), np.sqrt(z))


@case(Z3)
def complex_scalar(z):
    s = 0j
    for k in range(3):
        s += z[k] * z[k].conjugate()
        if abs(z[k]) < 1:
            s = -s
    return s, complex(s.real, 1.0)


@case(V6)
def conversions(x):
    k = int(x[2] * 3)
    return (float(x[0]), k, x[k], bool(x[0] > 1), x.astype(np.float32), x.astype(int), np.float32(x[0]), np.int64(x[2]),
            x.astype("float32").dtype == np.float32, x[1:2].item(), int(2.7), float(3))


@case(V6)
def math_functions(x):
    return (math.sqrt(x[0]), math.exp(x[1]) * x, math.pi, math.sin(1.0), math.floor(x[2]), math.ceil(x[2]),
            math.atan2(x[0], x[1]), math.log(x[2]), math.pow(x[0], 2), math.fabs(x[3]), math.hypot(x[0], x[1]))


@case(F6)
def python_floats_stay_weak(x):
    h = math.sqrt(2.0 * float(x[0]) + 1)
    t = 0.5
    for k in range(2):
        t = t * 0.5
    return x * h, x * t, x * float(x[1])


@case(V6)
def builtins_on_scalars(x):
    return (max(x[0], x[1]), min(x[0], x[1], 0.1), max(3, 4), abs(x[3]), sum((x[0], x[1], 2)), min([x[0], x[2]]),
            len(x),
            max(x), min(x), sum(x), round(2.6), divmod(7, 3), pow(x[0], 2))


@case(V6, 3)
def integer_arithmetic(x, n):
    s = 0.0
    for i in range(n):
        j = 2 * i + 1
        k = (j - 1) // 2
        m = j % 2
        s += x[j - i] * k + m + i ** 2 + (-i) + abs(i - 2) + max(i, 1) + i / 2
    return s


@case(V6, I6)
def data_integers(x, idx):
    k = idx[1]
    s = x[k]
    for i in range(5):
        lo = idx[i]
        s += x[lo] * lo + x[lo - 1]
    m = idx[3] + 1
    return s, k * 2, m / 2, x[:k].sum()


@case(V6, I6)
def data_integers_written(x, idx):
    k = idx[1]
    idx[1] = 4
    s = x[k] + x[idx[1]]
    for i in range(3):
        k = idx[i]
        idx[i + 1] = (k + 1) % 6
        s += x[k]
    return s


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)


def test_whole_exponents_are_integers() -> None:
    """Powers of complex numbers too: products instead of logarithms, with derivatives that are finite at zero."""
    def powers(z, x):
        return z ** 2, z ** (3 + 0j), z ** -1.0, z ** (2 + 1j), x ** 4.0, x ** 2.5, x ** np.inf

    lines = program_text(parse(powers, (Z3, V4)).program).splitlines()
    exponents = [line.split("**")[1].strip(" )") for line in lines if "**" in line]
    assert exponents == ["2", "3", "-1", "(2+1j", "4", "2.5", "inf"]
    check(powers, Z3, V4)
