"""Functions of `math` and of `scipy.special`, written in plain NumPy for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np


def expit(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))[()]


def logit(x):
    # Between the ends what is left of a half decides, which the logarithms of x and 1 - x would lose.
    away = 2 * x - 1
    middle = (x > 0.3) & (x < 0.65)
    return np.where(middle, np.log1p(away) - np.log1p(-away), np.log(x) - np.log1p(-x))[()]


def log_expit(x):
    return np.where(x >= 0, -np.log1p(np.exp(-x)), x - np.log1p(np.exp(x)))[()]


def xlogy(x, y):
    # The slope along x is the logarithm, also where x is zero.
    inside = (y > 0) & np.isfinite(y) | (x != 0) | np.isnan(y)
    return (x * np.log(np.where(inside, y, 1)))[()]


def entr(x):
    return np.where(x > 0, -x * np.log(x), np.where(x == 0, 0.0, np.where(np.isnan(x), x, -np.inf)))[()]


def log1p(x):
    return np.log1p(x)


def expm1(x):
    return np.expm1(x)


def cbrt(x):
    return np.cbrt(x)


def exp2(x):
    return np.exp2(x)


def xlog1py(x, y):
    inside = (y > -1) & np.isfinite(y) | (x != 0) | np.isnan(y)
    return (x * np.log1p(np.where(inside, y, 0)))[()]


def rel_entr(x, y):
    return np.where((x > 0) & (y > 0), x * np.log(x / y),
                    np.where((x == 0) & (y >= 0), 0.0, np.where(np.isnan(x) | np.isnan(y), x + y, np.inf)))[()]


def kl_div(x, y):
    return np.where((x > 0) & (y > 0), x * np.log(x / y) - x + y,
                    np.where((x == 0) & (y >= 0), y, np.where(np.isnan(x) | np.isnan(y), x + y, np.inf)))[()]


def huber(delta, r):
    near = np.abs(r) <= delta
    return np.where(delta < 0, np.inf, np.where(near, 0.5 * r * r, delta * (np.abs(r) - 0.5 * delta)))[()]


def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    high = np.max(np.real(a), axis=axis, keepdims=True)
    high = np.where(np.isfinite(high), high, 0)
    parts = np.exp(a - high) if b is None else b * np.exp(a - high)
    total = np.sum(parts, axis=axis, keepdims=keepdims)
    beside = high if keepdims else np.reshape(high, np.shape(total))
    if not return_sign:
        return np.log(total) + beside
    if np.iscomplexobj(total):
        raise ValueError("the sign of a complex sum beside its logarithm")
    return np.log(np.abs(total)) + beside, np.sign(total)


def softmax(x, axis=None):
    parts = np.exp(x - np.max(np.real(x), axis=axis, keepdims=True))
    return parts / np.sum(parts, axis=axis, keepdims=True)


def log_softmax(x, axis=None):
    away = x - np.max(np.real(x), axis=axis, keepdims=True)
    return away - np.log(np.sum(np.exp(away), axis=axis, keepdims=True))


def softplus(x):
    return np.logaddexp(0, x)


def exp10(x):
    return 10.0 ** x


def exprel(x):
    small, endless = np.abs(x) < 0.5, x == np.inf
    away = np.where(small | endless, 1.0, x)
    return np.where(small, _exprel_near(np.where(small, x, 0.0)), np.where(endless, x, np.expm1(away) / away))[()]


def _exprel_near(x):
    # The series, of which all derivatives are right; the quotient loses those.
    high = 1 + x / 9 * (1 + x / 10 * (1 + x / 11 * (1 + x / 12 * (1 + x / 13 * (1 + x / 14 * (1 + x / 15))))))
    return 1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7 * (1 + x / 8 * high))))))


def pseudo_huber(delta, r):
    scale = np.where(delta == 0, 1.0, delta * np.ones_like(r))
    ratio = np.where(np.isinf(r), 1.0, r) / scale
    near = delta * delta * (ratio * ratio / (1.0 + np.sqrt(1.0 + ratio * ratio)))
    return np.where((delta < 0) | np.isinf(r), np.inf, np.where(delta == 0, delta * np.abs(r), near))[()]


def boxcox(x, lmbda):
    return _power_less_one(np.log(x), x, lmbda)


def boxcox1p(x, lmbda):
    return _power_less_one(np.log1p(x), 1.0 + x, lmbda)


def _power_less_one(size, x, lmbda):
    """(x ** lmbda - 1) / lmbda, where `size` is the logarithm of x."""
    small = (np.abs(lmbda * size) < 0.5) | (lmbda == 0)
    near = size * _exprel_near(np.where(np.abs(lmbda * size) < 0.5, lmbda * size, 0.0))
    exponent = np.where(small, 1.0, lmbda * np.ones_like(size))
    # At zero the slope is that of the power, which a logarithm hides.
    at_zero = (np.where(x == 0, x, 1.0) ** exponent - 1.0) / exponent
    return np.where(small, near, np.where(x == 0, at_zero, np.expm1(exponent * size) / exponent))[()]


def inv_boxcox(y, lmbda):
    return np.exp(inverse_size(y, lmbda))


def inv_boxcox1p(y, lmbda):
    return np.expm1(inverse_size(y, lmbda))


def inverse_size(y, lmbda):
    # The series has the slope along an exponent of zero, which the quotient loses.
    small = np.abs(lmbda * y) < 0.01
    near = np.where(small, lmbda * y, 0.0)
    series = 1.0 / 9 - 0.1 * near
    for k in range(8, 0, -1):
        series = 1.0 / k - near * series
    far = np.where(small | (lmbda == 0), 1.0, lmbda * np.ones_like(y))
    return np.where(small | (lmbda == 0), y * series, np.log1p(far * np.where(small, 0.0, y)) / far)[()]


def cosm1(x):
    half = np.sin(0.5 * x)
    return -2.0 * half * half


def ellipk(m):
    return ellipkm1(1.0 - m)


def ellipkm1(p):
    # The mean of 1 and sqrt(p): of the smallest positive number 14 steps have all digits. DLMF 19.8.5.
    inside = np.where(p == 0, 1.0, p)
    a, b = np.ones_like(inside), np.sqrt(inside)
    for _ in range(14):
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    # At zero it goes as a logarithm, whose slope is infinite too.
    return np.where(p == 0, -np.log(np.where(p == 0, p, 1.0)), 0.5 * math.pi / a)[()]


def ellipe(m):
    # DLMF 19.8.6; at 1 the first integral is infinite, and this one is 1, with an infinite slope.
    end = (m == 1) | (m == -np.inf)
    inside = np.where(end, 0.0, m)
    a, b, total = np.ones_like(inside), np.sqrt(1.0 - inside), 0.5 * inside
    for k in range(8):
        gap = 0.5 * (a - b)
        a, b = 0.5 * (a + b), np.sqrt(a * b)
        total = total + 2.0 ** k * gap * gap
    at_one = 1.0 + np.sqrt(np.where(m == 1, 1.0 - m, 1.0))
    return np.where(m == 1, at_one, np.where(end, np.inf, 0.5 * math.pi / a * (1.0 - total)))[()]


def of_numbers(name, x):
    """A function of the rule book, which the table has under this name."""
    raise NotImplementedError


def of_order(name, order, x):
    """A function of the rule book of a whole order, which the table has under this name."""
    raise NotImplementedError


def of_shapes(name, x, *shapes):
    """A function of the rule book of shapes known before the call, which the table has under this name."""
    raise NotImplementedError


def polygamma(n, x):
    values = np.asarray(x, np.float64)
    return of_numbers("digamma", values) if n == 0 else of_order("polygamma", n, values)


def bessel(kind, order):
    def body(x):
        return of_order(kind, order, x)

    return body


def bessel_of_any(kind):
    def body(v, x):
        return of_order(kind, v, x)

    return body


def bessel_k(order):
    def body(x):
        return of_shapes("bessel_k", x, order)

    return body


def kv(v, x):
    return of_shapes("bessel_k", x, v)


def kn(n, x):
    if isinstance(n, float) and n != int(n):
        raise ValueError("an order that is no whole number: call kv")
    return of_shapes("bessel_k", x, n)


j0, j1, jv = bessel("bessel_j", 0), bessel("bessel_j", 1), bessel_of_any("bessel_j")
y0, y1, yv = bessel("bessel_y", 0), bessel("bessel_y", 1), bessel_of_any("bessel_y")
i0, i1, iv = bessel("bessel_i", 0), bessel("bessel_i", 1), bessel_of_any("bessel_i")
i0e, i1e, ive = bessel("bessel_ie", 0), bessel("bessel_ie", 1), bessel_of_any("bessel_ie")
yn, k0, k1 = yv, bessel_k(0), bessel_k(1)


def gammainc(a, x):
    return of_shapes("gammainc", x, a)


def gammaincc(a, x):
    return of_shapes("gammaincc", x, a)


def betainc(a, b, x):
    return of_shapes("betainc", x, a, b)


def betaincc(a, b, x):
    return of_shapes("betainc", 1 - x, b, a)


def lambertw(z, k=0, tol=1e-8):
    if k not in (0, -1):
        raise ValueError("a branch that is nowhere real")
    if np.any(z < -1 / math.e) or k == -1 and np.any(z > 0):
        raise ArithmeticError("lambertw of a number where this branch is not real")
    return of_order("lambertw", k, z) + 0j


def multigammaln(a, d):
    total = d * (d - 1) * 0.25 * math.log(math.pi)
    for j in range(d):
        total = total + of_numbers("gammaln", a - j / 2)
    return total


def loggamma(z):
    if z.dtype.kind == "c":
        raise ValueError("the logarithm of the gamma function of complex numbers")
    return np.where(z < 0, np.nan, of_numbers("gammaln", z))[()]


def rgamma(z):
    # Left of one half by reflection (DLMF 5.5.3): the poles of the gamma function are zeros with a slope.
    left, far = z < 0.5, z > 170
    gap = z - np.rint(z)
    turn = (1.0 - 2.0 * np.remainder(np.rint(z), 2.0)) * np.sin(np.pi * gap) / np.pi
    zero = (z < -170) & (gap == 0)
    mirrored = of_numbers("gamma", np.where(left & ~zero, 1.0 - z, 1.0)) * turn
    large = np.exp(-of_numbers("gammaln", np.where(far, z, 1.0)))
    plain = np.where(far, large, 1.0 / of_numbers("gamma", np.where(left | far, 1.0, z)))
    return np.where(left, np.where(zero, 0.0, mirrored), plain)[()]


def betaln(a, b):
    large, small = np.where(np.abs(a) < np.abs(b), b, a), np.where(np.abs(a) < np.abs(b), a, b)
    far = (large > 1e6) & (large > 1e6 * np.abs(small))
    beyond = np.where(far, large, 1.0)
    rest = small * (1 - small) / (2 * beyond) + small * (1 - small) * (1 - 2 * small) / (12 * beyond * beyond)
    near = of_numbers("gammaln", large) + (of_numbers("gammaln", small) - of_numbers("gammaln", large + small))
    return np.where(far, of_numbers("gammaln", small) - small * np.log(beyond) + rest, near)[()]


def beta(a, b):
    high, low = np.where(a < b, b, a), np.where(a < b, a, b)
    some = (low > 0) & (high + low < 170) | (low < 0) & (low > -170) & (high < 170)
    x, y = np.where(some, high, 1.0), np.where(some, low, 1.0)
    exact = of_numbers("gamma", x) / of_numbers("gamma", x + y) * of_numbers("gamma", y)
    return np.where(some, exact, np.where(low < 0, np.nan, np.exp(betaln(a, b))))[()]


def binom(n, k):
    if np.ndim(k) == 0 and isinstance(k, (int, float)) and k == int(k) and 0 <= k <= 20:
        found = 1.0 + 0.0 * n
        for j in range(1, int(k) + 1):
            found = found * (n - k + j) / j
        return found
    # Outside of 0 ... n there are zeros, at poles of the beta function.
    outside = (k <= -1) | (k >= n + 1.0)
    one = np.ones_like(n + k + 0.0)
    items, taken = np.where(outside, n * one, one), np.where(outside, k * one, one)
    beyond = of_numbers("gamma", items + 1.0) * rgamma(taken + 1.0) * rgamma(items - taken + 1.0)
    total, chosen = np.where(outside, one, n * one), np.where(outside, one, k * one)
    within = 1.0 / ((total + 1.0) * beta(1.0 + total - chosen, 1.0 + chosen))
    return np.where(outside, beyond, np.where(total + 1.0 == 0, np.nan, within))[()]


def comb(N, k, *, exact=False, repetition=False):
    if exact:
        raise ValueError("an exact number that is not known before the call")
    if repetition:
        return comb(N + k - 1, k)
    N, k = N * np.float64(1.0), k * np.float64(1.0)
    return np.where((k <= N) & (N >= 0) & (k >= 0), binom(N, k), 0.0)


def ndtr(x):
    return 0.5 * of_numbers("erfc", -math.sqrt(0.5) * x)


def log_ndtr(x):
    u = -math.sqrt(0.5) * x
    left = x < -1
    below, above = np.where(left, u, 1.0), np.where(left, 0.0, u)
    tail = np.log(0.5 * of_numbers("erfcx", below)) - below * below
    return np.where(left, tail, np.log1p(-0.5 * of_numbers("erfc", -above)))[()]


def erfcinv(y):
    return -math.sqrt(0.5) * of_numbers("ndtri", 0.5 * y)


def product(iterable, start=1):
    total = start
    for value in iterable:
        total = total * value
    return total


def distance(p, q):
    return math.hypot(*[p[k] - q[k] for k in range(len(p))])


def radians(x):
    return float(np.radians(float(x)))


def degrees(x):
    return float(np.degrees(float(x)))


def fmod(x, y):
    return float(np.fmod(float(x), float(y)))


def remainder(x, y):
    """Of the nearest whole quotient, the even one of two that are as near."""
    rest = np.fmod(float(x), float(y))
    size, back = np.abs(float(y)) - np.abs(rest), np.where(rest < 0, -np.abs(float(y)), np.abs(float(y)))
    even = rest - 2.0 * np.fmod(0.5 * (float(x) - rest), float(y))
    return float(np.where(np.abs(rest) == size, even, np.where(np.abs(rest) < size, rest, rest - back)))


def modf(x):
    part, whole = np.modf(float(x))
    return float(part), float(whole)


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    near = abs(a - b) <= np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol)
    return bool((a == b) | near & np.isfinite(a - b))
