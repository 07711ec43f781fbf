"""How long a computation takes on this machine: the larger of its arithmetic and its memory traffic.

Williams, Waterman, Patterson: Roofline (CACM 52, 2009), with the cache that all cores share as a second memory and
with what it takes to begin a statement. The constants are measured, in well under a second, in each of the first few
processes that plan, and kept in the cache folder per machine and number of threads: the first of them may have
been started beside other work.
"""
from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import platformdirs

from sdfgad.analysis.cost import Work
from sdfgad.config import settings, thread_count
from sdfgad.cores import usable_cores

SCHEMA = "sdfgad.machine/5"
READINGS = 4
"""Processes that measure: other work makes a machine look up to ten times slower than it is."""
CLEARLY = 1.25
"""A reading this many times higher replaces what is kept. Smaller differences would only change plans, and what has
been compiled for them, without need."""
STREAM_ELEMENTS = 1 << 22
"""32 MB per array: beyond the caches of one core."""
CHUNKS = (1 << 8, 1 << 10)
"""Elements: three arrays of them stay in the first cache, so that arithmetic is what is measured; the difference
between the two is free of what a call costs."""
TOUCHES = 6
"""Elementary operations a compiled nest does in the time NumPy takes for an element of a sum: its two loads, its store
and its addition, and what the units for arithmetic do beside them when an expression has more to do."""
ROUNDS = 1000
REPEATS, TRIALS = 7, 3
LINE, PAGE = 8, 512
"""Elements."""
SANE_BYTES, SANE_OPERATIONS = (1e8, 1e14), (1e7, 1e16)
SCALAR = 1 / 3
"""Speed of operations that wait for each other, over that of vectors."""
NEAR_SPEED = 5
"""Speed of the cache that all cores share, over that of memory."""
STATEMENT_SECONDS, FORK_SECONDS = 1.2e-8, 1.5e-6
"""To begin a loop nest; to begin and end a parallel region whose threads are awake."""

DISK_BYTES_PER_SECOND = 5e8
"""Of an ordinary solid-state disk."""
MESSAGE_SECONDS, MESSAGE_BYTES_PER_SECOND = 2e-6, 1e10
"""Of the networks of clusters (the LogGP model: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, SPAA 1995)."""


@dataclass(frozen=True)
class Machine:
    """bytes_per_second: streamed to and from memory by all threads; alone: by one of them. operations_per_second:
    elementary operations on arrays in cache, loads and stores among them, by one thread. threads: how many work
    together."""

    bytes_per_second: float
    operations_per_second: float
    threads: int = 1
    measured: bool = True
    alone: float | None = None
    spilled_per_second: ClassVar[float] = DISK_BYTES_PER_SECOND
    """Bytes of snapshots to a disk and from it; not measured."""

    def seconds(self, work: Work) -> float:
        """Time of some work."""
        operations = work.shared / self.threads + work.vector + work.scalar / SCALAR
        streamed = self.bytes_per_second if work.shared else self.alone or self.bytes_per_second
        busy = max(operations / self.operations_per_second, (work.moved + work.near / NEAR_SPEED) / streamed)
        return busy + work.statements * STATEMENT_SECONDS + work.forks * FORK_SECONDS * (self.threads > 1)


RATES = ("bytes_per_second", "alone", "operations_per_second")
FALLBACK = Machine(8e9, 1e10, measured=False)
"""One core of an ordinary machine; only ratios matter to a plan."""


def this_machine() -> Machine:
    """The constants of this machine and this number of threads: from the cache folder once READINGS processes have
    measured them, else the best of what is there and a measurement, which is put there."""
    return _machine(str(cache_folder()), thread_count() or usable_cores())


@lru_cache(maxsize=16)
def _machine(folder: str, threads: int) -> Machine:
    file = Path(folder) / f"machine-{_fingerprint(threads)}.json"
    known, readings = read(file)
    if known is not None and readings >= READINGS:
        return known
    found = better(known, measure(threads))
    if found.measured:
        _keep(file, found, readings + 1)
    return found


