"""Calls that are made when a program is translated: functions of what is known by then."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sdfgad.frontend.values import ListValue, Value, is_number


def plain_list(value: Value) -> Value:
    """A list of numbers known now as Python's own list."""
    return value.items if isinstance(value, ListValue) and all(is_number(v) for v in value.items) else value


_OF_CONSTANTS = frozenset({
    "hanning", "hamming", "blackman", "bartlett", "kaiser", "tril_indices", "triu_indices", "diag_indices", "ix_",
    "ravel_multi_index", "geomspace", "leggauss", "chebgauss", "hermgauss", "laggauss"})
"""Functions of NumPy that are run now, when all that they get is known."""


_OF_SIZES = (np.prod, np.sum, np.max, np.min, np.amax, np.amin, np.cumsum, np.cumprod)
"""Functions of NumPy that are run now for a tuple or list of known integers: sizes and ends of parts come from them."""


def is_of_sizes(callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> bool:
    if keywords or len(arguments) != 1 or not any(callee is f for f in _OF_SIZES):
        return False
    items = plain_list(arguments[0])
    return isinstance(items, (tuple, list)) and (len(items) > 0 or callee is np.prod) and all(
        isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in items)


def is_of_constants(callee: Value) -> bool:
    module = getattr(callee, "__module__", None) or ""
    return module.split(".")[0] == "numpy" and getattr(callee, "__name__", "") in _OF_CONSTANTS


PURE = (math.factorial, math.comb, math.perm, math.gcd, math.lcm, math.trunc,
         int, float, bool, complex, str, tuple, max, min, sum, abs, round, len, divmod, pow, isinstance, range,
         np.dtype, np.finfo, np.iinfo, np.errstate, np.issubdtype, np.result_type, np.promote_types, np.isscalar,
         sorted, type, slice, callable, any, all)
