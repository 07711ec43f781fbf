"""Spectra over time and other sampling rates of `scipy.signal`, in plain NumPy for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from importlib import import_module

import numpy as np

from sdfgad.frontend.bodies.packages import filter as filters
from sdfgad.frontend.bodies.packages.filter import lfilter, lfilter_zi, window_of


def _segments(x, window, nperseg, noverlap, nfft, named_length):
    """The window, and how long segments and their transforms are and how far apart they begin."""
    named = isinstance(window, (str, tuple))
    length = min(named_length if nperseg is None else nperseg, x.shape[-1]) if named else np.asarray(window).shape[0]
    weights = window_of(window, length) if named else np.asarray(window)
    overlap = length // 2 if noverlap is None else noverlap
    if x.dtype.kind != "f" or overlap >= length or nfft is not None and nfft < length or length > x.shape[-1]:
        raise ValueError("other numbers, segments that overlap too much, or longer than their transform or the samples")
    return weights, length, length if nfft is None else nfft, length - overlap


def _lines(rows, weights, length, size, step, trend):
    parts = np.lib.stride_tricks.sliding_window_view(rows, length, axis=-1)[..., ::step, :]
    if trend:
        parts = filters.detrend(parts, -1, trend)
    return np.fft.rfft(parts * weights, size, axis=-1)


def _scale(weights, fs, scaling):
    if scaling not in ("density", "spectrum", "psd"):
        raise ValueError("another scaling")
    return 1.0 / np.sum(weights) ** 2 if scaling == "spectrum" else 1.0 / (fs * np.sum(weights * weights))


def _twice(size):
    """Both sides of a spectrum on one."""
    found = np.ones(size // 2 + 1) * 2.0
    found[0] = 1.0
    if size % 2 == 0:
        found[-1] = 1.0
    return found


def stft(x, fs=1.0, window="hann", nperseg=256, noverlap=None, nfft=None, detrend=False, return_onesided=True,
         boundary="zeros", padded=True, axis=-1, scaling="spectrum"):
    if not return_onesided or boundary not in ("zeros", None) or scaling == "density":
        raise ValueError("two sides, another border or another scaling")
    rows = np.moveaxis(np.asarray(x), axis, -1)
    weights, length, size, step = _segments(rows, window, nperseg, noverlap, nfft, 256)
    edge = length // 2 if boundary == "zeros" else 0
    count = rows.shape[-1] + 2 * edge
    behind = -(count - length) % step % length if padded else 0
    widths = [(0, 0)] * (rows.ndim - 1) + [(edge, edge + behind)]
    found = _lines(np.pad(rows, widths), weights, length, size, step, detrend) * np.sqrt(_scale(weights, fs, scaling))
    times = (np.arange(found.shape[-2]) * step + length / 2.0 - edge) / float(fs)
    over_time = np.moveaxis(np.moveaxis(found, -1, -2), -2, axis - 1 if axis < 0 else axis)
    return np.fft.rfftfreq(size, 1.0 / fs), times, over_time


def spectrogram(x, fs=1.0, window=("tukey", 0.25), nperseg=None, noverlap=None, nfft=None, detrend="constant",
                return_onesided=True, scaling="density", axis=-1, mode="psd"):
    if not return_onesided or mode != "psd" or axis not in (-1, x.ndim - 1):
        raise ValueError("two sides, another mode or another axis")
    length = min(256 if nperseg is None else nperseg, x.shape[-1])
    overlap = length // 8 if noverlap is None else noverlap
    weights, length, size, step = _segments(x, window, nperseg, overlap, nfft, 256)
    lines = _lines(x, weights, length, size, step, detrend)
    power = (np.real(lines) ** 2 + np.imag(lines) ** 2) * (_scale(weights, fs, scaling) * _twice(size))
    times = (np.arange(power.shape[-2]) * step + length / 2.0) / float(fs)
    return np.fft.rfftfreq(size, 1.0 / fs), times, np.moveaxis(power, -1, -2)


def csd(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
        scaling="density", axis=-1, average="mean"):
    x, y = np.moveaxis(np.asarray(x), axis, -1), np.moveaxis(np.asarray(y), axis, -1)
    if not return_onesided or average != "mean" or x.shape != y.shape:
        raise ValueError("two sides, medians, or signals of different lengths")
    weights, length, size, step = _segments(x, window, nperseg, noverlap, nfft, 256)
    first, second = _lines(x, weights, length, size, step, detrend), _lines(y, weights, length, size, step, detrend)
    found = np.mean(np.conj(first) * second * (_scale(weights, fs, scaling) * _twice(size)), axis=-2)
    return np.fft.rfftfreq(size, 1.0 / fs), np.moveaxis(found, -1, axis)


def coherence(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", axis=-1):
    places, both = csd(x, y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    first = np.real(csd(x, x, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)[1])
    second = np.real(csd(y, y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)[1])
    return places, (np.real(both) ** 2 + np.imag(both) ** 2) / first / second


# sections, there and back

def edge_of_sections(sos):
    """Run while translating: how many samples `sosfiltfilt` puts in front."""
    sections = np.asarray(sos)
    taps = 2 * len(sections) + 1
    return 3 * (taps - int(min(np.sum(sections[:, 2] == 0), np.sum(sections[:, 5] == 0))))


def sosfiltfilt(sos, x, axis=-1, padtype="odd", padlen=None):
    if padtype not in ("odd", None):
        raise ValueError("another border")
    rows, sections = np.moveaxis(x, axis, 0), np.asarray(sos)
    n, edge = rows.shape[0], 0 if padtype is None else edge_of_sections(sos) if padlen is None else padlen
    if edge >= n:
        raise ValueError("a border as long as the signal")
    seen = np.concatenate((2 * rows[:1] - rows[1:edge + 1][::-1], rows, 2 * rows[-1:] - rows[n - 1 - edge:n - 1][::-1]))
    there = _settled(sections, seen)
    return np.moveaxis(_settled(sections, there[::-1])[::-1][edge:edge + n], 0, axis)


def _settled(sections, rows):
    """Filtered as if the first sample had been there for ever."""
    scale, first = 1.0, rows[:1]
    for k in range(sections.shape[0]):
        b, a = sections[k, :3], sections[k, 3:]
        begin = np.reshape(lfilter_zi(b, a), (-1,) + (1,) * (rows.ndim - 1))
        rows = lfilter(b, a, rows, 0, scale * begin * first)[0]
        scale = scale * (np.sum(b) / np.sum(a))
    return rows


# other sampling rates

def resample(x, num, t=None, axis=0, window=None, domain="time"):
    x = np.asarray(x)
    if t is not None or window is not None or domain != "time" or x.dtype.kind != "f":
        raise ValueError("times, a window, a spectrum or complex samples")
    rows = np.moveaxis(x, axis, -1)
    n, least = rows.shape[-1], min(num, rows.shape[-1])
    weights = np.ones(least // 2 + 1)
    if least % 2 == 0 and num != n:
        weights[-1] = 2.0 if num < n else 0.5
    lines = np.fft.rfft(rows)[..., :least // 2 + 1] * weights
    return np.moveaxis(np.fft.irfft(lines, num) * (num / n), -1, axis).astype(x.dtype)


def upfirdn(h, x, up=1, down=1, axis=-1, mode="constant", cval=0):
    h, rows = np.asarray(h), np.moveaxis(np.asarray(x), axis, 0)
    if mode != "constant" or h.ndim != 1 or not isinstance(cval, int) or cval != 0:
        raise ValueError("another border")
    n, taps = rows.shape[0], h.shape[0]
    out = np.zeros(((n - 1) * up + taps,) + rows.shape[1:], np.result_type(h.dtype, rows.dtype))
    for k in range(taps):
        out[k:k + (n - 1) * up + 1:up] += h[k] * rows
    return np.moveaxis(out[::down], 0, axis)


def low_pass(up, down, window):
    """Run while translating: the filter between two rates, with what stands in front of its middle."""
    rate = max(up, down)
    if isinstance(window, (str, tuple)):
        half = 10 * rate
        return import_module("scipy.signal").firwin(2 * half + 1, 1.0 / rate, window=window) * up
    return np.asarray(window) * up


def resample_poly(x, up, down, axis=0, window=("kaiser", 5.0), padtype="constant", cval=None):
    if padtype != "constant" or cval is not None:
        raise ValueError("another border")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == 1 and down == 1:
        return np.array(x)
    taps = low_pass(up, down, window)
    half, n = (taps.shape[0] - 1) // 2, x.shape[axis]
    before = down - half % down
    first, count = (half + before) // down, -(-n * up // down)
    behind = max(0, (count + first - 1) * down + 1 - ((n - 1) * up + taps.shape[0] + before))
    taps = np.concatenate((np.zeros(before), taps, np.zeros(behind)))
    rows = np.moveaxis(upfirdn(taps, x, up, down, axis), axis, 0)
    return np.moveaxis(rows[first:first + count], 0, axis)


def slower(q, n, ftype):
    """Run while translating: the filter of `decimate`."""
    signal = import_module("scipy.signal")
    if ftype == "fir":
        return signal.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
    return signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")


def decimate(x, q, n=None, ftype="iir", axis=-1, zero_phase=True):
    if ftype not in ("iir", "fir") or not zero_phase:
        raise ValueError("another filter, or one that delays")
    taps = slower(q, n, ftype)
    if ftype == "fir":
        return resample_poly(x, 1, q, axis, taps)
    rows = np.moveaxis(sosfiltfilt(taps, x, axis), axis, 0)
    return np.moveaxis(rows[::q], 0, axis)


def deconvolve(signal, divisor):
    signal, divisor = np.atleast_1d(np.asarray(signal)), np.atleast_1d(np.asarray(divisor))
    n, d = signal.shape[0], divisor.shape[0]
    if d > n:
        return np.zeros(0), signal
    first = np.zeros(n - d + 1)
    first[0] = 1.0
    quotient = lfilter(signal, divisor, first)
    return quotient, signal - np.convolve(divisor, quotient)


NAMES = ("stft", "spectrogram", "csd", "coherence", "sosfiltfilt", "resample", "upfirdn", "resample_poly", "decimate",
         "deconvolve")
