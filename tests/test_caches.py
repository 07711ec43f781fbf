"""What Linux tells of caches, and what is made of it."""
from __future__ import annotations

from pathlib import Path

import pytest

from sdfgad.caches import USUAL, Caches, caches_in
from sdfgad.thresholds import Thresholds, of_caches

KB = 1 << 10


def described(folder: Path, *levels: tuple[str, str, str, str]) -> Caches:
    """What is read where the kernel tells of these: level, type, size, processors that share it."""
    for k, texts in enumerate(levels):
        place = folder / "cache" / f"index{k}"
        place.mkdir(parents=True)
        for name, text in zip(("level", "type", "size", "shared_cpu_list"), texts, strict=True):
            (place / name).write_text(f"{text}\n")
    return caches_in(folder)


def test_a_usual_processor(tmp_path: Path) -> None:
    found = described(tmp_path, ("1", "Data", "48K", "0,32"), ("1", "Instruction", "32K", "0,32"),
                      ("2", "Unified", "2048K", "0,32"), ("3", "Unified", "60M", "0-63"))
    assert found == Caches(48 * KB, 2048 * KB)


def test_cores_that_share_their_second_cache(tmp_path: Path) -> None:
    found = described(tmp_path, ("1", "Data", "64K", "0"), ("2", "Unified", "2M", "0-3"))
    assert found == Caches(64 * KB, 512 * KB)


@pytest.mark.parametrize("level", [("1", "Data", "", "0"), ("1", "Data", "many", "0"), ("1", "Data", "32K", "?")])
def test_what_cannot_be_read_is_usual(tmp_path: Path, level: tuple[str, str, str, str]) -> None:
    assert described(tmp_path, level) == USUAL
    assert caches_in(tmp_path / "nowhere") == USUAL


def test_strange_sizes_are_brought_in_range(tmp_path: Path) -> None:
    found = described(tmp_path, ("1", "Data", "1K", "0"), ("2", "Unified", "1G", "0"))
    assert found == Caches(USUAL.near // 4, 8 * USUAL.own)


def test_thresholds_of_the_usual_caches_are_the_table() -> None:
    assert repr(of_caches(USUAL)) == repr(Thresholds())


def test_what_stays_in_a_cache_grows_with_it() -> None:
    large = of_caches(Caches(2 * USUAL.near, 4 * USUAL.own))
    assert large.jammed_bytes == 2 * Thresholds().jammed_bytes
    assert large.rows.nearby == 4 * Thresholds().rows.nearby and large.rows.trips == Thresholds().rows.trips
