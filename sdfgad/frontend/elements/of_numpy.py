"""What functions of NumPy's give, called by whatever way: numbers of NumPy's, also for numbers of Python's."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sdfgad.frontend.elements.elementwise import INT, strong
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Applied, ArrayValue, IntValue, Value

_GIVE_PYTHONS = (np.real, np.imag, np.size, np.count_nonzero, np.allclose, np.array_equal)
"""Functions of NumPy's that give numbers of Python's."""


def called(ctx: Context, callee: Value, arguments: Sequence[Value]) -> Value:
    """A call that a function of Python's makes, as `map` does."""
    return of_numpy(ctx, callee, ctx.invoke(ctx, callee, handed(callee, arguments), {}))


def handed(callee: Value, arguments: Sequence[Value]) -> Sequence[Value]:
    """What a ufunc gets: numbers of NumPy's where all are Python's, as np.add(True, True) is True and no 2."""
    if not isinstance(callee, np.ufunc) or not all(type(a) in (bool, int, float, complex) for a in arguments):
        return arguments
    found = [np.asarray(a)[()] for a in arguments]
    return found if all(isinstance(a, np.generic) for a in found) else arguments


def of_numpy(ctx: Context, callee: Value, made: Value) -> Value:
    """What a function of NumPy's gives for numbers of Python's is none of these: np.power(2, 3) * x is a double, and so
    is np.ravel(2.0) * x."""
    while isinstance(callee, (Applied, partial)):
        callee = callee.function if isinstance(callee, Applied) else callee.func
    ufunc = isinstance(callee, np.ufunc)
    if not ufunc and not str(getattr(callee, "__module__", "")).startswith("numpy") or any(
            callee is f for f in _GIVE_PYTHONS):
        return made
    if isinstance(made, ArrayValue) and made.weak:
        return strong(ctx, made)
    if ufunc and isinstance(made, IntValue) and made.dtype is None:
        return IntValue(made.ix, INT)
    number = np.asarray(made)[()] if isinstance(made, (bool, int, float, complex)) else made
    return number if ufunc and isinstance(number, np.generic) else made
