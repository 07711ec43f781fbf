"""Arguments that share memory with one another, or with an array from outside.

To the program every argument is an array of its own. As long as nobody writes, no one can tell: two arguments that are
only read each have their own partial derivative, even if they are one array. An array that is written is another
matter: in NumPy what shares its memory changes as well.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from sdfgad.arrays import in_memory
from sdfgad.errors import AliasError
from sdfgad.foreign.device_array import DeviceArray


def check_written(written: Collection[str], leaves: Mapping[str, Any],
                  outside: Iterable[tuple[str, np.ndarray]]) -> None:
    """AliasError if one of the arguments `written`, by path, shares memory with another one or an array outside."""
    arrays = {path: value for path, leaf in leaves.items()
              if isinstance(value := in_memory(leaf), (np.ndarray, DeviceArray)) and value.size}
    for path in (p for p in arrays if p in written):
        for other, array in arrays.items():
            if other != path and _share(array, arrays[path]):
                first, second = (n for n in arrays if n in (path, other))
                raise AliasError(f"arguments {first!r} and {second!r} share memory, and the function updates {path!r}",
                                 help="pass a copy of one of them")
        for name, array in outside:
            if _share(array, arrays[path]):
                raise AliasError(f"argument {path!r}, which the function updates, shares memory with {name!r}, an "
                                 "array from outside the function", help="pass a copy")


def _share(a: Any, b: Any) -> bool:
    if isinstance(a, DeviceArray) or isinstance(b, DeviceArray):
        return isinstance(a, DeviceArray) and isinstance(b, DeviceArray) and _overlap(a.extent, b.extent)
    # Two arrays with memory of their own are told apart at once, which is the usual case.
    if a is not b and a.flags.owndata and b.flags.owndata:
        return False
    return np.may_share_memory(a, b) and np.shares_memory(a, b)


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def extent(array: np.ndarray) -> tuple[int, int]:
    """The addresses between which the elements of an array lie."""
    low = high = int(array.__array_interface__["data"][0])
    if not array.size:
        return low, low
    for n, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, (n - 1) * stride), high + max(0, (n - 1) * stride)
    return low, high + array.itemsize
