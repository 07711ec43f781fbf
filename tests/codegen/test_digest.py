"""Numbers that stand for what arrays hold."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.compiling.digest import digest_of_array
from tests.support.checksum import checksum

BLOCK = (1 << 14) // 8
WHOLE = np.random.default_rng(3).random(3 * BLOCK + 5)


def _turned(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array[BLOCK:2 * BLOCK], array[:BLOCK], array[2 * BLOCK:]])


OTHERS = {
    "signs": lambda a: -a, "signs of two": lambda a: np.where(np.arange(a.size) < 2, -a, a),
    "signs of single precision": lambda a: (-a.view(np.float32)).view(np.float64), "order": lambda a: a[::-1],
    "two": lambda a: np.concatenate([a[1::-1], a[2:]]), "two of two blocks": lambda a: np.roll(a, BLOCK),
    "blocks": _turned, "length": lambda a: a[:-1], "doubled": lambda a: 2 * a,
    "halves": lambda a: np.roll(a.view(np.float32), 1).view(np.float64), "zeros": np.zeros_like,
    "more zeros": lambda a: np.zeros(a.size + 1), "nothing": lambda a: a[:0]}


def test_the_same_bytes_have_one_digest() -> None:
    spread = np.zeros((WHOLE.size, 2))
    spread[:, 1] = WHOLE
    assert digest_of_array(WHOLE.copy()) == digest_of_array(spread[:, 1]) == digest_of_array(WHOLE)
    assert digest_of_array(np.float64(2.0)) == digest_of_array(np.array([2.0]))


def test_arrays_that_differ_in_many_places_have_others() -> None:
    found = {name: digest_of_array(other(WHOLE)) for name, other in OTHERS.items()}
    assert len({*found.values(), digest_of_array(WHOLE)}) == len(OTHERS) + 1, found


@pytest.mark.parametrize("place", [0, 7, BLOCK - 1, BLOCK, 3 * BLOCK + 4])
def test_every_bit_counts(place: int) -> None:
    found = {digest_of_array(WHOLE)}
    for bit in range(64):
        other = WHOLE.copy()
        other.view(np.uint64)[place] ^= np.uint64(1 << bit)
        found.add(digest_of_array(other))
    assert len(found) == 65


@pytest.mark.parametrize("size", [0, 1, 37, 4096, (1 << 14) + 3])
def test_it_is_the_checksum_of_snapshots(size: int) -> None:
    data = np.arange(size, dtype=np.uint8)
    assert digest_of_array(data) == checksum(data.tobytes())
