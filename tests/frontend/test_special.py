"""Special functions and the normal distribution: values as SciPy gives them, derivatives, what is refused."""
from __future__ import annotations

import math

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.interpreted import interpreted

scipy = pytest.importorskip("scipy")
from scipy import special, stats  # noqa: E402

X = np.array([0.07, 0.4, 1.3, 1.46, 2.7, 9.3, 14.2])
EVERYWHERE = np.array([-30.3, -3.0, -1.2, -0.0, 0.0, 1e-9, 0.8, 1.0, 3.7, 40.0, 1e7, np.inf, -np.inf, np.nan])
P = np.array([1e-30, 1e-4, 0.2, 0.4999, 0.5, 0.7, 0.99])
FROZEN = stats.norm(0.4, scale=1.7)

REAL = {
    "gamma": lambda x, p: special.gamma(x) + special.rgamma(x),
    "gammaln": lambda x, p: special.gammaln(x) + special.loggamma(x),
    "psi": lambda x, p: special.psi(x) + special.digamma(x / 2),
    "polygamma": lambda x, p: special.polygamma(1, x) - special.polygamma(2, x) + special.polygamma(0, x),
    "beta": lambda x, p: special.beta(x, p) + special.beta(x, 2.5),
    "betaln": lambda x, p: special.betaln(x, p) + special.betaln(1e13 * x, p),
    "binom": lambda x, p: special.binom(x, 3) + special.binom(x, p) + special.comb(x, 2) + special.comb(x, p),
    "erfc": lambda x, p: special.erf(x) + special.erfc(x) + special.erfc(-x),
    "erfcx": lambda x, p: special.erfcx(x) + special.erfcx(-x / 3),
    "inverse": lambda x, p: special.erfinv(p) + special.erfinv(-p / 3) + special.erfcinv(p) + special.ndtri(p),
    "ndtr": lambda x, p: special.ndtr(x) + special.ndtr(-x) + special.log_ndtr(x) + special.log_ndtr(-3 * x),
    "bessel": lambda x, p: (special.j0(x) * special.j1(x) + special.jv(2, x) + special.y0(x)
                             + special.yn(2, x) * special.yv(3, x)),
    "modified": lambda x, p: (special.i0e(x) + special.i1e(-x) * special.i0(x) + special.i1(x) + special.iv(3, x)
                              + np.i0(p)),
    "others": lambda x, p: (special.exprel(x) + special.exp10(-x) + special.pseudo_huber(0.7, x)
                            + special.boxcox(x, 0.3) + special.boxcox(x, 0.0) + special.logit(p)),
    "shares": lambda x, p: (special.gammainc(2.5, x) - special.gammaincc(0.7, x) + special.betainc(2.0, 3.5, p)
                            + special.betaincc(0.7, 2.3, p) + special.multigammaln(x + 2, 3) + special.exp1(x)
                            + special.expi(x) * special.expi(-x)),
    "lambert": lambda x, p: special.lambertw(x).real + special.lambertw(-0.3 * p, k=-1).real,
    "second kind": lambda x, p: (special.k0(x) + special.k1(x) * special.kn(2, x) + special.kv(1.5, x)
                                 + special.ellipk(p) + special.ellipe(p - 1) + special.ellipkm1(p)),
    "orthogonal": lambda x, p: (special.eval_legendre(3, p) + special.eval_chebyt(5, p) + special.eval_chebyu(4, p)
                                + special.eval_hermite(3, p) * special.eval_hermitenorm(0, x)
                                + special.eval_laguerre(3, p) + special.eval_genlaguerre(2, 0.5, p)
                                + special.eval_gegenbauer(4, 0.5, p)),
    "boxes": lambda x, p: (special.boxcox1p(x, 0.3) + special.inv_boxcox(p, 0.5) + special.inv_boxcox1p(p, 0.0)
                           + special.cosm1(x)),
    "cdf by shapes": lambda x, p: (
        stats.gamma.cdf(x, 2.0, scale=p + 1) + stats.chi2.sf(x, 3) + stats.beta.cdf(p, 2.0, 3.0)
        + stats.beta.sf(p, 0.5, 0.7) + stats.t.cdf(x - 1.3, 3.0) + stats.t.sf(x, 4) + stats.f.cdf(x, 3, 4)
        + stats.erlang.cdf(x, 2) + stats.lognorm.cdf(x, 0.5)),
    "logarithms of shares": lambda x, p: (
        stats.gamma.logcdf(x, 2.0, scale=p + 1) + stats.chi2.logsf(x, 3) + stats.beta.logcdf(p, 2.0, 3.0)
        + stats.beta.logsf(p, 0.5, 0.7) + stats.t.logcdf(x - 1.3, 3.0) + stats.t.logsf(x, 4) + stats.f.logcdf(x, 3, 4)
        + stats.lognorm.logcdf(x, 0.5) + stats.lognorm.logsf(x, p) + stats.logistic.logcdf(x, p)
        + stats.logistic.logsf(x, scale=p) + stats.expon.logcdf(x) + stats.weibull_min.logcdf(x, 1.5)),
    "families": lambda x, p: (
        stats.maxwell.logpdf(x) + stats.halfcauchy.logpdf(x) + stats.fisk.logpdf(x, 2.0) + stats.f.logpdf(x, 3, 4)
        + stats.invgauss.logpdf(x, 1.5) + stats.erlang.logpdf(x, 2) + stats.gumbel_r.logpdf(x, p)
        + stats.gumbel_l.logpdf(x / 9, scale=2.0) + stats.vonmises.logpdf(p, x) + stats.geom.logpmf(2, p)
        + stats.nbinom.logpmf(2, x, p)),
    "pdf": lambda x, p: stats.norm.pdf(x) + stats.norm.logpdf(x, p, 0.6) + FROZEN.pdf(x) + stats.norm.pdf(x, scale=x),
    "cdf": lambda x, p: (stats.norm.cdf(x, 0.3) + stats.norm.logcdf(-x, scale=p + 0.3) + stats.norm.sf(x)
                         + stats.norm.logsf(x) + FROZEN.cdf(p)),
    "ppf": lambda x, p: stats.norm.ppf(p) + stats.norm.ppf(p, x, x) + stats.norm.isf(p, loc=x) + FROZEN.ppf(p),
    "math": lambda x, p: math.gamma(x[0]) + math.lgamma(x[1]) + math.erfc(p[2]),
}


