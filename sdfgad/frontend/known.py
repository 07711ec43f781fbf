"""Calls that are made when a program is translated: functions of what is known by then."""
from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.values import ListValue, Value, is_number


def plain_list(value: Value) -> Value:
    """A list of numbers or texts known now as Python's own list."""
    known = isinstance(value, ListValue) and all(is_number(v) or isinstance(v, str) for v in value.items)
    return value.items if known else value


_OF_CONSTANTS: Mapping[str, frozenset[str]] = MappingProxyType({
    "collections": frozenset(("namedtuple",)), "_bisect": frozenset(("bisect", "bisect_left", "bisect_right")),
    "numpy": frozenset((
        "hanning", "hamming", "blackman", "bartlett", "kaiser", "tril_indices", "triu_indices", "diag_indices", "ix_",
        "ravel_multi_index", "union1d", "intersect1d", "setdiff1d", "unique",
        "matrix_rank", "leggauss", "chebgauss", "hermgauss", "laggauss")),
    "scipy": frozenset((
        "hann", "hamming", "blackman", "bartlett", "kaiser", "gaussian", "tukey", "boxcar", "triang", "nuttall",
        "blackmanharris", "flattop", "cosine", "get_window", "firwin", "butter", "cheby1", "cheby2", "ellip", "bessel",
        "iirfilter", "savgol_coeffs", "next_fast_len", "fftfreq", "rfftfreq", "dft", "hadamard", "hilbert", "pascal",
        "factorial", "factorial2", "factorialk", "perm", "comb", "roots_legendre", "roots_hermite", "roots_chebyt",
        "roots_laguerre", "roots_jacobi"))})
"""Functions of a package that are run now, when all that they get is known."""


_OF_SIZES = (np.prod, np.sum, np.max, np.min, np.amax, np.amin, np.cumsum, np.cumprod)
"""Functions of NumPy that are run now for a tuple or list of known integers: sizes and ends of parts come from them."""


def is_of_sizes(callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> bool:
    if keywords or len(arguments) != 1 or not any(callee is f for f in _OF_SIZES):
        return False
    items = plain_list(arguments[0])
    return isinstance(items, (tuple, list)) and (len(items) > 0 or callee is np.prod) and all(
        isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in items)


def is_of_constants(callee: Value) -> bool:
    package = (getattr(callee, "__module__", None) or "").split(".")[0]
    return getattr(callee, "__name__", "") in _OF_CONSTANTS.get(package, ())


GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
PURE = (math.factorial, math.comb, math.perm, math.gcd, math.lcm, math.trunc,
         int, float, bool, complex, str, tuple, max, min, sum, abs, round, len, divmod, pow, isinstance, range,
         np.dtype, np.finfo, np.iinfo, np.errstate, np.issubdtype, np.result_type, np.promote_types, np.isscalar,
         sorted, type, slice, callable, any, all, set, frozenset, *GETTERS)
