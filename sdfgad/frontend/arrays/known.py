"""Calls that are made when a program is translated: functions of what is known by then."""
from __future__ import annotations

import copy
import math
import operator
from collections.abc import Mapping, Sequence
from enum import EnumMeta
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.arrays.views import is_range
from sdfgad.frontend.bodies.packages import sparse_matrices
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.values import (
    ArrayValue,
    Entries,
    Function,
    IntValue,
    ListValue,
    Masked,
    Record,
    Value,
    ViewValue,
    contained,
    is_number,
)
from sdfgad.frontend.static.exact_values import exact_array
from sdfgad.frontend.static.settled import settled as keys_and_items
from sdfgad.ir.interpret import returned
from sdfgad.ir.program import View, axis


def plain_list(value: Value) -> Value:
    """A set, or a list of numbers or texts known now, as Python's own."""
    if isinstance(value, SetValue):
        return value.items
    known = isinstance(value, ListValue) and all(is_number(v) or isinstance(v, str) for v in value.items)
    return value.items if known else value


def known_now(ctx: Context, callee: Value, value: Value) -> Value:
    """What an argument is when a call is made now: a plain list, or what an array from outside holds."""
    if callee in (set, frozenset) and isinstance(value, Record) and issubclass(value.form, dict):
        return [*keys_and_items(ctx, value)]
    data = contents(ctx, value) if is_of_constants(callee) else None
    return plain_list(value) if data is None else data


def is_known(value: Value) -> bool:
    """Whether nothing in a value waits for the run."""
    return not any(isinstance(part, _OF_THE_RUN) for part in contained(value))


def contents(ctx: Context, value: Value) -> np.ndarray | None:
    """What an array holds that the program never changes: of one from outside a part of the translation from here on,
    so that later calls look whether it still does."""
    if is_range(value) and value.shape[0].const is not None:
        return np.arange(value.shape[0].const)
    if not isinstance(value, ViewValue) or value.view.array not in ctx.builder.constants or not is_fixed(value.view):
        return None
    source = next((a for a, stored in ctx.outside.values() if stored.view.array == value.view.array), None)
    if source is not None:
        ctx.surroundings.watched.append((source, source.copy()))
    whole = value.view == ctx.builder.arrays[value.view.array].whole
    constants = ctx.builder.constants
    return constants[value.view.array] if whole else np.asarray(returned(value.view, constants))


def known_flags(ctx: Context, mask: ArrayValue) -> np.ndarray | None:
    """What a mask holds, where that is known: looked at only where it has been refused as data."""
    ctx.builder.masks = True
    if not ctx.builder.assumed.known_masks or mask.dtype.kind != "b":
        return None
    data = contents(ctx, mask)
    return exact_array(ctx, mask) if data is None else data


def is_fixed(view: View) -> bool:
    """Whether a view shows the same part of its array wherever it is read."""
    own = {axis(k) for k in range(len(view.shape))}
    return all(n.const is not None for n in view.shape) and not any(i.elems or i.symbols - own for i in view.index)


def settled(ctx: Context, value: Value) -> Value:
    """A number, or lists of numbers, if they are known now, and None otherwise."""
    data = contents(ctx, value)
    if data is not None:
        return data.tolist()
    items = plain_list(value)
    return items if is_number(items) or isinstance(items, (tuple, list)) and is_known(items) else None


def number_of_bins(ctx: Context, x: Value) -> int:
    """How long `np.bincount(x)` is, of an array whose contents are known."""
    data = contents(ctx, x)
    if data is None or data.size and np.min(data) < 0:
        raise ctx.refuse("np.bincount without minlength: how long its result is depends on the data",
                         "give minlength=, larger than every index", "SG102")
    return int(np.max(data, initial=-1)) + 1


_OF_THE_RUN = (ArrayValue, IntValue, ListValue, SetValue, Masked, Function, Record, Entries)

