"""More distributions of `scipy.stats`, and shares below and above a place, in plain NumPy for the interpreter."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,attr-defined"
from __future__ import annotations

import functools
import inspect
import math
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.bodies.packages import distributions
from sdfgad.frontend.bodies.packages.distributions import (
    cauchy_cdf,
    counted,
    gamma_logpdf,
    gammaln,
    laplace_cdf,
    logistic_cdf,
    positive,
    powered,
    standard,
    supported,
    t_logpdf,
    uniform_cdf,
)
from sdfgad.frontend.bodies.special import (
    betainc,
    betaln,
    gammainc,
    gammaincc,
    i0e,
    log_expit,
    log_ndtr,
    ndtr,
    of_numbers,
)

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


def lognorm_logcdf(x, s, loc=0, scale=1):
    z = standard(x, loc, scale)
    inside = np.where(z > 0, z, 1.0)
    return np.where(z > 0, log_ndtr(np.log(inside) / positive(s)), np.where(z == z, -np.inf, z))[()]


def lognorm_logsf(x, s, loc=0, scale=1):
    z = standard(x, loc, scale)
    inside = np.where(z > 0, z, 1.0)
    return np.where(z > 0, log_ndtr(-np.log(inside) / positive(s)), np.where(z == z, 0.0, z))[()]


def logistic_logcdf(x, loc=0, scale=1):
    return log_expit(standard(x, loc, scale))


def logistic_logsf(x, loc=0, scale=1):
    return log_expit(-standard(x, loc, scale))


def halfnorm_cdf(x, loc=0, scale=1):
    return of_numbers("erf", math.sqrt(0.5) * np.maximum(standard(x, loc, scale), 0.0))


def weibull_min_logsf(x, c, loc=0, scale=1):
    z = standard(x, loc, scale)
    return -np.where(z > 0, np.where(z > 0, z, 1.0) ** positive(c), np.where(z == z, 0.0, z))[()]


def pareto_logsf(x, b, loc=0, scale=1):
    z = standard(x, loc, scale)
    return -positive(b) * np.log(np.maximum(z, 1.0))


def expon_logsf(x, loc=0, scale=1):
    return -np.maximum(standard(x, loc, scale), 0.0)


def rayleigh_logsf(x, loc=0, scale=1):
    return -0.5 * np.maximum(standard(x, loc, scale), 0.0) ** 2


def gumbel_r_logcdf(x, loc=0, scale=1):
    return -np.exp(-standard(x, loc, scale))


def gumbel_l_logsf(x, loc=0, scale=1):
    return -np.exp(standard(x, loc, scale))


def lognorm_sf(x, s, loc=0, scale=1):
    z = standard(x, loc, scale)
    inside = np.where(z > 0, z, 1.0)
    return np.where(z > 0, ndtr(-np.log(inside) / positive(s)), np.where(z == z, 1.0, z))[()]


def uniform_sf(x, loc=0, scale=1):
    return uniform_cdf(1.0 - standard(x, loc, scale))


def laplace_sf(x, loc=0, scale=1):
    return laplace_cdf(-standard(x, loc, scale))


def logistic_sf(x, loc=0, scale=1):
    return logistic_cdf(-standard(x, loc, scale))


def cauchy_sf(x, loc=0, scale=1):
    return cauchy_cdf(-standard(x, loc, scale))


# places below which there are such shares

def share(q):
    """A share, or no number."""
    given = np.asarray(q, np.float64)
    return np.where((given >= 0) & (given <= 1), given, np.nan)


def expon_ppf(q, loc=0, scale=1):
    return loc - positive(scale) * np.log1p(-share(q))


def uniform_ppf(q, loc=0, scale=1):
    return loc + positive(scale) * share(q)


def weibull_min_ppf(q, c, loc=0, scale=1):
    return loc + positive(scale) * (-np.log1p(-share(q))) ** (1.0 / positive(c))


def pareto_ppf(q, b, loc=0, scale=1):
    return loc + positive(scale) * (1.0 - share(q)) ** (-1.0 / positive(b))


def rayleigh_ppf(q, loc=0, scale=1):
    return loc + positive(scale) * np.sqrt(-2.0 * np.log1p(-share(q)))


def lognorm_ppf(q, s, loc=0, scale=1):
    return loc + positive(scale) * np.exp(positive(s) * of_numbers("ndtri", share(q)))


def laplace_ppf(q, loc=0, scale=1):
    p = share(q)
    low = p < 0.5
    size = np.log(2.0 * np.where(low, p, 1.0 - p))
    return loc + positive(scale) * np.where(low, size, -size)[()]


def logistic_ppf(q, loc=0, scale=1):
    p = share(q)
    return loc + positive(scale) * (np.log(p) - np.log1p(-p))


def cauchy_ppf(q, loc=0, scale=1):
    p = share(q)
    tail = math.pi * np.where(p < 0.5, p, 1.0 - p)
    return loc + positive(scale) * np.where(p < 0.5, -1.0, 1.0) * np.cos(tail) / np.sin(tail)


def gumbel_r_ppf(q, loc=0, scale=1):
    return loc - positive(scale) * np.log(-np.log(share(q)))


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
    found = (0.5 * n * np.log(n) + 0.5 * m * np.log(m) + powered(z, 0.5 * n - 1, np.log(inside))
             - 0.5 * (n + m) * np.log(m + n * np.where(z > 0, z, 0.0)) - betaln(0.5 * n, 0.5 * m))
    return supported(z >= 0, z, found, scale)


def halfcauchy_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    return supported(z >= 0, z, math.log(2 / math.pi) - np.log1p(z * z), scale)


def fisk_logpdf(x, c, loc=0, scale=1):
    z = standard(x, loc, scale)
    power, inside = positive(c) * 1.0, np.where(z > 0, z, 1.0)
    size = np.log(inside)
    found = np.where(z > 0, -(power + 1) * size - 2 * np.log1p(np.exp(-power * size)), powered(z, power - 1, size))
    return supported(z >= 0, z, np.log(power) + found, scale)


def invgauss_logpdf(x, mu, loc=0, scale=1):
    z = standard(x, loc, scale)
    mean, inside = positive(mu) * 1.0, np.where(z > 0, z, 1.0)
    away = inside - 2 * mean + mean * mean / inside
    found = -0.5 * math.log(2 * math.pi) - 1.5 * np.log(inside) - away / (2 * mean * mean)
    return supported(z > 0, z, found, scale)


def levy_logpdf(x, loc=0, scale=1):
    z = standard(x, loc, scale)
    inside = np.where(z > 0, z, 1.0)
    return supported(z > 0, z, -0.5 * math.log(2 * math.pi) - 1.5 * np.log(inside) - 0.5 / inside, scale)


def loggamma_logpdf(x, c, loc=0, scale=1):
    z, shape = standard(x, loc, scale), positive(c) * 1.0
    return shape * z - np.exp(z) - gammaln(shape) - np.log(scale)


def gennorm_logpdf(x, beta, loc=0, scale=1):
    z, power = standard(x, loc, scale), positive(beta) * 1.0
    return np.log(0.5 * power) - gammaln(1.0 / power) - np.abs(z) ** power - np.log(scale)


def nakagami_logpdf(x, nu, loc=0, scale=1):
    z, shape = standard(x, loc, scale), positive(nu) * 1.0
    inside = np.where(z >= 0, z, 1.0)
    height = math.log(2.0) + shape * np.log(shape) - gammaln(shape)
    power = powered(z, 2.0 * shape - 1.0, np.log(np.where(z > 0, z, 1.0)))
    return supported(z >= 0, z, height + power - shape * inside * inside, scale)


def triang_logpdf(x, c, loc=0, scale=1):
    z, top = standard(x, loc, scale), np.where((np.asarray(c) >= 0) & (np.asarray(c) <= 1), c, np.nan) * 1.0
    rising = (z < top) | (top == 1)
    share = np.where(rising, z, 1.0 - z) / np.where(rising, top, 1.0 - top)
    inside = (z >= 0) & (z <= 1) | (top != top)
    return supported(inside, z, np.log(2.0 * np.where(inside, share, 1.0)), scale)


def skewnorm_logpdf(x, a, loc=0, scale=1):
    z = standard(x, loc, scale)
    tilt = a * np.where(np.isinf(z) & (np.asarray(a) == 0), 0.0, z)
    return math.log(2.0) - 0.5 * z * z - 0.5 * math.log(2 * math.pi) + log_ndtr(tilt) - np.log(scale)


def truncnorm_logpdf(x, a, b, loc=0, scale=1):
    z = standard(x, loc, scale)
    low, high = np.where(np.asarray(a) < b, a, np.nan) * 1.0, np.asarray(b) * 1.0
    found = -0.5 * z * z - 0.5 * math.log(2 * math.pi) - log_mass(low, high)
    return supported((z >= low) & (z <= high) | (low != low), z, found, scale)


def log_mass(low, high):
    """The logarithm of the normal share between two places: of the tail where both lie on one side."""
    turned = low > 0
    below, above = np.where(turned, -high, low), np.where(turned, -low, high)
    tail = above <= 0
    near, far = np.where(tail, above, 0.0), np.where(tail, below, -1.0)
    of_tail = log_ndtr(near) + np.log1p(-np.exp(log_ndtr(far) - log_ndtr(near)))
    return np.where(tail, of_tail, np.log1p(-ndtr(below) - ndtr(-above)))


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


def of_logarithm(logarithm):
    """The density, or the share, with such a logarithm."""
    def density(*parts, **named):
        return np.exp(logarithm(*parts, **named))

    density.__signature__ = inspect.signature(logarithm)
    return density


def logarithm_of(share):
    """The logarithm of a share, as SciPy takes it: where the share is zero it is minus infinity."""
    def logarithm(*parts, **named):
        return np.log(share(*parts, **named))

    logarithm.__signature__ = inspect.signature(share)
    return logarithm


def rest_of(logarithm):
    """The share below a place, where that above it has such a logarithm."""
    def below(*parts, **named):
        return -np.expm1(logarithm(*parts, **named))

    below.__signature__ = inspect.signature(logarithm)
    return below


_PARAMETERS = MappingProxyType({
    "multivariate_normal_gen": ("mean", "cov", "allow_singular"), "dirichlet_gen": ("alpha",)})


def parameters_of(owner):
    """The names of what a distribution is made with: `stats.gamma(a, loc, scale)`."""
    shapes = tuple(n.strip() for n in (getattr(owner, "shapes", None) or "").split(",") if n.strip())
    return _PARAMETERS.get(type(owner).__name__, (*shapes, "loc", "scale"))


def with_parameters(owner, *given, **named):
    """`stats.norm(loc, scale)`: the distribution, and what its methods are given by name."""
    return functools.partial(owner, **dict(zip(parameters_of(owner), given, strict=False)), **named)


_KINDS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_WRITTEN = MappingProxyType({
    (form + "_gen", kind): body for names in (vars(distributions), globals()) for name, body in list(names.items())
    for form, _, kind in [name.rpartition("_")] if kind in _KINDS})
_SHARES = MappingProxyType({
    **{(form, "cdf"): rest_of(body) for (form, kind), body in _WRITTEN.items() if kind == "logsf"},
    **{(form, kind.removeprefix("log")): of_logarithm(body) for (form, kind), body in _WRITTEN.items()
       if kind.startswith("log")}, **_WRITTEN})
METHODS = MappingProxyType({
    **{(form, "log" + kind): logarithm_of(body) for (form, kind), body in _SHARES.items() if kind in ("cdf", "sf")},
    **_SHARES})
"""The bodies, by the class of a distribution in SciPy and the name of the method."""
