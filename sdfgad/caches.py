"""The caches of a core: how long their lines are, how much the nearest one holds, and how much is the core's own."""
from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

LINE = 64
"""Bytes of a line of a cache: what comes together, and what threads that write should not share. Arrays, tapes and what
they are made of start at lines. Where lines are longer than usual, that is of use all the same."""
NEAR_BYTES, CACHE_BYTES = 1 << 20, 1 << 23
"""Estimates of time count on these caches, whatever the machine: arrays up to the first size stay with a core, up to
the second in the cache that all cores share."""
STREAM_BYTES = 2 * CACHE_BYTES
"""Records of more bytes have left every cache when they are read again."""
_UNITS = MappingProxyType({"K": 10, "M": 20, "G": 30})


@dataclass(frozen=True)
class Caches:
    """Bytes. near: of data in the cache next to a core. own: that a core shares with no other one."""

    near: int = 1 << 15
    own: int = 1 << 19


USUAL = Caches()


@lru_cache(maxsize=1)
def caches() -> Caches:
    """Those of the first core that this process may run on."""
    first = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return caches_in(Path(f"/sys/devices/system/cpu/cpu{first}"))


def caches_in(folder: Path) -> Caches:
    """What Linux tells of a core in its folder (`sysfs-devices-system-cpu`); the usual ones where nobody tells."""
    found = {level: (size, sharers) for level, size, sharers in map(_described, sorted(folder.glob("cache/index*")))}
    near, threads = found.get(1, (0, 1))
    own, sharers = found.get(2, (0, 1))
    # A second cache may belong to several cores; the threads of one core count as one.
    return Caches(_sensible(near, USUAL.near), _sensible(own * threads // max(threads, sharers), USUAL.own))


def _sensible(size: int, usual: int) -> int:
    """Emulators tell of strange sizes."""
    return min(8 * usual, max(usual // 4, size)) if size else usual


def _described(folder: Path) -> tuple[int, int, int]:
    """The level of a cache of data, its size, and how many processors share it; level 0 where nobody knows."""
    try:
        level, kind, size, sharers = (
            (folder / name).read_text().strip() for name in ("level", "type", "size", "shared_cpu_list"))
        spans = [[int(end) for end in part.split("-")] for part in sharers.split(",")]
        return (int(level) if kind != "Instruction" else 0, int(size[:-1]) << _UNITS[size[-1:]],
                sum(span[-1] - span[0] + 1 for span in spans))
    except (OSError, ValueError, KeyError):
        return 0, 0, 0
