"""An array in the memory of a graphics processor, whoever has made it."""
from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from sdfgad.arrays import Spec
from sdfgad.errors import UsageError
from sdfgad.foreign.capsules import CUDA, capsule_of


class DeviceArray(Spec):
    """Elements at an address of a device: an argument of a call, or a result where the caller's library is not known.

    strides: in bytes. device: its number, -1 where nobody has said it. stream: the one on which the elements are made,
    as a handle, 1 for the standard one. origin: what keeps them alive; of an argument the array of the caller. fixed:
    nobody may write. Others take it through `__cuda_array_interface__` (version 3) and `__dlpack__` without a copy.
    """

    address: int
    strides: tuple[int, ...]
    device: int
    stream: int | None
    origin: Any
    fixed: bool

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, address: int, origin: Any, *, device: int = -1,
                 stream: int | None = None, strides: tuple[int, ...] | None = None, fixed: bool = False) -> None:
        super().__init__(shape, dtype)
        own = {"address": address, "origin": origin, "device": device, "stream": stream, "fixed": fixed,
               "strides": c_strides(shape, dtype.itemsize) if strides is None else strides}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}{list(self.shape)} on device {self.device})"

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self.size * self.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps; dimensions of one element lie anywhere."""
        usual = c_strides(self.shape, self.itemsize)
        return not self.size or all(n == 1 or a == b for n, a, b in zip(self.shape, self.strides, usual, strict=True))

    @property
    def extent(self) -> tuple[int, int]:
        """The addresses between which the elements lie."""
        if not self.size:
            return self.address, self.address
        moves = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low, high = sum(min(0, m) for m in moves), sum(max(0, m) for m in moves)
        return self.address + low, self.address + high + self.itemsize

    def part(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceArray:
        """Elements of it, from one on; strides in bytes."""
        return DeviceArray(shape, self.dtype, self.address + offset * self.itemsize, self.origin, device=self.device,
                           stream=self.stream, strides=strides, fixed=self.fixed)

    def with_origin(self, origin: Any) -> DeviceArray:
        """The same elements with another owner."""
        return DeviceArray(self.shape, self.dtype, self.address, origin, device=self.device, stream=self.stream,
                           strides=self.strides, fixed=self.fixed)

    def held_by(self, origin: Any, stream: int, device: int) -> DeviceArray:
        """The same elements with another owner, as they are made on a stream."""
        return DeviceArray(self.shape, self.dtype, self.address, origin, device=device, stream=stream,
                           strides=self.strides, fixed=self.fixed)

    def to_host(self) -> np.ndarray:
        """A copy for the host, in C order; waits until the elements are made. Of results alone."""
        if not self.is_contiguous:
            raise UsageError("this array is no block in C order", code="SG212", help="give it to a library of the "
                             "device, with __dlpack__ or __cuda_array_interface__, and copy it there")
        found: np.ndarray = self.origin.fetched(self)
        return found

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """NumPy would make an array of one object of it."""
        raise TypeError("the elements lie on a graphics processor: to_host() copies them")

    def __float__(self) -> float:
        return float(self.to_host())

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """Version 3. https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html"""
        strides = None if self.is_contiguous else self.strides
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address if self.size else 0, self.fixed),
                "version": 3, "strides": strides, "stream": self.stream}

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, max(0, self.device)

    def __dlpack__(self, *, stream: int | None = None, **more: Any) -> Any:
        """For a consumer that works on `stream`: it waits for the elements, the host does not. more: what later
        versions of the protocol ask for; the device and no copy are what there is."""
        if more.get("copy") or more.get("dl_device") not in (None, self.__dlpack_device__()):
            raise BufferError("the elements are handed on where they are, without a copy")
        if stream != -1:
            self.origin.order(stream or 1)
        return capsule_of(self)


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Bytes from an element to the next one of each dimension, in C order."""
    return tuple(itemsize * prod(shape[k + 1:]) for k in range(len(shape)))
