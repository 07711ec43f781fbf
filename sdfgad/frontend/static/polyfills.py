"""NumPy functions that are run as plain NumPy: which body stands for which function."""
from __future__ import annotations

import bisect
import cmath
import math
import statistics as statistics_of_python
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.bodies import (
    borders,
    choosing,
    floats,
    implicit,
    joining,
    mapping,
    numeric,
    polynomials,
    series,
    special,
    statistics,
    whole,
)
from sdfgad.frontend.bodies import matrix as matrices
from sdfgad.frontend.bodies import operator as operators
from sdfgad.frontend.bodies import order as orders
from sdfgad.frontend.bodies import shape as shapes
from sdfgad.frontend.bodies import signal as signals
from sdfgad.frontend.bodies.packages import (
    brackets,
    distances,
    families,
    fits,
    functions_of_matrices,
    images,
    initial_values,
    interpolation,
    minima,
    moments,
    quadrature,
    resampling,
    roots,
    rotations,
    sparse_matrices,
    spectra,
    transforms,
)
from sdfgad.frontend.bodies.packages import filter as filters
from sdfgad.frontend.bodies.packages import scipy as matrices_of_scipy
from sdfgad.frontend.bodies.packages import sparse as products
from sdfgad.frontend.elements.elementwise import UFUNCS

