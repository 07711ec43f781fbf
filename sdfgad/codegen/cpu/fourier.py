"""The room that Fourier transforms take while they run: what `runtime/sdfgad_fourier.h` asks for, byte by byte."""
from __future__ import annotations

from math import isqrt

LARGEST_FACTOR, SHORT, BLOCK = 31, 32, 2048
_LINE, _ROOT = 64, 16
"""Bytes of one number of each of several signals, and of a root of unity in full precision."""


def room(count: int, n: int, size: int) -> int:
    """Bytes for `count` transforms of length n, of numbers of `size` bytes."""
    if not n or not count:
        return 0
    if not _has_small_factors(n):
        return _convolved(n, size)
    lanes = _LINE // size
    if n <= SHORT or n <= BLOCK and 2 * count > lanes:
        return _together(n, size)
    return _alone(n, size)


def most_room(n: int, size: int) -> int:
    """A bound for every length up to n: largest divisors are no smaller than sqrt(length / LARGEST_FACTOR)."""
    padded = _padded(n)
    widest = _together(min(n, BLOCK), size) + 6 * _together(isqrt(padded) + 1, size)
    return widest + (n + 3 * padded) * size + _roots(2 * n) + _roots(padded)


def _together(n: int, size: int) -> int:
    return n * size + 2 * n * _LINE


def _alone(n: int, size: int) -> int:
    first = next(d for d in range(isqrt(n), 0, -1) if n % d == 0)
    return _together(first, size) + _together(n // first, size) + _roots(n) + n * size


def _convolved(n: int, size: int) -> int:
    padded = _padded(n)
    return (n + 2 * padded) * size + _alone(padded, size) + _roots(2 * n)


def _roots(n: int) -> int:
    bits = next(b for b in range(64) if 1 << 2 * b >= n)
    return ((1 << bits) + (n >> bits) + 1) * _ROOT


def _padded(n: int) -> int:
    size = 2 * n - 1
    while size % 4 or _rest(size, (2, 3, 5)) != 1:
        size += 1
    return size


def _has_small_factors(n: int) -> bool:
    return _rest(n, range(2, LARGEST_FACTOR + 1)) == 1


def _rest(n: int, factors: range | tuple[int, ...]) -> int:
    for p in factors:
        while n % p == 0:
            n //= p
    return n
