"""More distributions of `scipy.stats`, and shares below and above a place, in plain NumPy for the interpreter."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,attr-defined"
from __future__ import annotations

import inspect
import math
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.bodies import distributions
from sdfgad.frontend.bodies.distributions import counted, gamma_logpdf, gammaln, positive, standard, supported, t_logpdf
from sdfgad.frontend.bodies.special import betainc, betaln, gammainc, gammaincc, i0e, ndtr

# shares of a distribution below and above: shapes are numbers known before the call

def gamma_cdf(x, a, loc=0, scale=1):
    return gammainc(a, np.maximum(standard(x, loc, scale), 0.0))


def gamma_sf(x, a, loc=0, scale=1):
    return gammaincc(a, np.maximum(standard(x, loc, scale), 0.0))


def chi2_cdf(x, df, loc=0, scale=1):
    return gamma_cdf(x, df / 2, loc, 2 * positive(scale))


def chi2_sf(x, df, loc=0, scale=1):
    return gamma_sf(x, df / 2, loc, 2 * positive(scale))


def beta_cdf(x, a, b, loc=0, scale=1):
    return betainc(a, b, np.clip(standard(x, loc, scale), 0.0, 1.0))


def beta_sf(x, a, b, loc=0, scale=1):
    return betainc(b, a, np.clip(1.0 - standard(x, loc, scale), 0.0, 1.0))


def t_cdf(x, df, loc=0, scale=1):
    # The share is one of the square of z, whose derivative by it has no value at zero.
    z = standard(x, loc, scale)
    near = np.abs(z) < 1e-8
    inside = np.where(near, 1.0, z)
    tail = 0.5 * betainc(df / 2, 0.5, df / (df + inside * inside))
    return np.where(near, 0.5 + z * np.exp(t_logpdf(0.0, df)), np.where(z < 0, tail, 1.0 - tail))[()]


def t_sf(x, df, loc=0, scale=1):
    return t_cdf(-standard(x, loc, scale), df)


def f_cdf(x, dfn, dfd, loc=0, scale=1):
    z = np.maximum(standard(x, loc, scale), 0.0) * dfn
    return betainc(dfn / 2, dfd / 2, np.where(z == np.inf, 1.0, z / (dfd + np.where(z == np.inf, 1.0, z))))


def lognorm_cdf(x, s, loc=0, scale=1):
    z = standard(x, loc, scale)
    inside = np.where(z > 0, z, 1.0)
    return np.where(z > 0, ndtr(np.log(inside) / positive(s)), np.where(z == z, 0.0, z))[()]


# more families

def maxwell_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    inside = np.where(z > 0, z, 1.0)
    return supported(z > 0, z, 0.5 * math.log(2 / math.pi) + 2.0 * np.log(inside) - 0.5 * inside * inside, scale)


def gumbel_r_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return -z - np.exp(-z) - np.log(scale)


def gumbel_l_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return z - np.exp(z) - np.log(scale)


def f_logpdf(x, dfn, dfd, loc=0, scale=1):
    z = standard(x, loc, scale)
    n, m = positive(dfn) * 1.0, positive(dfd) * 1.0
    inside = np.where(z > 0, z, 1.0)
    found = (0.5 * n * np.log(n) + 0.5 * m * np.log(m) + (0.5 * n - 1) * np.log(inside)
             - 0.5 * (n + m) * np.log(m + n * inside) - betaln(0.5 * n, 0.5 * m))
    return supported(z > 0, z, found, scale)


def halfcauchy_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return supported(z >= 0, z, math.log(2 / math.pi) - np.log1p(z * z), scale)


def fisk_logpdf(x, c, loc=0, scale=1):
    z = standard(x, loc, scale)
    power, inside = positive(c) * 1.0, np.where(z > 0, z, 1.0)
    size = np.log(inside)
    return supported(z > 0, z, np.log(power) - (power + 1) * size - 2 * np.log1p(np.exp(-power * size)), scale)


def invgauss_logpdf(x, mu, loc=0, scale=1):
    z = standard(x, loc, scale)
    mean, inside = positive(mu) * 1.0, np.where(z > 0, z, 1.0)
    away = inside - 2 * mean + mean * mean / inside
    found = -0.5 * math.log(2 * math.pi) - 1.5 * np.log(inside) - away / (2 * mean * mean)
    return supported(z > 0, z, found, scale)


erlang_cdf, erlang_logpdf = gamma_cdf, gamma_logpdf


def vonmises_logpdf(x, kappa, loc=0, scale=1):
    z = standard(x, loc, scale)
    strength = positive(kappa) * 1.0
    return strength * (np.cos(z) - 1) - math.log(2 * math.pi) - np.log(i0e(strength)) - np.log(scale)


def geom_logpmf(k, p, loc=0):
    found = np.asarray(k, np.float64) - loc
    share = np.where((np.asarray(p) > 0) & (np.asarray(p) <= 1), p, np.nan) * 1.0
    inside = (found >= 1) & (found == np.floor(found))
    rest = np.where(inside, found, 1.0) - 1
    misses = np.where(rest == 0, 0.0, rest * np.log1p(-np.where(rest == 0, 0.0, share)))
    return supported(inside, found, misses + np.log(share), 1.0)


def nbinom_logpmf(k, n, p, loc=0):
    found = np.asarray(k, np.float64) - loc
    hits = positive(n) * 1.0
    share = np.where((np.asarray(p) > 0) & (np.asarray(p) <= 1), p, np.nan) * 1.0
    inside = np.where(counted(found, np.inf), found, 0.0)
    ways = gammaln(inside + hits) - gammaln(inside + 1) - gammaln(hits)
    misses = np.where(inside == 0, 0.0, inside * np.log1p(-np.where(inside == 0, 0.0, share)))
    return supported(counted(found, np.inf), found, ways + hits * np.log(share) + misses, 1.0)


def density_of(logarithm):
    """The density with such a logarithm."""
    def density(*parts, **named):
        return np.exp(logarithm(*parts, **named))

    density.__signature__ = inspect.signature(logarithm)
    return density


_KINDS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_WRITTEN = MappingProxyType({
    (form + "_gen", kind): body for names in (vars(distributions), globals()) for name, body in list(names.items())
    for form, _, kind in [name.rpartition("_")] if kind in _KINDS})
METHODS = MappingProxyType({**{(form, kind.removeprefix("log")): density_of(body) for (form, kind), body
                               in _WRITTEN.items() if kind in ("logpdf", "logpmf")}, **_WRITTEN})
"""The bodies, by the class of a distribution in SciPy and the name of the method."""
