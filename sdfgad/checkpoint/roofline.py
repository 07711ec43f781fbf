"""How long a computation takes on this machine: the larger of its arithmetic and its memory traffic.

Williams, Waterman, Patterson: Roofline (CACM 52, 2009). The two constants are measured once per machine and thread
count, in well under a second, and kept in the cache folder.
"""
from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from sdfgad.config import settings, thread_count

SCHEMA = "sdfgad.machine/1"
STREAM_ELEMENTS = 1 << 22
"""32 MB per array: beyond the caches of one core."""
CHUNK_ELEMENTS = 1 << 11
"""16 kB: stays in the first cache, so that arithmetic is what is measured."""
REPEATS = 5
SANE_BYTES, SANE_FLOPS = (1e8, 1e14), (1e7, 1e16)


@dataclass(frozen=True)
class Machine:
    """bytes_per_second: streamed to and from memory. flops_per_second: elementary operations on arrays in cache."""

    bytes_per_second: float
    flops_per_second: float
    measured: bool = True

    def seconds(self, flops: float, moved: float) -> float:
        """Time of a computation that does so many operations and moves so many bytes."""
        return max(flops / self.flops_per_second, moved / self.bytes_per_second)


FALLBACK = Machine(8e9, 2e9, measured=False)
"""One core of an ordinary machine; only ratios matter to a plan."""


def this_machine() -> Machine:
    """The constants of this machine and this number of threads: from the cache folder, else measured and put there."""
    return _machine(str(_folder()), thread_count() or os.cpu_count() or 1)


@lru_cache(maxsize=16)
def _machine(folder: str, threads: int) -> Machine:
    file = Path(folder) / f"machine-{_fingerprint(threads)}.json"
    known = read(file)
    if known is not None:
        return known
    found = measure(threads)
    if found.measured:
        _keep(file, found)
    return found


def _folder() -> Path:
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


def read(file: Path) -> Machine | None:
    """The constants in a file; None when there is none or it makes no sense."""
    try:
        raw: dict[str, Any] = json.loads(file.read_text())
        if raw.pop("schema") != SCHEMA:
            return None
        return _if_sane(Machine(**raw))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _if_sane(machine: Machine) -> Machine | None:
    sane = (SANE_BYTES[0] <= machine.bytes_per_second <= SANE_BYTES[1]
            and SANE_FLOPS[0] <= machine.flops_per_second <= SANE_FLOPS[1])
    return machine if sane else None


def _keep(file: Path, machine: Machine) -> None:
    """Complete or not at all; a folder that cannot be written only costs the next process a new measurement."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
            draft.write(json.dumps({"schema": SCHEMA, **asdict(machine)}))
        os.replace(draft.name, file)
    except OSError:
        return


def measure(threads: int = 1) -> Machine:
    """Time a streaming copy and arithmetic in cache with NumPy; the fallback when the result is absurd.

    Both run on one thread. Arithmetic grows with the threads, memory traffic with at most four of them, which is where
    the channels of ordinary machines are busy.
    """
    try:
        moved = _bytes_per_second() * min(threads, 4)
        found = Machine(moved, _flops_per_second() * threads)
    except MemoryError:
        return FALLBACK
    return _if_sane(found) or FALLBACK


def _bytes_per_second() -> float:
    source, target = np.ones(STREAM_ELEMENTS), np.empty(STREAM_ELEMENTS)
    return 2 * source.nbytes / _fastest(lambda: np.copyto(target, source))


def _flops_per_second() -> float:
    x, y = np.full(CHUNK_ELEMENTS, 1.0), np.full(CHUNK_ELEMENTS, 0.5)
    rounds = 200

    def work() -> None:
        for _ in range(rounds):
            np.multiply(x, y, out=y)
            np.add(y, x, out=y)
    return 2 * rounds * CHUNK_ELEMENTS / _fastest(work)


def _fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few runs; whatever else the machine does only makes runs slower."""
    work()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return max(min(times), 1e-9)
