"""Arguments in the memory of a graphics processor, by the protocols of those who made them.

An array that says on which stream it is made is taken as it is, and the call works on that stream. One that does not is
asked by DLPack: its library then makes that stream wait for it. Neither copies, and the host does not wait.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sdfgad.errors import UsageError
from sdfgad.foreign.capsules import CUDA, CUDA_MANAGED, described
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.foreign.libraries import library_of, stream_of
from sdfgad.trees import leaves, mapped

_INTERFACE = "__cuda_array_interface__"
STANDARD = 1
"""The handle of the stream that is meant where nobody names one."""


def adopted(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, with a `DeviceArray` for each array of a graphics processor, in containers too. UsageError for
    one that cannot be taken as it is."""
    found = [leaf for value in values.values() for leaf in leaves(value) if _may_be_there(leaf)]
    if not any(_is_there(leaf) for leaf in found):
        return dict(values)
    stream = _stream(found)
    return {n: _with_arrays(n, value, stream) for n, value in values.items()}


def _with_arrays(name: str, value: Any, stream: int) -> Any:
    if not any(_may_be_there(leaf) for leaf in leaves(value)):
        return value
    return mapped(lambda leaf: _read(name, leaf, stream) if _may_be_there(leaf) else leaf, value)


def _may_be_there(value: Any) -> bool:
    form = type(value)
    return not isinstance(value, (np.ndarray, np.generic, float, int, str)) and (
        hasattr(form, _INTERFACE) or hasattr(form, "__dlpack_device__"))


def _is_there(value: Any) -> bool:
    return isinstance(value, DeviceArray) or _interface(value) is not None or _capsule_device(value) is not None


def _interface(value: Any) -> Mapping[str, Any] | None:
    """What an array of a device says of itself."""
    # Arrays of the host have no such attribute, or one that raises something of its library's own choice.
    if hasattr(type(value), "__dlpack_device__") and _capsule_device(value) is None:
        return None
    try:
        found: Mapping[str, Any] | None = getattr(value, _INTERFACE, None)
    except RuntimeError as error:  # an array that belongs to another derivative
        raise UsageError(f"an array of a graphics processor cannot be handed on: {error}", code="SG212") from error
    return found


def _capsule_device(value: Any) -> int | None:
    """The number of the device that an array lies on, where DLPack tells."""
    if not hasattr(type(value), "__dlpack_device__"):
        return None
    try:
        kind, number = value.__dlpack_device__()
    except (BufferError, RuntimeError, ValueError):  # of no device at all, like PyTorch's meta tensors
        return None
    return int(number) if int(kind) in (CUDA, CUDA_MANAGED) else None


def _stream(arrays: list[Any]) -> int:
    """The stream of a call: the first that an argument names, else the one that a library works on."""
    told = [(_interface(a) or {}).get("stream") for a in arrays]
    now = [stream_of(a, device) for a in arrays if (device := _capsule_device(a)) is not None]
    return next((s for s in (*told, *now) if s is not None), STANDARD)


def _read(name: str, value: Any, stream: int) -> Any:
    """The array that an argument is; itself where it lies elsewhere."""
    if isinstance(value, DeviceArray):
        return value
    interface, device = _interface(value), _capsule_device(value)
    if interface is not None and (device is None or interface.get("stream") is not None):
        return _by_interface(name, value, interface, -1 if device is None else device)
    return value if device is None else _by_capsule(name, value, stream)


def _by_interface(name: str, value: Any, found: Mapping[str, Any], device: int) -> DeviceArray:
    if found.get("mask") is not None:
        raise UsageError(f"argument {name!r} has a mask", code="SG212", help="pass an array without one")
    if found.get("stream") == 0:
        raise UsageError(f"argument {name!r} names stream 0, which says neither which one nor none", code="SG212",
                         help="1 is the standard stream, 2 that of the thread")
    strides = found.get("strides")
    address, fixed = found["data"]
    dtype = np.dtype(found["typestr"])
    if dtype.kind not in "biufc" or not dtype.isnative:
        raise UsageError(f"argument {name!r}: elements of {dtype} on a graphics processor", code="SG212",
                         help="pass numbers in the byte order of this machine")
    return DeviceArray(tuple(found["shape"]), dtype, address or 0, value, device=device, stream=found.get("stream"),
                       strides=None if strides is None else tuple(strides), fixed=fixed or is_immutable(value))


def _by_capsule(name: str, value: Any, stream: int) -> DeviceArray:
    try:
        capsule = value.__dlpack__(stream=stream)
        found = described(capsule)
    except (BufferError, RuntimeError, ValueError) as error:
        raise UsageError(f"argument {name!r} cannot be handed on: {error}", code="SG212") from error
    return DeviceArray(found.shape, found.dtype, found.address, Lent(value, capsule), device=found.device,
                       stream=stream, strides=found.strides, fixed=is_immutable(value))


class Lent:
    """An array of the caller with the capsule that keeps its elements where they are."""

    def __init__(self, value: Any, capsule: Any) -> None:
        self.value, self.capsule = value, capsule


def caller_of(array: DeviceArray) -> Any:
    """What the caller has passed: itself, where it is a result of ours."""
    if isinstance(array.origin, Lent):
        return array.origin.value
    return array if hasattr(array.origin, "order") else array.origin


def is_immutable(value: Any) -> bool:
    """Whether an array is of a library that writes into none."""
    library = library_of(value)
    return library is not None and library.immutable