POLYFILLS: Mapping[Any, Callable[..., Any]] = MappingProxyType({
    cmath.log: numeric.complex_log, cmath.phase: numeric.phase, cmath.polar: numeric.polar, cmath.rect: numeric.rect,
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
    np.asfortranarray: shapes.asfortranarray,
    np.fliplr: shapes.fliplr, np.flipud: shapes.flipud, np.rot90: shapes.rot90, np.split: shapes.split,
    np.array_split: shapes.array_split, np.hsplit: shapes.hsplit, np.vsplit: shapes.vsplit, np.dsplit: shapes.dsplit,
    np.pad: borders.pad, np.linspace: shapes.linspace, np.logspace: shapes.logspace,
    np.geomspace: shapes.geomspace,
    np.indices: shapes.indices, np.ix_: shapes.ix_, np.cov: statistics.cov, np.corrcoef: statistics.corrcoef,
    np.histogram: statistics.histogram, np.histogram2d: statistics.histogram2d, np.bincount: statistics.bincount,
    np.interp: statistics.interp, np.polyval: numeric.polyval,
    np.linalg.norm: matrices.norm, np.linalg.matrix_rank: matrices.matrix_rank, np.linalg.cond: matrices.cond,
    np.linalg.multi_dot: shapes.multi_dot, np.ediff1d: numeric.ediff1d,
    np.isclose: numeric.isclose, np.allclose: numeric.allclose, np.array_equal: numeric.array_equal,
    math.hypot: floats.hypot_of,
    np.convolve: signals.convolve, np.correlate: signals.correlate, np.fft.rfft: signals.rfft,
    np.fft.irfft: signals.irfft, np.fft.fft2: signals.plane_fft, np.fft.ifft2: signals.plane_ifft,
    np.fft.fftn: signals.fftn,
    np.add.reduce: mapping.add_reduce, np.multiply.reduce: mapping.multiply_reduce,
    np.maximum.reduce: mapping.maximum_reduce, np.minimum.reduce: mapping.minimum_reduce,
    np.logical_and.reduce: mapping.and_reduce, np.logical_or.reduce: mapping.or_reduce,
    np.fft.ifftn: signals.ifftn, np.fft.fftfreq: signals.fftfreq, np.fft.rfftfreq: signals.rfftfreq,
    np.fft.fftshift: signals.fftshift, np.fft.ifftshift: signals.ifftshift, np.select: signals.select,
    np.median: orders.median, np.nansum: signals.nansum, np.nanmean: signals.nanmean,
    np.take_along_axis: orders.take_along_axis, np.put_along_axis: orders.put_along_axis,
    np.quantile: orders.quantile, np.percentile: orders.percentile, np.searchsorted: orders.searchsorted,
    bisect.bisect_left: orders.bisect_left, bisect.bisect_right: orders.bisect_right,
    np.digitize: orders.digitize, np.nanmax: orders.nanmax, np.nanmin: orders.nanmin, np.nanvar: orders.nanvar,
    np.nanstd: orders.nanstd, np.nanprod: orders.nanprod, np.nancumsum: orders.nancumsum,
    orders.argsort_rows: orders.argsort_rows, orders.sort_rows: orders.sort_rows,
    np.unravel_index: orders.unravel_index, **{f: f for f in matrices.PARTS},
    np.vander: joining.vander, np.block: joining.block, np.delete: joining.delete, np.insert: joining.insert,
    np.diagflat: joining.diagflat, np.piecewise: joining.piecewise, np.linalg.matrix_power: joining.matrix_power,
    np.logaddexp2: numeric.logaddexp2, np.logical_xor: numeric.logical_xor, np.fmod: numeric.fmod,
    np.frexp: floats.frexp, np.spacing: floats.spacing, np.nextafter: floats.nextafter,
    np.modf: numeric.modf, np.divmod: numeric.divmod_of, np.unwrap: numeric.unwrap,
    np.fft.rfft2: signals.rfft2, np.fft.irfft2: signals.irfft2, np.fft.rfftn: signals.rfftn,
    np.fft.irfftn: signals.irfftn, signals.scaled_fft: signals.scaled_fft, signals.scaled_ifft: signals.scaled_ifft,
    **{getattr(statistics_of_python, name): body for name, body in statistics.FUNCTIONS.items()},
    math.prod: special.product, math.dist: special.distance, math.radians: special.radians,
    math.degrees: special.degrees, math.fmod: special.fmod, math.modf: special.modf, math.isclose: special.isclose,
    math.fsum: numeric.fsum, math.remainder: special.remainder,
    np.polyder: numeric.polyder, np.polyint: numeric.polyint, np.polyadd: polynomials.polyadd,
    np.polysub: polynomials.polysub, np.polymul: polynomials.polymul, np.polyfit: numeric.polyfit,
    np.polydiv: polynomials.polydiv,
    **{getattr(module, n): getattr(series, n) for module, names in (
        (np.polynomial.polynomial, ("polyval", "polyvander", "polyder", "polyint", "polyadd", "polysub", "polymul",
                                    "polyvalfromroots", "polyfit", "polyval2d")),
        (np.polynomial.chebyshev, ("chebval", "chebvander")), (np.polynomial.legendre, ("legval", "legvander")),
        (np.polynomial.hermite, ("hermval", "hermvander")), (np.polynomial.hermite_e, ("hermeval", "hermevander")),
        (np.polynomial.laguerre, ("lagval", "lagvander"))) for n in names},
    series.of_object: series.of_object, np.poly1d: polynomials.poly1d,
    np.polynomial.Polynomial: polynomials.polynomial,
    **{getattr(module, n): body for module in (
        np.polynomial.chebyshev, np.polynomial.legendre, np.polynomial.hermite, np.polynomial.hermite_e,
        np.polynomial.laguerre) for n, body in polynomials.PARTS.items() if hasattr(module, n)},
    np.rollaxis: joining.rollaxis, np.resize: joining.resize, np.compress: joining.compress,
    np.extract: joining.extract, np.real_if_close: joining.real_if_close,
    np.putmask: joining.putmask, np.place: joining.place, np.ravel_multi_index: joining.ravel_multi_index,
    np.fix: numeric.fix, np.i0: special.i0,
    np.ldexp: numeric.ldexp, np.linalg.tensorsolve: joining.tensorsolve, np.linalg.tensorinv: joining.tensorinv,
    joining.repeat_each: joining.repeat_each, np.partition: orders.partition,
    np.argpartition: orders.argpartition, np.fft.hfft: signals.hfft, np.fft.ihfft: signals.ihfft,
    np.nancumprod: numeric.nancumprod, np.nanargmax: numeric.nanargmax, np.nanargmin: numeric.nanargmin,
    np.signbit: numeric.signbit, np.isrealobj: joining.isrealobj, np.iscomplexobj: joining.iscomplexobj,
    np.isreal: joining.isreal, np.iscomplex: joining.iscomplex, np.isposinf: joining.isposinf,
    np.isneginf: joining.isneginf,
    np.iterable: joining.iterable,
    np.ma.getmask: mapping.getmask, np.ma.is_masked: mapping.is_masked, np.ma.isMaskedArray: mapping.is_masked,
    np.apply_along_axis: mapping.apply_along_axis, np.fromfunction: mapping.fromfunction,
    mapping.each_element: mapping.each_element, mapping.item: mapping.item,
    np.nanmedian: choosing.nanmedian, np.nanquantile: choosing.nanquantile, np.nanpercentile: choosing.nanpercentile,
    np.isin: choosing.isin, np.lexsort: choosing.lexsort, np.apply_over_axes: choosing.apply_over_axes,
    np.mask_indices: choosing.mask_indices,
    np.put: choosing.put, np.choose: choosing.choose, np.fromiter: choosing.fromiter, np.poly: choosing.poly,
    np.triu_indices_from: choosing.triu_indices_from, np.tril_indices_from: choosing.tril_indices_from,
    np.diag_indices_from: choosing.diag_indices_from,
    **operators.BODIES,
    **{f: f for f in implicit.PARTS},
    **{f: f for f in (products.by_rows, products.by_columns, products.by_entries, products.triangles)},
    **{f: f for f in (*interpolation.PARTS, *quadrature.PARTS, *initial_values.PARTS)},
    np.roots: numeric.roots,
    shapes.batched_matmul: shapes.batched_matmul,
})
"""NumPy's function -> its body."""

