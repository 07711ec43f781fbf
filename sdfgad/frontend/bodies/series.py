"""Functions of `numpy.polynomial`, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np


def _ready(x, c, tensor):
    """Coefficients along the first axis, ready to broadcast with the points."""
    terms, at = np.asarray(c) + 0.0, np.asarray(x)
    return np.reshape(terms, terms.shape + (1,) * at.ndim) if tensor and at.ndim > 0 else terms, at


def polyval(x, c, tensor=True):
    """By Horner's rule."""
    terms, at = _ready(x, c, tensor)
    found = terms[-1] + at * 0
    for k in range(2, terms.shape[0] + 1):
        found = terms[-k] + found * at
    return found


def _valued(family):
    """The value, by Clenshaw's rule."""
    def body(x, c, tensor=True):
        return _clenshaw(x, c, tensor, family)

    return body


_CHEBYSHEV, _LEGENDRE, _HERMITE, _PROBABILISTS, _LAGUERRE = range(5)
chebval, legval, hermval, hermeval, lagval = map(_valued, range(5))


def _step(family, n, x):
    """The recurrence p[n + 1] = a p[n] - b p[n - 1], n > 0: its two factors (DLMF 18.9)."""
    if family == _CHEBYSHEV:
        return 2.0 * x, 1.0
    if family == _LEGENDRE:
        return (2 * n + 1) / (n + 1) * x, n / (n + 1)
    if family == _HERMITE:
        return 2.0 * x, 2.0 * n
    if family == _PROBABILISTS:
        return x, 1.0 * n
    return ((2 * n + 1) - x) / (n + 1), n / (n + 1)


def _first(family, x):
    return 2.0 * x if family == _HERMITE else 1.0 - x if family == _LAGUERRE else x


def _clenshaw(x, c, tensor, family):
    terms, at = _ready(x, c, tensor)
    last = terms.shape[0] - 1
    if last == 0:
        return terms[0] + at * 0
    above, here = 0.0 * at, terms[last] + at * 0
    for k in range(last - 1, 0, -1):
        factor = _step(family, k, at)[0]
        lost = _step(family, k + 1, at)[1]
        above, here = here, terms[k] + factor * here - lost * above
    return terms[0] + _first(family, at) * here - _step(family, 1, at)[1] * above


def polyvander(x, deg):
    at = np.atleast_1d(np.asarray(x) + 0.0)
    columns = [np.ones_like(at)]
    for _ in range(deg):
        columns.append(columns[-1] * at)
    return np.stack(columns, axis=-1)


def _powers(family):
    def body(x, deg):
        at = np.atleast_1d(np.asarray(x) + 0.0)
        columns = [np.ones_like(at)]
        if deg > 0:
            columns.append(_first(family, at))
        for n in range(1, deg):
            factor, lost = _step(family, n, at)
            columns.append(factor * columns[-1] - lost * columns[-2])
        return np.stack(columns, axis=-1)

    return body


chebvander, legvander, hermvander, hermevander, lagvander = map(_powers, range(5))


def polyder(c, m=1, scl=1, axis=0):
    found = np.moveaxis(np.asarray(c) + 0.0, axis, 0)
    if m >= found.shape[0]:
        return np.moveaxis(found[:1] * 0, 0, axis)
    for _ in range(m):
        n = found.shape[0]
        found = (scl * found[1:] * np.reshape(np.arange(1, n), (-1,) + (1,) * (found.ndim - 1))).astype(found.dtype)
    return np.moveaxis(found, 0, axis)


def polyint(c, m=1, k=(), lbnd=0, scl=1, axis=0):
    found = np.moveaxis(np.asarray(c) + 0.0, axis, 0)
    if found.ndim > 1 and (len(k) > 0 or lbnd != 0):
        raise ValueError("constants of several polynomials")
    for j in range(m):
        powers = np.reshape(np.arange(1, found.shape[0] + 1), (-1,) + (1,) * (found.ndim - 1))
        found = np.concatenate((0 * found[:1], (scl * found / powers).astype(found.dtype)))
        if found.ndim == 1:
            found[0] = (k[j] if j < len(k) else 0.0) - polyval(lbnd, found)
    return np.moveaxis(found, 0, axis)


def polyadd(c1, c2):
    left, right = np.atleast_1d(c1) + 0.0, np.atleast_1d(c2) + 0.0
    more = left.shape[0] - right.shape[0]
    if more > 0:
        right = np.concatenate((right, np.zeros(more, right.dtype)))
    if more < 0:
        left = np.concatenate((left, np.zeros(-more, left.dtype)))
    return left + right


def polysub(c1, c2):
    return polyadd(c1, -(np.asarray(c2) + 0.0))


def polymul(c1, c2):
    return np.convolve(np.atleast_1d(c1) + 0.0, np.atleast_1d(c2) + 0.0)


def polyvalfromroots(x, r, tensor=True):
    roots, at = np.asarray(r) + 0.0, np.asarray(x)
    if tensor and at.ndim > 0:
        roots = np.reshape(roots, roots.shape + (1,) * at.ndim)
    return np.prod(at - roots, axis=0)


def polyfit(x, y, deg, rcond=None, full=False, w=None):
    if full or not isinstance(deg, int):
        raise ValueError("more than the coefficients, or a list of degrees")
    return np.polyfit(x, y, deg, rcond=rcond, w=w)[::-1]


def polyval2d(x, y, c):
    return polyval(y, polyval(x, c), tensor=False)


def of_object(x, c, offset, scale, family):
    """A polynomial of one of the families, behind a linear map of its domain."""
    at = offset + scale * np.asarray(x)
    return polyval(at, c) if family < 0 else _clenshaw(at, c, True, family)


# Orthogonal polynomials of a degree that is known, by their recurrences. DLMF 18.9.1.

def _recurrence(n, x, first, step):
    if not isinstance(n, (int, float)) or n != int(n) or n < 0:
        raise ValueError("a polynomial of a degree that is not known before the call")
    before, now = 1.0 + 0.0 * x, first
    if n == 0:
        return before
    for k in range(1, int(n)):
        a, b, c = step(k)
        before, now = now, (a * x + b) * now - c * before
    return now


def eval_legendre(n, x):
    return _recurrence(n, x, 1.0 * x, lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1)))


def eval_chebyt(n, x):
    return _recurrence(n, x, 1.0 * x, lambda k: (2.0, 0.0, 1.0))


def eval_chebyu(n, x):
    return _recurrence(n, x, 2.0 * x, lambda k: (2.0, 0.0, 1.0))


def eval_hermite(n, x):
    return _recurrence(n, x, 2.0 * x, lambda k: (2.0, 0.0, 2.0 * k))


def eval_hermitenorm(n, x):
    return _recurrence(n, x, 1.0 * x, lambda k: (1.0, 0.0, 1.0 * k))


def eval_laguerre(n, x):
    return eval_genlaguerre(n, 0.0, x)


def eval_genlaguerre(n, alpha, x):
    return _recurrence(n, x, 1.0 + alpha - x,
                       lambda k: (-1.0 / (k + 1), (2 * k + 1 + alpha) / (k + 1), (k + alpha) / (k + 1)))


def eval_gegenbauer(n, alpha, x):
    return _recurrence(n, x, 2.0 * alpha * x,
                       lambda k: (2.0 * (k + alpha) / (k + 1), 0.0, (k + 2.0 * alpha - 1) / (k + 1)))
