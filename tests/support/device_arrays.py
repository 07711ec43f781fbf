"""Arrays in the memory of the emulated devices, as other libraries have them: by CUDA array interface, or DLPack."""
from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from sdfgad.foreign.capsules import CUDA, capsule_of, described
from sdfgad.foreign.device_array import DeviceArray, c_strides
from tests.support.on_cpu import runtime

TO_DEVICE, TO_HOST = 1, 2


@cache
def cuda() -> ctypes.CDLL:
    """The runtime that the programs of the tests have."""
    library = ctypes.CDLL(str(runtime()))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for name, arguments in (
            ("cudaMalloc", (pointer, size)), ("cudaFreeAsync", (pointer, pointer)), ("cudaSetDevice", (ctypes.c_int,)),
            ("cudaMemcpyAsync", (pointer, pointer, size, ctypes.c_int, pointer)), ("cudaStreamSynchronize", (pointer,)),
            ("cudaStreamCreateWithFlags", (pointer, ctypes.c_uint)), ("cudaEventRecord", (pointer, pointer)),
            ("cudaEventCreateWithFlags", (pointer, ctypes.c_uint)), ("cudaEventDestroy", (pointer,)),
            ("cudaStreamWaitEvent", (pointer, pointer, ctypes.c_uint))):
        getattr(library, name).argtypes = arguments
    library.cuda_on_cpu_copies.restype = library.cuda_on_cpu_blocks.restype = ctypes.c_int64
    return library


@contextmanager
def guarded() -> Iterator[ctypes.CDLL]:
    """The host may not touch memory of the devices in the block; counts of copies and waits begin."""
    library = cuda()
    library.cuda_on_cpu_copies()
    library.cuda_on_cpu_counts((ctypes.c_int64 * 2)())
    library.cuda_on_cpu_guard(1)
    try:
        yield library
    finally:
        library.cuda_on_cpu_guard(0)


def new_stream() -> int:
    """Its handle."""
    found = ctypes.c_void_p()
    cuda().cudaStreamCreateWithFlags(ctypes.byref(found), 1)
    return found.value or 0


def order(later: int, earlier: int) -> None:
    """One stream waits for another."""
    event = ctypes.c_void_p()
    cuda().cudaEventCreateWithFlags(ctypes.byref(event), 2)
    cuda().cudaEventRecord(event, earlier)
    cuda().cudaStreamWaitEvent(later, event, 0)
    cuda().cudaEventDestroy(event)


def read(address: int, shape: tuple[int, ...], dtype: np.dtype, stream: int | None) -> np.ndarray:
    """The elements at an address, behind what a stream has been given."""
    found = np.empty(shape, dtype)
    if found.size:
        assert not cuda().cudaMemcpyAsync(found.ctypes.data, address, found.nbytes, TO_HOST, stream)
    assert not cuda().cudaStreamSynchronize(stream)
    return found


class Elements:
    """A block of a device, filled on a stream: nothing is there before somebody has waited for that."""

    def __init__(self, values: Any, stream: int = 1, device: int = 0) -> None:
        values = np.ascontiguousarray(values)
        self.shape, self.dtype, self.stream, self.device = values.shape, values.dtype, stream, device
        self.strides, self.itemsize = c_strides(values.shape, values.dtype.itemsize), values.dtype.itemsize
        place = ctypes.c_void_p()
        cuda().cudaSetDevice(device)
        cuda().cudaMalloc(ctypes.byref(place), values.nbytes)
        cuda().cudaSetDevice(0)
        self.address = place.value or 0
        self.fill(values, stream)

    def fill(self, values: np.ndarray, stream: int) -> None:
        """Other values, on a stream."""
        self.values = values  # the copy looks at them later
        cuda().cudaMemcpyAsync(self.address, values.ctypes.data, values.nbytes, TO_DEVICE, stream)

    def get(self) -> np.ndarray:
        """For the host."""
        return read(self.address, self.shape, self.dtype, self.stream)

    def __del__(self) -> None:
        cuda().cudaFreeAsync(self.address, self.stream)


class InterfaceArray(Elements):
    """One with a CUDA array interface of version 3. said: what the interface says otherwise."""

    def __init__(self, values: Any, stream: int = 1, device: int = 0, said: Mapping[str, Any] | None = None) -> None:
        super().__init__(values, stream, device)
        self.said = said or {}

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
                "stream": self.stream, **self.said}


class CapsuleArray(Elements):
    """One with DLPack alone, and an array namespace that takes others. asked: the streams it was handed on for."""

    def __init__(self, values: Any, stream: int = 1) -> None:
        super().__init__(values, stream)
        self.asked: list[int] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream: int) -> Any:
        self.asked.append(stream)
        order(stream, self.stream)
        return capsule_of(self)

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=lambda other: Imported(other, self.stream))


class Imported:
    """What the library of `CapsuleArray` makes of an array of somebody else, for its own stream."""

    def __init__(self, other: Any, stream: int) -> None:
        self.capsule, self.stream, self.place = other.__dlpack__(stream=stream), stream, other.__dlpack_device__()

    def get(self) -> np.ndarray:
        """For the host."""
        found = described(self.capsule)
        assert found.strides in (None, c_strides(found.shape, found.dtype.itemsize))
        return read(found.address, found.shape, found.dtype, self.stream)


def got(array: Any) -> np.ndarray:
    """The elements of a result, as somebody else finds them."""
    if not isinstance(array, DeviceArray):
        return np.asarray(array.get())
    told = array.__cuda_array_interface__
    assert told["strides"] is None and told["version"] == 3
    return read(told["data"][0], told["shape"], np.dtype(told["typestr"]), told["stream"])
