"""The bytes that a gradient has to move, however it is written, and the caches that they do not fit in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Count = Callable[[Mapping[str, Any]], int]
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNKNOWN = 32 << 20


@dataclass(frozen=True)
class Traffic:
    """How often a gradient by sweeps reads or writes an array of doubles with all points.

    steps: sweeps of the program; per step: `sweep` arrays that go from one sweep to the next, of which `live` exist at
    a time, and `tape` passes over `kept` arrays that the forward sweep leaves for the reverse sweep. What the caches
    hold does not move.
    """

    steps: Count
    points: Count
    sweep: int | Count
    live: int
    tape: int = 0
    kept: int = 0

    def footprint(self, arguments: Mapping[str, Any]) -> int:
        """Bytes of all arrays that the sweeps need."""
        return 8 * self.points(arguments) * (self.live + self.kept * self.steps(arguments))

    def moved(self, arguments: Mapping[str, Any], cache_bytes: int) -> int:
        """Bytes to and from memory: of the tape when all of it exceeds the cache, of the rest when the rest does."""
        points, passes = self.points(arguments), self.sweep if isinstance(self.sweep, int) else self.sweep(arguments)
        tape = self.tape if self.footprint(arguments) > cache_bytes else 0
        sweep = passes if 8 * points * self.live > cache_bytes else 0
        return 8 * points * self.steps(arguments) * (tape + sweep)


def last_cache_bytes() -> int:
    """The size of the last cache before memory; a usual one where the system does not say."""
    sizes = [_bytes(file.read_text()) for file in CACHES.glob("index*/size")]
    if not sizes and "SC_LEVEL3_CACHE_SIZE" in os.sysconf_names:
        sizes = [os.sysconf("SC_LEVEL3_CACHE_SIZE")]
    return max([size for size in sizes if size > 0], default=UNKNOWN)


def _bytes(text: str) -> int:
    text = text.strip()
    factor = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
    return int(text.rstrip("KM") or 0) * factor
