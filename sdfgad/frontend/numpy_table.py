"""Which rule handles which function: NumPy's, Python's and those of `math`."""
from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend import builtin_rules
from sdfgad.frontend.arrays import casting, jitted, layout, rounding, sparse, vectorized
from sdfgad.frontend.arrays.accumulating import accumulation
from sdfgad.frontend.arrays.grown import as_long
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.known import number_of_bins, settled
from sdfgad.frontend.arrays.masking import check_cast, only_where
from sdfgad.frontend.arrays.views import check_writable, named_int, to_int
from sdfgad.frontend.bodies import implicit as implicit_bodies
from sdfgad.frontend.bodies import mapping as mapping_bodies
from sdfgad.frontend.bodies import order as order_bodies
from sdfgad.frontend.bodies import shape as shape_bodies
from sdfgad.frontend.bodies import special as special_bodies
from sdfgad.frontend.bodies import statistics as statistics_bodies
from sdfgad.frontend.bodies.packages import scipy as scipy_bodies
from sdfgad.frontend.containers import classes, item_reductions, numbered
from sdfgad.frontend.containers.attributes import conjugated, imag, real
from sdfgad.frontend.elements import special
from sdfgad.frontend.elements.chosen_ranges import ChosenRange
from sdfgad.frontend.elements.comparisons import compare
from sdfgad.frontend.elements.elementwise import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    UFUNCS,
    apply,
    as_array,
    broadcast,
    convert,
    describe,
    expand,
    int_ix,
    int_value,
    same_size,
)
from sdfgad.frontend.functions import creation, diagonals, iterator_rules, joins, places, reductions, shaping, stepping
from sdfgad.frontend.functions.arithmetic import binary, kept, known_truth, truth_value
from sdfgad.frontend.functions.complex_numbers import complex_number
from sdfgad.frontend.functions.of_python import check_operands
from sdfgad.frontend.functions.places import item_at
from sdfgad.frontend.libraries import batches, decompositions, factors, fourier, implicit, integrals, linalg, solvers
from sdfgad.frontend.loops import resizing
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered
from sdfgad.frontend.state.values import IntValue, Lazy, Masked, Value, ViewValue, is_int, is_number
from sdfgad.frontend.static import ignored
from sdfgad.frontend.static.sizes import as_integer

Rule = Callable[..., Value]
_COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})


def ufunc_rule(ctx: Context, ufunc: np.ufunc, arguments: list[Value]) -> Value:
    """One of NumPy's elementwise functions."""
    if ufunc is np.positive:
        value = as_array(ctx, arguments[0])
        return convert(ctx, value, value.dtype, value.weak)
    if ufunc in _COMPARISONS:
        return compare(ctx, ufunc, *arguments)
    if ufunc.__name__ in special.NAMES and ufunc not in UFUNCS:
        return special.of_scipy(ctx, ufunc, arguments[0])
    if ufunc not in UFUNCS:
        place = "numpy." if getattr(np, ufunc.__name__, None) is ufunc else "the function of elements "
        raise ctx.refuse(f"{place}{ufunc.__name__}", "write it with functions that are supported", "SG101")
    return apply(ctx, ufunc, *arguments)


