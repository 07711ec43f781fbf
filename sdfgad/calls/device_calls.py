"""Calls with arrays of a graphics processor: on the caller's stream, without a copy, and without a wait of the host.

A call works on the stream that its first argument names. It waits for the streams of the others, and they for it, by
events. What it looks at is kept until it is done, and so the caller may drop arguments at once.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, as_input
from sdfgad.calls.directions import PlainDirection
from sdfgad.codegen.device_memory import Borrowed, DeviceMemory
from sdfgad.codegen.program import Executable
from sdfgad.codegen.targets import chosen
from sdfgad.errors import UsageError
from sdfgad.foreign.device_array import DeviceArray, c_strides
from sdfgad.foreign.libraries import taker_of
from sdfgad.foreign.reading import STANDARD, caller_of, is_immutable
from sdfgad.frontend import Parsed
from sdfgad.ir.program import Array
from sdfgad.trees import mapped, with_leaves


def on_device(bound: Bound) -> bool:
    """Whether there are arrays of a device among the arguments."""
    return any(isinstance(v, DeviceArray) for v in bound.leaves.values())


def check_place(bound: Bound) -> None:
    """UsageError for arrays of the device in a call of the processor's own program, and for arrays of both."""
    there = next((n for n, v in bound.leaves.items() if isinstance(v, DeviceArray)), None)
    if there is not None and not chosen().on_device:
        raise UsageError(f"argument {there!r} lies on a graphics processor, and the program is one of the processor",
                         code="SG212", help='ask for it with device="gpu", or pass a copy in the memory of the host')
    _check_together(dict(_labelled(bound)))


def _labelled(bound: Bound) -> Iterator[tuple[str, Any]]:
    """The arguments, each as it is called."""
    return ((f"argument {n!r}", v) for n, v in bound.leaves.items())


def _check_together(given: Mapping[str, Any]) -> None:
    """UsageError for arrays of the device beside arrays of the host."""
    there = next((n for n, v in given.items() if isinstance(v, DeviceArray)), None)
    here = next((n for n, v in given.items() if isinstance(v, np.ndarray) and v.ndim), None)
    if there is not None and here is not None:
        raise UsageError(f"{here} lies in the memory of the host, and {there} on a graphics processor", code="SG212",
                         help="pass both from one place: copy one of them yourself")


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
        if isinstance(value, PlainDirection):
            found: Any = self.direction(value)
        elif not isinstance(value, DeviceArray):
            found = as_input(value, array, np.empty(array.shape, array.dtype) if copied else None)
        elif copied:
            found = self.memory.copy(value)
        else:
            found = value.held_by(Borrowed(self.memory, value), self.memory.stream, self.memory.device)
        self.looked_at.append((value, found))
        return found

    def direction(self, asked: PlainDirection) -> DeviceArray:
        """Zeros, with ones where they are asked for."""
        made = self.memory.zeros(asked.shape, asked.dtype)
        if asked.ones:
            self.memory.send(np.ones(len(asked.ones), asked.dtype), made, asked.ones.start)
        return made

    def directions(self, code: Executable, arrays: Mapping[str, Array], given: Mapping[str, Any]) -> dict[str, Any]:
        """Seeds or tangents as the program takes them, a copy where it writes them."""
        return {n: self.input(v, arrays[n], n in code.written) for n, v in given.items()}

    def moved(self, leaf: Any) -> Any:
        """An array of the host that is part of a result, on the device."""
        return self.memory.put(leaf) if isinstance(leaf, np.ndarray) else leaf

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


