"""How floating-point numbers are stored, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def _scaled(x):
    """Numbers without 0 and infinity in the middle of the range, and the exponents that this has taken away."""
    size = np.abs(x)
    far = 80 if x.dtype == np.float32 else 600
    usual = np.isfinite(x) & (x != 0)
    small, large = usual & (size < 2.0 ** -far), usual & (size > 2.0 ** far)
    shift = np.where(small, -far, np.where(large, far, 0))
    factor = np.where(small, 2.0 ** far, np.where(large, 2.0 ** -far, 1.0)).astype(x.dtype)
    return np.where(usual, x * factor, np.ones(1, x.dtype)[0]), shift, usual


def _exponent(x):
    """0.5 <= abs(x) / 2 ** exponent < 1: the logarithm may be off by one next to powers of 2."""
    size = np.abs(x).astype(np.float64)
    near = np.floor(np.log2(size)).astype(np.int64) + 1
    part = size * np.exp2(-near * 1.0)
    return near + np.where(part >= 1.0, 1, 0) - np.where(part < 0.5, 1, 0)


def frexp(x):
    x = np.asarray(x)
    near, shift, usual = _scaled(x)
    exponent = _exponent(near)
    part = np.where(usual, near * np.exp2(-exponent * 1.0).astype(x.dtype), x)
    return part[()], np.where(usual, exponent + shift, 0).astype(np.int32)[()]


def _gap(x):
    """From a number to the next one away from zero."""
    near, shift, usual = _scaled(x)
    digits, least = (24, -149) if x.dtype == np.float32 else (53, -1074)
    power = np.maximum(_exponent(near) + shift - digits, least)
    half = power // 2  # a power of 2 below the normal numbers in two steps
    gap = np.exp2(half * 1.0).astype(x.dtype) * np.exp2((power - half) * 1.0).astype(x.dtype)
    tiny = (np.exp2(np.float64(least // 2)) * np.exp2(np.float64(least - least // 2))).astype(x.dtype)
    return np.where(usual, gap, np.where(x == 0, tiny, np.full(1, np.nan, x.dtype)[0])), power > least


def spacing(x):
    x = np.asarray(x)
    gap = np.where(np.abs(x) == np.finfo(x.dtype).max, np.inf, _gap(x)[0])
    return np.where(x < 0, -gap, gap).astype(x.dtype)[()]


def nextafter(x1, x2):
    x1, x2 = np.asarray(x1), np.asarray(x2)
    kind = x1.dtype
    gap, wide = _gap(x1)
    part, _ = frexp(x1)
    up = x2 > x1
    inwards = (x1 != 0) & (up != (x1 > 0))
    step = np.where(inwards & wide & (np.abs(part) == 0.5), gap * 0.5, gap)
    most = np.copysign(np.finfo(kind).max, x1).astype(kind)
    moved = np.where(np.isinf(x1), most, x1 + np.where(up, step, -step))
    return np.where(x1 == x2, x1, np.where(np.isnan(x1) | np.isnan(x2), x1 + x2, moved))[()]


def hypot_of(*coordinates):
    # Squares of large and of small numbers are none that floats hold; a factor out of constants has no slope.
    most, total = 0.0, 0.0
    for c in coordinates:
        most = np.fmax(most, np.abs(c))
    factor = np.where(most > 1e140, 1e-160, np.where(most < 1e-140, 1e200, 1.0))
    for c in coordinates:
        total = total + (factor * c) * (factor * c)
    return float(np.where(np.isinf(most), np.inf, np.sqrt(total) / factor))


def makes_nan(result, *arguments):
    """Whether a function of numbers has no value at these."""
    found = np.isnan(result)
    for argument in arguments:
        found = found & (argument == argument)
    return found


def makes_infinity(result, *arguments):
    """Whether a function is infinite at finite numbers."""
    found = np.isinf(result)
    for argument in arguments:
        found = found & np.isfinite(argument)
    return found


def is_any_open(*arrays):
    """Whether any element is infinite or NaN."""
    return not all(np.all(np.isfinite(array)) for array in arrays)
