"""The checksum of snapshots: the values of the specification, and what it has to tell apart."""
from __future__ import annotations

import numpy as np
import pytest

from tests.support.checksum import BLOCK, checksum, xxh64

WHOLE = np.random.default_rng(4).bytes(2 * BLOCK + 100)


@pytest.mark.parametrize(("text", "seed", "expected"), [
    (b"", 0, 0xEF46DB3751D8E999), (b"a", 0, 0xD24EC4F1A98C6E5B), (b"abc", 0, 0x44BC2CF5AD770999),
    (b"xxhash", 0, 0x32DD38952C4BC720), (b"xxhash", 20141025, 0xB559B98D844E0635),
    (b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG", 7, 0xEF7B6C4C6F3BDB20)])
def test_it_is_xxh64(text, seed, expected):
    assert xxh64(text, seed) == expected


@pytest.mark.parametrize("bit", [0, 63, 64, 8 * 33, 8 * BLOCK - 1, 8 * BLOCK, 8 * len(WHOLE) - 1])
def test_one_bit(bit):
    changed = bytearray(WHOLE)
    changed[bit // 8] ^= 1 << bit % 8
    assert checksum(bytes(changed)) != checksum(WHOLE)


@pytest.mark.parametrize("size", [8, 32, 4096, BLOCK], ids="neighbouring pieces of {} bytes".format)
def test_order_counts(size):
    first, second, rest = WHOLE[:size], WHOLE[size:2 * size], WHOLE[2 * size:]
    assert checksum(second + first + rest) != checksum(WHOLE)


def test_length_counts():
    assert len({checksum(bytes(n)) for n in (0, 1, 8, 32, BLOCK, BLOCK + 1)}) == 6
