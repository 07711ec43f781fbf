"""Calls with arguments of the same kinds as those of a call before, of which only what may differ is looked at.

The first call finds out which program fits its arguments, and where the program wants each of them. That takes longer
than a small gradient; here it is only compared. Whatever is not just like before goes the long way again.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from ctypes import addressof, c_double
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdfgad.calls.arguments import BY_VALUE, Bound, in_order, positional
from sdfgad.calls.bindings import Bindings
from sdfgad.calls.buffers import LEAST_BYTES, room
from sdfgad.codegen.program import Executable, address
from sdfgad.config import thread_count
from sdfgad.frontend.state.aliases import extent
from sdfgad.ir.program import Array
from sdfgad.rooms import ListOutgrown

UNLIKE = object()
"""In place of a result: the call is not like the one before."""
_USUAL = 0x1 | 0x100 | 0x400
"""Flags of an array in C order, aligned, that may be written."""
_OWN = 0x4
"""The flag of an array with memory of its own: two such arrays share nothing."""
_FLOATS = (float, np.float64)
Memory = dict[str, np.ndarray]


class FastCall:
    """The call of a program with arguments of known kinds. finish: from the arrays afterwards to what the caller gets.
    """

    def __init__(self, fn: Callable[..., Any], by_position: int, places: Bindings, wanted: Sequence[_Wanted],
                 code: Executable, finish: Callable[[Memory], Any], given_away: bool) -> None:
        place = {n: k for k, n in enumerate(code.arguments)}
        self._fn, self._code, self._finish = fn, code, finish
        self._parsed = places.parsed
        self._by_position, self._given_away = by_position, given_away
        self._wanted: list[tuple[Any, ...]] = [
            (w.kind, w.like, w.dtype, w.array, place.get(w.array, -1), w.copied) for w in wanted]
        self._made = [(a.name, a.shape, a.dtype, place.get(a.name, -1)) for a in places.made]
        self._checked = [(k, w.leaf) for k, w in enumerate(wanted) if w.dtype is not None] if self._parsed.accesses \
            else []
        self._addresses = len(place)
        self._updated = [k for k, w in enumerate(wanted) if w.kind is np.ndarray and w.guarded]
        self._outside = [extent(a) for _, a in self._parsed.outside] if self._updated else []

    def __call__(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """What the call gives, or `UNLIKE`."""
        if keywords or len(args) != len(self._wanted) or len(args) > self._by_position:
            values = in_order(self._fn, args, keywords)
            if values is None:
                return UNLIKE
            args = tuple(values.values())
        memory: Memory = {}
        addresses: list[Any] = [0] * self._addresses
        held: list[Any] = []  # what lives until the call is over
        if not self._parsed.surroundings.unchanged() or not self._put(args, memory, addresses, held):
            return UNLIKE
        if self._checked:
            self._parsed.check_indices({leaf: args[k] for k, leaf in self._checked})
        for name, shape, dtype, place in self._made:
            memory[name] = array = room().empty(shape, dtype)
            addresses[place] = address(array)
        try:
            self._code.run(addresses, thread_count())
        except ListOutgrown:
            if self._given_away:
                raise
            return UNLIKE
        return self._finish(memory)

    def _put(self, args: Sequence[Any], memory: Memory, addresses: list[Any], held: list[Any]) -> bool:
        """Whether all arguments are as wanted; their addresses, and copies of those that the program writes."""
        arrays: list[np.ndarray] = []
        own = True
        for value, (kind, like, dtype, name, place, copied) in zip(args, self._wanted, strict=True):
            if type(value) is not kind:
                return False
            if kind is np.ndarray:
                flags = value.flags.num
                if value.dtype is not dtype or value.shape != like or flags & _USUAL != _USUAL:
                    return False
                arrays.append(value)
                own = own and flags & _OWN != 0
                memory[name] = array = _copy(value) if copied else value
                addresses[place] = address(array)
            elif dtype is not None:
                held.append(number := c_double(value))
                addresses[place] = addressof(number)
            elif value != like:
                return False
        if not self._updated:  # nobody can tell whether arrays that are only read share memory
            return True
        alone = len(arrays) < 2 or own and len(set(map(id, arrays))) == len(arrays) or _apart(arrays)
        return alone and not (self._outside and self._meets_outside(args))

    def _meets_outside(self, args: Sequence[Any]) -> bool:
        """Whether an argument that is updated may share memory with an array from outside."""
        for k in self._updated:
            start = address(args[k])
            end = start + args[k].nbytes
            for low, high in self._outside:
                if low < end and start < high:
                    return True
        return False


class Once:
    """How calls of one program are repeated, found out after the first of them."""

    def __init__(self) -> None:
        self._found: list[FastCall | None] = []

    def __call__(self, find: Callable[[], FastCall | None]) -> FastCall | None:
        """What `find` gave the first time."""
        if not self._found:
            self._found.append(find())
        return self._found[0]


def _apart(arrays: Iterable[np.ndarray]) -> bool:
    """Whether no two of the arrays, all in C order, share memory."""
    end = 0
    for start, size in sorted((address(a), a.nbytes) for a in arrays):
        if start < end:
            return False
        end = start + size
    return True


def _copy(value: np.ndarray) -> np.ndarray:
    if value.nbytes < LEAST_BYTES:
        return value.copy()
    found = room().empty(value.shape, value.dtype)
    found[...] = value
    return found


@dataclass(frozen=True)
class _Wanted:
    """kind: the type of an argument; like: the shape of an array, or the value; dtype: of what the program gets, None
    when the value is built in; leaf, array: its names; copied: the program gets a copy; guarded: nothing may share
    memory with it."""

    kind: type
    like: Any
    leaf: str
    dtype: np.dtype | None = None
    array: str = ""
    copied: bool = False
    guarded: bool = False


def fast_call_of(fn: Callable[..., Any], bound: Bound, places: Bindings, code: Executable, donate: Collection[str],
              seen: Iterable[str], finish: Callable[[Memory], Any]) -> FastCall | None:
    """How to call the program again with arguments like those of `bound`; `finish` looks at the arrays `seen`.

    None unless each argument is a float, an array in its usual form that the program takes as it is, or is built into
    the program.
    """
    inputs = {leaf: (n, a, written) for leaf, n, a, written in places.inputs}
    guarded = places.parsed.updated.union(donate)
    wanted = [_wanted(name, value, inputs, donate, guarded) for name, value in bound.values.items()]
    known = [w for w in wanted if w is not None]
    arrays = {w.array for w in known if w.kind is np.ndarray} | {a.name for a in places.made}
    by_position = positional(fn)
    complete = len(known) == len(wanted) and arrays.issuperset(seen) and \
        arrays | {w.array for w in known if w.array} == set(code.arguments) and \
        all(a.role != "disk" for a in places.made)
    if not complete or by_position is None:
        return None
    return FastCall(fn, by_position, places, known, code, finish, bool(donate))


def _wanted(name: str, value: Any, inputs: Mapping[str, tuple[str, Array, bool]],
            donate: Collection[str], guarded: Collection[str]) -> _Wanted | None:
    """What later arguments have to be like to take the place of this one."""
    if type(value) in BY_VALUE:
        return _Wanted(type(value), value, name)
    if name not in inputs:
        return None
    array, declared, written = inputs[name]
    if type(value) in _FLOATS and declared.dtype == np.float64 and not declared.shape:
        return _Wanted(type(value), None, name, declared.dtype, array)
    if type(value) is np.ndarray and value.shape == declared.shape and value.dtype == declared.dtype and \
            value.dtype.isnative:
        return _Wanted(np.ndarray, value.shape, name, value.dtype, array, written and name not in donate,
                       name in guarded)
    return None
