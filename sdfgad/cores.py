"""The cores that this process may use."""
from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from sdfgad.files import text_of

NO_QUOTA = 1 << 10


def usable_cores() -> int:
    """Cores this process may run on and has the time of: a batch job or a container may have fewer than the machine."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, core_quota()))


def core_quota(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> int:
    """So many cores' time is what the tightest control group above this process grants; `NO_QUOTA` without a limit."""
    return min((max(1, ceil(share)) for share in _shares(root, membership)), default=NO_QUOTA)


def _shares(root: Path, membership: Path) -> Iterator[float]:
    """Processor time over the time that passes, of each limited group."""
    for line in text_of(membership).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            yield from _quotas(root, group, ("cpu.max",))
        elif "cpu" in controllers.split(","):
            yield from _quotas(root / "cpu", group, ("cpu.cfs_quota_us", "cpu.cfs_period_us"))


def _quotas(root: Path, group: str, files: tuple[str, ...]) -> Iterator[float]:
    own = root / group.lstrip("/")
    for folder in (own, *own.parents):
        numbers = " ".join(text_of(folder / file) for file in files).split()
        # No limit is the word max, or a quota below zero.
        if len(numbers) == 2 and all(n.isdigit() for n in numbers) and int(numbers[1]):
            yield int(numbers[0]) / int(numbers[1])
        if folder == root:
            return
