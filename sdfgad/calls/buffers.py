"""Room for the results of compiled programs: what the caller has dropped is used again.

Fresh memory costs a page fault per page at the first touch, as much as writing it. Results belong to the caller, so
each comes back when the last array that looks at it is gone. What programs work in is another matter: `workspaces`.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np

from sdfgad.codegen.workspaces import workspaces

LEAST_BYTES = 1 << 20
"""Smaller arrays come from the allocator's own pool."""
MOST_FREE = 4
"""So many dropped buffers of one size are kept, and so many times the bytes that were ever out at once; more go back to
the system."""
_ALIGNMENT = 64


@cache
def room() -> Buffers:
    """The buffers of this process: all compiled programs share them, so that one does not hoard what another needs."""
    return Buffers()


def release() -> int:
    """Give memory that no call uses back to the system: what gradients work in, and dropped results.

    Returns how many bytes that was. The next call of each gradient takes fresh memory, which costs time once. May be
    called at any time, also while other threads compute.
    """
    held = reusable()
    workspaces().release()
    room().trim(())
    return held


def reusable() -> int:
    """Bytes that this process holds for calls to come."""
    return workspaces().free_bytes + room().free_bytes


class Buffers:
    """Dropped buffers by size in bytes, those of the size asked for last at the end; and the sizes of those out."""

    def __init__(self) -> None:
        self._free: dict[int, list[np.ndarray]] = {}
        self._out: dict[int, int] = {}
        self._most = 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array with undefined content, C order, aligned to a cache line when it is large."""
        size = prod(shape) * dtype.itemsize
        if size < LEAST_BYTES:
            return np.empty(shape, dtype)
        free = self._free[size] = self._free.pop(size, [])
        try:
            store = free.pop()
        except IndexError:
            self._make_room(size)
            store = np.empty(size + _ALIGNMENT, np.uint8)
        return np.asarray(_Lease(free, self._out, store, shape, dtype))

    def _make_room(self, size: int) -> None:
        """Drop what has not been asked for the longest, if more lies free than the process may well want again."""
        out = sum(list(self._out.values())) + size
        self._most = max(self._most, out)
        for old in list(self._free)[:-1]:
            if self.free_bytes + out <= (1 + MOST_FREE) * self._most:
                break
            self._free.pop(old, [])[:] = []

    def trim(self, wanted: Iterable[int]) -> None:
        """Give free buffers back to the system but for those of the sizes wanted, one for each time it is named.

        Threads may take and give meanwhile."""
        held = [(size, free) for size, free in list(self._free.items()) if free]
        most = Counter(wanted) if held else {}
        for size, free in held:
            del free[most.get(size, 0):]

    @property
    def free_bytes(self) -> int:
        """Bytes of the buffers nobody uses."""
        return sum(size * len(free) for size, free in list(self._free.items()))


class _Lease:
    """The owner of a buffer that is out: every array on it holds this object, directly or through its base."""

    def __init__(self, free: list[np.ndarray], out: dict[int, int], store: np.ndarray, shape: tuple[int, ...],
                 dtype: np.dtype) -> None:
        self._free, self._out, self._store = free, out, store
        out[id(store)] = store.nbytes
        start = store.ctypes.data
        self.__array_interface__: Mapping[str, Any] = {
            "version": 3, "shape": shape, "typestr": dtype.str, "data": (start + -start % _ALIGNMENT, False)}

    def __del__(self) -> None:
        self._out.pop(id(self._store), None)
        if len(self._free) < MOST_FREE:
            self._free.append(self._store)
