"""DLPack: the capsules by which libraries hand arrays to each other. https://dmlc.github.io/dlpack/latest/c_api.html"""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

CUDA, CUDA_MANAGED = 2, 13
"""Kinds of devices whose memory programs of a graphics processor may touch."""
_KINDS: Mapping[int, str] = MappingProxyType({0: "i", 1: "u", 2: "f", 5: "c", 6: "b"})
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("device_kind", c_int32), ("device", c_int32), ("dimensions", c_int32),
                ("kind", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64))


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


@dataclass(frozen=True)
class Described:
    """What a capsule says of an array; strides in bytes, None for C order."""

    shape: tuple[int, ...]
    dtype: np.dtype
    address: int
    device: int
    strides: tuple[int, ...] | None


def described(capsule: Any) -> Described:
    """What a capsule says, which stays what it is: the array lives as long as the capsule does.

    ValueError for elements that NumPy has no dtype for.
    """
    found = ctypes.cast(_pointer(capsule, _NAME), POINTER(_Managed)).contents.tensor
    if found.kind not in _KINDS or found.lanes != 1 or found.bits % 8:
        raise ValueError(f"elements of kind {found.kind} with {found.bits} bits")
    try:
        dtype = np.dtype(f"{_KINDS[found.kind]}{found.bits // 8}")
    except TypeError as error:
        raise ValueError(f"{found.bits} bits") from error
    shape = tuple(found.shape[k] for k in range(found.dimensions))
    strides = tuple(found.strides[k] * dtype.itemsize for k in range(found.dimensions)) if found.strides else None
    return Described(shape, dtype, (found.data or 0) + found.byte_offset, found.device, strides)


def capsule_of(array: Any, place: int = CUDA) -> Any:
    """A capsule with an array of a device of this kind, which lives until whoever takes it is done."""
    ndim, held = len(array.shape), _Held(array)
    held.shape = (c_int64 * max(1, ndim))(*array.shape)
    held.strides = (c_int64 * max(1, ndim))(*(s // array.itemsize for s in array.strides))
    kind = next(k for k, letter in _KINDS.items() if letter == array.dtype.kind)
    held.managed.tensor = _Tensor(
        array.address or None, place, max(0, array.device), ndim, kind, 8 * array.itemsize, 1,
        ctypes.cast(held.shape, POINTER(c_int64)), ctypes.cast(held.strides, POINTER(c_int64)), 0)
    held.managed.deleter = ctypes.cast(_DELETER, c_void_p)
    _out.sweep()
    held.capsule = capsule = _made(ctypes.addressof(held.managed), _NAME, None)
    _out.held[ctypes.addressof(held.managed)] = held
    return capsule


class _Held:
    """What a capsule points to, and the array whose elements they are."""

    def __init__(self, array: Any) -> None:
        self.array, self.managed = array, _Managed()
        self.capsule: Any = None
        self.shape: Any = None
        self.strides: Any = None


class _Out:
    """What was handed on, by address: C knows no other owner."""

    def __init__(self) -> None:
        self.held: dict[int, _Held] = {}

    def sweep(self) -> None:
        """Forget capsules that nobody has any more and nobody has taken: the name of those is another one. A destructor
        of ours would run while the error of who has refused them is raised, and Python code would lose it."""
        for at, one in tuple(self.held.items()):
            if sys.getrefcount(one.capsule) <= _MINE and _is_valid(one.capsule, _NAME):
                _forget(at)


_MINE = 2
"""References to a capsule that `_Held` alone has, as `sys.getrefcount` counts."""
_out = _Out()


def _forget(managed: int) -> None:
    _out.held.pop(managed, None)


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)(_forget)
_made = ctypes.PYFUNCTYPE(py_object, c_void_p, ctypes.c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
