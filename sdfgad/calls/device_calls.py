"""Calls with arrays of a graphics processor: on the caller's stream, without a copy, and without a wait of the host.

A call works on the stream that its first argument names. It waits for the streams of the others, and they for it, by
events. What it looks at is kept until it is done, and so the caller may drop arguments at once.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, as_input
from sdfgad.codegen.device_memory import Borrowed, DeviceMemory
from sdfgad.codegen.program import Executable
from sdfgad.codegen.targets import chosen
from sdfgad.errors import UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.foreign.libraries import like
from sdfgad.foreign.reading import STANDARD, caller_of
from sdfgad.frontend import Parsed
from sdfgad.ir.program import Array
from sdfgad.trees import mapped


def on_device(bound: Bound) -> bool:
    """Whether there are arrays of a device among the arguments."""
    return any(isinstance(v, DeviceArray) for v in bound.leaves.values())


def check_place(bound: Bound) -> None:
    """UsageError for arrays of the device in a call of the processor's own program, and for arrays of both."""
    there = next((n for n, v in bound.leaves.items() if isinstance(v, DeviceArray)), None)
    if there is None:
        return
    if not chosen().on_device:
        raise UsageError(f"argument {there!r} lies on a graphics processor, and the program is one of the processor",
                         code="SG212", help='ask for it with device="gpu", or pass a copy in the memory of the host')
    here = next((n for n, v in bound.leaves.items() if isinstance(v, np.ndarray) and v.ndim), None)
    if here is not None:
        raise UsageError(f"argument {here!r} lies in the memory of the host, and {there!r} on a graphics processor",
                         code="SG212", help="pass both from one place: copy one of them yourself")


@dataclass
class DeviceCall:
    """One call of a program with arrays of a device. others: streams beside its own that its arguments are made on.
    looked_at: what has to stay alive until it is done. copied: bytes of index arrays that the host has looked at."""

    memory: DeviceMemory
    others: tuple[int, ...]
    looked_at: list[Any] = field(default_factory=list)
    copied: int = 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        """Room for a result."""
        return self.memory.empty(shape, dtype)

    def input(self, value: Any, array: Array, copied: bool) -> Any:
        """An argument as the program takes it, a copy if it is written."""
        if not isinstance(value, DeviceArray):
            found: Any = as_input(value, array, np.empty(array.shape, array.dtype) if copied else None)
        elif copied:
            found = self.memory.copy(value)
        else:
            found = value.held_by(Borrowed(self.memory, value), self.memory.stream, self.memory.device)
        self.looked_at.append((value, found))
        return found

    def with_indices(self, parsed: Parsed, leaves: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments, with those in the memory of the host that decide which elements are touched: these are looked
        at before anything runs."""
        found = dict(leaves)
        for name in parsed.index_arrays:
            if isinstance(value := leaves[name], DeviceArray):
                found[name] = self.memory.fetch(value)
                self.copied += value.nbytes
        return found

    def run(self, code: Executable, arrays: Mapping[str, Any]) -> None:
        """Start the program; the streams of the caller wait for it, and the host does not."""
        code.there(arrays, self.memory.stream, self.memory.device)
        for other in self.others:
            self.memory.order(other, self.memory.stream)
        self.memory.keep(self.looked_at)


def device_call(code: Executable, bound: Bound, donate: frozenset[str] = frozenset()) -> DeviceCall | None:
    """The call of a program with these arguments; None where they lie in the memory of the host.

    UsageError for arrays of two devices, arrays with gaps, and arrays that nobody may write in `donate`.
    """
    arrays = {n: v for n, v in bound.leaves.items() if isinstance(v, DeviceArray)}
    if not arrays:
        return None
    for name, value in arrays.items():
        if not value.is_contiguous:
            raise UsageError(f"argument {name!r} is no block in C order", code="SG212",
                             help="a copy would be one: copy it on the device, and pass that")
        if name in donate and value.fixed:
            raise UsageError(f"argument {name!r} cannot be given away: nobody may write into it", code="SG212",
                             help="leave it out of donate")
    streams = tuple(dict.fromkeys(s for v in arrays.values() if (s := v.stream) is not None)) or (STANDARD,)
    memory = code.memory_of(streams[0], _device(code, arrays))
    assert memory is not None, "the target says that it takes such arrays"
    for other in streams[1:]:
        memory.order(streams[0], other)
    return DeviceCall(memory, streams[1:])


def _device(code: Executable, arrays: Mapping[str, DeviceArray]) -> int:
    """The device that all arrays lie on."""
    found = {n: code.device_of(v.address) for n, v in arrays.items() if v.size}
    for name, device in found.items():
        if device < 0:
            raise UsageError(f"argument {name!r} says that it lies on a graphics processor, and its address is none "
                             "there", code="SG212", help="pass an array of the device, or one of NumPy")
    first = next(iter(found.items()), ("", 0))
    for name, device in found.items():
        if device != first[1]:
            raise UsageError(f"arguments {first[0]!r} and {name!r} lie on two devices, {first[1]} and {device}",
                             code="SG212", help="copy one of them to the device of the other")
    return first[1]


def handed_on(found: Any, bound: Bound, name: str = "") -> Any:
    """What a call has given, with arrays of the caller's library in place of those on the device: of that of the
    argument `name`, or of the first one there."""
    arrays = [v for n, v in bound.leaves.items() if isinstance(v, DeviceArray) and name in (n, "")]
    if not arrays:
        return found
    return mapped(lambda x: _handed_on(x, arrays[0]) if isinstance(x, DeviceArray) else x, found)


def _handed_on(found: DeviceArray, first: DeviceArray) -> Any:
    if isinstance(found.origin, Borrowed):
        lender = found.origin.lender
        if (found.address, found.shape, found.strides) == (lender.address, lender.shape, lender.strides):
            return caller_of(lender)  # the function returns an argument
    return like(caller_of(first), found)
