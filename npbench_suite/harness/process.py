"""One subprocess per job: its threads pinned through the environment, its time and memory watched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from npbench_suite.harness.job import Job, Run

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Bounds:
    """What a job may take before it is stopped."""

    seconds: float
    rss_bytes: int


@contextmanager
def terminable() -> Iterator[None]:
    """A polite termination ends the worker and removes folders, as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_job(job: Job, bounds: Bounds) -> Run:
    """Run the job in a process of its own. Whatever happens there, the answer is a `Run` that says so."""
    log = job.result_file.with_suffix(".log")
    with log.open("wb") as stream, _process(job, stream.fileno()) as process:
        reason = _watch(process, bounds)
    run = Run.load(job.result_file) if job.result_file.exists() else Run.of(job)
    if reason is not None:
        return replace(run, status=reason[0], message=reason[1])
    return run if process.returncode == 0 else _failed(run, process.returncode, log.read_text(errors="replace"))


@contextmanager
def _process(job: Job, log: int) -> Iterator[subprocess.Popen[bytes]]:
    """The worker in a process group of its own, so that compilers it started end with it."""
    command = [sys.executable, "-m", "npbench_suite.harness.worker", job.to_json()]
    release = _hold_signals()
    try:
        process = subprocess.Popen(command, cwd=job.folder, env=environment(job), stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log, start_new_session=True)
    except OSError:
        release()
        raise
    try:
        release()
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _hold_signals() -> Callable[[], None]:
    """Keep interruptions back until the answer is called: none may fall between a start and its clean-up."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    held: list[int] = []
    before = {number: signal.signal(number, lambda number, _: held.append(number))
              for number in (signal.SIGINT, signal.SIGTERM)}

    def release() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held:
            signal.raise_signal(number)

    return release


def _watch(process: subprocess.Popen[bytes], bounds: Bounds) -> tuple[str, str] | None:
    """Status and message of a process that had to be stopped; None when it ended by itself."""
    deadline = time.monotonic() + bounds.seconds
    while True:
        try:
            process.wait(POLL_SECONDS)
            return None
        except subprocess.TimeoutExpired:
            pass
        if time.monotonic() > deadline:
            return "timeout", f"stopped after {bounds.seconds:g} s"
        if (rss := _resident(process.pid)) > bounds.rss_bytes:
            return "out of memory", f"stopped at {rss} resident bytes, {bounds.rss_bytes} allowed"


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def _failed(run: Run, code: int, log: str) -> Run:
    """A process that ended with an error: the last line of its traceback is the message."""
    if code < 0:
        return replace(run, status="crash", message=f"ended by {signal.Signals(-code).name}")
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return replace(run, status="error", message=_headline(lines) if lines else f"exit code {code}")


def _headline(lines: list[str]) -> str:
    """The line that names the exception: the last one that starts like ``package.Error: ...``."""
    named = (line for line in reversed(lines) if line.split(":")[0].split(".")[-1].endswith(("Error", "Exception")))
    return next(named, lines[-1])[:300]


def environment(job: Job) -> dict[str, str]:
    """This process' environment with thread counts, module search path and sdfgad's cache set for the job."""
    threads = str(job.threads)
    counts = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "SDFGAD_NUM_THREADS"), threads)
    several = "true" if job.threads > 1 else "false"
    flags = f"--xla_cpu_multi_thread_eigen={several} intra_op_parallelism_threads={threads}"
    return {
        **os.environ, **counts,
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip(),
        "JAX_PLATFORMS": "cpu",
        # The worker runs in a scratch folder and must see the same modules as this process.
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        # A cache of this run: compile times are those of a first use, but for the header compiled beforehand.
        "SDFGAD_CACHE_DIR": job.cache or str(Path(job.folder) / "cache"),
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
