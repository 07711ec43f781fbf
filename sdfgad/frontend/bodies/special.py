"""Functions of `math` and of SciPy, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def expit(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))[()]


def logit(x):
    return np.log(x) - np.log1p(-x)


def log_expit(x):
    return np.where(x >= 0, -np.log1p(np.exp(-x)), x - np.log1p(np.exp(x)))[()]


def xlogy(x, y):
    return np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log(y))[()]


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
    return np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log1p(y))[()]


def rel_entr(x, y):
    return np.where((x > 0) & (y > 0), x * np.log(x / y),
                    np.where((x == 0) & (y >= 0), 0.0, np.where(np.isnan(x) | np.isnan(y), np.nan, np.inf)))[()]


def kl_div(x, y):
    return np.where((x > 0) & (y > 0), x * np.log(x / y) - x + y,
                    np.where((x == 0) & (y >= 0), y, np.where(np.isnan(x) | np.isnan(y), np.nan, np.inf)))[()]


def huber(delta, r):
    near = np.abs(r) <= delta
    return np.where(delta < 0, np.inf, np.where(near, 0.5 * r * r, delta * (np.abs(r) - 0.5 * delta)))[()]


def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    if return_sign:
        raise ValueError("the sign of a sum beside its logarithm")
    high = np.max(a, axis=axis, keepdims=True)
    high = np.where(np.isfinite(high), high, 0)
    parts = np.exp(a - high) if b is None else b * np.exp(a - high)
    total = np.log(np.sum(parts, axis=axis, keepdims=True)) + high
    if keepdims:
        return total
    return np.reshape(total, ())[()] if axis is None else np.squeeze(total, axis)


def softmax(x, axis=None):
    parts = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return parts / np.sum(parts, axis=axis, keepdims=True)


def log_softmax(x, axis=None):
    away = x - np.max(x, axis=axis, keepdims=True)
    return away - np.log(np.sum(np.exp(away), axis=axis, keepdims=True))


def product(iterable, start=1):
    total = start
    for value in iterable:
        total = total * value
    return total


def distance(p, q):
    total = 0.0
    for k in range(len(p)):
        total = total + (p[k] - q[k]) * (p[k] - q[k])
    return np.sqrt(total)
