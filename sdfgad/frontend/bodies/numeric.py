"""NumPy functions that compute, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.order import beyond, ones_elsewhere, winner

_range = range


def prod(a, axis=None, dtype=None, keepdims=False, initial=1, where=True):
    values = np.asarray(a) if isinstance(where, bool) and where else ones_elsewhere(a, where)
    if isinstance(axis, tuple):
        values = values.astype(np.sum(np.zeros(1, values.dtype)).dtype if dtype is None else dtype)
        for k in axis:
            values = np.prod(values, axis=k, dtype=dtype, keepdims=True)
        alone = np.squeeze(values, axis)  # which knows of axes that are named twice
        total = values if keepdims else alone
    else:
        total = _prod(values, axis, dtype, keepdims)
    return total if isinstance(initial, int) and initial == 1 else total * np.asarray(initial).astype(total.dtype)


def _prod(a, axis, dtype, keepdims):
    rows = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    total = np.ones(rows.shape[1:], np.sum(np.zeros(1, rows.dtype)).dtype if dtype is None else dtype)
    for k in range(rows.shape[0]):
        total *= rows[k]
    if axis is None:
        return np.reshape(total, (1,) * a.ndim) if keepdims else total[()]
    return np.expand_dims(total, axis) if keepdims else (total if rows.ndim > 1 else total[()])


def running(ufunc, a, axis, dtype):
    if axis is None:
        a = np.ravel(a)
        axis = 0
    rows = np.moveaxis(a, axis, 0)
    out = np.empty(rows.shape, np.sum(np.zeros(1, rows.dtype)).dtype if dtype is None else dtype)
    if rows.shape[0] > 0:
        out[0] = rows[0]
    for k in range(1, rows.shape[0]):
        out[k] = ufunc(out[k - 1], rows[k])
    return np.moveaxis(out, 0, axis)


def cumsum(a, axis=None, dtype=None):
    return running(np.add, a, axis, dtype)


def cumprod(a, axis=None, dtype=None):
    return running(np.multiply, a, axis, dtype)


def nancumprod(a, axis=None, dtype=None):
    return np.cumprod(np.where(np.isnan(a), 1, a), axis=axis, dtype=dtype)


def nanargmax(a, axis=None, keepdims=False):
    return np.argmax(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims)


def nanargmin(a, axis=None, keepdims=False):
    return np.argmin(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims)


def signbit(x):
    return np.copysign(1.0, x) < 0


def var(a, axis=None, dtype=None, ddof=0, keepdims=False, mean=None, correction=None, where=True):
    if where is not True:
        return _var_where(a, axis, dtype, ddof if correction is None else correction, keepdims, mean, where)
    centre = np.mean(a, axis=axis, dtype=dtype, keepdims=True) if mean is None else mean
    away = a - centre
    count = np.size(a, axis)
    total = np.sum(np.real(away * np.conj(away)), axis=axis, dtype=dtype, keepdims=keepdims)
    if correction is not None and ddof != 0:
        raise ValueError("ddof and correction are one")
    left = count - (ddof if correction is None else correction)
    return total / (left if left > 0 else 0)


def _var_where(a, axis, dtype, ddof, keepdims, mean, where):
    counted = np.broadcast_to(where, np.shape(a))
    centre = np.mean(a, axis=axis, dtype=dtype, keepdims=True, where=counted) if mean is None else mean
    away = np.where(counted, a - centre, 0)
    total = np.sum(np.real(away * np.conj(away)), axis=axis, dtype=dtype, keepdims=keepdims)
    left = np.maximum(np.sum(counted, axis=axis, keepdims=keepdims) - ddof, 0)
    return total / np.asarray(left).astype(np.real(total).dtype)


def std(a, axis=None, dtype=None, ddof=0, keepdims=False, mean=None, correction=None, where=True):
    return np.sqrt(np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, mean=mean, correction=correction,
                          where=where))


def ptp(a, axis=None, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def argmax(a, axis=None, keepdims=False):
    return _place(a, axis, keepdims, np.max, np.greater)


def argmin(a, axis=None, keepdims=False):
    return _place(a, axis, keepdims, np.min, np.less)


def _place(a, axis, keepdims, best, better):
    if axis is None:
        found = _first(np.ravel(a), 0, best, better)
        return np.reshape(found, (1,) * np.ndim(a)) if keepdims else found
    found = _first(np.asarray(a), axis, best, better)
    return np.expand_dims(found, axis) if keepdims else found


def _first(values, axis, best, better):
    if np.iscomplexobj(values):
        return _winners(np.moveaxis(values, axis, -1), better)
    # Where what is best is. The first NaN wins, as in NumPy.
    wins = (values == best(values, axis=axis, keepdims=True)) | (values != values)
    count = values.shape[axis]
    places = np.reshape(np.arange(count), (count,) + (1,) * (values.ndim - 1 - axis % values.ndim))
    return np.min(np.where(wins, places, count), axis=axis)


def _winners(rows, better):
    if rows.ndim == 1:
        return winner(rows, better)
    out = np.zeros(rows.shape[:-1], np.int64)
    for k in range(rows.shape[0]):
        out[k] = _winners(rows[k], better)
    return out


def clip(a, a_min=None, a_max=None, min=None, max=None):
    low = a_min if min is None else min
    high = a_max if max is None else max
    if low is None:
        return np.minimum(a, high)
    if high is None:
        return np.maximum(a, low)
    return np.minimum(np.maximum(a, low), high)


def square(x):
    return x * x


def reciprocal(x):
    if np.asarray(x).dtype.kind in "iub":
        raise ValueError("reciprocals of integers, which are integers: divide 1.0 by them")
    return 1 / x


def heaviside(x1, x2):
    return np.where(x1 == 0, x2, np.where(x1 < 0, 0.0, np.where(x1 > 0, 1.0, x1)))


def sinc(x):
    # Near zero the series (DLMF 4.19.1), of which all derivatives are right; the quotient loses those.
    y = np.pi * x
    away = np.where(np.abs(y) < 0.5, 1.0, y)
    s = np.where(np.abs(y) < 0.5, y * y, 0.0)
    near = 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156 * (1 - s / 210))))))
    return np.where(np.abs(y) < 0.5, near, np.sin(away) / away)


def logaddexp(x1, x2):
    apart = _apart(x1, x2)
    return np.where(apart > 0, x2 + np.log1p(np.exp(-apart)), x1 + np.log1p(np.exp(apart)))


def _apart(x1, x2):
    # Both forms that are chosen between are the whole function: where the numbers are equal, there is no kink.
    return np.where((x1 == x2) & np.isinf(x1), 0, x2 - x1)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    values = np.asarray(x)
    if values.dtype.kind == "c":
        made = _finite(np.real(values), nan, posinf, neginf) + 1j * _finite(np.imag(values), nan, posinf, neginf)
    else:
        made = _finite(values, nan, posinf, neginf) if values.dtype.kind == "f" else np.copy(values)
    if copy:
        return made
    x[...] = made
    return x


def _finite(x, nan, posinf, neginf):
    limits = np.finfo(x.dtype)
    ends = np.where(x > 0, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf)
    return np.where(np.isnan(x), nan, np.where(np.isinf(x), ends, x)).astype(x.dtype)


def deg2rad(x):
    return x * (np.pi / 180.0)


def rad2deg(x):
    return x * (180.0 / np.pi)


def absolute_square(x):
    return np.real(x) * np.real(x) + np.imag(x) * np.imag(x)


def angle(z, deg=False):
    turn = np.arctan2(np.imag(z), np.real(z))
    return turn * (180.0 / np.pi) if deg else turn


def logaddexp2(x1, x2):
    apart = _apart(x1, x2)
    return np.where(apart > 0, x2 + np.log2(1 + np.exp2(-apart)), x1 + np.log2(1 + np.exp2(apart)))


def logical_xor(x1, x2):
    return (np.asarray(x1) != 0) != (np.asarray(x2) != 0)


def fmod(x1, x2):
    left, right = np.asarray(x1), np.asarray(x2)
    if left.dtype.kind in "iub" and right.dtype.kind in "iub":
        rest = np.remainder(np.abs(left * 1), np.abs(right * 1))
        return np.where(left < 0, -rest, rest).astype(np.remainder(x1, x2).dtype)[()]
    # The slope along x1 is one at zero and at multiples, too, which that of an absolute value would hide.
    size = np.abs(x2)
    return np.where(np.signbit(x1), -np.remainder(-x1, size), np.remainder(x1, size))[()]


def modf(x):
    whole = np.trunc(x)
    return np.where(np.isinf(x), np.copysign(0.0, x), np.where(np.signbit(x), -(whole - x), x - whole)), whole


def divmod_of(x1, x2):
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


def unwrap(p, discont=None, axis=-1, period=2 * np.pi):
    whole = np.moveaxis(np.asarray(p), axis, 0)
    if whole.dtype.kind in "iub" and isinstance(period, int):
        raise ValueError("whole numbers and a whole period")
    rows, steps = whole * 1.0, (whole[1:] - whole[:-1]) * 1.0
    near = np.remainder(steps + period / 2, period) - period / 2
    near = np.where((near == -period / 2) & (steps > 0), period / 2, near)
    least = period / 2 if discont is None else discont
    moved = np.where(np.abs(steps) < least, 0.0, near - steps)
    out = np.copy(rows)
    out[1:] = rows[1:] + np.cumsum(moved, axis=0)
    return np.moveaxis(out, 0, axis)


def _edge(value, a, axis):
    """What `np.diff` puts before or after: a number stands for one layer."""
    if np.ndim(value) > 0:
        return value
    return np.broadcast_to(np.asarray(value), tuple([1 if k == axis % a.ndim else a.shape[k] for k in range(a.ndim)]))


def diff(a, n=1, axis=-1, prepend=None, append=None):
    if isinstance(n, int) and n == 0:
        return a
    if prepend is not None:
        a = np.concatenate((_edge(prepend, a, axis), a), axis=axis)
    if append is not None:
        a = np.concatenate((a, _edge(append, a, axis)), axis=axis)
    if beyond(n, 0, np.inf):
        raise ValueError("a negative order")
    rows = np.moveaxis(a, axis, 0)
    for _ in range(n):
        rows = rows[1:] - rows[:-1]
    return np.moveaxis(rows, 0, axis)


def polyval(p, x):
    y, factors = np.zeros_like(x), np.asarray(p)
    for k in _range(len(factors)):
        y = y * x + factors[k]
    return y


def ediff1d(ary, to_end=None, to_begin=None):
    flat = np.ravel(ary)
    gaps = flat[1:] - flat[:-1]
    ends = [np.asarray(end).dtype.kind for end in (to_begin, to_end) if end is not None]
    if any("buifc".index(kind) > "buifc".index(flat.dtype.kind) for kind in ends):
        raise ValueError("ends of a dtype that is not that of the array")
    if to_begin is not None:
        gaps = np.concatenate((np.ravel(np.asarray(to_begin)).astype(flat.dtype), gaps))
    return gaps if to_end is None else np.concatenate((gaps, np.ravel(np.asarray(to_end)).astype(flat.dtype)))


def fsum(values):
    return float(np.sum(values))


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    x, y = np.asarray(a), np.asarray(b)
    near = (np.abs(x * 1 - y * 1) <= atol + rtol * np.abs(y)) & np.isfinite(y) | (x == y)
    return (near | np.isnan(x) & np.isnan(y) if equal_nan else near)[()]


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1, a2, equal_nan=False):
    x, y = np.asarray(a1), np.asarray(a2)
    if x.shape != y.shape:
        return False
    return bool(np.all((x == y) | np.isnan(x) & np.isnan(y) if equal_nan else x == y))


def fix(x):
    return np.trunc(x)


def ldexp(x1, x2):
    x, half = np.asarray(x1), np.asarray(x2) // 2  # of what its power of 2 alone would make infinite
    return (x * np.exp2(half * 1.0) * np.exp2((x2 - half) * 1.0)).astype(x.dtype)


def complex_log(z, base=None):
    found = np.log(complex(z))
    return found if base is None else found / np.log(complex(base))


def phase(z):
    return float(np.angle(complex(z)))


def polar(z):
    return float(np.abs(z)), float(np.angle(complex(z)))


def rect(r, phi):
    return complex(r * np.cos(phi), r * np.sin(phi))


# polynomials by their coefficients

def polyder(p, m=1):
    found = np.asarray(p)
    if m < 0:
        raise ValueError("a derivative of negative order")
    for _ in range(m):
        found = found[:-1] * np.arange(found.shape[0] - 1, 0, -1)
    return found


def polyint(p, m=1, k=None):
    found = np.asarray(p) * 1.0
    last = np.broadcast_to(np.atleast_1d(0.0 if k is None else k), (m,))
    for j in range(m):
        found = np.concatenate((found / np.arange(found.shape[0], 0, -1), last[j:j + 1].astype(found.dtype)))
    return found


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    if full or cov:
        raise ValueError("more than the coefficients")
    at, values = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    powers = np.vander(at, deg + 1)
    if w is not None:
        powers = powers * np.asarray(w)[:, None]
        values = values * (np.asarray(w) if values.ndim == 1 else np.asarray(w)[:, None])
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    cut = at.shape[0] * float(np.finfo(at.dtype).eps) if rcond is None else rcond
    found = np.linalg.lstsq(powers / scale, values, cut)[0]
    return found / scale if values.ndim == 1 else found / scale[:, None]


def roots(p):
    if np.ndim(p) != 1 or len(p) < 2:
        raise ValueError("roots of less than two coefficients")
    if p[0] == 0:
        raise ArithmeticError("roots of a polynomial whose first coefficient is zero")
    companion = np.eye(len(p) - 1, k=-1) * (0.0 * p[0] + 1.0)
    companion[0] = -np.asarray(p)[1:] / p[0]
    return np.linalg.eigvals(companion)
