"""Numbers of bytes: what is read, what is refused, what is available."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdfgad import UsageError, memory
from sdfgad.memory import available_bytes, cgroup_remaining, format_bytes, parse_bytes


@pytest.mark.parametrize("text, count", [
    (4_000_000_000, 4_000_000_000),
    (np.int64(5), 5),
    (4e9, 4_000_000_000),
    (0, 0),
    ("0", 0),
    ("4096", 4096),
    ("4GB", 4 * 10**9),
    ("4gb", 4 * 10**9),
    ("4 GB", 4 * 10**9),
    (" 1.5 GiB ", 3 * 2**29),
    ("4GiB", 2**32),
    ("10kB", 10_000),
    ("10KiB", 10_240),
    ("2TB", 2 * 10**12),
    ("1EB", 10**18),
    ("7B", 7),
    ("4e9", 4 * 10**9),
    ("1e-3GB", 10**6),
    ("0.1GB", 10**8),
    (".5MB", 500_000),
])
def test_limits_are_read_exactly(text: object, count: int) -> None:
    assert parse_bytes(text) == count


def test_no_limit() -> None:
    assert parse_bytes(None) is None


@pytest.mark.parametrize("text", [
    "", "GB", "4XB", "-4GB", "4GB extra", "4,5GB", "0x10", "nan", "inf", "1e999999999", "%", "4%GB", -1, 1.5, True,
    float("nan"), float("inf"), [4], "٤GB" * 2,
])
def test_what_is_not_a_number_of_bytes_is_refused(text: object) -> None:
    with pytest.raises(UsageError, match="SG206"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["4G", "4g", "512M", "100k", "1T"])
def test_a_bare_letter_is_refused_with_both_readings(text: str) -> None:
    number, letter = text[:-1], text[-1].upper()
    with pytest.raises(UsageError, match=f'write "{number}{letter}B" or "{number}{letter}iB"'):
        parse_bytes(text)


def test_a_share_is_of_what_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    assert parse_bytes("80%") == 800
    assert parse_bytes("12.5 %") == 125
    with pytest.raises(UsageError, match="more than what is available"):
        parse_bytes("180%")


@given(st.integers(0, 10**15), st.sampled_from(["kB", "MB", "GB", "KiB", "MiB", "GiB"]))
def test_whole_numbers_of_units(number: int, unit: str) -> None:
    base, power = (1024 if "i" in unit else 1000), " kmg".index(unit[0].lower())
    assert parse_bytes(f"{number}{unit}") == number * base**power


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(parse_bytes(text), int)
    except UsageError:
        pass


@pytest.mark.parametrize("count, text", [
    (0, "0 B"), (512, "512 B"), (999, "999 B"), (1000, "1 kB"), (21_000, "21 kB"), (8_390_000_000, "8.39 GB"),
    (210_000_000, "210 MB"), (999_600, "1 MB"), (99_960, "100 kB"), (2.1e6, "2.1 MB"), (5e21, "5000 EB"),
])
def test_bytes_are_printed_with_three_digits(count: float, text: str) -> None:
    assert format_bytes(count) == text


@given(st.integers(0, 10**18))
def test_what_is_printed_can_be_read_again(count: int) -> None:
    assert parse_bytes(format_bytes(count)) == pytest.approx(count, rel=0.006)


def test_available_is_at_most_what_the_machine_has() -> None:
    assert 0 < available_bytes() <= psutil.virtual_memory().total


def test_a_batch_job_bounds_what_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1")
    assert available_bytes() == 2**20


def _files(folder: Path, **contents: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_control_groups_version_2(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "cgroup" / "job" / "step"
    _files(own, memory__max="max", memory__current=10)
    _files(own.parent, memory__max=1000, memory__current=700, memory__stat="anon 500\ninactive_file 200")
    membership = tmp_path / "self"
    membership.write_text("0::/job/step\n")
    assert cgroup_remaining(root, membership) == 500


def test_control_groups_version_1(tmp_path: Path) -> None:
    _files(tmp_path / "memory" / "job", memory__limit_in_bytes=1000, memory__usage_in_bytes=400)
    _files(tmp_path / "memory", memory__limit_in_bytes=2**63 - 4096, memory__usage_in_bytes=10**9)
    membership = tmp_path / "self"
    membership.write_text("5:cpu:/job\n4:memory:/job\n0::/\n")
    assert cgroup_remaining(tmp_path, membership) == 600


def test_no_control_group(tmp_path: Path) -> None:
    assert cgroup_remaining(tmp_path, tmp_path / "missing") is None
