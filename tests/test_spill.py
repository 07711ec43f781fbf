"""Snapshots on disk: the same gradient in less memory, nothing left behind, a full disk found out beforehand."""
from __future__ import annotations

import ctypes
import dataclasses
import errno
import mmap
import os
import sys

import numpy as np
import pytest

import sdfgad
from sdfgad.checkpoint.modes import SEGMENTS, Mode
from sdfgad.errors import MemoryLimitError, SnapshotError, UsageError

N = 50_000


def waves(u, v):
    for _ in range(40):
        un, vn = u.copy(), v.copy()
        u[1:-1] = un[1:-1] - 0.1 * un[1:-1] * (un[1:-1] - un[:-2]) + 0.1 * vn[2:]
        v[1:-1] = vn[1:-1] - 0.1 * un[1:-1] * (vn[1:-1] - vn[:-2])
    return (u * u + v).sum()


def settling(u, v):
    """A loop of unknown length."""
    e = 1.0
    while e > 1e-6:
        w = 0.5 * u + 0.4 * np.sin(u) * v
        e = ((w - u) ** 2).sum()
        u[:] = w
    return (u * u * v).sum()


@pytest.fixture
def data():
    rng = np.random.default_rng(2)
    return rng.uniform(0.2, 1.0, N), rng.uniform(0.2, 1.0, N)


def test_snapshots_on_disk_take_no_memory(data, tmp_path):
    expected = sdfgad.grad(waves)(*data)
    on_disk, in_memory = (sdfgad.grad(waves, snapshot="_", memory_limit="8MB", spill=s) for s in (tmp_path, None))
    plan = on_disk.plan(*data)
    assert plan.modes and plan.predicted.peak_bytes < in_memory.plan(*data).predicted.peak_bytes
    with sdfgad.config(check="error"):
        found = on_disk(*data)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert not list(tmp_path.iterdir())


def test_a_limit_that_memory_alone_cannot_keep(data, tmp_path):
    with pytest.raises(MemoryLimitError) as refused:
        sdfgad.plan(waves, *data, memory_limit=1)
    less = refused.value.minimum_bytes - 8 * N
    assert sdfgad.plan(waves, *data, memory_limit=less, spill=tmp_path).predicted.peak_bytes <= less


def test_loops_of_unknown_length(data, tmp_path):
    expected = sdfgad.grad(settling)(*data)
    limited = sdfgad.grad(settling, memory_limit="6MB", spill=tmp_path)
    for one, other in zip(limited(*data), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def misdirecting(slot_bytes):
    """As `mmap.mmap`, for a disk that writes a page of the second slot where one of the first belongs: both pages of
    the mapping are the same page of the file."""
    real, page = mmap.mmap, mmap.PAGESIZE
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    fixed = 0x10

    def mapped(file, size, **how):
        if how:  # memory, and no file
            return real(file, size, **how)
        pages = real(file, size)
        start = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + 3 * page
        elsewhere = slot_bytes // page * page + 3 * page
        if elsewhere + page <= size:
            rights = mmap.PROT_READ | mmap.PROT_WRITE
            found = library.mmap(start, page, rights, mmap.MAP_SHARED | fixed, file, elsewhere)
            assert found == start, os.strerror(ctypes.get_errno())
        return pages
    return mapped


def in_segments(data, folder):
    """A plan with several snapshots."""
    plan = sdfgad.plan(waves, *data, snapshot="_", spill=folder)
    return dataclasses.replace(plan, modes=dict.fromkeys(plan.modes, Mode(SEGMENTS, 8)))


@pytest.mark.skipif(sys.platform != "linux", reason="maps a page twice as Linux does")
@pytest.mark.parametrize("fn", [waves, settling])
def test_a_write_that_went_elsewhere(fn, data, tmp_path, monkeypatch):
    how = {"plan": in_segments(data, tmp_path)} if fn is waves else {"memory_limit": "6MB"}
    gradient = sdfgad.grad(fn, spill=tmp_path, **how)
    expected = sdfgad.grad(fn)(*data)
    before = [a.copy() for a in data]
    with monkeypatch.context() as broken:
        broken.setattr(mmap, "mmap", misdirecting(8 * N))
        with pytest.raises(SnapshotError, match="the snapshot of u from disk is damaged, nothing") as found:
            gradient(*data)
        assert isinstance(found.value, OSError) and found.value.code == "SG305" and found.value.array == "u"
    assert all(np.array_equal(a, b) for a, b in zip(before, data, strict=True))
    for one, other in zip(gradient(*data), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert not list(tmp_path.iterdir())


def test_seals_are_part_of_the_plan(data, tmp_path):
    """What is held of a snapshot on disk is its checksum, and it is counted."""
    plan = sdfgad.plan(waves, *data, snapshot="_", spill=tmp_path)
    counts = {mode.count for mode in plan.modes.values()}
    assert {name: plan.problem.base[name] for name in ("seal_u", "seal_v")} == dict.fromkeys(
        ("seal_u", "seal_v"), 8 * counts.pop())


def test_a_folder_that_is_not_there(data, tmp_path):
    with pytest.raises(UsageError, match="no file can be made there"):
        sdfgad.grad(waves, snapshot="_", spill=tmp_path / "nowhere")(*data)


def test_a_full_disk(data, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "posix_fallocate", full)
    before = [a.copy() for a in data]
    with pytest.raises(MemoryLimitError, match="do not fit on the disk") as refused:
        sdfgad.grad(waves, snapshot="_", spill=tmp_path)(*data)
    assert refused.value.code == "SG304"
    assert all(np.array_equal(a, b) for a, b in zip(before, data, strict=True))
    assert not list(tmp_path.iterdir())
