"""NumPy functions that are run as plain NumPy: which body stands for which function."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend import matrix_bodies as matrices
from sdfgad.frontend import numeric_bodies as numeric
from sdfgad.frontend import shape_bodies as shapes
from sdfgad.frontend import signal_bodies as signals
from sdfgad.frontend import statistics_bodies as statistics
from sdfgad.frontend import ufunc_bodies as ufuncs

POLYFILLS: Mapping[Any, Callable[..., Any]] = MappingProxyType({
    np.prod: numeric.prod, np.cumsum: numeric.cumsum, np.cumprod: numeric.cumprod, np.var: numeric.var,
    np.std: numeric.std, np.average: statistics.average, np.ptp: numeric.ptp, np.argmax: numeric.argmax,
    np.argmin: numeric.argmin, np.clip: numeric.clip, np.square: numeric.square, np.reciprocal: numeric.reciprocal,
    np.heaviside: numeric.heaviside, np.sinc: numeric.sinc, np.logaddexp: numeric.logaddexp,
    np.nan_to_num: numeric.nan_to_num, np.deg2rad: numeric.deg2rad, np.radians: numeric.deg2rad,
    np.rad2deg: numeric.rad2deg, np.degrees: numeric.rad2deg, np.angle: numeric.angle, np.roll: shapes.roll,
    np.diff: numeric.diff, np.gradient: statistics.gradient, np.trapezoid: statistics.trapezoid, np.cross: shapes.cross,
    np.kron: shapes.kron, np.inner: shapes.inner, np.hstack: shapes.hstack, np.vstack: shapes.vstack,
    np.dstack: shapes.dstack, np.column_stack: shapes.column_stack, np.append: shapes.append,
    np.atleast_1d: shapes.atleast_1d, np.atleast_2d: shapes.atleast_2d, np.atleast_3d: shapes.atleast_3d,
    np.fliplr: shapes.fliplr, np.flipud: shapes.flipud, np.rot90: shapes.rot90, np.split: shapes.split,
    np.array_split: shapes.array_split, np.hsplit: shapes.hsplit, np.vsplit: shapes.vsplit,
    np.pad: shapes.pad, np.linspace: shapes.linspace, np.logspace: shapes.logspace,
    np.indices: shapes.indices, np.cov: statistics.cov, np.corrcoef: statistics.corrcoef,
    np.histogram: statistics.histogram, np.bincount: statistics.bincount, np.interp: statistics.interp, np.polyval: numeric.polyval,
    np.linalg.norm: matrices.norm, np.linalg.multi_dot: shapes.multi_dot, np.ediff1d: numeric.ediff1d,
    np.isclose: numeric.isclose, np.allclose: numeric.allclose, np.array_equal: numeric.array_equal,
    math.hypot: numeric.hypot_of,
    np.convolve: signals.convolve, np.correlate: signals.correlate, np.fft.rfft: signals.rfft,
    np.fft.irfft: signals.irfft, np.fft.fft2: signals.plane_fft, np.fft.ifft2: signals.plane_ifft,
    np.fft.fftn: signals.fftn,
    np.add.reduce: ufuncs.add_reduce, np.multiply.reduce: ufuncs.multiply_reduce,
    np.maximum.reduce: ufuncs.maximum_reduce, np.minimum.reduce: ufuncs.minimum_reduce,
    np.logical_and.reduce: ufuncs.and_reduce, np.logical_or.reduce: ufuncs.or_reduce,
    np.fft.ifftn: signals.ifftn, np.fft.fftfreq: signals.fftfreq, np.fft.rfftfreq: signals.rfftfreq,
    np.fft.fftshift: signals.fftshift, np.fft.ifftshift: signals.ifftshift, np.select: signals.select,
    np.median: signals.median, np.nansum: signals.nansum, np.nanmean: signals.nanmean,
    math.fsum: numeric.fsum, shapes.batched_matmul: shapes.batched_matmul, shapes.item: shapes.item,
})
"""NumPy's function -> its body."""

UFUNC_METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "outer": ufuncs.outer, "accumulate": ufuncs.accumulate})
"""Methods that one body serves for all of NumPy's elementwise functions, which get the function first."""
