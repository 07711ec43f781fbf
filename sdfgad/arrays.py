"""Arrays that programs take: those of NumPy's own class, and specs in their place."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_PLAIN = (np.ndarray, np.memmap)


@dataclass(frozen=True)
class Spec:
    """A stand-in for an array: a shape and a dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype


def special_class(value: Any) -> type | None:
    """The class of an array that is not NumPy's own: its operators may mean something else (matrices, masks, units)."""
    form = type(value)
    return form if form not in _PLAIN and isinstance(value, np.ndarray) else None


def native(dtype: np.dtype) -> np.dtype:
    """The dtype in the byte order of this machine, which compiled programs compute in."""
    return np.dtype(dtype).newbyteorder("=")
