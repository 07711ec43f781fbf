"""The memory of a gradient, told apart from what the process needed before."""

from __future__ import annotations

import mmap
from dataclasses import asdict, replace

import pytest

from npbench_suite.harness import resident
from npbench_suite.harness.columns import COLUMNS
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.row import Check, Costs, Row, row_of

JOB = Job("gemm", "sdfgad", 1, "S", 3, "", budget=0.1)


def timed() -> Run:
    return resident.with_gradient_times(Run.of(JOB).with_times("gradient", 1.0, []), lambda: None, JOB)


def test_memory_used_before_is_not_the_gradients():
    if not resident.mark():
        pytest.skip("this system does not reset peaks")
    # Fresh pages: an array may lie in what others have freed, which is resident already.
    with mmap.mmap(-1, 1 << 27) as big:
        for page in range(0, 1 << 27, mmap.PAGESIZE):
            big[page] = 1
    run = timed()
    assert run.gradient_rss_bytes is not None
    assert run.gradient_rss_bytes < run.peak_rss_bytes - (1 << 26)


def test_unknown_where_the_mark_cannot_be_set(monkeypatch, tmp_path):
    monkeypatch.setattr(resident, "MARK", tmp_path / "no" / "clear_refs")
    run = timed()
    assert not resident.mark()
    assert run.gradient_rss_bytes is None
    assert run.peak_rss_bytes > 0
    assert len(run.times["gradient"]) > 0


def test_unknown_where_the_status_cannot_be_read(monkeypatch, tmp_path):
    monkeypatch.setattr(resident, "STATUS", tmp_path / "status")
    assert timed().gradient_rss_bytes is None


def test_the_report_takes_an_unknown_peak():
    run = replace(Run.of(JOB), status="ok").with_times("gradient", 1.0, [1.0])
    port = replace(run, competitor="jax:literal")
    row = row_of("gemm", [run, port], [Check("JAX", 0.0, 1e-8)])
    assert row.ours.peak_rss_bytes is None
    assert Row.from_dict(asdict(row)) == row
    assert [column.text(row) for column in COLUMNS if column.name in ("RSS", "JAX RSS")] == ["-", "-"]


def test_one_known_peak_is_enough():
    run = Run.of(JOB).with_times("gradient", 1.0, [1.0])
    assert Costs.of([run, Run("gemm", "sdfgad", 2, gradient_rss_bytes=7)], "sdfgad").peak_rss_bytes == 7
