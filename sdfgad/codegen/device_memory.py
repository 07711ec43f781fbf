"""Memory of a graphics processor for the arrays of calls, in the order of a stream: the host never waits for it.

A compiled program has CUDA's runtime in it, and with it what is needed here: no other library is loaded.
"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sdfgad.errors import MemoryLimitError, UsageError, device_failed
from sdfgad.foreign.device_array import DeviceArray

_POINTER, _BYTES, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_ENTRIES = (
    ("sg_taken", (ctypes.POINTER(_POINTER), _BYTES, _POINTER, _INT), _INT),
    ("sg_given_back", (_POINTER, _POINTER, _INT), None),
    ("sg_copied", (_POINTER, _POINTER, _BYTES, _POINTER, _INT), _INT),
    ("sg_fetched", (_POINTER, _POINTER, _BYTES, _POINTER, _INT), _INT),
    ("sg_sent", (_POINTER, _POINTER, _BYTES, _POINTER, _INT), _INT),
    ("sg_cleared", (_POINTER, _BYTES, _POINTER, _INT), _INT),
    ("sg_after", (_POINTER, _POINTER, _INT), _INT),
    ("sg_mark", (_POINTER, _INT), _POINTER),
    ("sg_passed", (_POINTER, _INT), _INT),
    ("sg_device_of", (_POINTER,), _INT),
    ("sg_error", (_INT,), ctypes.c_char_p),
    ("sg_call_there", (_POINTER, _POINTER, ctypes.c_char_p, _POINTER, _INT, _BYTES), _INT),
    ("sg_launches", (_POINTER,), _BYTES),
    ("sg_copied_bytes", (_POINTER,), _BYTES),
)
OUT_OF_MEMORY = 2
"""The status of CUDA's runtime for it."""


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes the entries that a program for a graphics processor has beside those of all programs."""
    for name, arguments, result in _ENTRIES:
        entry = getattr(library, name)
        entry.argtypes, entry.restype = arguments, result


class DeviceMemory:
    """The memory of a device, as a call on one stream asks for it."""

    def __init__(self, library: ctypes.CDLL, stream: int, device: int) -> None:
        self.library, self.stream, self.device = library, stream, device

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        """An array with undefined content. MemoryLimitError where there is no room."""
        place = _POINTER()
        array = DeviceArray(shape, dtype, 0, None)
        status = self.library.sg_taken(ctypes.byref(place), array.nbytes, self.stream, self.device)
        if status == OUT_OF_MEMORY:
            raise MemoryLimitError("the device has no memory left for a result", code="SG302")
        self.check(status)
        return DeviceArray(shape, dtype, place.value or 0, Lease(self, place.value or 0), device=self.device,
                           stream=self.stream)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        """An array of zeros."""
        made = self.empty(shape, dtype)
        self.check(self.library.sg_cleared(made.address, made.nbytes, self.stream, self.device))
        return made

    def put(self, values: np.ndarray) -> DeviceArray:
        """A copy of an array of the host, in C order; waits for it."""
        values, made = np.ascontiguousarray(values), self.empty(values.shape, values.dtype)
        if made.size:
            self.send(values, made)
        return made

    def stacked(self, arrays: Sequence[DeviceArray]) -> DeviceArray:
        """Copies of arrays of one kind, along a first axis; at least one."""
        first = arrays[0]
        made = self.empty((len(arrays), *first.shape), first.dtype)
        for k, array in enumerate(arrays):
            if not array.is_contiguous:
                raise UsageError("a result is no block in C order", code="SG212", help="return a copy of it")
            array.origin.order(self.stream)
            place = made.address + k * first.nbytes
            self.check(self.library.sg_copied(place, array.address, first.nbytes, self.stream, self.device))
        return made

    def send(self, values: np.ndarray, to: DeviceArray, first: int = 0) -> None:
        """Put values of the host into an array, from an element on; waits for it."""
        place = to.address + first * to.itemsize
        self.check(self.library.sg_sent(place, values.ctypes.data, values.nbytes, self.stream, self.device))

    def copy(self, array: DeviceArray) -> DeviceArray:
        """A copy of an array in C order."""
        made = self.empty(array.shape, array.dtype)
        self.check(self.library.sg_copied(made.address, array.address, array.nbytes, self.stream, self.device))
        return made

    def fetch(self, array: DeviceArray) -> np.ndarray:
        """The elements of an array in C order, in the memory of the host, which waits for them."""
        found = np.empty(array.shape, array.dtype)
        if array.size:
            status = self.library.sg_fetched(found.ctypes.data, array.address, array.nbytes, self.stream, self.device)
            self.check(status)
        return found

    def order(self, later: int, earlier: int) -> None:
        """What one stream is given from now on waits for what another one has been given."""
        if later != earlier:
            self.check(self.library.sg_after(later, earlier, self.device))

    def check(self, status: int) -> None:
        """ToolchainError for a status that is none of success."""
        if status:
            raise device_failed(self.library.sg_error(status).decode())

    def keep(self, things: Any) -> None:
        """Keep things alive until what the stream has been given is done."""
        kept().add(self.library, self.library.sg_mark(self.stream, self.device), things)

    def wait(self) -> None:
        """Until what the stream has been given is done."""
        mark = self.library.sg_mark(self.stream, self.device)
        if mark is not None:
            self.library.sg_passed(mark, 1)


class Lease:
    """The owner of the memory of one result: it goes back behind what its stream, and those of others who took the
    elements, have been given until then."""

    def __init__(self, memory: DeviceMemory, address: int) -> None:
        self.memory, self._address = memory, address
        self._others: set[int] = set()

    def order(self, stream: int) -> None:
        """A stream may look at the elements from now on."""
        self.memory.order(stream, self.memory.stream)
        if stream != self.memory.stream:
            self._others.add(stream)

    def fetched(self, array: DeviceArray) -> np.ndarray:
        """The elements for the host, which waits for them."""
        return self.memory.fetch(array)

    def __del__(self) -> None:
        memory = self.memory
        for other in self._others:
            memory.library.sg_after(memory.stream, other, memory.device)
        memory.library.sg_given_back(self._address, memory.stream, memory.device)


class Borrowed:
    """The owner of an argument during a call, and of what a program returns of it: the caller's own memory."""

    def __init__(self, memory: DeviceMemory, lender: DeviceArray) -> None:
        self.memory, self.lender = memory, lender

    def order(self, stream: int) -> None:
        """A stream may look at the elements from now on."""
        self.memory.order(stream, self.memory.stream)

    def fetched(self, array: DeviceArray) -> np.ndarray:
        """The elements for the host, which waits for them."""
        return self.memory.fetch(array)


class StillUsed:
    """What calls that may still be running look at. It is looked through at every call."""

    def __init__(self) -> None:
        self._things: list[tuple[ctypes.CDLL, int, Any]] = []

    def add(self, library: ctypes.CDLL, mark: int | None, things: Any) -> None:
        """Keep things until a mark has been passed."""
        self.sweep()
        if mark is not None:
            self._things.append((library, mark, things))

    def sweep(self) -> int:
        """Let go of what calls are done with; how much is kept."""
        things, self._things = self._things, []
        self._things += [one for one in things if not one[0].sg_passed(one[1], 0)]
        return len(self._things)


@cache
def kept() -> StillUsed:
    """Of this process."""
    return StillUsed()
