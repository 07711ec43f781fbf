"""What is asked of one process, and how it is run. Only the standard library and the harness are imported here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import Any

from npbench_suite.harness.job import Job
from npbench_suite.harness.process import environment

# Part -> the module that measures it, imported in the worker alone.
MEASURES: Mapping[str, str] = MappingProxyType({
    "pairs": "npbench_suite.perf.pairs",
    "bandwidth": "npbench_suite.perf.bandwidth",
    "scaling": "npbench_suite.perf.scaling",
    "applications": "npbench_suite.perf.applications",
    "compile": "npbench_suite.perf.compile_times",
    "overheads": "npbench_suite.perf.overheads",
    "busy": "npbench_suite.perf.busy",
})
Found = Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """One program, or one figure, of one part. seconds: what one measurement may take for its repetitions."""

    part: str
    name: str
    threads: tuple[int, ...]
    rounds: int
    seconds: float
    quick: bool = False

    @classmethod
    def from_json(cls, text: str) -> Task:
        values = json.loads(text)
        return cls(**{**values, "threads": tuple(values["threads"])})


def run_task(task: Task, cache: Path, limit: float) -> Found:
    """What the task found, in a process of its own; `{"failed": why}` when it did not end well."""
    command = [sys.executable, "-m", "npbench_suite.perf.worker", json.dumps(asdict(task))]
    job = Job("", "sdfgad", max(task.threads), "S", 1, str(cache), cache=str(cache))
    with TemporaryFile("w+") as out, TemporaryFile("w+") as log:
        # A group of its own, so that compilers and processes that it started end with it.
        process = subprocess.Popen(command, env=environment(job), stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                                   start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            return {"failed": f"stopped after {limit:g} s"}
        finally:
            _end(process)
        out.seek(0)
        log.seek(0)
        if process.returncode:
            return {"failed": complaint(log.read()) or f"exit code {process.returncode}"}
        return json.loads(out.read().splitlines()[-1])


def complaint(log: str) -> str:
    """The last line of a traceback that names an error; without one the last line of all."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if line.split(":")[0].endswith(("Error", "Exception"))),
                lines[-1] if lines else "")


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