@pytest.mark.parametrize("name", REAL)
def test_values(name):
    program = REAL[name]

    def run(x, p):
        return program(x, p)

    check(run, X.copy(), P.copy(), rtol=2e-13)


POINTWISE = {
    "gamma": special.gamma, "gammaln": special.gammaln, "psi": special.psi, "erfc": special.erfc,
    "erfcx": special.erfcx, "ndtr": special.ndtr, "log_ndtr": special.log_ndtr, "loggamma": special.loggamma,
    "exprel": special.exprel, "exp1": special.exp1, "expi": special.expi, "k0": special.k0,
    "ellipk": special.ellipk, "ellipe": special.ellipe, "gammainc": lambda x: special.gammainc(2.5, x),
    "gammaincc": lambda x: special.gammaincc(0.5, x), "betainc": lambda x: special.betainc(0.5, 2.0, x),
    "i0e": special.i0e, "i1e": special.i1e, "j0": special.j0, "j1": special.j1,
    "expit": special.expit}


def test_values_everywhere():
    """Poles, signed zeros, infinities. SciPy has gammaln(-inf) = -inf, where C and Python have the other one, and few
    digits of Bessel functions far out."""
    def run(x):
        return [f(x) for f in POINTWISE.values()]

    places = EVERYWHERE.copy()
    ours = sdfgad.forward(run)(places)
    for name, found, f in zip(POINTWISE, ours, POINTWISE.values(), strict=True):
        with np.errstate(all="ignore"):
            want = f(places)
        some = np.abs(places) < 1e6 if name in ("gammaln", "i0e", "i1e", "j0", "j1") else slice(None)
        np.testing.assert_allclose(found[some], want[some], rtol=3e-13, atol=1e-15, err_msg=name)


def test_shares_of_large_shapes():
    """Sums over as many terms as the shape has digits of a spread would not end."""
    shapes, spread = (1e6, 3e9, 2e10, 1e13, 1e18), np.array([-3.0, -1.0, -1e-3, 0.0, 0.3, 4.0])

    def run(places):
        return [f(a, p) for a, p in zip(shapes, places, strict=True) for f in (special.gammainc, special.gammaincc)]

    places = [a + spread * math.sqrt(a) for a in shapes]
    want = [f(a, p) for a, p in zip(shapes, places, strict=True) for f in (special.gammainc, special.gammaincc)]
    for found, one in zip(sdfgad.forward(run)(places), want, strict=True):
        np.testing.assert_allclose(found, one, rtol=2e-12)


def test_derivatives():
    def run(x, p):
        total = 0.0
        for program in REAL.values():
            total = total + np.sum(program(x, p) * np.cos(np.arange(7.0)))
        return total

    with interpreted():  # native code of these functions has tests of its own
        sdfgad.check_grads(run, X.copy(), P.copy() * 0.9 + 0.05)


def test_without_a_smooth_part():
    check(lambda d, x: special.pseudo_huber(d, x), np.array([0.0, 0.5]), np.array([0.3, 0.3]))


def test_derivatives_far_out():
    """Where two large terms of the derivative cancel, as they do in the tail of the normal distribution."""
    x = np.array([24.9, 25.1, 1e3, 1e6])
    found = np.diag(sdfgad.jacobian(lambda x: special.erfcx(x))(x))
    series = -1 / (math.sqrt(math.pi) * x**2) * (1 - 1.5 / x**2 + 3.75 / x**4 - 13.125 / x**6 + 59.0625 / x**8)
    np.testing.assert_allclose(found, series, rtol=1e-11)


def test_where_no_branch_is_real():
    with pytest.raises(ArithmeticError, match="where this branch is not real"):
        sdfgad.forward(lambda x: special.lambertw(x).real)(np.array([0.1, -0.4]))


def test_precision():
    check(lambda x: special.gamma(x) + special.ndtr(x) + special.j0(x), X.astype(np.float32))
    check(lambda n: special.erfinv(n) + special.gamma(n + 2), np.array([0, 1], np.int8))
    check(lambda n: special.psi(n), np.array([1, 5]))
    check(lambda x: (special.ellipk(x), special.ellipe(x), special.ellipkm1(x), special.comb(2, x)),
          np.array([0.1, 0.7], np.float32))
    check(lambda x: special.gamma(2.5) * x + special.comb(5, 2) + special.erf(0.3), X.copy())


@pytest.mark.parametrize("program", [
    lambda x: special.gamma(x + 0.5j),
    lambda x: special.jv(x, x),
    lambda x: special.jv(0.5, x),
    lambda x: special.yv(0.5, x),
    lambda x: special.kn(2.5, x),
    lambda x: special.comb(x, 2, exact=True),
    lambda x: special.gammainc(x, 2.0),
    lambda x: special.betainc(2.0, -1.0, x),
    lambda x: special.eval_legendre(x[0], x),
    lambda x: stats.t.cdf(x, x),
], ids=lambda program: f"line {program.__code__.co_firstlineno}")
def test_refusals(program):
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (X.copy(),))
    assert caught.value.line == program.__code__.co_firstlineno