UFUNC_METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "outer": mapping.outer, "accumulate": mapping.accumulate, "reduce": mapping.reduce, "reduceat": mapping.reduceat})
"""Methods that one body serves for all of NumPy's elementwise functions, which get the function first."""

_RECENT: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "matrix_transpose": joining.matrix_transpose, "linalg.matrix_transpose": joining.matrix_transpose,
    "cumulative_sum": choosing.cumulative_sum, "cumulative_prod": choosing.cumulative_prod,
    "vecdot": joining.vecdot, "linalg.vecdot": joining.vecdot, "linalg.trace": joining.trace_of_last,
    "linalg.diagonal": joining.diagonal_of_last, "linalg.outer": joining.outer, "linalg.cross": shapes.cross_in_space,
    "linalg.svdvals": matrices.svdvals,
    "linalg.vector_norm": matrices.vector_norm, "linalg.matrix_norm": matrices.matrix_norm,
    "row_stack": shapes.vstack, "matvec": joining.matvec, "vecmat": joining.vecmat,
    "astype": joining.astype, "unstack": joining.unstack, "linalg.matmul": joining.matmul,
    "linalg.tensordot": joining.tensordot})


def _found(name: str) -> Any:
    """A function of NumPy that older releases do not have."""
    owner = np.linalg if name.startswith("linalg.") else np
    return getattr(owner, name.removeprefix("linalg."), None)


POLYFILLS = MappingProxyType({**POLYFILLS, **{_found(n): body for n, body in _RECENT.items() if _found(n)}})
"""All of them, with those that NumPy has had since release 2."""