def out_place(ctx: Context, out: Value) -> Value:
    """The array that `out=` names; one made in the call itself, which nothing else can see, is stored now."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return ctx.builder.fresh_copy(target, ctx.label or "out") if isinstance(target, Lazy) and target.shape else target


def out_argument(ctx: Context, result: Value, out: Value, where: Value = True, exact: bool = False) -> Value:
    """`out=`: the result is stored there, as far as a mask is on. exact: it has the shape of the result."""
    if out is None:
        return result
    target = out_place(ctx, out)
    if not isinstance(target, ViewValue) or target.scalar:
        raise ctx.refuse(f"out={describe(target)}", "pass an array", "SG105")
    check_writable(ctx, target)
    value = as_array(ctx, result)
    if not np.can_cast(value.dtype, target.dtype, "same_kind"):
        raise ctx.refuse(f"out= of dtype {target.dtype} for results of {value.dtype}", code="SG104")
    check_cast(ctx, value, target)
    if exact and (value.ndim != target.ndim or any(not same_size(ctx, n, m) for n, m in zip(
            value.shape, target.shape, strict=True))):
        raise ctx.refuse(f"out={describe(target)} for {describe(value)}", "NumPy repeats no result", "SG103")
    if where is not True:
        value = only_where(ctx, where, convert(ctx, value, target.dtype), target, target)
    ctx.builder.assign(target, expand(ctx, value, target.shape))
    return target


# Python's numbers

def _math(function: Callable[..., Any], ufunc: np.ufunc | str) -> Rule:
    """A function of `math`: Python numbers in, Python float out. ufunc: NumPy's, or the name of a scalar function."""

    def rule(ctx: Context, *values: Value) -> Value:
        if function is math.log and len(values) == 2:
            return binary(ctx, np.true_divide, *(ctx.invoke(ctx, math.log, [v], {}) for v in values))
        if all(is_number(v) for v in values):
            try:
                return function(*values)
            except (ValueError, OverflowError) as error:
                raise ctx.refuse(f"a computation that fails: {error}", code="SG102") from error
        floats = [creation.scalar_type(FLOAT, True)(ctx, v) for v in values]
        result = (special.special(ctx, ufunc, as_array(ctx, *floats), FLOAT) if isinstance(ufunc, str) else
                  apply(ctx, ufunc, *floats))
        result.weak = True
        return result

    return rule


def _complex_math(ufunc: np.ufunc) -> Rule:
    """A function of `cmath`: Python's numbers in, a complex one out."""
    return lambda ctx, z: ctx.invoke(ctx, ufunc, [ctx.invoke(ctx, complex, [z], {})], {})


def _of_complex(ufunc: np.ufunc) -> Rule:
    """A function of `np.emath`, of complex numbers alone: of real ones the data say whether the result is complex."""

    def rule(ctx: Context, *values: Value) -> Value:
        if not any(as_array(ctx, v).dtype.kind == "c" for v in values):
            raise ctx.refuse("real numbers, of which the data say whether the result is complex",
                             "call the function of this name in numpy itself, or give it x + 0j", "SG102")
        return ctx.invoke(ctx, ufunc, list(values), {})

    return rule


def _rounding(function: Callable[..., int], ufunc: np.ufunc) -> Rule:
    """`math.floor`, `math.ceil` and `math.trunc`: an integer."""

    def rule(ctx: Context, x: Value) -> Value:
        if is_number(x):
            return function(x)
        if isinstance(x, IntValue):
            return x
        return named_int(ctx, as_array(ctx, convert(ctx, apply(ctx, ufunc, x), INT, True)), "int")

    return rule


def int_(ctx: Context, x: Value = 0) -> Value:
    if is_int(x) and isinstance(x, IntValue):
        return IntValue(x.ix)
    return creation.scalar_type(INT, True)(ctx, x)


def bool_(ctx: Context, x: Value = False) -> Value:
    decided = known_truth(ctx, x)
    return decided if decided is not None else truth_value(ctx, x)


def round_(ctx: Context, a: Value, decimals: Value = 0) -> Value:
    """`np.round`."""
    if not is_number(decimals := to_int(ctx, decimals)):
        raise ctx.refuse(f"np.round to {describe(decimals)} places", as_integer(ctx, decimals), "SG104")
    if is_number(a):
        return np.round(a, decimals)
    value = as_array(ctx, a)
    if value.dtype.kind in "iub":
        if value.dtype.kind == "b" or decimals < 0:
            raise ctx.refuse(f"np.round of {describe(value)} to {describe(decimals)} places", code="SG104")
        return convert(ctx, value, value.dtype)
    if decimals == 0:
        return apply(ctx, np.rint, a)
    scale = 10.0 ** decimals
    return apply(ctx, np.true_divide, apply(ctx, np.rint, apply(ctx, np.multiply, a, scale)), scale)


