"""Polynomials that are made inside of a function: `np.poly1d`, `np.polynomial.Polynomial` and its kin."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from types import MappingProxyType

import numpy as np

from sdfgad.frontend.bodies import series
from sdfgad.frontend.bodies.numeric import polyder, polyint


def _of_one_length(*polynomials):
    length = max(np.size(p) for p in polynomials)
    return [np.concatenate((np.zeros(length - p.shape[0], p.dtype), p)) for p in map(np.atleast_1d, polynomials)]


def polyadd(a1, a2):
    left, right = _of_one_length(a1, a2)
    return left + right


def polysub(a1, a2):
    left, right = _of_one_length(a1, a2)
    return left - right


def polymul(a1, a2):
    return np.convolve(np.atleast_1d(a1), np.atleast_1d(a2))


def polydiv(u, v):
    """What is left over is as long as the divisor allows: NumPy drops zeros before it, if data give some."""
    u, v = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    count = max(u.shape[0] - v.shape[0] + 1, 0)
    quotient = np.zeros(max(count, 1), np.result_type(u, v))
    rest = u.astype(quotient.dtype)
    for k in range(count):
        quotient[k] = rest[k] * (1.0 / v[0])
        rest[k:k + v.shape[0]] -= quotient[k] * v
    first = min(count, u.shape[0] - 1)
    if first + 1 < u.shape[0] and np.abs(rest[first]) <= 1e-8 or first > 0 and np.max(np.abs(rest[:first])) > 1e-8:
        raise ArithmeticError("numpy.polydiv, whose remainder is not as long as the divisor allows")
    return quotient, rest[first:]


def matrix_of_series(family, name, count, *options):
    """What a linear function of `numpy.polynomial` does with so many coefficients, known while translating."""
    function = getattr(getattr(np.polynomial, family), name)
    return np.stack([function(row, *options) for row in np.eye(count)], axis=1)


def _applied(family, name, c, axis, *options):
    terms = np.moveaxis(np.asarray(c) + 0.0, axis, 0)
    matrix = matrix_of_series(family, name, terms.shape[0], *options)
    return np.moveaxis(np.tensordot(matrix.astype(terms.dtype), terms, 1), 0, axis)


def _integrated(family, name, c, axis, m, k, lbnd, scl):
    if np.ndim(k) > 0 and len(k) > 0 or np.ndim(k) == 0 and k != 0:
        raise ValueError("constants of integration")
    return _applied(family, name, c, axis, m, (), lbnd, scl)


def _derived(family, name):
    def body(c, m=1, scl=1, axis=0):
        return _applied(family, name, c, axis, m, scl)

    return body


def _antiderived(family, name):
    def body(c, m=1, k=(), lbnd=0, scl=1, axis=0):
        return _integrated(family, name, c, axis, m, k, lbnd, scl)

    return body


PARTS = MappingProxyType({stem + kind: make(family, stem + kind) for stem, family in (
    ("cheb", "chebyshev"), ("leg", "legendre"), ("herm", "hermite"), ("herme", "hermite_e"), ("lag", "laguerre"))
    for kind, make in (("der", _derived), ("int", _antiderived))})
"""Derivatives and integrals of series, by name."""


class Poly1d:
    """`np.poly1d`: coefficients, that of the highest power first. Those that are zero there stay."""

    stands_for = np.poly1d

    def __init__(self, terms):
        self.terms = terms

    @property
    def coeffs(self):
        if self.terms.shape[0] > 1 and self.terms[0] == 0:
            raise ArithmeticError("coefficients of a polynomial whose highest one is zero, which NumPy drops")
        return self.terms

    @property
    def c(self):
        return self.coeffs

    @property
    def coef(self):
        return self.coeffs

    @property
    def order(self):
        return self.coeffs.shape[0] - 1

    @property
    def o(self):
        return self.coeffs.shape[0] - 1

    def __call__(self, val):
        return np.polyval(self.terms, val)

    def __neg__(self):
        return Poly1d(-self.terms)

    def __pos__(self):
        return self

    def __add__(self, other):
        return Poly1d(polyadd(self.terms, terms_of(other)))

    def __radd__(self, other):
        return Poly1d(polyadd(terms_of(other), self.terms))

    def __sub__(self, other):
        return Poly1d(polysub(self.terms, terms_of(other)))

    def __rsub__(self, other):
        return Poly1d(polysub(terms_of(other), self.terms))

    def __mul__(self, other):
        return Poly1d(self.terms * other if np.isscalar(other) else np.convolve(self.terms, terms_of(other)))

    def __rmul__(self, other):
        return Poly1d(other * self.terms if np.isscalar(other) else np.convolve(terms_of(other), self.terms))

    def __truediv__(self, other):
        if np.ndim(other) > 0:
            raise ValueError("a quotient of polynomials")
        return Poly1d(self.terms / other)

    def __getitem__(self, val):
        count = self.terms.shape[0]
        return self.terms[count - 1 - val] if 0 <= val < count else 0

    def __pow__(self, power):
        found = Poly1d(np.array([1]))
        for _ in range(power):
            found = Poly1d(np.convolve(found.terms, self.terms))
        return found

    def deriv(self, m=1):
        return Poly1d(polyder(self.terms, m))

    def integ(self, m=1, k=0):
        return Poly1d(polyint(self.terms, m, k))


def terms_of(value):
    return value.terms if isinstance(value, Poly1d) else np.atleast_1d(value)


def poly1d(c_or_r, r=False, variable=None):
    if isinstance(c_or_r, Poly1d):
        return c_or_r
    return Poly1d(np.poly(c_or_r) if r else np.atleast_1d(c_or_r))


class Polynomial:
    """`np.polynomial.Polynomial`: coefficients, that of the lowest power first, on the domain from -1 to 1."""

    stands_for = np.polynomial.Polynomial

    def __init__(self, coef):
        self.coef = np.atleast_1d(coef) + 0.0

    def __call__(self, arg):
        return series.polyval(np.float64(1.0) * arg, self.coef)  # the map of the domain is in double precision

    def degree(self):
        return self.coef.shape[0] - 1

    def __neg__(self):
        return Polynomial(-self.coef)

    def __add__(self, other):
        return Polynomial(series.polyadd(self.coef, coefficients_of(other)))

    def __radd__(self, other):
        return Polynomial(series.polyadd(coefficients_of(other), self.coef))

    def __sub__(self, other):
        return Polynomial(series.polysub(self.coef, coefficients_of(other)))

    def __rsub__(self, other):
        return Polynomial(series.polysub(coefficients_of(other), self.coef))

    def __mul__(self, other):
        return Polynomial(series.polymul(self.coef, coefficients_of(other)))

    def __rmul__(self, other):
        return Polynomial(series.polymul(coefficients_of(other), self.coef))

    def deriv(self, m=1):
        return Polynomial(series.polyder(self.coef, m))

    def integ(self, m=1, k=(), lbnd=None):
        return Polynomial(series.polyint(self.coef, m, k, 0 if lbnd is None else lbnd))


def coefficients_of(value):
    return value.coef if isinstance(value, Polynomial) else np.atleast_1d(value)


def polynomial(coef, domain=None, window=None, symbol="x"):
    if domain is not None or window is not None:
        raise ValueError("a domain or window of a polynomial")
    return Polynomial(coef)
