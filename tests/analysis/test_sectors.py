"""What a graphics processor moves: sectors by the distance between neighbouring threads, and how long that takes."""
from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.analysis.cost import Work, work_of
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda import speeds
from sdfgad.codegen.cuda.target import CUDA
from sdfgad.transform.stages import prepare_program
from sdfgad.verbs.pipeline import parsed_call

N = 1 << 12
WIDE, LINE = sdfgad.spec((N, N)), sdfgad.spec(N)


def work(fn: Callable[..., Any], *arguments: Any) -> Work:
    program = prepare_program(parsed_call(fn, bind(fn, arguments, {}), "").program)
    return work_of(program.body, program.arrays)


def scattered(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    y = np.zeros(4)
    np.add.at(y, at, x)
    return y


@pytest.mark.parametrize("fn, expected", [
    (lambda x, w: np.sin(x), 16), (lambda x, w: np.sin(x.T), 8 + 32), (lambda x, w: x * w, 16),
    (lambda x, w: x * w[:, None], 16), (lambda x, w: 2 * x[:, ::2], (8 + 16) / 2),
    (lambda x, w: np.sum(x, axis=1), 8), (lambda x, w: np.sum(x[:16], axis=0), 9 / 256)],
    ids=["same order", "transposed", "row", "column", "every other", "long sums", "short sums"])
def test_bytes_of_a_point(fn: Callable[..., Any], expected: float) -> None:
    assert work(fn, WIDE, LINE).sectors == pytest.approx(expected * N * N, rel=0.01)


def test_elements_that_data_name() -> None:
    """Each is a sector; sums into them are atomic. Small arrays come in once."""
    many = 1 << 23
    found = work(lambda x, at: 2 * x[at], sdfgad.spec(many), sdfgad.spec(many, "int64"))
    assert found.sectors == pytest.approx((32 + 8) * many, rel=0.3) and not found.atomics
    assert work(scattered, np.ones(9), np.zeros(9, int)).atomics == 9


def test_seconds_and_what_is_kept(tmp_path: Path) -> None:
    own = speeds.DeviceSpeeds(bytes_per_second=1e12, operations_per_second=1e12, launch_seconds=1e-6,
                              atomics_per_second=1e9, measured=True, device="one")
    assert own.seconds(Work(sectors=2e12, shared=1e12)) == 2 and own.seconds(Work(shared=3e12, moved=9e12)) == 3
    assert own.seconds(Work(statements=2, atomics=1e9)) == pytest.approx(1 + 2e-6)
    with sdfgad.config(cache_dir=str(tmp_path)):
        assert speeds.device_speeds() == speeds.DeviceSpeeds() and not speeds.DeviceSpeeds().measured
        speeds.keep(own)
        assert speeds.device_speeds() == own == CUDA.machine()
        for wrong in (replace(own, launch_seconds=9.0), replace(own, bytes_per_second=0.0)):
            speeds.keep(wrong)
            assert speeds.device_speeds() == speeds.DeviceSpeeds()
        (tmp_path / speeds.FILE).write_text(json.dumps({"schema": "another", **asdict(own)}))
        speeds._speeds.cache_clear()
        assert speeds.device_speeds() == speeds.DeviceSpeeds()


def steps(x: np.ndarray, n: int) -> float:
    for _ in range(n):
        x[1:] = np.sin(x[:-1]) * x[1:]
    return np.sum(x)


def test_plans_tell_what_a_step_asks_for_and_keep_to_the_device() -> None:
    x = sdfgad.spec(1 << 18)  # too many for one kernel that waits at barriers
    usual = sdfgad.plan(steps, x, 40, device="gpu")
    assert usual.about.work is not None
    forward, reverse = usual.about.work.loops
    assert forward.line == reverse.line > 0 and forward.launches == 2 and reverse.moved_bytes > 4 * x.shape[0] * 8
    assert f"_ loop (line {forward.line}), per iteration: 2 kernels" in str(usual)
    assert usual.about.work.moved_bytes >= 40 * (forward.moved_bytes + reverse.moved_bytes)
    assert sdfgad.Plan.from_json(usual.to_json()).about.work == usual.about.work
    most = usual.predicted.peak_bytes // 2
    with sdfgad.config(target=replace(CUDA, memory=lambda: most)):
        assert sdfgad.plan(steps, x, 40).predicted.peak_bytes <= most
        with pytest.raises(sdfgad.MemoryLimitError, match="SG301"):
            sdfgad.plan(steps, x, 40, memory_limit="1MB")