_OF_CONSTANTS: Mapping[str, frozenset[str]] = MappingProxyType({
    "collections": frozenset(("namedtuple",)), "_bisect": frozenset(("bisect", "bisect_left", "bisect_right")),
    "sdfgad": frozenset((
        "savgol_weights", "window_of", "turned_by", "edge_of_sections", "low_pass", "slower", "parameters_of",
        "matrix_of_series",
        *sparse_matrices.KNOWN)),
    "numpy": frozenset((
        "hanning", "hamming", "blackman", "bartlett", "kaiser", "tril_indices", "triu_indices", "diag_indices", "ix_",
        "ravel_multi_index", "union1d", "intersect1d", "setdiff1d", "unique",
        "matrix_rank", "leggauss", "chebgauss", "hermgauss", "laggauss")),
    "scipy": frozenset((
        "hann", "hamming", "blackman", "bartlett", "kaiser", "gaussian", "tukey", "boxcar", "triang", "nuttall",
        "blackmanharris", "flattop", "cosine", "get_window", "firwin", "butter", "cheby1", "cheby2", "ellip", "bessel",
        "iirfilter", "savgol_coeffs", "next_fast_len", "fftfreq", "rfftfreq", "dft", "hadamard", "hilbert", "pascal",
        "factorial", "factorial2", "factorialk", "perm", "comb", "roots_legendre", "roots_hermite", "roots_chebyt",
        "roots_laguerre", "roots_jacobi", "bernoulli", "euler", "invhilbert", "helmert", "invpascal", "newton_cotes",
        "zeta", "ppf", "isf", "eye", "eye_array", "identity", *sparse_matrices.NAMES))})
"""Functions of a package that are run now, when all that they get is known."""


_OF_SIZES = (np.prod, np.sum, np.max, np.min, np.amax, np.amin, np.cumsum, np.cumprod, sum, max, min)
"""Functions that are run now for known integers: sizes and ends of parts come from them."""
_MOST_SIZES = 4096
"""An array of more integers is data, and no sizes."""


def known_sizes(ctx: Context, callee: Value, arguments: Sequence[Value],
                keywords: Mapping[str, Value]) -> Sequence[int] | np.ndarray | None:
    """The integers of a tuple, a list or an array that a function of sizes is given; None of another call."""
    if keywords or len(arguments) != 1 or not any(callee is f for f in _OF_SIZES):
        return None
    items = plain_list(arguments[0])
    if isinstance(items, ArrayValue):
        kinds = "ib" if ctx.builder.assumed.known_masks else "i"
        few = items.ndim == 1 and items.dtype.kind in kinds and 0 < (items.shape[0].const or 0) <= _MOST_SIZES
        data = contents(ctx, items) if few else None
        return exact_array(ctx, items) if few and data is None else data
    known = isinstance(items, (tuple, list)) and (len(items) > 0 or callee is np.prod) and all(
        isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in items)
    return items if known else None


def of_objects(value: Value) -> bool:
    """Whether this is an array of objects, as `np.array([None])`: it is known, and nothing is stored into it."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "O"


def is_of_constants(callee: Value) -> bool:
    """Whether a call is made now: also that of an enumeration, which looks up a member."""
    if isinstance(callee, EnumMeta):
        return True
    package = (getattr(callee, "__module__", None) or "").split(".")[0]
    return getattr(callee, "__name__", "") in _OF_CONSTANTS.get(package, ())


GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
PURE = (math.factorial, math.comb, math.perm, math.gcd, math.lcm, math.isqrt,
         int, float, bool, complex, str, tuple, max, min, sum, abs, round, len, divmod, pow, isinstance, range,
         np.dtype, np.finfo, np.iinfo, np.errstate, np.issubdtype, np.result_type, np.promote_types, np.isscalar,
         bin, hex, oct, chr, ord, sorted, type, slice, callable, any, all, set, frozenset, *GETTERS)
OF_SHAPE = (np.atleast_1d, np.atleast_2d, np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.ndim,
            np.shape, np.size, np.asarray, np.copy, copy.copy, copy.deepcopy)
"""What may be done with an array of objects: it says how they are arranged, and not what they are."""
