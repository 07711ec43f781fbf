"""Room for the results of compiled programs: what the caller has dropped is used again.

Fresh memory costs a page fault per page at the first touch, as much as writing it. Temporaries live as long as the
compiled program; results belong to the caller, so each comes back when the last array that looks at it is gone.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np

LEAST_BYTES = 1 << 20
"""Smaller arrays come from the allocator's own pool."""
MOST_FREE = 4
"""So many dropped buffers of one size are kept; more go back to the system."""
_ALIGNMENT = 64


@cache
def room() -> Buffers:
    """The buffers of this process: all compiled programs share them, so that one does not hoard what another needs."""
    return Buffers()


class Buffers:
    """Dropped buffers by size in bytes."""

    def __init__(self) -> None:
        self._free: dict[int, list[np.ndarray]] = {}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array with undefined content, C order, aligned to a cache line when it is large."""
        size = prod(shape) * dtype.itemsize
        if size < LEAST_BYTES:
            return np.empty(shape, dtype)
        free = self._free.setdefault(size, [])
        try:
            store = free.pop()
        except IndexError:
            store = np.empty(size + _ALIGNMENT, np.uint8)
        return np.asarray(_Lease(free, store, shape, dtype))

    def trim(self, wanted: Iterable[int]) -> None:
        """Give free buffers back to the system but for those of the sizes wanted, one for each time it is named."""
        held = [size for size, free in self._free.items() if free]
        most = Counter(wanted) if held else {}
        for size in held:
            del self._free[size][most.get(size, 0):]

    @property
    def free_bytes(self) -> int:
        """Bytes of the buffers nobody uses."""
        return sum(size * len(free) for size, free in self._free.items())


class _Lease:
    """The owner of a buffer that is out: every array on it holds this object, directly or through its base."""

    def __init__(self, free: list[np.ndarray], store: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._free, self._store = free, store
        start = store.ctypes.data
        self.__array_interface__: Mapping[str, Any] = {
            "version": 3, "shape": shape, "typestr": dtype.str, "data": (start + -start % _ALIGNMENT, False)}

    def __del__(self) -> None:
        if len(self._free) < MOST_FREE:
            self._free.append(self._store)
