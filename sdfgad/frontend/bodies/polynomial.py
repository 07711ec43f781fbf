"""Polynomials by their coefficients, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def polyder(p, m=1):
    found = np.asarray(p)
    for _ in range(m):
        n = found.shape[0] - 1
        found = found[:-1] * np.arange(n, 0, -1)
    return found


def polyint(p, m=1):
    found = np.asarray(p) * 1.0
    for _ in range(m):
        found = np.concatenate((found / np.arange(found.shape[0], 0, -1), np.zeros(1, found.dtype)))
    return found


def polyadd(a1, a2):
    left, right = np.atleast_1d(a1), np.atleast_1d(a2)
    more = left.shape[0] - right.shape[0]
    if more > 0:
        right = np.concatenate((np.zeros(more, right.dtype), right))
    if more < 0:
        left = np.concatenate((np.zeros(-more, left.dtype), left))
    return left + right


def polysub(a1, a2):
    return polyadd(a1, -np.asarray(a2))


def polymul(a1, a2):
    return np.convolve(np.atleast_1d(a1), np.atleast_1d(a2))


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
