"""Transforms, integrals, banded and factorised systems, filters, series and borders: values as in NumPy and SciPy,
derivatives against differences, what is refused."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.oracle import execute, program_gradient

scipy = pytest.importorskip("scipy")
from scipy import fft, integrate, linalg, ndimage, signal  # noqa: E402

X = np.array([0.31, 0.9, -0.4, 1.7, 0.2, 1.1])
A = np.outer(np.linspace(0.2, 1.4, 6), X) + np.diag(np.linspace(2.0, 4.0, 6))
PLACES = np.array([0.0, 0.4, 0.7, 1.5, 1.9, 2.6])
K = np.array([[0.5, -1.0, 0.25], [2.0, 0.1, -0.3]])
B2, A2 = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.4, 0.2])
SECTIONS = np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.2], [1.0, 0.5, 0.0, 1.0, 0.3, 0.0]])
P, SERIES = np.polynomial, np.polynomial.Chebyshev([1.0, -2.0, 0.5, 0.3], domain=[-1.0, 2.0])
OLD = np.poly1d([1.0, 2.0, -0.5])

TRANSFORMS = {
    **{f"dct {t} {norm}": (lambda a, x, t=t, norm=norm: fft.dct(x, t, norm=norm) + fft.idct(a, t, axis=0, norm=norm)[1])
       for t in (1, 2, 3, 4) for norm in (None, "ortho", "forward")},
    **{f"dst {t} {norm}": (lambda a, x, t=t, norm=norm: fft.dst(x, t, norm=norm) + fft.idst(a, t, axis=0, norm=norm)[1])
       for t in (1, 2, 3, 4) for norm in (None, "ortho", "forward")},
    "odd lengths": lambda a, x: fft.dct(x[:5]) + fft.dct(x, 3, n=5) + fft.dst(x, 3, n=5) + fft.idct(x[:5], n=5),
    "weights": lambda a, x: fft.dct(x, orthogonalize=True) + fft.dct(x, 3, norm="ortho", orthogonalize=False),
    "planes of cosines": lambda a, x: fft.dctn(a) + fft.idctn(a, norm="ortho") + fft.dstn(a, axes=1) + fft.idstn(a, 3),
    "planes": lambda a, x: np.abs(fft.rfft2(a)).sum() + fft.irfft2(fft.rfft2(a)) + np.real(fft.fftn(a) + fft.ifftn(a)),
    "halves": lambda a, x: fft.hfft(fft.ihfft(x), 6) + fft.irfftn(fft.rfftn(a), (6, 6))[1] + fft.fftshift(x),
    "of NumPy": lambda a, x: np.fft.hfft(x, norm="ortho") + np.abs(np.fft.ihfft(a, axis=0, norm="forward")).sum(),
}
INTEGRALS = {
    "simpson": lambda a, x: integrate.simpson(a, x=PLACES) + integrate.simpson(a[:, :5], dx=0.3, axis=1),
    "simpson of few": lambda a, x: integrate.simpson(x[:2]) + integrate.simpson(x[:3]) + integrate.simpson(x[:4]),
    "simpson across": lambda a, x: integrate.simpson(a, x=np.cumsum(x * x), axis=0),
    "romb": lambda a, x: integrate.romb(a[:5], dx=0.2, axis=0) + integrate.romb(x[:3]),
}
SYSTEMS = {
    "banded": lambda a, x: linalg.solve_banded((1, 2), a[:4] + 3.0 * (np.arange(4) == 2)[:, None], x),
    "exchanged": lambda a, x: linalg.solve_banded((2, 1), a[2:], a[:, :2]),
    "diagonal": lambda a, x: linalg.solve_banded((0, 0), a[:1] + 2.0, x),
    "routine": lambda a, x: linalg.lapack.dgtsv(a[0, 1:], x + 2.0, a[1, :-1], a[:, :2])[3],
    "positive": lambda a, x: linalg.solveh_banded(np.stack((x, x * x + 3.0)), a[:, 1]),
    "positive, lower": lambda a, x: linalg.solveh_banded(np.stack((x * x + 3.0, x, 0.1 * x)), a[:, :2], lower=True),
    "assumed": lambda a, x: (linalg.solve(a, x, assume_a="upper triangular")
                             + linalg.solve(a, x, assume_a="lower triangular", transposed=True)
                             + linalg.solve(np.diag(np.diag(a)), x, assume_a="diagonal")),
    "three diagonals": lambda a, x: linalg.solve(np.triu(np.tril(a, 1), -1), x, assume_a="tridiagonal"),
    "triangle": lambda a, x: (linalg.solve_triangular(a, x, trans=2)
                              + linalg.solve_triangular(a, x, trans="C", lower=True)),
    "factors": lambda a, x: linalg.lu_solve(linalg.lu_factor(a), x) + linalg.lu_solve(linalg.lu_factor(a), x, trans=1),
    "other half": lambda a, x: linalg.cho_factor(a @ a.T)[0] + linalg.cho_factor(a @ a.T, lower=True)[0],
    "toeplitz": lambda a, x: linalg.solve_toeplitz(x + PLACES[::-1], x) + linalg.solve_toeplitz((x + 3, x + 3), x),
    "circulant": lambda a, x: linalg.solve_circulant(x + PLACES, x),
    "parts": lambda a, x: linalg.polar(a)[1] @ x + linalg.pinv(a[:, :3]).T @ x[:3] + linalg.lstsq(a[:, :2], x)[1],
    "tridiagonal": lambda a, x: linalg.eigh_tridiagonal(x + PLACES, x[1:] * 0.3 + 1.0)[0],
    "products": lambda a, x: linalg.khatri_rao(a[:2], a)[:6] + linalg.hankel(x) + linalg.hankel(x, a[0]),
}
FILTERS = {
    "lfilter": lambda a, x: signal.lfilter(B2, A2, a, axis=0) + signal.lfilter(x[:2], [1.0, 0.3], a),
    "lfilter with state": lambda a, x: np.concatenate(signal.lfilter(B2, A2, x, zi=x[:2])),
    "filtfilt": lambda a, x: signal.filtfilt(B2, A2, a, padlen=3) + signal.filtfilt(B2, A2, x, padtype=None),
    "sections": lambda a, x: signal.sosfilt(SECTIONS, a),
    "envelope": lambda a, x: np.abs(signal.hilbert(a)) + np.abs(signal.hilbert(x[:5], axis=0)).sum(),
    "trend": lambda a, x: signal.detrend(a) + signal.detrend(a, axis=0, type="constant"),
    "blocks": lambda a, x: signal.convolve(np.reshape(a, (3, 3, 4)), np.reshape(x, (1, 3, 2)), "same").reshape(6, 6),
    "correlate": lambda a, x: signal.correlate(x, x[:3], "same") + signal.correlate(a, K, "same"),
    "valid": lambda a, x: (signal.correlate(K, a, "valid") + signal.correlate(a, K, "valid")
                           + signal.convolve(K, a, "valid")),
    "borders": lambda a, x: signal.convolve2d(a, K, "same", "wrap") + signal.correlate2d(a, K, "same", "symm", 0),
    "filled": lambda a, x: signal.convolve2d(a, K, "full", "fill", 1.5),
    "origins": lambda a, x: ndimage.convolve(a, K, origin=(-1, 1)) + ndimage.correlate1d(a, x[:4], origin=-1),
    "slopes": lambda a, x: ndimage.sobel(a) + ndimage.prewitt(a, 0, mode="wrap"),
    "bells": lambda a, x: ndimage.gaussian_filter(a, 0.6, order=(1, 2)) + ndimage.gaussian_laplace(a, (0.6, 0.8)),
    "magnitude": lambda a, x: ndimage.gaussian_gradient_magnitude(a, 0.7),
    "extremes": lambda a, x: ndimage.maximum_filter(a, 3) + ndimage.minimum_filter1d(a, 2, axis=0, mode="nearest"),
}
SERIES_OF = {
    "values": lambda a, x: (P.hermite.hermval(x, a[0]) + P.hermite_e.hermeval(x, x) + P.laguerre.lagval(x, a[1])
                            + P.legendre.legval(x, x) + P.chebyshev.chebval(x, a[:, 0])),
    "several": lambda a, x: P.polynomial.polyval(x, a) + P.laguerre.lagval(x, a[:3]) + P.chebyshev.chebval(x, a[:1]),
    "matrices": lambda a, x: (P.polynomial.polyvander(x, 3) + P.chebyshev.chebvander(x, 3) + P.legendre.legvander(x, 3)
                              + P.hermite.hermvander(x, 3) + P.hermite_e.hermevander(x, 3)
                              + P.laguerre.lagvander(x, 3)),
    "calculus": lambda a, x: (P.polynomial.polyint(x, 2, [1.0, 0.5], 0.3)[:6] + P.polynomial.polyder(a, 2).sum()
                              + P.polynomial.polyint(a)[2]),
    "algebra": lambda a, x: (P.polynomial.polymul(x, a[0])[:6] + P.polynomial.polyadd(x, x[:2])
                             - P.polynomial.polysub(x[:2], x) + P.polynomial.polyvalfromroots(x, a[0])),
    "fit": lambda a, x: P.polynomial.polyfit(x, a, 2) + P.polynomial.polyval2d(x, x, a[:3, :2])[:3, None],
    "objects": lambda a, x: SERIES(a) + OLD(x),
}
BORDERS = {
    "ramp": lambda a, x: np.pad(a, ((1, 2), (0, 3)), "linear_ramp", end_values=((1.0, 2.0), (3.0, 4.0))),
    "summaries": lambda a, x: np.pad(a, 2, "mean") + np.pad(a, 2, "maximum", stat_length=3) + np.pad(a, 2, "minimum"),
    "medians": lambda a, x: np.pad(x, (1, 2), "median"),
    "corners": lambda a, x: np.pad(a, ((1, 2), (0, 3)), constant_values=((1.0, 2.0), (3.0, 4.0))),
    "odd": lambda a, x: np.pad(a, 2, "reflect", reflect_type="odd") + np.pad(a, 2, "symmetric", reflect_type="odd"),
    "wide": lambda a, x: np.pad(x, (8, 13), "wrap") + np.pad(x, (8, 13), "reflect") + np.pad(x, (8, 13), "symmetric"),
    "weighted": lambda a, x: np.cov(a, aweights=x * x) + np.cov(a, fweights=[1, 2, 1, 1, 3, 1]),
    "ranks": lambda a, x: (np.median(np.reshape(a, (3, 3, 4)), axis=(0, 2)) + np.quantile(x, 0.3, method="nearest")
                           + np.quantile(a, 0.7, axis=(0, 1), method="midpoint")
                           + np.percentile(x, 55, method="higher")),
    "places": lambda a, x: np.nancumprod(x) + np.nanargmax(x) + np.correlate(x[:3], x, "same") + np.signbit(x),
    "norms": lambda a, x: np.linalg.vector_norm(a, axis=(0, 1), ord=3) + np.matmul(a, a, out=np.zeros((6, 6))),
}
ALL = TRANSFORMS | INTEGRALS | SYSTEMS | FILTERS | SERIES_OF | BORDERS


@pytest.mark.parametrize("name", ALL)
def test_values(name):
    program = ALL[name]

    def run(a, x):
        return program(a, x)

    check(run, A.copy(), X.copy(), rtol=1e-11)


RAISING = ("banded", "exchanged", "diagonal", "positive", "positive, lower", "three diagonals")


def weighted(found):
    return np.sum(found * np.cos(np.reshape(np.arange(np.size(found)), np.shape(found)) + 0.2))


@pytest.mark.parametrize("name", [n for n in ALL if n not in RAISING])
def test_derivatives(name):
    """Along one direction, run by the reference interpreter: the gradient against differences."""
    program = ALL[name]

    def run(a, x):
        return weighted(program(a, x))

    parsed = parse(run, (A.copy(), X.copy()))
    arrays = {n: v for n, v in parsed.collect((A.copy(), X.copy())).items() if n in parsed.program.arguments}
    _, found = program_gradient(parsed.program, arrays, list(arrays))
    rng = np.random.default_rng(3)
    direction = {n: rng.normal(size=v.shape) for n, v in arrays.items()}

    def moved(step):
        return execute(parsed.program, {n: v + step * direction[n] for n, v in arrays.items()})[0]

    narrow, wide = ((moved(h) - moved(-h)) / (2 * h) for h in (1e-4, 2e-4))
    assert sum(np.sum(found[n] * direction[n]) for n in arrays) == pytest.approx((4 * narrow - wide) / 3, rel=1e-7)


def test_derivatives_of_systems_that_may_raise():
    def run(a, x):
        total = 0.0
        for name in RAISING:
            total = total + weighted(ALL[name](a, x))
        return total

    sdfgad.check_grads(run, A.copy(), X.copy())


def test_long_signals_are_transformed():
    a, v = np.sin(np.arange(1200.0)), np.cos(np.arange(700.0) ** 2)
    for mode in ("full", "same", "valid"):
        check(lambda a, v: (signal.fftconvolve(a, v, mode), signal.convolve(v, a, mode)), a, v, rtol=1e-10)  # noqa: B023
    picture = np.reshape(a, (30, 40))
    check(lambda a, v: signal.fftconvolve(a, v[:26, :21]), picture, picture.T.copy(), rtol=1e-10)


def test_systems_without_a_solution_are_errors():
    run = sdfgad.forward(lambda ab, b: linalg.solve_banded((1, 1), ab, b) + linalg.solveh_banded(ab[1:], b, lower=True))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        run(np.zeros((3, 6)), X)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        run(-np.stack((X, X * X + 4.0, X)), X)


def test_complex_systems():
    def run(a, b):
        lu, exchanged = linalg.lu_factor(a)
        hermitian = a + np.conj(a.T)
        return ([linalg.lu_solve((lu, exchanged), b, trans=t) for t in (0, 1, 2)],
                [linalg.solve_triangular(a, b, trans=t) for t in (0, 1, 2)],
                linalg.solve(hermitian, b, assume_a="her"), linalg.solve(hermitian, b, assume_a="her", lower=True),
                linalg.solve(a + a.T, b, assume_a="sym"), linalg.solve_banded((1, 0), a[:2], b))

    check(run, A + 1j * A[::-1], X + 0.5j, rtol=1e-11)


@pytest.mark.parametrize("program", [
    lambda x: linalg.lu_factor(A)[0],
    lambda x: linalg.lu_factor(A)[0] * x,
    lambda x: linalg.lu_solve((A, x), x),
    lambda x: linalg.solve(A, x, assume_a="nothing"),
    lambda x: linalg.solve_banded((1, 1), A, x),
    lambda x: linalg.schur(A)[0] @ x,
    lambda x: linalg.lapack.dgesv(A, x)[2],
    lambda x: linalg.lapack.dgtsv(x[1:], x, x[1:], x)[1] * 2,
    lambda x: fft.dct(x, 5),
    lambda x: fft.dct(x + 1j),
    lambda x: integrate.romb(x),
    lambda x: signal.filtfilt(B2, A2, x),
    lambda x: signal.convolve2d(A, K, boundary="other") * x[0],
    lambda x: ndimage.correlate1d(x, [1.0, 2.0], origin=2),
    lambda x: ndimage.maximum_filter(x, footprint=[1, 1]),
    lambda x: np.pad(x, 1, "empty"),
    lambda x: np.pad(x, 9, "reflect", reflect_type="odd"),
    lambda x: np.quantile(x, 0.3, method="inverted_cdf"),
    lambda x: np.polynomial.polynomial.polyfit(x, x, [0, 2]),
    lambda x: linalg.eig(A, left=True)[0] * x,
], ids=lambda program: f"line {program.__code__.co_firstlineno}")
def test_refusals(program):
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (X.copy(),))
    assert caught.value.line == program.__code__.co_firstlineno
