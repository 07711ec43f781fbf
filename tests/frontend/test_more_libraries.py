"""Functions of SciPy: pictures at other places, ranks, spectra, samples, functions of matrices, integrals."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from sdfgad.frontend.bodies.packages.resampling import sampled
from tests.frontend.checking import check, check_both_modes

scipy = pytest.importorskip("scipy")
from scipy import integrate, linalg, ndimage, signal, stats  # noqa: E402

A = np.random.default_rng(3).uniform(-1, 1, (6, 5))
LONG = np.random.default_rng(0).uniform(-1, 1, 40)
SQUARE = np.random.default_rng(1).uniform(-1, 1, (4, 4))
POSITIVE = SQUARE @ SQUARE.T + 4 * np.eye(4)
X, Y = np.array([0.7, 1.3, 0.4, 0.9]), np.array([0.2, -0.3, 0.9, 0.5])
LABELS = np.arange(30).reshape(6, 5) // 8
SECTIONS = signal.butter(3, 0.3, output="sos")

PICTURES = {
    "shift": lambda a: ndimage.shift(a, (1, 0.5)) + ndimage.shift(a, 1.25, order=1, mode="nearest"),
    "shift of whole steps": lambda a: ndimage.shift(a, (1, -2), order=0, cval=1.0),
    "level borders": lambda a: ndimage.shift(a, (-0.4, 6.3), mode="nearest"),
    "mirrors": lambda a: ndimage.shift(a, (-7.4, 8.3), mode="mirror")
    + ndimage.shift(a, (-17.4, 8.3), order=1, mode="reflect"),
    "zoom": lambda a: ndimage.zoom(a, 2.0)[:6, :5] + ndimage.zoom(a, (0.5, 1.5), order=1)[0, 0],
    "rotate": lambda a: ndimage.rotate(a, 30.0, reshape=False) + ndimage.rotate(a, 90)[1, 2],
    "rotate and show all": lambda a: ndimage.rotate(a, -20.0, order=1),
    "affine": lambda a: ndimage.affine_transform(a, np.array([[1.0, 0.1], [0.2, 0.9]]), (0.1, 0.2)),
    "affine in one matrix": lambda a: ndimage.affine_transform(
        a, np.array([[0.8, 0.1, 0.3], [0.2, 0.9, 0.1]]), order=1, output_shape=(4, 7), mode="mirror"),
    "coordinates": lambda a: ndimage.map_coordinates(a, a[:2] * 2 + 2.1),
    "splines": lambda a: ndimage.spline_filter(a) + ndimage.spline_filter1d(a, 3, 0),
    "medians": lambda a: ndimage.median_filter(a, 3) + ndimage.median_filter(a, (3, 2), mode="nearest"),
    "ranks": lambda a: (ndimage.rank_filter(a, 2, 3) + ndimage.rank_filter(a, -1, 3)
                        + ndimage.percentile_filter(a, 20, 3)),
    "grey": lambda a: (ndimage.grey_dilation(a, size=(3, 3)) + ndimage.grey_erosion(a, size=3)
                       + ndimage.grey_opening(a, size=3) + ndimage.grey_closing(a, size=3)),
    "medians of signals": lambda a: signal.medfilt(a, (3, 5)) + signal.medfilt2d(a) + signal.medfilt(a[0], 3),
    "labels": lambda a: (ndimage.sum(a, LABELS, [0, 1]) + ndimage.mean(a, LABELS, [2, 1])
                         + ndimage.variance(a, LABELS, [0, 3]) + ndimage.maximum(a, LABELS, [1, 3])
                         + ndimage.minimum(a, LABELS, [1, 9]) + ndimage.standard_deviation(a, LABELS, 1)),
    "parts": lambda a: (np.array(ndimage.center_of_mass(a * a)) + ndimage.sum_labels(a, LABELS) + ndimage.mean(a)
                        + ndimage.center_of_mass(a + 3, LABELS, 2)[1]),
}
SIGNALS = {
    "sections": lambda w: signal.sosfiltfilt(SECTIONS, w) + signal.sosfiltfilt(SECTIONS, w, padlen=4),
    "over time": lambda w: np.abs(signal.stft(w, nperseg=16)[2]) ** 2,
    "over time, as it is": lambda w: np.abs(signal.stft(w, 2.0, nperseg=15, noverlap=4, boundary=None)[2]) ** 2,
    "of rows": lambda w: np.real(signal.stft(np.reshape(w, (2, 20)), nperseg=8)[2]) + signal.stft(w, nperseg=8)[1][0],
    "power": lambda w: signal.spectrogram(w, nperseg=16)[2] + signal.spectrogram(w, 3.0, "hann", 16, 2)[2][:, :1],
    "cross": lambda w: np.abs(signal.csd(w, w * w, nperseg=16)[1]) ** 2 + signal.coherence(w, w * w, nperseg=16)[1],
    "resample": lambda w: signal.resample(w, 30) + signal.resample(w, 61)[:30] + signal.resample(w[:25], 30),
    "rates": lambda w: signal.upfirdn([1.0, 2.0, 0.5], w, 2, 3)[:20] + signal.resample_poly(w, 3, 2)[:20],
    "slower": lambda w: signal.decimate(w, 2) + signal.decimate(w, 2, ftype="fir"),
    "apart": lambda w: signal.deconvolve(w, np.array([1.0, 0.5]))[0][:30] + signal.deconvolve(w, w[:3] + 3)[1][:30],
}
SAMPLES = {
    "moments": lambda x: (stats.zscore(x) + stats.skew(x) + stats.kurtosis(x, bias=False) + stats.sem(x)
                          + stats.variation(x) + stats.moment(x, 3) + stats.skew(x, bias=False)),
    "means": lambda x: stats.gmean(x) + stats.hmean(x) + stats.trim_mean(x, 0.25) + stats.entropy(x),
    "spreads": lambda x: stats.iqr(x) + stats.median_abs_deviation(x) + stats.entropy(x, x[::-1], base=2),
    "pairs": lambda x: (stats.pearsonr(x, Y)[0] + stats.pearsonr(x, Y).pvalue + stats.linregress(x, Y).slope
                        + stats.linregress(Y, x).stderr + stats.linregress(x, Y)[3]),
    "orders": lambda x: x * stats.rankdata(np.round(x)) + stats.wasserstein_distance(x, Y),
}
MATRICES = {
    "lu": lambda m: linalg.lu(m)[0] @ linalg.lu(m)[1] * 2 + linalg.lu(m)[2] + linalg.lu(m, permute_l=True)[0],
    "tall": lambda m: linalg.lu(m[:, :3])[1] + linalg.lu(m[:3])[2].T,
    "hyperbolic": lambda m: linalg.coshm(m) + linalg.sinhm(m) + linalg.tanhm(m),
    "some of a spectrum": lambda m: (linalg.eigh(m @ m.T, subset_by_index=[0, 1])[0]
                                     + linalg.eigh(m, eigvals_only=True, subset_by_index=(1, 2))),
    "inverse": lambda m: linalg.pinvh(m @ m.T + np.eye(4)) + linalg.orthogonal_procrustes(m, POSITIVE)[0],
    "made": lambda m: (linalg.companion(m[0]) + linalg.leslie(m[0, :3], m[1, :2]) + linalg.fiedler(m[2, :3])
                       + linalg.convolution_matrix(m[0, :2], 3, "same") + linalg.matmul_toeplitz(m[:3, 0], m[:3, :3])
                       + linalg.helmert(4)[:, :3]),
    "roots": lambda m: linalg.sqrtm(m @ m.T + np.eye(4)) + linalg.fractional_matrix_power(m, 2),
    "logarithms": lambda m: (linalg.logm(m @ m.T + 3 * np.eye(4))
                             + linalg.fractional_matrix_power(POSITIVE + 0 * m, 0.3)),
}
INTEGRALS = {
    "smooth": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t) * np.sin(x[1] * t), 0.0, 1.0)[0],
    "arguments": lambda x: (integrate.quad(lambda t, a, b: np.exp(-a * t) * b, 0, 2, args=(x[0], x[1]))[0]
                            + integrate.quad(lambda t, a: a / t, 1, 2, args=x[0])[0]),
    "ends": lambda x: integrate.quad(np.cos, x[2], x[1])[0] + 2 * integrate.quad(np.cos, x[1], x[2])[0],
    "all": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t * t), -np.inf, np.inf)[0],
    "halves": lambda x: (integrate.quad(lambda t: np.exp(-x[0] * t), x[1], np.inf)[0]
                         + integrate.quad(lambda t: np.exp(x[0] * t), -np.inf, x[2])[0]),
    "turned": lambda x: (integrate.quad(lambda t: np.exp(-x[0] * t), np.inf, 1.0)[0]
                         + integrate.quad(lambda t: np.exp(-x[0] * t * t), np.inf, -np.inf)[0]),
    "a peak": lambda x: integrate.quad(lambda t: 1 / (0.01 + (t - x[0]) ** 2), 0.0, 2.0)[0],
    "twice": lambda x: (
        integrate.dblquad(lambda v, u: np.exp(-x[0] * u * v) * x[1], 0.0, 1.0, 0.0, lambda u: u + x[2])[0]
        + integrate.dblquad(lambda v, u, k: k * v, 0, x[0], lambda u: -u, 1.0, args=(x[1],))[0]),
    "twice and far": lambda x: integrate.dblquad(lambda v, u: np.exp(-x[0] * u - x[1] * v), 0.0, 2.0, 0.0, np.inf)[0],
    "error": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t), 0.0, 1.0)[1] * 1e10,
}
ALL = {**{n: (f, A) for n, f in PICTURES.items()}, **{n: (f, LONG) for n, f in SIGNALS.items()},
       **{n: (f, X) for n, f in {**SAMPLES, **INTEGRALS}.items()}, **{n: (f, SQUARE) for n, f in MATRICES.items()}}


@pytest.mark.parametrize("name", ALL)
def test_values_and_derivatives(name):
    program, argument = ALL[name]

    def run(a):
        found = program(a)
        return np.sum(found * np.cos(np.reshape(np.arange(np.size(found)), np.shape(found)) + 0.2))

    check_both_modes(run, (argument.copy(),))


def test_a_kink_is_cut_in_halves_until_the_integral_is_good():
    def run(x):
        return integrate.quad(lambda t: np.abs(t - x[0]) * np.exp(t), 0.0, 2.0)[0]

    check(run, X, rtol=1e-8)


@pytest.mark.parametrize("program", [
    lambda a: stats.iqr(a, axis=1), lambda a: stats.skew(a, bias=False), lambda a: signal.resample(a, 9)])
def test_single_precision_stays_so(program):
    check(program, A.astype(np.float32))


@pytest.mark.parametrize("steps", [12.5, 14.0, -12.3, -40.0])
def test_level_borders_far_away(steps: float) -> None:
    """SciPy follows its spline for one element more than it has put around the array."""
    x = np.cos(np.arange(9.0) ** 2)
    found = sampled(x, [np.arange(9.0) - steps], None, 3, "nearest", 0.0, True)
    np.testing.assert_allclose(found, ndimage.shift(x, steps, mode="nearest"), rtol=1e-13, atol=1e-14)


def test_matrices_without_a_real_root_are_errors():
    def run(a):
        return np.sum(linalg.sqrtm(a))

    with pytest.raises((ArithmeticError, np.linalg.LinAlgError)):
        check(run, np.array([[-1.0, 0.3, 0.0], [0.2, 2.0, 0.1], [0.0, 0.4, 1.0]]))


@pytest.mark.parametrize("program", [
    lambda a: np.sum(ndimage.shift(a, 0.5, mode="wrap")), lambda a: np.sum(ndimage.zoom(a, 2.0, order=2)),
    lambda a: np.sum(ndimage.median_filter(a, footprint=np.ones((2, 2)))),
    lambda a: ndimage.rotate(a, a[0, 0]).sum(), lambda a: np.sum(signal.stft(a, boundary="even")[2]),
    lambda a: np.sum(ndimage.zoom(a, 2.0, mode="reflect")),
    lambda a: integrate.quad(np.cos, 0, 1, points=[0.5])[0], lambda a: np.sum(stats.zscore(a, nan_policy="omit"))])
def test_refusals(program):
    with pytest.raises(UnsupportedError):
        parse(program, (A,), {})