def _absolute(ctx: Context, x: Value) -> Value:
    if classes.has_rule(x, "__abs__"):
        return classes.by_rule(ctx, x, "__abs__")
    if isinstance(x, IntValue):
        scope = ctx.builder.scope
        return IntValue(scope.greatest(x.ix, -x.ix), x.dtype) if x.ix.const is None else abs(x.ix.const)
    return ctx.invoke(ctx, np.absolute, check_operands(ctx, np.absolute, x), {})


def _divmod(ctx: Context, a: Value, b: Value) -> Value:
    if classes.has_rule(a, "__divmod__"):
        return classes.by_rule(ctx, a, "__divmod__", b)
    check_operands(ctx, np.divmod, a, b)
    a, b = kept(ctx, a), kept(ctx, b)
    return binary(ctx, np.floor_divide, a, b), binary(ctx, np.remainder, a, b)


def _pow(ctx: Context, a: Value, b: Value) -> Value:
    return classes.operated(ctx, np.power, a, b)


# iteration

def _ndim(ctx: Context, a: Value) -> int:
    return as_array(ctx, a).ndim


def _length(ctx: Context, value: Value) -> Value:
    if isinstance(value, Numbered):
        return numbered.length(ctx, value)
    if isinstance(value, ChosenRange):
        return value.count
    own = classes.has_rule(value, "__len__")
    return classes.by_rule(ctx, value, "__len__") if own else reductions.length(ctx, value)


def _shape(ctx: Context, a: Value) -> Value:
    return tuple(int_value(n) for n in as_array(ctx, a).shape)


def _broadcast_shapes(ctx: Context, *shapes: Value) -> Value:
    return tuple(int_value(n) for n in broadcast(ctx, [tuple(int_ix(n) for n in s) for s in shapes]))


def _item(ctx: Context, a: Value, *places: Value) -> Value:
    """`.item()`: a Python number. places: one number counts in the flat array, several are an index, as a tuple is."""
    if places and isinstance(a, Masked) and a.values.ndim == a.mask.ndim:
        value = as_array(ctx, item_at(ctx, a, places[0] if len(places) == 1 else places))
    elif places:
        index = places[0] if len(places) == 1 else places
        value = as_array(ctx, a if isinstance(index, tuple) else ctx.invoke(ctx, np.ravel, [a], {}))
        value = as_array(ctx, subscript(ctx, value, index))
    else:
        value = as_array(ctx, a)
    if any(n.const != 1 for n in value.shape):
        raise ctx.refuse(f".item() of {describe(value)}", code="SG105")
    kinds = {"f": FLOAT, "i": INT, "u": INT, "b": BOOL, "c": COMPLEX}
    if value.dtype.kind == "b":
        return truth_value(ctx, value)
    return creation.scalar_type(kinds[value.dtype.kind], True)(ctx, value)



def _compress(ctx: Context, a: Value, condition: Value, axis: Value = None) -> Value:
    """`a.compress(condition)`."""
    return ctx.invoke(ctx, np.compress, [condition, a, axis], {})


