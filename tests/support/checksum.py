"""The checksum of snapshots on disk, in plain Python.

It is XXH64 (Y. Collet, xxHash, doc/xxhash_spec.md) of each block, seeded with the block's number, added up. The native
form is `codegen/runtime/sdfgad_snapshots.h`.
"""
from __future__ import annotations

BLOCK = 1 << 14
_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def checksum(data: bytes) -> int:
    """64 bits that tell `data` from what it may become on a disk."""
    return sum(xxh64(data[at:at + BLOCK], at // BLOCK) for at in range(0, len(data), BLOCK)) & _MASK


def xxh64(data: bytes, seed: int = 0) -> int:
    """The XXH64 hash."""
    at, total = 0, seed + _P5
    if len(data) >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while at + 32 <= len(data):
            for k in range(4):
                lanes[k] = _mixed(lanes[k], _word(data, at, 8))
                at += 8
        total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _mixed(0, lane)) * _P1 + _P4) & _MASK
    return _ended(data[at:], total + len(data))


def _ended(rest: bytes, total: int) -> int:
    """With the last words and bytes, and all bits spread."""
    while len(rest) >= 8:
        total = _rotated((total ^ _mixed(0, _word(rest, 0, 8))), 27) * _P1 + _P4
        rest = rest[8:]
    if len(rest) >= 4:
        total = _rotated(total ^ (_word(rest, 0, 4) * _P1 & _MASK), 23) * _P2 + _P3
        rest = rest[4:]
    for byte in rest:
        total = _rotated(total ^ (byte * _P5 & _MASK), 11) * _P1
    total &= _MASK
    total = ((total ^ (total >> 33)) * _P2) & _MASK
    total = ((total ^ (total >> 29)) * _P3) & _MASK
    return total ^ (total >> 32)


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at:at + size], "little")


def _mixed(lane: int, word: int) -> int:
    return _rotated(lane + word * _P2, 31) * _P1 & _MASK


def _rotated(x: int, by: int) -> int:
    x &= _MASK
    return (x << by | x >> (64 - by)) & _MASK
