"""Functions of SciPy that filter signals and pictures, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,call-overload"
from __future__ import annotations

import numpy as np

_BORDERS = (("reflect", "symmetric"), ("grid-mirror", "symmetric"), ("mirror", "reflect"), ("nearest", "edge"),
            ("wrap", "wrap"), ("grid-wrap", "wrap"), ("constant", "constant"), ("grid-constant", "constant"))
"""What SciPy calls a border, and what `np.pad` calls it."""


def convolve_all(a, v, mode="full", method="auto"):
    if a.ndim != v.ndim or a.ndim not in (1, 2):
        raise ValueError("arrays of other dimensions than one or two")
    return convolve2d(a, v, mode) if a.ndim == 2 else convolve_row(a, v, mode)


def convolve_row(a, v, mode):
    full = np.convolve(a, v)
    if mode == "full":
        return full
    n, m = a.shape[0], v.shape[0]
    if mode == "same":
        return full[(m - 1) // 2:(m - 1) // 2 + n]
    return np.convolve(a, v, "valid")


def fftconvolve(in1, in2, mode="full", axes=None):
    if axes is not None:
        raise ValueError("a convolution along some axes")
    return convolve_all(in1, in2, mode)


def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if boundary != "fill" or fillvalue != 0 or mode not in ("full", "same", "valid"):
        raise ValueError("another border or mode")
    n, m = in1.shape
    p, q = in2.shape
    if mode == "valid" and (p > n or q > m):
        raise ValueError("a second array larger than the first one")
    out = np.zeros((n + p - 1, m + q - 1), np.result_type(in1.dtype, in2.dtype))
    for i in range(p):
        for j in range(q):
            out[i:i + n, j:j + m] += in2[i, j] * in1
    if mode == "same":
        return out[(p - 1) // 2:(p - 1) // 2 + n, (q - 1) // 2:(q - 1) // 2 + m]
    return out if mode == "full" else out[p - 1:n, q - 1:m]


def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if mode == "same":
        n, m = in1.shape
        full = convolve2d(in1, np.conj(in2[::-1, ::-1]), "full", boundary, fillvalue)
        i, j = in2.shape[0] // 2, in2.shape[1] // 2
        return full[i:i + n, j:j + m]
    return convolve2d(in1, np.conj(in2[::-1, ::-1]), mode, boundary, fillvalue)


def lfilter(b, a, x, axis=-1, zi=None):
    b, a = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    if zi is not None or x.ndim != 1:
        raise ValueError("a state before the signal, or signals of more than one dimension")
    out = np.convolve(b / a[0], x)[:x.shape[0]]
    back = a / a[0]
    for k in range(1, x.shape[0]):
        for m in range(1, min(k + 1, back.shape[0])):
            out[k] -= back[m] * out[k - m]
    return out


def around(rows, before, after, mode, cval):
    """The rows of an array with what a filter sees beyond the first and the last one."""
    widths = [(before, after)] + [(0, 0) for _ in range(rows.ndim - 1)]
    for name, ours in _BORDERS:
        if mode == name:
            if ours == "constant":
                return np.pad(rows, widths, mode="constant", constant_values=cval)
            return np.pad(rows, widths, mode=ours)
    raise ValueError("this border")


def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    if output is not None or origin != 0 or input.dtype.kind != "f":
        raise ValueError("an output, an origin, or numbers other than real ones")
    rows = np.moveaxis(input, axis, 0)
    n, m = rows.shape[0], weights.shape[0]
    seen = around(rows, m // 2, m - m // 2 - 1, mode, cval)
    found = weights[0] * seen[:n]
    for k in range(1, m):
        found = found + weights[k] * seen[k:k + n]
    return np.moveaxis(found, 0, axis)


def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    if weights.shape[0] % 2 == 0:
        raise ValueError("weights of even number")
    return correlate1d(input, weights[::-1], axis, output, mode, cval, origin)


def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    if output is not None or origin != 0 or input.dtype.kind != "f" or input.ndim not in (1, 2):
        raise ValueError("an output, an origin, other dimensions, or numbers other than real ones")
    if input.ndim == 1:
        return correlate1d(input, weights, 0, None, mode, cval)
    n, m = input.shape
    p, q = weights.shape
    seen = around(input, p // 2, p - p // 2 - 1, mode, cval)
    seen = np.moveaxis(around(np.moveaxis(seen, 1, 0), q // 2, q - q // 2 - 1, mode, cval), 1, 0)
    found = np.zeros((n, m), np.result_type(input.dtype, weights.dtype))
    for i in range(p):
        for j in range(q):
            found += weights[i, j] * seen[i:i + n, j:j + m]
    return found


def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    if any(n % 2 == 0 for n in weights.shape):
        raise ValueError("weights of even number")
    return correlate(input, np.flip(weights), output, mode, cval, origin)


def laplace(input, output=None, mode="reflect", cval=0.0):
    found = correlate1d(input, [1.0, -2.0, 1.0], 0, output, mode, cval)
    for k in range(1, input.ndim):
        found = found + correlate1d(input, [1.0, -2.0, 1.0], k, None, mode, cval)
    return found


def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0):
    found = input
    for k in range(input.ndim):
        found = uniform_filter1d(found, size if isinstance(size, int) else size[k], k, output, mode, cval, origin)
    return found


def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0):
    if order != 0:
        raise ValueError("the derivative of a filter")
    reach = int(truncate * float(sigma) + 0.5)
    weights = np.exp(-0.5 / (sigma * sigma) * np.arange(-reach, reach + 1) ** 2)
    return correlate1d(input, weights / np.sum(weights), axis, output, mode, cval)


def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0):
    found = input
    for k in range(input.ndim):
        width = sigma[k] if isinstance(sigma, tuple) else sigma
        found = gaussian_filter1d(found, width, k, order, output, mode, cval, truncate)
    return found
