"""NumPy functions of signals and samples, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

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
        raise ValueError("the longer array comes first")
    return np.convolve(a, np.conj(v)[::-1], mode)


def rfft(a, n=None, axis=-1):
    if n is not None or a.dtype.kind == "c":
        raise ValueError("padding, or complex values")
    whole = np.moveaxis(np.fft.fft(a, axis=axis), axis, -1)
    return np.moveaxis(whole[..., :a.shape[axis] // 2 + 1], -1, axis)


def irfft(a, n=None, axis=-1):
    half = np.moveaxis(a, axis, -1)
    count = 2 * (half.shape[-1] - 1) if n is None else n
    if count < 1 or half.shape[-1] != count // 2 + 1:
        raise ValueError("padding")
    mirrored = np.conj(half[..., 1:(count + 1) // 2])[..., ::-1]
    whole = np.concatenate((half, mirrored), axis=-1)
    return np.moveaxis(np.real(np.fft.ifft(whole)), -1, axis)


def plane_fft(a, s=None, axes=(-2, -1)):
    if s is not None:
        raise ValueError("padding")
    for k in axes[::-1]:
        a = np.fft.fft(a, axis=k)
    return a


def plane_ifft(a, s=None, axes=(-2, -1)):
    if s is not None:
        raise ValueError("padding")
    for k in axes[::-1]:
        a = np.fft.ifft(a, axis=k)
    return a


def fftn(a, s=None, axes=None):
    return np.fft.fft2(a, s, tuple(range(a.ndim)) if axes is None else axes)


def ifftn(a, s=None, axes=None):
    return np.fft.ifft2(a, s, tuple(range(a.ndim)) if axes is None else axes)


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
    out = default
    for k in range(len(condlist) - 1, -1, -1):
        out = np.where(condlist[k], choicelist[k], out)
    return out


def median(a, axis=None):
    if axis is not None and np.ndim(a) != 1:
        raise ValueError("the median of rows")
    ordered = np.sort(np.ravel(a))
    n = ordered.shape[0]
    middle = np.mean(ordered[(n - 1) // 2:n // 2 + 1])
    # What is not a number comes last.
    return np.nan if a.dtype.kind == "f" and np.isnan(ordered[n - 1]) else middle


def nansum(a, axis=None, keepdims=False):
    return np.sum(np.where(np.isnan(a), 0, a), axis=axis, keepdims=keepdims)


def nanmean(a, axis=None, keepdims=False):
    count = np.sum(np.where(np.isnan(a), 0, 1), axis=axis, keepdims=keepdims)
    return np.nansum(a, axis=axis, keepdims=keepdims) / count