def device_call(code: Executable, bound: Bound, donate: frozenset[str] = frozenset(),
                beside: Mapping[str, Any] | None = None) -> DeviceCall | None:
    """The call of a program with these arguments; None where they lie in the memory of the host. beside: seeds or
    tangents, by what they are called.

    UsageError for arrays of two devices, arrays with gaps, and arrays that nobody may write in `donate`.
    """
    given = {**dict(_labelled(bound)), **(beside or {})}
    arrays = {n: v for n, v in given.items() if isinstance(v, DeviceArray)}
    if not arrays:
        return None
    _check_together(given)
    if not code.on_device:
        raise UsageError(f"{next(iter(arrays))} lies on a graphics processor, and the program is one of the processor",
                         code="SG212", help="pass a copy in the memory of the host")
    for name, value in arrays.items():
        if not value.is_contiguous:
            raise UsageError(f"{name} is no block in C order", code="SG212",
                             help="a copy would be one: copy it on the device, and pass that")
    for name in donate:
        if isinstance(given_away := bound.leaves.get(name), DeviceArray) and given_away.fixed:
            raise UsageError(f"argument {name!r} cannot be given away: nobody may write into it", code="SG212",
                             help="leave it out of donate")
    # The caller's arrays come before copies that a pullback has kept: their stream is that of now.
    arrays = dict(sorted(arrays.items(), key=lambda item: isinstance(item[1].origin, KeptOwner)))
    streams = tuple(dict.fromkeys(s for v in arrays.values() if (s := v.stream) is not None)) or (STANDARD,)
    memory = code.memory_of(streams[0], _device(code, arrays))
    assert memory is not None, "the program is one of a device"
    for other in streams[1:]:
        memory.order(streams[0], other)
    return DeviceCall(memory, streams[1:])


def _device(code: Executable, arrays: Mapping[str, DeviceArray]) -> int:
    """The device that all arrays lie on."""
    found = {n: code.device_of(v.address) for n, v in arrays.items() if v.size}
    for name, device in found.items():
        if device < 0:
            raise UsageError(f"{name} says that it lies on a graphics processor, and its address is none there",
                             code="SG212", help="pass an array of the device, or one of NumPy")
    first = next(iter(found.items()), ("", 0))
    for name, device in found.items():
        if device != first[1]:
            raise UsageError(f"{first[0]} and {name} lie on two devices, {first[1]} and {device}", code="SG212",
                             help="copy one of them to the device of the other")
    return first[1]


def fetched(found: Any) -> Any:
    """A result for the host, which waits for it where it lies on a device."""
    return found.to_host() if isinstance(found, DeviceArray) else found


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
    taker = first.origin.taker if isinstance(first.origin, KeptOwner) else taker_of(caller_of(first))
    return taker(found)


class KeptOwner:
    """The owner of an array that stands for one of the caller: its elements, and how his library takes others."""

    def __init__(self, owner: Any, taker: Callable[[DeviceArray], Any]) -> None:
        self.owner, self.taker = owner, taker

    def order(self, stream: int) -> None:
        """As its owner has it."""
        self.owner.order(stream)

    def fetched(self, array: DeviceArray) -> np.ndarray:
        """As its owner has it."""
        found: np.ndarray = self.owner.fetched(array)
        return found


def copied_there(code: Executable, bound: Bound) -> Bound:
    """Arguments for calls to come, whatever the caller does with his: copies of those that somebody may write."""
    call = device_call(code, bound)
    assert call is not None, "there is an array of the device"

    def kept(value: Any) -> Any:
        if not isinstance(value, DeviceArray) or is_immutable(caller_of(value)):
            return value
        copy = call.memory.copy(value)
        return copy.held_by(KeptOwner(copy.origin, taker_of(caller_of(value))), call.memory.stream, call.memory.device)

    leaves = {n: kept(v) for n, v in bound.leaves.items()}
    call.memory.keep(list(bound.leaves.values()))
    return Bound({n: with_leaves(n, v, leaves) for n, v in bound.values.items()}, leaves, bound.signature)


def nameless(bound: Bound) -> Bound:
    """The same arguments as arrays of nobody's library: what calls give are `DeviceArray`s, for `handed_on`."""
    leaves = {n: v.with_origin(KeptOwner(v.origin, lambda found: found)) if isinstance(v, DeviceArray) else v
              for n, v in bound.leaves.items()}
    return Bound({n: with_leaves(n, v, leaves) for n, v in bound.values.items()}, leaves, bound.signature)


def stacked_there(arrays: Sequence[Any], along: tuple[int, ...], last: bool = False) -> DeviceArray:
    """Results of one shape side by side, on the device: along new dimensions in front, or behind, where strides say how
    they lie."""
    memory = next(a for a in arrays if isinstance(a, DeviceArray)).origin.memory
    made: DeviceArray = memory.stacked([a if isinstance(a, DeviceArray) else memory.put(np.asarray(a)) for a in arrays])
    shape, inner = made.shape[1:], made.strides[1:]
    outer = c_strides(along, made.strides[0])
    if last:
        return made.part(0, (*shape, *along), (*inner, *outer))
    return made.part(0, (*along, *shape), (*outer, *inner))
