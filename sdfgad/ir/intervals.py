"""Intervals of integers: both ends belong to them, None is no end."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Bounds: TypeAlias = tuple[int | None, int | None]


def known_of(pick: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    """What is picked of two bounds, of which one may be missing."""
    return b if a is None else a if b is None else pick(a, b)


def product(a: Bounds, b: Bounds) -> Bounds:
    """Where the products of two numbers lie that lie in two intervals."""
    if a == (0, 0) or b == (0, 0):
        return (0, 0)
    if a[0] is not None and a[0] == a[1]:
        a, b = b, a
    if b[0] is not None and b[0] == b[1]:
        scaled = (None if a[0] is None else a[0] * b[0], None if a[1] is None else a[1] * b[0])
        return scaled if b[0] >= 0 else (scaled[1], scaled[0])
    if None in a or None in b:
        nonnegative = a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0
        return (a[0] * b[0] if nonnegative else None, None)  # type: ignore[operator]
    corners = [x * y for x in a for y in b]  # type: ignore[operator]
    return min(corners), max(corners)
