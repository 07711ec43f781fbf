"""How fast a graphics processor is: what the planner reckons with, measured by `scripts/gpu_check` or assumed.

The assumptions are round numbers for a device of the years from 2020 on; none was measured, and only their ratios
matter to a plan.
"""
from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from sdfgad.analysis.cost import Work
from sdfgad.checkpoint.roofline import Machine, cache_folder

SCHEMA = "sdfgad.device/1"
FILE = "device.json"
SANE = (("bytes_per_second", 1e10, 1e14), ("operations_per_second", 1e11, 1e16), ("launch_seconds", 1e-7, 1e-3),
        ("atomics_per_second", 1e7, 1e13))
"""What a measurement may give at the least and at the most."""


@dataclass(frozen=True)
class DeviceSpeeds(Machine):
    """bytes_per_second: in sectors, to and from memory. launch_seconds: from the start of a kernel to that of the next.
    atomics_per_second: sums into elements that data name. device: the name of what was measured."""

    bytes_per_second: float = 2e12
    operations_per_second: float = 5e12
    measured: bool = False
    launch_seconds: float = 3e-6
    atomics_per_second: float = 2e9
    device: str = ""
    spilled_per_second: ClassVar[float] = 1e10
    """Between a device and pinned memory of the host."""

    def seconds(self, work: Work) -> float:
        """Time of some work: the larger of arithmetic and traffic, and the atomic sums and launches beside it."""
        busy = max(work.operations / self.operations_per_second, work.sectors / self.bytes_per_second)
        return busy + work.atomics / self.atomics_per_second + work.statements * self.launch_seconds


def device_speeds() -> DeviceSpeeds:
    """Of the device that was measured last on this machine; the assumptions where none was."""
    return _speeds(str(cache_folder() / FILE))


@lru_cache(maxsize=16)
def _speeds(file: str) -> DeviceSpeeds:
    try:
        raw = json.loads(Path(file).read_text())
        if raw.pop("schema") != SCHEMA:
            return DeviceSpeeds()
        found = DeviceSpeeds(**raw)
        sane = all(low <= getattr(found, name) <= high for name, low, high in SANE)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return DeviceSpeeds()
    return found if sane else DeviceSpeeds()


def keep(found: DeviceSpeeds) -> None:
    """For plans to come, complete or not at all. OSError where the cache folder cannot be written."""
    file = cache_folder() / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
        draft.write(json.dumps({"schema": SCHEMA, **{f.name: asdict(found)[f.name] for f in fields(found)}}))
    os.replace(draft.name, file)
    _speeds.cache_clear()
