"""Room for the results of a compiled program: what the caller has dropped is used again.

Fresh memory costs a page fault per page at the first touch, as much as writing it. Temporaries live as long as the
compiled program; results belong to the caller, so each comes back when the last array that looks at it is gone.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

LEAST_BYTES = 1 << 20
"""Smaller arrays come from the allocator's own pool."""
_ALIGNMENT = 64


class Buffers:
    """At most one dropped buffer per name is kept."""

    def __init__(self) -> None:
        self._free: dict[str, np.ndarray] = {}

    def empty(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array with undefined content, C order; a name always comes with one shape and dtype."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if size < LEAST_BYTES:
            return np.empty(shape, dtype)
        store = self._free.pop(name, None)
        if store is None:
            store = np.empty(size + _ALIGNMENT, np.uint8)
        return np.asarray(_Lease(self._free, name, store, shape, dtype))


class _Lease:
    """The owner of a buffer that is out: every array on it holds this object, directly or through its base."""

    def __init__(self, free: dict[str, np.ndarray], name: str, store: np.ndarray, shape: tuple[int, ...],
                 dtype: np.dtype) -> None:
        self._free, self._name, self._store = free, name, store
        start = store.ctypes.data
        self.__array_interface__: Mapping[str, Any] = {
            "version": 3, "shape": shape, "typestr": dtype.str, "data": (start + -start % _ALIGNMENT, False)}

    def __del__(self) -> None:
        self._free[self._name] = self._store
