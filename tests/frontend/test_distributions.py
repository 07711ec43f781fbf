"""Distributions of scipy.stats: every body because it is there, against SciPy and differences."""
import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.interpreted import interpreted

pytest.importorskip("scipy")
from scipy import stats  # noqa: E402

from sdfgad.frontend.bodies.packages.families import METHODS  # noqa: E402

X = np.array([-1.7, -0.3, 0.0, 0.2, 0.55, 0.9, 1.0, 1.8, 4.0, 17.0, np.nan, np.inf])
K = np.array([0.0, 1.0, 2.0, 3.0, 3.5, -1.0, 7.0])
SHAPES = {"t": (2.4,), "gamma": (1.7,), "chi2": (3.0,), "invgamma": (2.2,), "lognorm": (0.8,), "pareto": (1.6,),
          "weibull_min": (1.4,), "beta": (1.5, 2.5), "poisson": (1.3,), "binom": (5.0, 0.3), "bernoulli": (0.3,),
          "f": (3.0, 4.0), "fisk": (2.0,), "invgauss": (1.5,), "erlang": (2,), "vonmises": (1.5,), "geom": (0.3,),
          "nbinom": (2.5, 0.3), "truncnorm": (-0.5, 3.0), "skewnorm": (2.0,), "triang": (0.3,), "nakagami": (0.5,),
          "gennorm": (1.3,), "loggamma": (1.3,)}
OF_ONE = sorted((form.removesuffix("_gen"), kind) for form, kind in METHODS if form not in (
    "multivariate_normal_gen", "dirichlet_gen"))


@pytest.mark.parametrize("name, kind", OF_ONE)
def test_same_as_scipy(name, kind):
    shapes, method = SHAPES.get(name, ()), getattr(getattr(stats, name), kind)
    if kind.endswith("pmf"):
        def run(k):
            return [method(k, *shapes), method(k, *shapes, loc=1)]

        check(run, K.copy(), rtol=2e-12)
        return

    def run(x):
        return [method(x, *shapes), method(x, *shapes, 0.1, 0.8), method(x, *shapes, scale=0.5, loc=-0.4)]

    check(run, (np.abs(X) / 20 if kind in ("ppf", "isf") else X).copy(), rtol=2e-12)


@pytest.mark.parametrize("name, shapes", [
    ("truncnorm", (2.0, np.inf)), ("truncnorm", (-np.inf, -8.0)), ("truncnorm", (30.0, 31.0)),
    ("truncnorm", (2.0, 1.0)),
    ("skewnorm", (0.0,)), ("triang", (0.0,)), ("triang", (1.0,)), ("triang", (1.5,)), ("nakagami", (0.3,)),
    ("nakagami", (2.0,)), ("gennorm", (0.7,))])
def test_shapes_at_the_ends_of_their_ranges(name, shapes):
    method = getattr(stats, name).logpdf
    check(lambda x: method(x, *shapes), np.array([*X, -9.0, 30.5, -np.inf]))


@pytest.mark.parametrize("name, shapes", [
    ("beta", (1.0, 1.0)), ("beta", (1.0, 3.0)), ("beta", (2.0, 1.0)), ("beta", (0.5, 0.5)), ("weibull_min", (1.0,)),
    ("weibull_min", (0.5,)), ("weibull_min", (2.0,)), ("f", (2.0, 4.0)), ("f", (1.0, 3.0)), ("fisk", (1.0,)),
    ("fisk", (0.5,)), ("gamma", (1.0,)), ("gamma", (0.4,)), ("chi2", (2,)), ("nakagami", (2.0,)), ("t", (np.inf,)),
    ("t", (41.0,)), ("t", (1e9,))])
def test_densities_at_both_ends(name, shapes):
    """Where a power of zero, or of infinity, decides; and of many degrees of freedom."""
    of = getattr(stats, name)
    places = np.array([0.0, 0.4, 1.0, 2.0, np.inf, -1.0])
    check(lambda x: [of.logpdf(x, *shapes), of.pdf(x, *shapes, scale=2.0)], places)


@pytest.mark.parametrize("of", [stats.laplace, stats.logistic, stats.cauchy, stats.norm])
def test_shares_have_a_slope_in_the_middle(of):
    """It is the density, also where two formulas meet."""
    share = sdfgad.grad(lambda x: np.sum(of.cdf(x, 0.5, 2.0) - of.sf(x, 0.5, 2.0)))
    x = np.array([0.5, 0.3, 90.0, -90.0])
    with interpreted():
        np.testing.assert_allclose(share(x), 2 * of.pdf(x, 0.5, 2.0), rtol=1e-12)


