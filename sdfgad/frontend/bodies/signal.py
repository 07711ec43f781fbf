"""NumPy functions of signals and samples, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,arg-type"
from __future__ import annotations

import math

import numpy as np


def convolve(a, v, mode="full"):
    a, v = np.atleast_1d(np.asarray(a)), np.atleast_1d(np.asarray(v))
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    if m == 0 or mode not in ("full", "same", "valid"):
        raise ValueError("an empty array or another mode")
    out = np.zeros(n + m - 1, np.result_type(a.dtype, v.dtype))
    for k in range(m):
        out[k:k + n] += v[k] * a
    if mode == "same":
        return out[(m - 1) // 2:(m - 1) // 2 + n]
    return out if mode == "full" else out[m - 1:n]


def correlate(a, v, mode="valid"):
    a, v = np.atleast_1d(np.asarray(a)), np.atleast_1d(np.asarray(v))
    if v.shape[0] > a.shape[0]:
        return np.conj(np.correlate(v, a, mode))[::-1]
    return np.convolve(a, (np.conj(v) if v.dtype.kind == "c" else v)[::-1], mode)


def resized(a, n, axis):
    """The values along an axis cut off, or zeros behind them."""
    rows = np.moveaxis(a, axis, -1)
    m = rows.shape[-1]
    if n <= m:
        return np.moveaxis(rows[..., :n], -1, axis)
    out = np.zeros(rows.shape[:-1] + (n,), rows.dtype)
    out[..., :m] = rows
    return np.moveaxis(out, -1, axis)


def scaled_fft(a, n, axis, norm):
    out = np.fft.fft(a if n is None else resized(a, n, axis), axis=axis)
    count = out.shape[axis]
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError("this scaling")
    return out / math.sqrt(count) if norm == "ortho" else out / count if norm == "forward" else out


def scaled_ifft(a, n, axis, norm):
    out = np.fft.ifft(a if n is None else resized(a, n, axis), axis=axis)
    count = out.shape[axis]
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError("this scaling")
    return out * math.sqrt(count) if norm == "ortho" else out * count if norm == "forward" else out


def rfft(a, n=None, axis=-1, norm=None):
    if a.dtype.kind == "c":
        raise ValueError("complex values")
    count = a.shape[axis] if n is None else n
    whole = np.moveaxis(np.fft.fft(a, n, axis, norm), axis, -1)
    return np.moveaxis(whole[..., :count // 2 + 1], -1, axis)


def irfft(a, n=None, axis=-1, norm=None):
    half = np.moveaxis(a, axis, -1)
    count = 2 * (half.shape[-1] - 1) if n is None else n
    if count < 1:
        raise ValueError("a signal without values")
    half = half if half.shape[-1] == count // 2 + 1 else resized(half, count // 2 + 1, -1)
    mirrored = np.conj(half[..., 1:(count + 1) // 2])[..., ::-1]
    whole = np.concatenate((half, mirrored), axis=-1)
    return np.moveaxis(np.real(np.fft.ifft(whole, norm=norm)), -1, axis)


def by_axes(transform):
    def body(a, s=None, axes=(-2, -1), norm=None):
        for k in range(len(axes) - 1, -1, -1):
            a = transform(a, None if s is None else s[k], axes[k], norm)
        return a

    return body


plane_fft, plane_ifft = by_axes(np.fft.fft), by_axes(np.fft.ifft)


def by_all_axes(transform):
    def body(a, s=None, axes=None, norm=None):
        return transform(a, s, tuple(range(a.ndim)) if axes is None else axes, norm)

    return body


fftn, ifftn = by_all_axes(np.fft.fft2), by_all_axes(np.fft.ifft2)
rfftn, irfftn = by_all_axes(np.fft.rfft2), by_all_axes(np.fft.irfft2)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    half = np.fft.rfft(a, None if s is None else s[-1], axes[-1], norm)
    return np.fft.fft2(half, None if s is None else s[:-1], axes[:-1], norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    part = np.fft.ifft2(a, None if s is None else s[:-1], axes[:-1], norm)
    return np.fft.irfft(part, None if s is None else s[-1], axes[-1], norm)


def fftfreq(n, d=1.0):
    return np.concatenate((np.arange(0, (n - 1) // 2 + 1), np.arange(-(n // 2), 0))) * (1.0 / (n * d))


def rfftfreq(n, d=1.0):
    return np.arange(0, n // 2 + 1) * (1.0 / (n * d))


def fftshift(x, axes=None):
    for k in range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes:
        x = np.roll(x, x.shape[k] // 2, k)
    return x


def ifftshift(x, axes=None):
    for k in range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes:
        x = np.roll(x, -(x.shape[k] // 2), k)
    return x


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("as many choices as conditions are needed")
    if any(np.asarray(c).dtype != bool for c in condlist):
        raise ValueError("conditions that are no booleans")
    out = default
    for k in range(len(condlist) - 1, -1, -1):
        out = np.where(condlist[k], choicelist[k], out)
    return out


def nansum(a, axis=None, keepdims=False):
    return np.sum(np.where(np.isnan(a), 0, a), axis=axis, keepdims=keepdims)


def nanmean(a, axis=None, keepdims=False):
    kind = np.asarray(a).dtype
    if kind.kind not in "fc":
        return np.mean(a, axis=axis, keepdims=keepdims)
    count = np.sum(np.where(np.isnan(a), 0, 1), axis=axis, keepdims=keepdims)
    return np.nansum(a, axis=axis, keepdims=keepdims) / count.astype(kind)


def hfft(a, n=None, axis=-1, norm=None):
    count = 2 * (a.shape[axis] - 1) if n is None else n
    swapped = "backward" if norm == "forward" else "forward" if norm in (None, "backward") else norm
    return np.fft.irfft(np.conjugate(a), count, axis, swapped)


def ihfft(a, n=None, axis=-1, norm=None):
    swapped = "backward" if norm == "forward" else "forward" if norm in (None, "backward") else norm
    return np.conjugate(np.fft.rfft(a, n, axis, swapped))
