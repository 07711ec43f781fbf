"""Polynomials through samples and spectra of `scipy.signal`, in plain NumPy for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from importlib import import_module

import numpy as np

from sdfgad.frontend.bodies.filter import detrend as without_trend
from sdfgad.frontend.bodies.images import convolve1d


def savgol_weights(length, order, deriv, delta):
    """Run while translating: what a polynomial through so many samples has as derivative in their middle, near the
    first and near the last of them, as weights of the samples.

    Savitzky and Golay, "Smoothing and differentiation of data by simplified least squares procedures", 1964.
    """
    half = length // 2
    middle = half if length % 2 else half - 0.5
    powers = np.arange(order + 1)
    basis = (np.arange(length)[:, None] - middle) ** powers
    falling = np.array([math.perm(p, deriv) for p in powers], float)

    def weights(places):
        slopes = falling * (np.asarray(places, float)[:, None] - middle) ** np.maximum(powers - deriv, 0)
        return slopes @ np.linalg.pinv(basis) / delta ** deriv

    return weights([middle])[0], weights(range(half)), weights(range(length - half, length))


def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    if polyorder >= window_length or mode not in ("mirror", "constant", "nearest", "wrap", "interp"):
        raise ValueError("a polynomial through too few samples, or another mode")
    x = np.asarray(x)
    rows = np.moveaxis(x if x.dtype == np.float32 else x * 1.0, axis, -1)
    inside, first, last = savgol_weights(window_length, polyorder, deriv, delta)
    found = convolve1d(rows, inside[::-1], -1, None, "constant" if mode == "interp" else mode, cval)
    if mode == "interp":
        n, half = rows.shape[-1], window_length // 2
        if window_length > n:
            raise ValueError("a window longer than the samples")
        found = np.array(found)
        found[..., :half] = rows[..., :window_length] @ first.T
        found[..., n - half:] = rows[..., n - window_length:] @ last.T
    return np.moveaxis(found, -1, axis)


def window_of(window, length):
    """Run while translating: the window of that name."""
    return import_module("scipy.signal").get_window(window, length)


def welch(x, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
          scaling="density", axis=-1, average="mean"):
    """Welch, "The use of fast Fourier transform for the estimation of power spectra", 1967."""
    x = np.asarray(x)
    if x.dtype.kind == "c" or not return_onesided or average != "mean" or scaling not in ("density", "spectrum"):
        raise ValueError("complex samples, two sides, medians, or another scaling")
    rows = np.moveaxis(x, axis, -1)
    named = isinstance(window, (str, tuple))
    length = min(256 if nperseg is None else nperseg, rows.shape[-1]) if named else np.asarray(window).shape[0]
    weights = window_of(window, length) if named else np.asarray(window)
    overlap = length // 2 if noverlap is None else noverlap
    if overlap >= length or nfft is not None and nfft < length or length > rows.shape[-1]:
        raise ValueError("segments that overlap too much, longer than their transform or than the samples")
    size = length if nfft is None else nfft
    parts = np.lib.stride_tricks.sliding_window_view(rows, length, axis=-1)[..., ::length - overlap, :]
    if detrend:
        parts = without_trend(parts, -1, detrend)
    scale = 1.0 / (fs * np.sum(weights * weights)) if scaling == "density" else 1.0 / np.sum(weights) ** 2
    lines = np.fft.rfft(parts * weights, size, axis=-1)
    power = (np.real(lines) ** 2 + np.imag(lines) ** 2) * scale
    twice = np.ones(size // 2 + 1) * 2.0
    twice[0] = 1.0
    if size % 2 == 0:
        twice[-1] = 1.0
    found = np.mean(power * twice, axis=-2).astype(np.result_type(x.dtype, np.float32))
    return np.fft.rfftfreq(size, 1.0 / fs), np.moveaxis(found, -1, axis)


def periodogram(x, fs=1.0, window="boxcar", nfft=None, detrend="constant", return_onesided=True, scaling="density",
                axis=-1):
    size = np.asarray(x).shape[axis]
    if not isinstance(window, (str, tuple)) or nfft is not None and nfft < size:
        raise ValueError("a window without a name, or samples left out")
    return welch(x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis)
