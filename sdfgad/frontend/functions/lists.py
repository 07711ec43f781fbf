"""Python's lists and tuples as operands: there is arithmetic where they meet an array or a number of NumPy's."""
from __future__ import annotations

import numpy as np

from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value, is_number


def is_of_python(*operands: Value) -> bool:
    """Whether there is a list or tuple, and nothing of NumPy's beside it."""
    lists = [isinstance(v, (list, tuple, ListValue)) for v in operands]
    return any(lists) and all(one or _is_plain_number(v) for one, v in zip(lists, operands, strict=True))


def check_operands(ctx: Context, ufunc: np.ufunc, *operands: Value) -> None:
    """Python's TypeError for `[1, 2] - 1`, `-(1, 2)` and the like."""
    if is_of_python(*operands):
        told = " and ".join(map(describe, operands))
        raise ctx.raises(TypeError, f"{ufunc.__name__} of {told}", "Python has no arithmetic of lists: use np.array",
                         "SG102")


def _is_plain_number(value: Value) -> bool:
    if isinstance(value, ArrayValue):
        return value.scalar and value.weak
    if isinstance(value, IntValue):
        return value.dtype is None
    return is_number(value) and not isinstance(value, np.generic)
