"""Functions of SciPy: values and dtypes as SciPy gives them, derivatives against differences, what is refused."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.interpreted import interpreted

scipy = pytest.importorskip("scipy")
from scipy import fft, integrate, linalg, ndimage, signal, special  # noqa: E402

X = np.linspace(0.2, 1.4, 6)
A = np.outer(X, X[::-1]) + np.diag(X) + 2 * np.eye(6)
S = A + A.T
W = np.arange(36.0).reshape(6, 6) % 7 - 2.5
K = np.array([[0.5, -1.0, 0.25], [2.0, 0.1, -0.3], [0.7, 0.9, -0.2]])
LONG = np.sin(np.arange(11.0))

LINEAR = [
    lambda a, x: linalg.solve(a, x),
    lambda a, x: linalg.solve(a + a.T, x, assume_a="pos"),
    lambda a, x: linalg.solve(a + a.T, x, lower=True, assume_a="sym"),
    lambda a, x: linalg.solve(a, x, transposed=True),
    lambda a, x: linalg.det(a) * x,
    lambda a, x: linalg.cholesky(a + a.T) @ x,
    lambda a, x: linalg.cholesky(a + a.T, lower=True) @ x,
    lambda a, x: linalg.cho_solve(linalg.cho_factor(a + a.T), x),
    lambda a, x: linalg.cho_solve(linalg.cho_factor(a + a.T, lower=True), x),
    lambda a, x: linalg.eigh(a + a.T)[0] * x,
    lambda a, x: linalg.eigh(a + a.T, lower=False, eigvals_only=True) * x,
    lambda a, x: linalg.eigvalsh(a + a.T) * x,
    lambda a, x: np.real(linalg.eigvals(a)) * x,
    lambda a, x: linalg.solve_sylvester(a, a[:3, :3], a[:, 3:]) @ x[:3],
    lambda a, x: linalg.solve_continuous_lyapunov(a, a.T) @ x,
    lambda a, x: linalg.solve_discrete_lyapunov(a * 0.1, a) @ x,
    lambda a, x: linalg.eigh(a, S, eigvals_only=True) * x + linalg.eigh(a, b=S, lower=False)[1][:, 0] ** 2,
    lambda a, x: linalg.eigvalsh(a + a.T, S) * x,
    lambda a, x: (linalg.cosm(a * 0.1) - linalg.sinm(a * 0.1)) @ x,
    lambda a, x: linalg.expm_frechet(a * 0.1, a * a)[1] @ linalg.expm_frechet(a * 0.1, a, compute_expm=False) @ x,
    lambda a, x: linalg.svd(a, compute_uv=False) * x,
    lambda a, x: linalg.svdvals(a) * x,
    lambda a, x: linalg.qr(a)[1] @ x,
    lambda a, x: linalg.qr(a[:, :3], mode="economic")[0].T @ x,
    lambda a, x: linalg.norm(a) * linalg.norm(x, 1) * x,
    lambda a, x: linalg.expm(a * 0.1) @ x,
    lambda a, x: linalg.expm(a * 1.5) @ x * 1e-6,
    lambda a, x: linalg.toeplitz(x) @ a[0],
    lambda a, x: linalg.toeplitz(x, a[1]) @ a[0],
    lambda a, x: linalg.circulant(x) @ a[0],
    lambda a, x: linalg.block_diag(a[:2, :2], x) @ np.arange(8.0),
]

SIGNALS = [
    lambda a, x: signal.convolve(x, a[0, :3], mode="same"),
    lambda a, x: signal.convolve(x, a[0, :4], mode="same"),
    lambda a, x: signal.convolve(x[:3], a[0], mode="same"),
    lambda a, x: signal.convolve(x, a[0, :3], mode="valid"),
    lambda a, x: signal.convolve(a, a[:3, 1:3], mode="same"),
    lambda a, x: signal.fftconvolve(x, a[0]),
    lambda a, x: signal.convolve2d(a, K, mode="same"),
    lambda a, x: signal.convolve2d(a, a[:2, :4]),
    lambda a, x: signal.convolve2d(a, K, mode="valid"),
    lambda a, x: signal.correlate2d(a, K, mode="same"),
    lambda a, x: signal.correlate2d(a, a[:2, :4], mode="same"),
    lambda a, x: signal.correlate2d(a, K, mode="valid"),
    lambda a, x: signal.lfilter([1.0, 0.5], [2.0, -0.3, 0.2], x),
    lambda a, x: signal.lfilter(x[:2], x[1:5], a[0]),
    lambda a, x: ndimage.laplace(a),
    lambda a, x: ndimage.laplace(a, mode="constant", cval=0.5),
    lambda a, x: ndimage.laplace(x, mode="wrap"),
    lambda a, x: ndimage.convolve(a, K),
    lambda a, x: ndimage.convolve(a, K, mode="mirror"),
    lambda a, x: ndimage.correlate(a, K, mode="nearest"),
    lambda a, x: ndimage.correlate(a, K[:2], mode="wrap"),
    lambda a, x: ndimage.correlate(a, K, mode="constant", cval=1.5),
    lambda a, x: ndimage.correlate(x, K[0]),
    lambda a, x: ndimage.correlate1d(a, [1.0, 2.0, 3.0, -1.0], axis=0),
    lambda a, x: ndimage.convolve1d(a, x[:3], mode="mirror"),
    lambda a, x: ndimage.uniform_filter(a, 3),
    lambda a, x: ndimage.uniform_filter(a, size=4, mode="nearest"),
    lambda a, x: ndimage.uniform_filter1d(a, 3, axis=0),
    lambda a, x: ndimage.gaussian_filter(a, 0.8),
    lambda a, x: ndimage.gaussian_filter(a, (0.6, 1.1), mode="wrap"),
    lambda a, x: ndimage.gaussian_filter1d(x, 1.0, mode="nearest"),
    lambda a, x: np.abs(fft.fft(x)) + np.real(fft.ifft(x)),
    lambda a, x: fft.irfft(fft.rfft(x) * 1.5),
    lambda a, x: np.abs(fft.fft2(a)) + np.real(fft.ifft2(a)),
    lambda a, x: integrate.trapezoid(a, x, axis=1) + integrate.trapezoid(x, dx=0.5),
    lambda a, x: integrate.cumulative_trapezoid(x, dx=0.1),
    lambda a, x: integrate.cumulative_trapezoid(a, np.cumsum(x), axis=0, initial=0),
]

ELEMENTS = [
    lambda a, x: special.log1p(x) + special.expm1(x) + special.cbrt(x) + special.exp2(x),
    lambda a, x: special.xlog1py(x, a[0]),
    lambda a, x: special.rel_entr(x, a[0]) + special.kl_div(x, a[0]),
    lambda a, x: special.huber(0.7, x - a[0]),
]

ALL = LINEAR + SIGNALS + ELEMENTS


@pytest.mark.parametrize("k", range(len(ALL)))
def test_values(k):
    program = ALL[k]

    def run(a, x):
        return program(a, x)

    check(run, A.copy(), X.copy(), rtol=1e-11)


@pytest.mark.parametrize("first", range(0, len(ALL), 8))
def test_derivatives(first):
    def run(a, x):
        total = 0.0
        for program in ALL[first:first + 8]:
            found = program(a, x)
            total = total + np.sum(found * np.cos(np.reshape(np.arange(found.size), found.shape)))
        return total

    with interpreted():  # native factorisations and transforms have tests of their own
        sdfgad.check_grads(run, A.copy(), X.copy())


def test_signals_longer_than_a_row():
    check(lambda x: signal.convolve(x, LONG, mode="same"), X.copy())
    check(lambda x: signal.lfilter(LONG[:3], LONG[1:4], np.concatenate((x, x, x))), X.copy())


def test_zeros_of_entropies():
    p, q = np.array([0.0, 0.5, -1.0, 0.3]), np.array([0.4, 0.5, 1.0, 0.0])
    check(lambda p, q: special.rel_entr(p, q), p, q)
    check(lambda p, q: special.kl_div(p, q), p, q)
    check(lambda p, q: special.xlog1py(p, q), p, q)
    check(lambda r: special.huber(-1.0, r), q)


@pytest.mark.parametrize("program", [
    lambda x: linalg.eigh(A, b=S + 0j)[0] * x,
    lambda x: signal.lfilter([1.0], [1.0], x, zi=np.zeros(0)),
    lambda x: linalg.lu_factor(A)[0] * x[0],
    lambda x: special.gammainc(x, 2.0),
], ids=lambda program: f"line {program.__code__.co_firstlineno}")
def test_refusals(program):
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (X.copy(),))
    assert caught.value.line == program.__code__.co_firstlineno


def test_the_exponential_of_what_is_infinite_ends() -> None:
    with interpreted():
        found = sdfgad.forward(lambda a: linalg.expm(a))(np.array([[np.inf, 0.0], [0.0, 1.0]]))
    assert np.isnan(found).any()
