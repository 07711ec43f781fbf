"""Transforms of `scipy.fft`, in plain NumPy for the interpreter to run in place of a call.

Cosine and sine transforms are Fourier transforms: of the second kind and the third by Makhoul, "A fast cosine transform
in one and two dimensions", 1980.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,call-arg,arg-type,no-untyped-call"
from __future__ import annotations

import math

import numpy as np

from sdfgad.frontend.bodies.signal import resized


def along_one(transform):
    def body(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
        return transform(x, n, axis, norm)

    return body


def along_several(transform, usual):
    def body(x, s=None, axes=usual, norm=None, overwrite_x=False, workers=None):
        return transform(x, s, axes, norm)

    return body


def shifting(shift):
    def body(x, axes=None):
        return shift(x, axes)

    return body


fft, ifft = along_one(np.fft.fft), along_one(np.fft.ifft)
rfft, irfft = along_one(np.fft.rfft), along_one(np.fft.irfft)
hfft, ihfft = along_one(np.fft.hfft), along_one(np.fft.ihfft)
plane_fft, plane_ifft = along_several(np.fft.fft2, (-2, -1)), along_several(np.fft.ifft2, (-2, -1))
rfft2, irfft2 = along_several(np.fft.rfft2, (-2, -1)), along_several(np.fft.irfft2, (-2, -1))
fftn, ifftn = along_several(np.fft.fftn, None), along_several(np.fft.ifftn, None)
rfftn, irfftn = along_several(np.fft.rfftn, None), along_several(np.fft.irfftn, None)
fftshift, ifftshift = shifting(np.fft.fftshift), shifting(np.fft.ifftshift)


def _of_kind(sine, inverse):
    def body(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
        return _trigonometric(x, type, n, axis, norm, orthogonalize, sine, inverse)

    return body


def _along_each(transform):
    def body(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):
        return _along_axes(transform, x, type, s, axes, norm, orthogonalize)

    return body


dct, idct = _of_kind(False, False), _of_kind(False, True)
dst, idst = _of_kind(True, False), _of_kind(True, True)
dctn, idctn, dstn, idstn = map(_along_each, (dct, idct, dst, idst))


def _along_axes(transform, x, type, s, axes, norm, orthogonalize):
    places = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    if s is not None and axes is None:
        raise ValueError("lengths without axes")
    for k in range(len(places)):
        x = transform(x, type, None if s is None else s[k], places[k], norm, orthogonalize=orthogonalize)
    return x


def _trigonometric(x, type, n, axis, norm, orthogonalize, sine, inverse):
    values = np.asarray(x)
    values = values * 1.0 if values.dtype.kind not in "fc" else values
    if values.dtype.kind == "c" or type not in (1, 2, 3, 4) or norm not in (None, "backward", "ortho", "forward"):
        raise ValueError("complex values, or another type or scaling")
    rows = np.moveaxis(values if n is None else resized(values, n, axis), axis, -1)
    kind = {1: 1, 2: 3, 3: 2, 4: 4}[type] if inverse else type
    balanced = norm == "ortho" if orthogonalize is None else orthogonalize
    if balanced and kind in (1, 3):
        rows = rows * _weights(rows.shape[-1], kind, sine, math.sqrt(2.0))
    found = (_sines if sine else _cosines)(rows, kind)
    if balanced and kind in (1, 2):
        found = found * _weights(rows.shape[-1], kind, sine, math.sqrt(0.5))
    full = 2.0 * (rows.shape[-1] + (0 if kind != 1 else 1 if sine else -1))
    if norm == "ortho":
        found = found / math.sqrt(full)
    elif (norm == "forward") != inverse:
        found = found / full
    return np.moveaxis(found.astype(values.dtype), -1, axis)


def _weights(n, kind, sine, weight):
    """Of the terms that an orthogonal transform counts otherwise: the first of cosines, or the last of sines."""
    out = np.ones(n)
    if sine and kind != 1:
        out[n - 1] = weight
    if not sine:
        out[0] = weight
        if kind == 1:
            out[n - 1] = weight
    return out


def _cosines(rows, kind):
    n = rows.shape[-1]
    if kind == 1:
        if n < 2:
            raise ValueError("a transform of the first type of one value")
        mirrored = np.concatenate((rows, rows[..., n - 2:0:-1]), axis=-1)
        return np.real(np.fft.fft(mirrored))[..., :n]
    if kind == 4:
        return np.real(_half_steps(rows))
    turns = np.exp(-0.5j * math.pi / n * np.arange(n))
    if kind == 2:
        order = np.concatenate((rows[..., ::2], rows[..., 1::2][..., ::-1]), axis=-1)
        return 2.0 * np.real(turns * np.fft.fft(order))
    mirrored = np.concatenate((np.zeros(rows.shape[:-1] + (1,)), rows[..., :0:-1]), axis=-1)
    order = np.real(np.fft.ifft(np.conj(turns) * (rows - 1j * mirrored))) * n
    out = np.empty(rows.shape, order.dtype)
    out[..., ::2] = order[..., :(n + 1) // 2]
    out[..., 1::2] = order[..., (n + 1) // 2:][..., ::-1]
    return out


def _sines(rows, kind):
    n = rows.shape[-1]
    if kind == 1:
        nothing = np.zeros(rows.shape[:-1] + (1,))
        mirrored = np.concatenate((nothing, rows, nothing, -rows[..., ::-1]), axis=-1)
        return -np.imag(np.fft.fft(mirrored))[..., 1:n + 1]
    if kind == 4:
        return -np.imag(_half_steps(rows))
    signs = 1.0 - 2.0 * (np.arange(n) % 2)
    if kind == 2:
        return _cosines(rows * signs, 2)[..., ::-1]
    return _cosines(rows[..., ::-1], 3) * signs


def _half_steps(rows):
    """Twice the sums of x[n] exp(-i pi (2 k + 1) (2 n + 1) / (4 N))."""
    n = rows.shape[-1]
    turns = np.exp(-0.5j * math.pi / n * np.arange(n))
    return 2.0 * np.exp(-0.25j * math.pi / n) * turns * np.fft.fft(rows * turns, 2 * n)[..., :n]
