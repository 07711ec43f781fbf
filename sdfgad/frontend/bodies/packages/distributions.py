"""Distributions of `scipy.stats`: densities and their logarithms, in plain NumPy for the interpreter to run.

The formulas are those of SciPy's documentation, with `z = (x - loc) / scale`. A scale or a shape that no distribution
has gives NaN, as there.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from sdfgad.frontend.bodies.special import betaln, expit, log_ndtr, ndtr, of_numbers

_ROOT = math.sqrt(2 * math.pi)


def standard(x, loc, scale):
    return (np.asarray(x, np.float64) - loc) / positive(scale)


def positive(scale):
    return np.where(np.asarray(scale) > 0, scale, np.nan)


def supported(inside, z, logarithm, scale):
    """The logarithm of a density where it has one. NaN, which lies nowhere, stays."""
    return np.where(inside, logarithm, np.where(z == z, -np.inf, z))[()] - np.log(scale)


def powered(z, exponent, logarithm):
    """The logarithm of a power of z, which is 0 or more: at both ends the exponent alone decides."""
    ends = np.where(exponent == 0, 0.0, np.where((exponent > 0) == (z > 0), np.inf, -np.inf))
    return np.where((z > 0) & (z < np.inf), exponent * logarithm, ends)


def gammaln(z):
    return of_numbers("gammaln", z)


# normal

def norm_pdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return np.exp(-z * z / 2.0) / _ROOT / scale


def norm_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return -z * z / 2.0 - 0.5 * math.log(2 * math.pi) - np.log(scale)


def norm_cdf(x, loc=0, scale=1):
    return ndtr(standard(x, loc, scale))


def norm_logcdf(x, loc=0, scale=1):
    return log_ndtr(standard(x, loc, scale))


def norm_sf(x, loc=0, scale=1):
    return ndtr(-standard(x, loc, scale))


def norm_logsf(x, loc=0, scale=1):
    return log_ndtr(-standard(x, loc, scale))


def norm_ppf(q, loc=0, scale=1):
    return of_numbers("ndtri", np.asarray(q, np.float64)) * positive(scale) + loc


def norm_isf(q, loc=0, scale=1):
    return loc - of_numbers("ndtri", np.asarray(q, np.float64)) * positive(scale)


# the whole line

def t_logpdf(x, df, loc=0, scale=1):
    z, n = standard(x, loc, scale), positive(df) * 1.0
    # Of many degrees the two logarithms would lose their difference: it is that of the normal density, and a series.
    many, few, most = n > 40, np.where(n > 40, 1.0, n), np.where(n < np.inf, n, 1.0)
    rest = 1 / np.where(many, n, 1.0)
    series = rest * (-1 / 4 + rest**2 * (1 / 24 + rest**2 * (-1 / 20 + rest**2 * 17 / 112)))
    height = gammaln((few + 1) / 2) - gammaln(few / 2) - 0.5 * np.log(few * math.pi)
    away = np.where(n < np.inf, (most + 1) / 2 * np.log1p(z * z / most), z * z / 2)
    return np.where(many, series - 0.5 * math.log(2 * math.pi), height) - away - np.log(scale)


def cauchy_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return -math.log(math.pi) - np.log1p(z * z) - np.log(scale)


def cauchy_cdf(x, loc=0, scale=1):
    return np.arctan2(1.0, -standard(x, loc, scale)) / math.pi


def laplace_logpdf(x, loc=0, scale=1):
    return -math.log(2.0) - np.abs(standard(x, loc, scale)) - np.log(scale)


def laplace_cdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    above, below = np.where(z > 0, z, 0.0), np.where(z > 0, 0.0, z)
    return np.where(z > 0, 1.0 - 0.5 * np.exp(-above), 0.5 * np.exp(below))[()]


def logistic_logpdf(x, loc=0, scale=1):
    z = -np.abs(standard(x, loc, scale))
    return z - 2.0 * np.log1p(np.exp(z)) - np.log(scale)


def logistic_cdf(x, loc=0, scale=1):
    return expit(standard(x, loc, scale))


# half of the line, or a part of it

def expon_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return supported(z >= 0, z, -z, scale)


def expon_cdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return -np.expm1(-np.where(z < 0, 0.0, z))[()]


def uniform_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return supported((z >= 0) & (z <= 1), z, 0.0 * z, scale)


def uniform_cdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return np.where(z < 0, 0.0, np.where(z > 1, 1.0, z))[()]


def gamma_logpdf(x, a, loc=0, scale=1):
    z, shape = standard(x, loc, scale), positive(a) * 1.0
    inside = np.where(z > 0, z, 1.0)
    return supported(z >= 0, z, powered(z, shape - 1, np.log(inside)) - z - gammaln(shape), scale)


def chi2_logpdf(x, df, loc=0, scale=1):
    return gamma_logpdf(x, df / 2.0, loc, 2.0 * scale)


def invgamma_logpdf(x, a, loc=0, scale=1):
    z, shape = standard(x, loc, scale), positive(a) * 1.0
    inside = np.where(z > 0, z, 1.0)
    return supported(z > 0, z, -(shape + 1) * np.log(inside) - gammaln(shape) - 1 / inside, scale)


def lognorm_logpdf(x, s, loc=0, scale=1):
    z, spread = standard(x, loc, scale), positive(s) * 1.0
    inside = np.where(z > 0, z, 1.0)
    away = np.log(inside) / spread
    return supported(z > 0, z, -away * away / 2 - np.log(spread * inside * _ROOT), scale)


def pareto_logpdf(x, b, loc=0, scale=1):
    z, shape = standard(x, loc, scale), positive(b) * 1.0
    inside = np.where(z >= 1, z, 1.0)
    return supported(z >= 1, z, np.log(shape) - (shape + 1) * np.log(inside), scale)


def rayleigh_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    inside = np.where((z > 0) & (z < np.inf), z, 1.0)
    return supported((z > 0) & (z < np.inf), z, np.log(inside) - 0.5 * inside * inside, scale)


def weibull_min_logpdf(x, c, loc=0, scale=1):
    z, shape = standard(x, loc, scale), positive(c) * 1.0
    inside = np.where(z > 0, z, 1.0)
    found = np.log(shape) + powered(z, shape - 1, np.log(inside)) - np.where(z >= 0, z, 1.0) ** shape
    return supported(z >= 0, z, found, scale)


def halfnorm_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return supported(z >= 0, z, 0.5 * math.log(2 / math.pi) - z * z / 2, scale)


def beta_logpdf(x, a, b, loc=0, scale=1):
    z, left, right = standard(x, loc, scale), positive(a) * 1.0, positive(b) * 1.0
    below, above = np.where(z > 0, z, 1.0), np.where((z >= 0) & (z < 1), z, 0.0)
    power = powered(z, left - 1, np.log(below)) + powered(1 - z, right - 1, np.log1p(-above))
    return supported((z >= 0) & (z <= 1), z, power - betaln(left, right), scale)


# numbers of events

def counted(k, most):
    """Whether something can be counted that often."""
    return (k >= 0) & (k <= most) & (k == np.floor(k))


def poisson_logpmf(k, mu, loc=0):
    n = np.asarray(k, np.float64) - loc
    mean = np.where(np.asarray(mu) >= 0, mu, np.nan) * 1.0
    inside = np.where(counted(n, np.inf), n, 0.0)
    power = np.where(inside == 0, 0.0, inside * np.log(np.where(inside == 0, 1.0, mean)))
    return supported(counted(n, np.inf), n, power - gammaln(inside + 1) - mean, 1.0)


def binom_logpmf(k, n, p, loc=0):
    found, all_of_them = np.asarray(k, np.float64) - loc, np.asarray(n, np.float64)
    share = np.where((np.asarray(p) >= 0) & (np.asarray(p) <= 1), p, np.nan) * 1.0
    inside = np.where(counted(found, all_of_them), found, 0.0)
    rest = all_of_them - inside
    ways = gammaln(all_of_them + 1) - gammaln(inside + 1) - gammaln(rest + 1)
    hits = np.where(inside == 0, 0.0, inside * np.log(np.where(inside == 0, 1.0, share)))
    misses = np.where(rest == 0, 0.0, rest * np.log1p(-np.where(rest == 0, 0.0, share)))
    return supported(counted(found, all_of_them), found, ways + (hits + misses), 1.0)


def bernoulli_logpmf(k, p, loc=0):
    return binom_logpmf(k, 1, p, loc)


# of several numbers

_SINGULAR = ArithmeticError  # of data: unlike what these bodies do not take, it is raised in the run


def multivariate_normal_logpdf(x, mean=None, cov=1, allow_singular=False):
    spread = np.asarray(cov, np.float64)
    count = spread.shape[0] if spread.ndim else (1 if mean is None else np.size(mean))
    if spread.ndim < 2:
        spread = np.eye(count) * spread
    if allow_singular:
        spectrum = np.linalg.eigvalsh(spread)
        if spectrum[0] <= 1e6 * np.finfo(np.float64).eps * np.max(np.abs(spectrum)):  # where SciPy drops directions
            raise _SINGULAR("a covariance that is singular")
    centre = np.zeros(count) if mean is None else np.reshape(mean, (count,))
    points = np.asarray(x, np.float64)
    if points.ndim < 2:
        points = np.reshape(points, (-1, count))
    factor = np.linalg.cholesky(spread)
    flat = np.reshape(points - centre, (-1, count))
    away = np.linalg.solve(factor, flat.T)
    found = -0.5 * (count * math.log(2 * math.pi) + np.sum(away * away, axis=0)) - np.sum(np.log(np.diag(factor)))
    return np.squeeze(np.reshape(found, points.shape[:-1]))[()]


def dirichlet_logpdf(x, alpha):
    shares, shape = np.asarray(x, np.float64), positive(alpha) * 1.0
    if shares.shape[0] != shape.shape[0]:
        raise ValueError("a point of a Dirichlet distribution without its last share")
    height = gammaln(np.sum(shape)) - np.sum(gammaln(shape))
    logarithm = np.log(np.where(shares > 0, shares, 1.0))
    found = height + np.sum(powered(shares.T, shape - 1, logarithm.T).T, axis=0)
    # SciPy raises an exception for what does not add up to one.
    return np.where(np.abs(np.sum(shares, axis=0) - 1.0) <= 1e-9, found, np.nan)[()]
