"""What to pass in place of values that are no arrays and no numbers, for those who read a refusal."""
from __future__ import annotations

from typing import Any

_CONVERT = "convert it before the call: np.asarray"


def instead_of(value: Any) -> str:
    """Where an array or a number is needed."""
    if hasattr(value, "toarray"):
        return "use A @ x, or pass its arrays, .data and .indices, or .toarray()"
    if hasattr(type(value), "__array__"):
        return f"{_CONVERT}(...)"
    return "pass a number or an array of numbers" if value is None or isinstance(value, (str, bytes)) else ""


def instead_of_argument(path: str, value: Any) -> str:
    """In place of an argument of an unknown type."""
    if hasattr(type(value), "__array__"):
        return f"{_CONVERT}({path})"
    return "pass arrays, numbers, booleans, strings or None, or tuples, lists, dicts, namedtuples and dataclasses of " \
        "them"
