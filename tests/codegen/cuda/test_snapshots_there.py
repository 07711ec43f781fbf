"""Snapshots of a device in pinned memory of the host: the same gradient in fewer bytes, each wait in its place."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.compiling.build import RUNTIME
from sdfgad.codegen.target import Target
from sdfgad.errors import UnsupportedError, UsageError
from tests.support.device_arrays import InterfaceArray, cuda, got, guarded
from tests.support.on_cpu import on_cpu, running_here

N, STEPS = 400, 40
X = np.linspace(0.1, 0.9, N)


def steps(x: np.ndarray, n: int) -> float:
    for _ in range(n):
        x[1:-1] = np.sin(x[1:-1]) * 0.5 + 0.25 * x[:-2] * x[2:]
    return np.sum(x * x)


EXPECTED = sdfgad.grad(steps, wrt="x")(X.copy(), STEPS)


def spilled(**options: object) -> sdfgad.Plan:
    return sdfgad.grad(steps, wrt="x", snapshot="_", spill="host", **options)


def test_the_same_gradient_in_fewer_bytes() -> None:
    """What is counted is what was predicted."""
    with running_here():
        own, there = sdfgad.grad(steps, wrt="x", snapshot="_"), spilled()
        np.testing.assert_allclose(there(X.copy(), STEPS), EXPECTED, rtol=1e-13)
        plan, usual = there.measure(X.copy(), STEPS), own.plan(X.copy(), STEPS)
        assert plan.measured.device_bytes == plan.predicted.peak_bytes < usual.predicted.peak_bytes
        assert plan.measured.copied_bytes > 2 * X.nbytes + 8 + 2 * X.nbytes
        x = InterfaceArray(X)
        with guarded():
            found = [there(x, STEPS) for _ in range(2)]  # the second may not disturb what the first still reads
            for one in found:
                np.testing.assert_allclose(got(one), EXPECTED, rtol=1e-13)
        cuda().cudaDeviceSynchronize()


WAIT = "must(cudaStreamWaitEvent(stream_, arrived_[number], 0));  // it is there"
"""Of who restores: for what comes back ahead of him."""
COLD, AHEAD = "if (coming_.slot != slot) fetch(one);", "coming_ = next(one);"
"""What is fetched by who restores it, and what is fetched for the next one."""


def with_another(old: str, new: str) -> Target:
    """Programs with a change in the runtime's snapshots."""
    header = (RUNTIME / "sdfgad_gpu_snapshots.h").read_text()
    assert header.count(old) == 1
    faulty = header.replace(old, new).replace("SDFGAD_GPU_SNAPSHOTS_H", "FAULTY_SNAPSHOTS_H")

    def changed(text: str) -> str:
        head, found, rest = text.replace("sg::HostSnapshots", "sg::Faulty").partition('#include "sdfgad_gpu.h"\n')
        assert found and "sg::Faulty" in rest
        return head + found + faulty.replace("HostSnapshots", "Faulty") + rest

    return on_cpu(changed)


def test_a_snapshot_that_nobody_waits_for() -> None:
    """The room on the device is looked at before a copy is there."""
    with running_here(with_another(WAIT, "")):
        found = spilled()(X.copy(), STEPS)
    assert not np.allclose(found, EXPECTED, rtol=1e-3, atol=0.0)


def test_snapshots_come_back_ahead() -> None:
    """A call that knows the order fetches only the first one when it is wanted, and none in vain."""
    with running_here(with_another(COLD, "if (coming_.slot != slot && restored_.empty()) fetch(one);")):
        gradient = spilled()
        gradient(X.copy(), STEPS)
        np.testing.assert_allclose(gradient(X.copy(), STEPS), EXPECTED, rtol=1e-13)
        copied = gradient.measure(X.copy(), STEPS).measured.copied_bytes
    with running_here(with_another(AHEAD, "coming_ = {};")):
        assert spilled().measure(X.copy(), STEPS).measured.copied_bytes == copied


def test_limits() -> None:
    """Snapshots on the host are a way to keep a limit."""
    x = sdfgad.spec(1 << 16)
    with running_here():
        least = sdfgad.plan(steps, x, 400).outlook.floor_bytes
        usual = sdfgad.plan(steps, x, 400, memory_limit=least + (1 << 12))
        there = sdfgad.plan(steps, x, 400, memory_limit=least + (1 << 12), spill="host")
        assert max(usual.predicted.peak_bytes, there.predicted.peak_bytes) <= least + (1 << 12)
        assert there.outlook.seconds < usual.outlook.seconds


def test_refused() -> None:
    with running_here(), pytest.raises(UnsupportedError, match="SG123.*the folder '/tmp' on a graphics(.|\n)*\"host\""):
        sdfgad.plan(steps, X, STEPS, spill="/tmp")
    with pytest.raises(UsageError, match="SG205.*without a graphics processor"):
        sdfgad.plan(steps, X, STEPS, spill="host")
