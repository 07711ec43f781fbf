"""Gradients beside a second program in a session of its own, with bounds far above what a quiet machine shows."""
from __future__ import annotations

import pytest

from npbench_suite.perf import busy
from npbench_suite.perf.task import Task


@pytest.mark.slow
@pytest.mark.bench
@pytest.mark.parametrize("name", ["shallow_water", "line_stencil", "few_sums", "linear_solve", "jacobi_2d"])
def test_threads_do_no_harm_beside_another_job(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDFGAD_THREAD_GUARD", "1")
    found = busy.read(busy.measure(Task("busy", name, (1, 2), 3, 5.0, quick=True)))
    assert found.ratio.median < 2.5