OUTSIDE_BODIES: Mapping[tuple[str, str], Callable[..., Any]] = MappingProxyType({
    ("scipy", n): getattr(special, n) for n in (
        "expit", "logit", "log_expit", "xlogy", "entr", "logsumexp", "softmax", "log_softmax", "log1p", "expm1",
        "cbrt", "exp2", "xlog1py", "rel_entr", "kl_div", "huber", "softplus", "exp10", "exprel", "pseudo_huber",
        "boxcox", "polygamma", "j0", "j1", "jv", "y0", "y1", "yn", "yv", "i0", "i1", "iv", "i0e", "i1e", "ive",
        "loggamma", "rgamma", "betaln", "beta", "binom", "comb", "ndtr", "log_ndtr", "erfcinv", "k0", "k1", "kv",
        "gammainc", "gammaincc", "betainc", "betaincc", "multigammaln", "boxcox1p", "inv_boxcox", "inv_boxcox1p",
        "cosm1", "ellipk", "ellipkm1", "ellipe", "lambertw")} | {
    ("scipy", "kn"): special.kn, **{("scipy", n): getattr(series, n) for n in (
        "eval_legendre", "eval_chebyt", "eval_chebyu", "eval_hermite", "eval_hermitenorm", "eval_laguerre",
        "eval_genlaguerre", "eval_gegenbauer")}} | {
    ("scipy.linalg", n): getattr(matrices_of_scipy, n) for n in (
        "solve", "det", "cholesky", "cho_factor", "cho_solve", "eigh", "eigvalsh", "svd", "svdvals", "qr", "norm",
        "expm", "toeplitz", "circulant", "block_diag", "pinv", "lstsq", "polar", "eigh_tridiagonal", "solve_toeplitz",
        "solve_circulant", "khatri_rao", "hankel", "solve_sylvester", "solve_continuous_lyapunov",
        "solve_discrete_lyapunov", "eig", "eigvals", "cosm", "sinm", "expm_frechet")} | {
    ("scipy.linalg", n): getattr(matrices, n) for n in ("solve_banded", "solveh_banded")} | {
    ("scipy.integrate", n): getattr(matrices_of_scipy, n) for n in (
        "trapezoid", "cumulative_trapezoid", "simpson", "romb", "cumulative_simpson", "fixed_quad")} | {
    ("scipy.optimize", "rosen"): matrices_of_scipy.rosen, ("scipy.optimize", "root"): roots.root_of_system,
    ("scipy.optimize", "fixed_point"): roots.fixed_point_of} | {
    ("scipy.fft", n): getattr(transforms, n) for n in (
        "fft", "ifft", "rfft", "irfft", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfft",
        "ihfft", "fftshift", "ifftshift", "dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")} | {
    ("scipy.fft", "fft2"): transforms.plane_fft, ("scipy.fft", "ifft2"): transforms.plane_ifft} | {
    ("scipy.signal", n): getattr(filters, n) for n in (
        "fftconvolve", "oaconvolve", "convolve2d", "correlate2d", "lfilter", "lfilter_zi", "filtfilt", "sosfilt",
        "hilbert", "detrend", "freqz")} | {
    ("scipy.signal", n): getattr(filters, n) for n in ("savgol_filter", "welch", "periodogram")} | {
    ("scipy.ndimage", n): getattr(images, n) for n in (
        "correlate1d", "convolve1d", "correlate", "convolve", "laplace", "uniform_filter1d", "uniform_filter",
        "gaussian_filter1d", "gaussian_filter", "gaussian_laplace", "gaussian_gradient_magnitude", "sobel", "prewitt",
        "maximum_filter1d", "minimum_filter1d", "maximum_filter", "minimum_filter")} | {
    ("scipy.spatial", n): getattr(distances, n) for n in (
        "cdist", "pdist", "squareform", "distance_matrix", "euclidean", "sqeuclidean", "cityblock", "chebyshev",
        "minkowski", "cosine", "correlation", "canberra", "braycurtis", "seuclidean", "mahalanobis")} | {
    (package, n): getattr(module, n) for package, module, names in (
        ("scipy.ndimage", resampling, resampling.NAMES), ("scipy.ndimage", images, images.FILTERS),
        ("scipy.signal", spectra, spectra.NAMES), ("scipy.signal", images, ("medfilt", "medfilt2d")),
        ("scipy.stats", moments, moments.NAMES), ("scipy.optimize", brackets, brackets.NAMES),
        ("scipy.optimize", minima, minima.NAMES), ("scipy.optimize", fits, fits.NAMES),
        ("scipy.optimize", roots, roots.NAMES),
        ("scipy.linalg", functions_of_matrices, functions_of_matrices.NAMES)) for n in names} | {
    **{("scipy.spatial", f"Rotation.{n}"): getattr(rotations, n) for n in rotations.NAMES},
    **{("scipy.sparse", n): getattr(sparse_matrices, n) for n in sparse_matrices.NAMES},
    ("scipy", "issparse"): sparse_matrices.issparse,
    ("scipy.stats", "__call__"): families.with_parameters,
    ("scipy.interpolate", "interpn"): interpolation.interpn, ("scipy.ndimage", "sum"): images.sum_labels,
    ("scipy.signal", "convolve"): filters.convolve_all, ("scipy.signal", "correlate"): filters.correlate_all})
"""Functions of packages that need not be installed, by package, or the part of it, and name, and their bodies."""


def body_of(function: Any) -> Callable[..., Any] | None:
    """The body for a function of another package, known by where it is defined."""
    parts = (function.__module__ or "").split(".")
    places = [(place, name) for name in (getattr(function, "__qualname__", ""), function.__name__)
              for place in (".".join(parts[:2]), parts[0])]
    return next((OUTSIDE_BODIES[p] for p in places if p in OUTSIDE_BODIES), None)


def routine(callee: Any) -> Callable[..., Any] | None:
    """The body of a routine of `scipy.linalg.lapack`, or of a function of integers that are not all known."""
    if isinstance(callee, BuiltinFunctionType) and callee in whole.BODIES:
        return whole.BODIES[callee]
    known = type(callee).__name__ == "fortran" and callee.__name__ == "function dgtsv"
    return matrices.dgtsv if known else None


def special_body(callee: Any) -> Callable[..., Any] | None:
    """The body of a function element by element that NumPy does not have."""
    known = isinstance(callee, np.ufunc) and callee not in UFUNCS
    return OUTSIDE_BODIES.get(("scipy", callee.__name__)) if known else None


def of_distribution(method: Any) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None:
    """The body for a method of one of SciPy's distributions, and the parameters that were given beforehand."""
    owner, given, names = method.__self__, (), {}
    if type(owner).__name__ in ("rv_continuous_frozen", "rv_discrete_frozen"):
        owner, given, names = owner.dist, owner.args, owner.kwds
    form = type(owner)
    found = form.__module__.startswith("scipy.stats")
    body = families.METHODS.get((form.__name__, method.__name__)) if found else None
    return None if body is None else (body, given, names)


def is_distribution(owner: Any) -> bool:
    """Whether an object is one of SciPy's distributions."""
    form = type(owner)
    return form.__module__.startswith("scipy.stats") and any(name == form.__name__ for name, _ in families.METHODS)