def test_no_share_of_a_kind():
    check(lambda x, a: stats.dirichlet.logpdf(x, a), np.array([0.0, 0.4, 0.6]), np.array([1.0, 2.0, 1.0]))


def test_shares_keep_their_digits():
    tails, of = np.array([1e-12, 1e8, 3.0]), stats.cauchy
    check(lambda x: [of.sf(x), of.cdf(-x), stats.halfnorm.cdf(x), of.ppf(1 - 1 / (4 + x))], tails)


A = np.array([[2.0, 0.3], [0.3, 1.1]])
POINTS = np.array([[0.1, 0.4], [-1.2, 0.3], [2.0, 2.0]])


def several(x, mean, cov):
    of = stats.multivariate_normal
    return [of.logpdf(x, mean, cov), of.pdf(x[0], mean, cov), of.logpdf(x, cov=cov), of.logpdf(x, mean),
            of.logpdf(x, mean, 0.7), of.logpdf(x[:, 0], 0.2, 1.3), of.logpdf(x[0, 0])]


def shares(x, alpha):
    found = np.exp(x) / np.sum(np.exp(x), axis=0)
    return [stats.dirichlet.logpdf(found, alpha), stats.dirichlet.pdf(found[:, 0], alpha)]


def test_of_several_numbers():
    check(several, POINTS, np.array([0.2, -0.1]), A, rtol=1e-11)
    check(shares, POINTS, np.array([0.7, 1.2, 3.0]), rtol=1e-11)


def test_gradients():
    """In one program: with respect to places, shapes, and scales, away from the ends of supports."""
    def likelihood(x, shape, scale, mean, cov):
        log = stats.t.logpdf(x, shape, 0.1, scale) + stats.gamma.logpdf(x, shape, scale=scale)
        log = log + stats.beta.logpdf(x / 3, shape, scale + 1) + stats.weibull_min.logpdf(x, shape, 0.01, scale)
        log = log + stats.lognorm.logpdf(x, shape, scale=scale) + stats.invgamma.logpdf(x, shape, scale=scale)
        log = log + stats.pareto.logpdf(x + 2, shape, 0.0, scale) + stats.chi2.logpdf(x, shape)
        count = stats.poisson.logpmf(np.arange(4.0), shape) + stats.binom.logpmf(np.arange(4.0), 5, scale / 3)
        several = stats.multivariate_normal.logpdf(np.stack([x, x * x], axis=1), mean, cov @ cov.T + np.eye(2))
        return np.sum(log) + np.sum(count) + np.sum(several) + np.sum(stats.cauchy.cdf(x, scale=scale))

    sdfgad.check_grads(likelihood, np.array([0.3, 0.8, 1.9]), 2.3, 0.7, np.array([0.2, -0.1]), A.copy())


def test_frozen_and_refused():
    frozen, counts = stats.t(3.0, scale=0.7), stats.poisson(2.0)
    check(lambda x: frozen.logpdf(x), X, rtol=1e-12)
    check(lambda k: counts.pmf(k), K, rtol=1e-12)
    check(lambda x: [stats.norm(x[1], 2.0).pdf(x), stats.gamma(1.7, scale=x[4]).logpdf(x), stats.chi2.ppf(0.95, 3) * x],
          X, rtol=1e-12)
    check(lambda x: stats.multivariate_normal(x[0], A).logpdf(x), POINTS, rtol=1e-11)
    check(lambda x: stats.multivariate_normal.logpdf(x, x[0], A, allow_singular=True), POINTS, rtol=1e-11)
    for program in (lambda x: stats.t.cdf(x, x), lambda x: stats.exponnorm.pdf(x, 3.0)):
        with pytest.raises(UnsupportedError):
            parse(program, (X.copy(),))


def test_shares_that_are_none():
    """SciPy raises an exception, compiled programs give NaN as for scales that are none."""
    density = sdfgad.forward(lambda x, a: stats.dirichlet.logpdf(x, a))
    assert np.isnan(density(np.array([0.4, 0.7]), np.array([1.0, 2.0])))
    assert np.isfinite(density(np.array([0.4, 0.6]), np.array([1.0, 2.0])))
