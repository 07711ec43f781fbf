"""The machine, the versions and the commit that a result belongs to."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

PACKAGES = ("sdfgad", "dace", "numpy", "scipy", "jax", "jaxlib", "pulp", "highspy", "scipy-openblas32")
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Machine:
    """What the numbers depend on."""

    cpu: str
    cores: int
    memory_bytes: int
    system: str
    python: str
    compiler: str | None
    versions: dict[str, str]
    commit: str | None

    @property
    def hardware(self) -> str:
        return f"{self.cpu}, {self.cores} cores, {self.memory_bytes / 1e9:.0f} GB"


def machine() -> Machine:
    """This machine, now."""
    return Machine(
        cpu=cpu_name(), cores=usable_cores(), memory_bytes=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.release()} {platform.machine()}", python=platform.python_version(),
        compiler=first_line([os.environ.get("CXX", "c++"), "--version"]), versions=versions(), commit=commit(),
    )


def usable_cores() -> int:
    """Cores this process may run on, which a batch job or container can make fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model")))
    return next(names, platform.processor() or platform.machine())


def versions() -> dict[str, str]:
    """Versions of the packages that matter, as far as they are installed."""
    return {name: found for name in PACKAGES if (found := _version(name)) is not None}


def commit() -> str | None:
    """The commit of this repository, marked when files differ from it; None outside a repository."""
    head = first_line(["git", "rev-parse", "--short=12", "HEAD"])
    if head is None:
        return None
    return head + ("-modified" if first_line(["git", "status", "--porcelain", "-uno"]) else "")


def first_line(command: list[str]) -> str | None:
    """The first line that a command prints in this repository; None when it fails or is silent."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.partition("\n")[0].strip() or None if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
