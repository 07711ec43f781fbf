"""Filters and spectra of `scipy.signal`, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,call-overload"
from __future__ import annotations

import math
from importlib import import_module

import numpy as np

from sdfgad.frontend.bodies.packages.images import convolve1d

_SHORT = 500
"""Up to here sums of products are not slower than transforms."""


def convolve_all(in1, in2, mode="full", method="auto"):
    a, v = np.asarray(in1), np.asarray(in2)
    if a.ndim != v.ndim or a.ndim == 0 or mode not in ("full", "same", "valid") or method not in (
            "auto", "direct", "fft"):
        raise ValueError("arrays of different dimensions, or another mode or method")
    if method != "direct" and min(a.size, v.size) > _SHORT:
        return _by_transforms(a, v, mode)
    return convolve_row(a, v, mode) if a.ndim == 1 else convolve_blocks(a, v, mode)


def convolve_blocks(a, v, mode):
    """In any number of dimensions: one shifted copy for each weight."""
    if mode == "valid" and any(v.shape[k] > a.shape[k] for k in range(a.ndim)):
        if any(v.shape[k] < a.shape[k] for k in range(a.ndim)):
            raise ValueError("neither of two arrays at least as large as the other one")
        a, v = v, a
    axes = range(a.ndim)
    out = np.zeros(tuple([a.shape[k] + v.shape[k] - 1 for k in axes]), np.result_type(a.dtype, v.dtype))
    for place in np.ndindex(v.shape):
        out[tuple([slice(place[k], place[k] + a.shape[k]) for k in axes])] += v[place] * a
    if mode == "full":
        return out
    return _part(out, a, v, mode)


def _part(full, a, v, mode):
    axes = range(a.ndim)
    first = [(v.shape[k] - 1) // 2 if mode == "same" else v.shape[k] - 1 for k in axes]
    size = [a.shape[k] if mode == "same" else a.shape[k] - v.shape[k] + 1 for k in axes]
    return full[tuple([slice(first[k], first[k] + size[k]) for k in axes])]


def _by_transforms(a, v, mode):
    if mode == "valid" and any(v.shape[k] > a.shape[k] for k in range(a.ndim)):
        if any(v.shape[k] < a.shape[k] for k in range(a.ndim)):
            raise ValueError("neither of two arrays at least as large as the other one")
        a, v = v, a
    whole = [a.shape[k] + v.shape[k] - 1 for k in range(a.ndim)]
    sizes = [2 ** int(np.ceil(np.log2(m))) for m in whole]
    found = np.fft.ifftn(np.fft.fftn(a, sizes) * np.fft.fftn(v, sizes))
    full = found[tuple([slice(0, m) for m in whole])]
    full = full if a.dtype.kind == "c" or v.dtype.kind == "c" else np.real(full)
    return full if mode == "full" else _part(full, a, v, mode)


def correlate_all(in1, in2, mode="full", method="auto"):
    in1, in2 = np.asarray(in1), np.asarray(in2)
    if mode == "valid" and any(in2.shape[k] > in1.shape[k] for k in range(in1.ndim)):
        return np.flip(convolve_all(np.conj(in2), np.flip(in1), mode))
    return convolve_all(in1, np.conj(np.flip(in2)), mode)


def convolve_row(a, v, mode):
    full = np.convolve(a, v)
    if mode == "full":
        return full
    n, m = a.shape[0], v.shape[0]
    if mode == "same":
        return full[(m - 1) // 2:(m - 1) // 2 + n]
    return np.convolve(a, v, "valid")


def fftconvolve(in1, in2, mode="full", axes=None):
    if axes is None:
        return convolve_all(in1, in2, mode)
    if not isinstance(axes, int) or mode not in ("full", "same"):
        raise ValueError("a convolution along several axes, or of what is valid along one")
    a, v = np.moveaxis(in1, axes, 0), np.moveaxis(in2, axes, 0)
    n, m = a.shape[0], v.shape[0]
    first = a[0] * v[0]
    out = np.zeros((n + m - 1, *first.shape), first.dtype)
    for k in range(m):
        out[k:k + n] += a * v[k]
    return np.moveaxis(out if mode == "full" else out[(m - 1) // 2:(m - 1) // 2 + n], 0, axes)


oaconvolve = fftconvolve


def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if in1.ndim != 2 or in2.ndim != 2 or boundary not in ("fill", "wrap", "symm"):
        raise ValueError("another border, or arrays of other dimensions than two")
    if boundary == "fill" and isinstance(fillvalue, (int, float)) and fillvalue == 0 or mode == "valid":
        return convolve_all(in1, in2, mode)
    n, m = in1.shape
    p, q = in2.shape
    widths = ((p - 1, p - 1), (q - 1, q - 1))
    if boundary == "fill":
        seen = np.pad(in1, widths, mode="constant", constant_values=fillvalue)
    else:
        seen = np.pad(in1, widths, mode="wrap" if boundary == "wrap" else "symmetric")
    full = convolve_all(seen, in2, "valid")
    if mode == "full":
        return full
    return full[(p - 1) // 2:(p - 1) // 2 + n, (q - 1) // 2:(q - 1) // 2 + m]


def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if mode == "same":
        n, m = in1.shape
        full = convolve2d(in1, np.conj(in2[::-1, ::-1]), "full", boundary, fillvalue)
        i, j = in2.shape[0] // 2, in2.shape[1] // 2
        return full[i:i + n, j:j + m]
    return convolve2d(in1, np.conj(in2[::-1, ::-1]), mode, boundary, fillvalue)


def lfilter(b, a, x, axis=-1, zi=None):
    b, a = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    rows = np.moveaxis(x, axis, 0)
    front, back = b / a[0], a / a[0]
    if zi is not None:
        out, state = _with_state(front, back, rows, np.moveaxis(np.asarray(zi), axis, 0))
        return np.moveaxis(out, 0, axis), np.moveaxis(state, 0, axis)
    n = rows.shape[0]
    out = front[0] * rows
    for m in range(1, min(n, front.shape[0])):
        out[m:] += front[m] * rows[:n - m]
    for k in range(1, n):
        for m in range(1, min(k + 1, back.shape[0])):
            out[k] -= back[m] * out[k - m]
    return np.moveaxis(out, 0, axis)


def _with_state(front, back, rows, begin):
    """Direct form II transposed: what waits for the values to come."""
    order = max(front.shape[0], back.shape[0]) - 1
    if begin.shape[0] != order or order == 0:
        raise ValueError("a state of another length than the order of the filter")
    p = np.concatenate((front, np.zeros(order + 1 - front.shape[0])))
    q = np.concatenate((back, np.zeros(order + 1 - back.shape[0])))
    kind = np.result_type(p.dtype, q.dtype, rows.dtype, begin.dtype)
    out, state = np.empty(rows.shape, kind), np.empty(begin.shape, kind)
    state[...] = begin
    for k in range(rows.shape[0]):
        out[k] = state[0] + p[0] * rows[k]
        for m in range(order - 1):
            state[m] = state[m + 1] + p[m + 1] * rows[k] - q[m + 1] * out[k]
        state[order - 1] = p[order] * rows[k] - q[order] * out[k]
    return out, state


def lfilter_zi(b, a):
    b, a = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    size = max(b.shape[0], a.shape[0])
    p = np.concatenate((b / a[0], np.zeros(size - b.shape[0])))
    q = np.concatenate((a / a[0], np.zeros(size - a.shape[0])))
    out = np.empty(size - 1)
    out[0] = np.sum(p[1:] - q[1:] * p[0]) / np.sum(q)
    left, right = 1.0, 0.0
    for k in range(1, size - 1):
        left, right = left + q[k], right + p[k] - q[k] * p[0]
        out[k] = left * out[0] - right
    return out


def filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    b, a = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    if method != "pad" or padtype not in ("odd", None) or max(b.shape[0], a.shape[0]) < 2:
        raise ValueError("another method or border, or a filter without memory")
    rows = np.moveaxis(x, axis, 0)
    n = rows.shape[0]
    edge = 0 if padtype is None else 3 * max(b.shape[0], a.shape[0]) if padlen is None else padlen
    if edge >= n:
        raise ValueError("a border as long as the signal")
    seen = np.concatenate((2 * rows[:1] - rows[1:edge + 1][::-1], rows, 2 * rows[-1:] - rows[n - 1 - edge:n - 1][::-1]))
    begin = np.reshape(lfilter_zi(b, a), (-1,) + (1,) * (rows.ndim - 1))
    there = lfilter(b, a, seen, 0, begin * seen[:1])[0]
    back = lfilter(b, a, there[::-1], 0, begin * there[-1:])[0][::-1]
    return np.moveaxis(back[edge:edge + n], 0, axis)


def sosfilt(sos, x, axis=-1, zi=None):
    if zi is not None:
        raise ValueError("a state before the signal")
    sections = np.asarray(sos)
    for k in range(sections.shape[0]):
        x = lfilter(sections[k, :3], sections[k, 3:], x, axis)
    return x


def hilbert(x, N=None, axis=-1):
    if x.dtype.kind == "c":
        raise ValueError("complex values")
    count = x.shape[axis] if N is None else N
    weights = np.zeros(count, x.dtype if x.dtype.kind == "f" else np.float64)
    weights[0] = 1.0
    weights[1:(count + 1) // 2] = 2.0
    if count % 2 == 0:
        weights[count // 2] = 1.0
    spectrum = np.moveaxis(np.fft.fft(x, count, axis), axis, -1)
    return np.moveaxis(np.fft.ifft(spectrum * weights), -1, axis)


def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):
    rows = np.moveaxis(np.asarray(data) * 1.0, axis, 0)
    kind = rows.dtype
    if bp != 0 or type not in ("linear", "l", "constant", "c"):
        raise ValueError("several pieces, or another trend")
    away = rows - np.mean(rows, axis=0)
    if type in ("linear", "l"):
        n = rows.shape[0]
        places = np.reshape(np.arange(n) - (n - 1) / 2.0, (-1,) + (1,) * (rows.ndim - 1))
        away = away - places * (np.sum(places * rows, axis=0) / np.sum(places * places))
    return np.moveaxis(away.astype(kind), 0, axis)


_without_trend = detrend  # which arguments of that name hide


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
        parts = _without_trend(parts, -1, detrend)
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


def freqz(b, a=1, worN=512, whole=False, plot=None, fs=2 * math.pi, include_nyquist=False):
    if plot is not None or include_nyquist:
        raise ValueError("a plot, or the frequency of Nyquist among the others")
    if isinstance(worN, int):
        w = np.linspace(0.0, 2.0 * math.pi if whole else math.pi, worN, endpoint=False)
    else:
        w = 2.0 * math.pi * np.asarray(worN) / fs
    z = np.exp(-1j * w)
    high, low = (np.polyval(np.atleast_1d(np.asarray(c))[::-1], z) for c in (b, a))
    return w * (fs / (2.0 * math.pi)), high / low