FUNCTIONS: Mapping[Any, Rule] = MappingProxyType({
    np.zeros: as_long(creation.zeros), np.empty: as_long(creation.zeros), np.ones: as_long(creation.ones),
    np.full: as_long(creation.full),
    np.zeros_like: creation.like(0), np.empty_like: creation.like(0), np.ones_like: creation.like(1),
    np.full_like: creation.full_like, np.ndarray: creation.ndarray, np.eye: as_long(creation.eye),
    np.identity: as_long(creation.identity),
    np.arange: as_long(creation.arange), np.array: creation.array, np.asarray: creation.asarray,
    np.ascontiguousarray: creation.contiguous, np.asanyarray: creation.asarray, np.copy: creation.copied,
    np.tri: creation.tri, np.copyto: casting.copyto,
    np.transpose: shaping.transpose, np.swapaxes: shaping.swapaxes, np.moveaxis: shaping.moveaxis,
    np.expand_dims: shaping.expand_dims, np.squeeze: shaping.squeeze, np.broadcast_to: shaping.broadcast_to,
    np.flip: shaping.flip, np.lib.stride_tricks.sliding_window_view: shaping.sliding_window_view,
    np.lib.stride_tricks.as_strided: stepping.as_strided,
    np.reshape: shaping.reshape, np.ravel: shaping.ravel, np.concatenate: joins.concatenate,
    np.stack: joins.stack, np.repeat: shaping.repeat, np.tile: shaping.tile, np.tril: diagonals.tril,
    np.triu: diagonals.triu, np.diagonal: diagonals.diagonal, np.diag: diagonals.diag,
    np.fill_diagonal: diagonals.fill_diagonal,
    np.nonzero: places.nonzero, np.flatnonzero: places.flatnonzero, np.argwhere: places.argwhere,
    np.setdiff1d: places.setdiff1d, np.unique: places.unique,
    np.meshgrid: shaping.meshgrid, np.where: shaping.where, np.take: shaping.take, np.outer: shaping.outer,
    np.broadcast_arrays: shaping.broadcast_arrays,
    np.broadcast_shapes: _broadcast_shapes,
    np.sum: reductions.sum_, np.mean: reductions.mean,
    np.max: reductions.extremum("max", np.maximum), np.amax: reductions.extremum("max", np.maximum),
    np.min: reductions.extremum("min", np.minimum),
    np.amin: reductions.extremum("min", np.minimum),
    np.any: reductions.truths("max"), np.all: reductions.truths("min"), np.count_nonzero: reductions.count_nonzero,
    np.size: reductions.size_of, np.trace: reductions.trace, np.ndim: _ndim, np.shape: _shape,
    np.result_type: creation.result_type, np.real: real, np.imag: imag, np.round: round_, np.around: round_,
    np.matmul: linalg.matmul, np.dot: linalg.dot, np.vdot: linalg.vdot, np.tensordot: linalg.tensordot,
    np.einsum: linalg.einsum, np.einsum_path: linalg.einsum_path, np.linalg.solve: linalg.solve,
    scipy_bodies.solve_triangular: linalg.solve_triangular,
    np.fft.fft: fourier.transform(False), np.fft.ifft: fourier.transform(True),
    np.argsort: linalg.argsort, np.sort: linalg.sort, **decompositions.FUNCTIONS,
    **{u.at: accumulation(op, u) for u, op in (
        (np.add, "+"), (np.subtract, "+"), (np.maximum, "max"), (np.minimum, "min"), (np.multiply, "*"),
        (np.divide, "*"))},
    shape_bodies.as_long_as: resizing.fits,
    mapping_bodies.size_of: batches.size_of, mapping_bodies.result_of: batches.result_of,
    mapping_bodies.together: batches.together, implicit_bodies.not_converged: implicit.not_converged,
    len: _length, sum: item_reductions.builtin_sum, abs: _absolute, divmod: _divmod, pow: _pow,
    max: item_reductions.builtin_extremum(np.greater, reductions.extremum("max", np.maximum)),
    min: item_reductions.builtin_extremum(np.less, reductions.extremum("min", np.minimum)),
    np.vectorize: vectorized.vectorize, vectorized.call: vectorized.call, jitted.each: jitted.each,
    super: classes.parent, sparse.product: sparse.product,
    sparse.converted: sparse.converted, factors.solve: factors.solve,
    numbered.get: numbered.get, **builtin_rules.FUNCTIONS, **iterator_rules.FUNCTIONS,
    **ignored.CLOCKS, round: rounding.round_,
    math.floor: _rounding(math.floor, np.floor), math.ceil: _rounding(math.ceil, np.ceil),
    math.trunc: _rounding(math.trunc, np.trunc), math.erf: _math(math.erf, "erf"),
    math.erfc: _math(math.erfc, "erfc"), math.gamma: _math(math.gamma, "gamma"),
    math.lgamma: _math(math.lgamma, "gammaln"), special_bodies.of_order: special.of_order,
    statistics_bodies.number_of_bins: number_of_bins, order_bodies.settled: settled,
    special_bodies.of_numbers: special.of_numbers,
    special_bodies.of_shapes: special.of_shapes,
    **{getattr(np.emath, n): _of_complex(getattr(np, n)) for n in (
        "sqrt", "log", "log10", "arcsin", "arccos", "arctanh", "power")},
    **{getattr(cmath, n): _complex_math(getattr(np, n)) for n in (
        "exp", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{getattr(cmath, "a" + n): _complex_math(getattr(np, "arc" + n)) for n in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{getattr(math, n): _math(getattr(math, n), getattr(np, u)) for n, u in {
        "sqrt": "sqrt", "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
        "expm1": "expm1",
        "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh",
        "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
        "exp2": "exp2", "cbrt": "cbrt", "fabs": "absolute", "pow": "power", "copysign": "copysign",
        "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}.items()},
})
"""Functions with a rule of their own."""

TYPES: Mapping[Any, Rule] = MappingProxyType({
    float: creation.scalar_type(FLOAT, True), int: int_, bool: bool_, complex: complex_number,
    **{t: creation.scalar_type(np.dtype(t), False) for t in (
        np.float64, np.float32, np.complex128, np.complex64, np.int64, np.int32, np.int16, np.int8, np.uint64,
        np.uint32,
        np.uint16, np.uint8, np.bool_)},
})
"""Types called as conversions."""

METHODS: Mapping[str, Any] = MappingProxyType({
    **{n: getattr(np, n) for n in (
        "sum", "mean", "max", "min", "prod", "std", "var", "any", "all", "cumsum", "cumprod", "argmax", "argmin",
        "ravel", "swapaxes", "squeeze", "repeat", "diagonal", "trace", "take", "clip", "dot", "round",
        "argsort", "argpartition", "nonzero", "searchsorted", "choose", "put")},
    "tolist": creation.tolist,
    "sort": linalg.sort_in_place, "partition": linalg.partition_in_place, "compress": _compress,
    "conj": conjugated, "conjugate": conjugated,
    "flatten": shaping.flatten, "transpose": shaping.transposed, "reshape": shaping.reshape_method,
    "astype": creation.astype, "copy": creation.copied_in_order, "fill": casting.fill, "item": _item,
    "view": layout.viewed,
})
"""Methods of arrays, as the function they stand for or a rule."""

OUTSIDE: Mapping[tuple[str, str], Rule] = MappingProxyType({
    ("scipy", "lu_factor"): factors.lu_factor, ("scipy", "lu_solve"): factors.lu_solve,
    ("scipy", "spsolve"): factors.spsolve, ("scipy", "solve_triangular"): linalg.solve_triangular,
    ("scipy", "inv"): decompositions.inverse, ("scipy", "quad"): integrals.quad,
    ("scipy", "dblquad"): integrals.dblquad,
    ("scipy", "solve_ivp"): solvers.solve_ivp, ("scipy", "odeint"): solvers.odeint,
    ("sdfgad", "stop_gradient"): special.stop_gradient, ("sdfgad", "linear_solve"): implicit.linear_solve,
    ("sdfgad", "root"): implicit.root, ("sdfgad", "fixed_point"): implicit.fixed_point,
    ("sdfgad", "slope_along"): implicit.slope_along, ("sdfgad", "slope_back"): implicit.slope_back,
    ("sdfgad", "named_parameters"): implicit.named_parameters, ("sdfgad", "stationary"): implicit.stationary,
    ("sdfgad", "vmap"): batches.vmap,
})
"""Functions of packages that need not be installed, by package and name."""