def better(known: Machine | None, found: Machine) -> Machine:
    """The known constants with those rates of another measurement that are clearly higher: other work only makes
    measurements lower."""
    if known is None or not found.measured:
        return known or found
    return replace(known, **{name: getattr(found, name) for name in RATES
                             if (getattr(found, name) or 0.0) > CLEARLY * (getattr(known, name) or 0.0)})


def cache_folder() -> Path:
    """Where what was measured on this machine is kept."""
    return Path(settings().cache_dir or platformdirs.user_cache_dir("sdfgad", appauthor=False)).expanduser()


def _fingerprint(threads: int) -> str:
    """Names the hardware: a home folder may be shared by different machines."""
    parts = (platform.machine(), platform.processor(), _cpu_model(), str(os.cpu_count()), str(threads))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("model name")), "")


def read(file: Path) -> tuple[Machine | None, int]:
    """The constants in a file and how many measurements they are the best of; None and 0 when there is no such file or
    it makes no sense."""
    try:
        raw: dict[str, Any] = json.loads(file.read_text())
        if raw.pop("schema") != SCHEMA:
            return None, 0
        readings = int(raw.pop("readings"))
        found = _if_sane(Machine(**raw))
        return found, readings if found else 0
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None, 0


def _if_sane(machine: Machine) -> Machine | None:
    rates = (machine.bytes_per_second, machine.alone or machine.bytes_per_second)
    sane = (all(SANE_BYTES[0] <= rate <= SANE_BYTES[1] for rate in rates)
            and SANE_OPERATIONS[0] <= machine.operations_per_second <= SANE_OPERATIONS[1] and machine.threads >= 1)
    return machine if sane else None


def _keep(file: Path, machine: Machine, readings: int) -> None:
    """Complete or not at all; a folder that cannot be written only costs the next process a new measurement."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
            draft.write(json.dumps({"schema": SCHEMA, "readings": readings, **asdict(machine)}))
        os.replace(draft.name, file)
    except OSError:
        return


def measure(threads: int = 1) -> Machine:
    """Time streaming copies on all threads and on one, and sums in cache on one, with NumPy; the fallback when the
    result is absurd."""
    try:
        together = _bytes_per_second(threads)
        alone = min(together, _bytes_per_second(1)) if threads > 1 else together
        found = Machine(together, _operations_per_second(), threads, alone=alone)
    except (MemoryError, RuntimeError):
        return FALLBACK
    return _if_sane(found) or FALLBACK


def _bytes_per_second(threads: int) -> float:
    """NumPy lets other threads run while it copies."""
    elements = max(STREAM_ELEMENTS // threads, CHUNKS[-1])
    pairs = [(np.ones(elements), np.empty(elements)) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        seconds = _fastest(lambda: list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs)))
    return 2 * threads * elements * 8 / seconds


def _operations_per_second() -> float:
    few, many = (_seconds_of_sums(n) for n in CHUNKS)
    return ROUNDS * TOUCHES * (CHUNKS[1] - CHUNKS[0]) / max(many - few, 1e-12)


def _seconds_of_sums(elements: int) -> float:
    x, y, total = _apart(elements)

    def work() -> None:
        for _ in range(ROUNDS):
            np.add(x, y, out=total)
    return min(_fastest(work) for _ in range(TRIALS))


def _apart(elements: int) -> list[np.ndarray]:
    """Three arrays that begin with a line of the cache and a third of a page apart: where the ends of addresses are the
    same, reads wait for writes, and sums take up to twice as long."""
    step = -(-elements // PAGE) * PAGE + PAGE // 3 // LINE * LINE
    room = np.ones(3 * step + LINE)
    first = -(room.ctypes.data // 8) % LINE
    return [room[k:k + elements] for k in range(first, first + 3 * step, step)]


def _fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few runs; whatever else the machine does only makes runs slower."""
    work()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return max(min(times), 1e-9)
