"""Parts of a check in processes of their own, each with a time limit, and all together with another one.

A program that steps outside of its memory spoils its process, and one that does not end is ended: no other one suffers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from npbench_suite.device.agreement import Agreement
from npbench_suite.device.times import DeviceTime

WORKER = (sys.executable, "-m", "npbench_suite.device", "--worker")
Task = tuple[str, ...]
Run = Callable[[Task, float], Any]
"""What a worker says to its arguments within so many seconds."""
LEAST = 5.0
"""Seconds that are left when another part is begun."""
# What JAX compiles beside other programs is there when it is timed, and it takes no more memory than it uses.
_JAX = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


@dataclass(frozen=True)
class Stage:
    """Parts that wait for those of the stage before. seconds: of each, at the most. jobs: so many at once; times are
    taken one by one. kept: whether what they say is written down."""

    tasks: tuple[Task, ...]
    seconds: float
    jobs: int = 1
    kept: bool = True


@dataclass(frozen=True)
class Clock:
    """When everything has to be over, by `time.monotonic`."""

    end: float

    def left(self) -> float:
        return self.end - time.monotonic()


def answers(stage: Stage, clock: Clock, run: Run) -> Iterator[tuple[Task, Any]]:
    """What the parts of a stage say, as it comes in; None of those for which no time was left."""
    def said(task: Task) -> Any:
        seconds = min(stage.seconds, clock.left())
        found = run(task, seconds) if seconds >= LEAST else None
        return None if seconds < stage.seconds and clock.left() <= 0 else found

    if stage.jobs == 1:
        yield from ((task, said(task)) for task in stage.tasks)
        return
    with ThreadPoolExecutor(stage.jobs) as pool:
        begun = {pool.submit(said, task): task for task in stage.tasks}
        yield from ((begun[one], one.result()) for one in as_completed(begun))


def in_process(task: Task, seconds: float) -> Any:
    """The last line of a worker; what it has died of, where it has."""
    status, out, errors = ended((*WORKER, *task), seconds)
    lines = out.strip().splitlines()
    if status == 0 and lines:
        with suppress(ValueError):
            return json.loads(lines[-1])
    return failed(task, f"took more than {seconds:.0f} s" if status is None else
                  f"exit status {status}: {(errors.strip().splitlines() or [''])[-1]}")


def failed(task: Task, said: str) -> Any:
    """What stands for the answer of a worker that has none."""
    if task[0] == "agreement":
        return [asdict(Agreement(task[1], "both", "failed", said=said))]
    return asdict(DeviceTime(task[2], task[1], said=said)) if task[0] == "time" else {"said": said}


def ended(command: Sequence[str], seconds: float) -> tuple[int | None, str, str]:
    """The status of a command, None where it was ended after so many seconds with all that it had started, and what it
    has written to its outputs."""
    folder = os.path.abspath(os.path.join("results", "jax"))
    begun = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0,
                             env={"JAX_COMPILATION_CACHE_DIR": folder, **_JAX, **os.environ})
    try:
        out, errors = begun.communicate(timeout=seconds)
        return begun.returncode, out, errors
    except subprocess.TimeoutExpired:
        return None, *_killed(begun)
    finally:
        if begun.poll() is None:
            _killed(begun)


def _killed(begun: subprocess.Popen[str]) -> tuple[str, str]:
    """What it has written; with it go all processes that it has started. Nobody waits for what a driver holds."""
    with suppress(ProcessLookupError):
        os.killpg(begun.pid, signal.SIGKILL)
    try:
        return begun.communicate(timeout=LEAST)
    except subprocess.TimeoutExpired:
        return "", ""
