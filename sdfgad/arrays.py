"""Arrays that programs take: those of NumPy's own class, and specs in their place."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdfgad.errors import UsageError

_PLAIN = (np.ndarray, np.memmap)
TURNED, BLOCK = "turned", "block"


@dataclass(frozen=True)
class Spec:
    """A stand-in for an array: a shape and a dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype


def spec(shape: int | Iterable[int], dtype: Any = "float64") -> Spec:
    """A stand-in for an array in `plan`: shape and dtype, no data. A call of a gradient with one is a UsageError."""
    extents = tuple(shape) if np.iterable(shape) else (shape,)
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in extents):
        raise UsageError(f"spec({shape!r}): a shape is an integer or a tuple of integers, none of them negative",
                         code="SG205")
    return Spec(tuple(map(int, extents)), np.dtype(dtype))


class DistributedArray(Spec):
    """An array of which a rank has a block, as an argument that `distribute=` cuts.

    local: the block of this rank, floating or complex; shape: of the whole array. Where the block begins is decided by
    the call.
    """

    local: np.ndarray
    first: tuple[int, ...] | None

    def __init__(self, local: np.ndarray, shape: tuple[int, ...], first: tuple[int, ...] | None = None) -> None:
        local = np.asarray(local)
        super().__init__(tuple(int(n) for n in shape), local.dtype)
        object.__setattr__(self, "local", local)
        object.__setattr__(self, "first", first)

    def within(self, window: tuple[tuple[int, int], ...], room: np.ndarray) -> np.ndarray:
        """Room for a window of the array, with the block of this rank in it."""
        if self.first is None:
            raise UsageError("a block of a distributed array where all of it is needed", code="SG205",
                             help="grad, value_and_grad and forward take one with distribute=")
        room[tuple(slice(at - low, at - low + n) for at, n, (low, _) in
                   zip(self.first, self.local.shape, window, strict=True))] = self.local
        return room


    def fills(self, window: tuple[tuple[int, int], ...]) -> bool:
        """Whether the block is all of a window, and lies as programs take it."""
        side = zip(self.first or (), self.local.shape, strict=True)
        return bool(self.local.flags.carray) and tuple((at, at + n) for at, n in side) == window


def how_it_lies(value: Any) -> str | None:
    """What may be in the way of a program that takes an argument as it is: another order than C's, or a block alone."""
    if isinstance(value, DistributedArray):
        return BLOCK if value.local.flags.c_contiguous else TURNED
    return TURNED if isinstance(value, np.ndarray) and not value.flags.c_contiguous else None


def lying(leaves: Mapping[str, Any]) -> dict[str, str]:
    """The same of arguments, by the names of those of which there is anything to say."""
    return {name: how for name, value in leaves.items() if (how := how_it_lies(value)) is not None}


def in_memory(value: Any) -> Any:
    """What there is of an argument in the memory of this process."""
    return value.local if isinstance(value, DistributedArray) else value


_ORDERS = (np.less, np.less_equal, np.greater, np.greater_equal)


def in_words(ufunc: np.ufunc, values: Sequence[Any]) -> list[Any]:
    """Operands of one operation: integers that no machine word holds are floats beside a float, as in NumPy, and where
    they divide or are divided; compared with integers, they are beyond all of them."""
    kinds = {v.dtype.kind for v in values if getattr(v, "dtype", None) is not None}
    low, high = (0, 2 ** 64) if "u" in kinds else (-2 ** 63, 2 ** 63)
    if kinds & set("fc") or ufunc is np.true_divide:
        return [float(v) if _is_beyond(v, low, high) and v.bit_length() < 1024 else v for v in values]
    if ufunc not in _ORDERS:
        return list(values)
    return [math.copysign(math.inf, v) if _is_beyond(v, low, high) else v for v in values]


def _is_beyond(value: Any, low: int, high: int) -> bool:
    return type(value) is int and not low <= value < high


def special_class(value: Any) -> type | None:
    """The class of an array that is not NumPy's own: its operators may mean something else (matrices, masks, units)."""
    form = type(value)
    return form if form not in _PLAIN and isinstance(value, np.ndarray) else None


def native(dtype: np.dtype) -> np.dtype:
    """The dtype in the byte order of this machine, which compiled programs compute in."""
    return np.dtype(dtype).newbyteorder("=")
