"""Numbers of bytes: reading limits, finding what is available, printing."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sdfgad.errors import UsageError
from sdfgad.files import text_of
from sdfgad.later import later

if TYPE_CHECKING:
    from psutil import virtual_memory
else:
    virtual_memory = later("psutil", "virtual_memory")

_PREFIXES = "kmgtpe"
_UNITS: Mapping[str, int] = MappingProxyType(
    {"": 1, "b": 1}
    | {f"{p}b": 1000 ** (i + 1) for i, p in enumerate(_PREFIXES)}
    | {f"{p}ib": 1024 ** (i + 1) for i, p in enumerate(_PREFIXES)}
)
# At most two digits of exponent: "1e999999999" must not become an integer of a gigabyte.
_NUMBER = re.compile(r"\s*(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,2})?)\s*(?P<unit>[a-z]*|%)\s*", re.IGNORECASE)
_EXAMPLES = 'write an integer, "4GB" (4e9 bytes), "4GiB" (4 * 2**30 bytes), "4e9" or "80%" of what is available'


def parse_bytes(limit: Any, reusable: int = 0) -> int | None:
    """``4_000_000_000``, ``"4GB"``, ``"4GiB"``, ``"4e9"`` or ``"80%"`` of the available memory as bytes.

    reusable: bytes that this process holds, and would use for what the limit is about.
    """
    if limit is None:
        return None
    if isinstance(limit, str):
        return _parse_text(limit, reusable)
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if isinstance(limit, bool) or not hasattr(limit, "__index__"):
        raise _unreadable(limit)
    if (number := operator.index(limit)) < 0:
        raise _unreadable(limit)
    return number


def _parse_text(text: str, reusable: int) -> int:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise _unreadable(text)
    number, unit = Decimal(match["number"]), match["unit"].lower()
    if unit == "%":
        return _share(number, text, reusable)
    if unit in tuple(_PREFIXES):
        letter, digits = match["unit"].upper(), match["number"]
        raise UsageError(f"{text!r} can mean powers of 1000 or of 1024", code="SG206",
                         help=f'write "{digits}{letter}B" or "{digits}{letter}iB"')
    if unit not in _UNITS:
        raise _unreadable(text)
    return int(number * _UNITS[unit])


def _share(percent: Decimal, text: str, reusable: int) -> int:
    if percent > 100:
        raise UsageError(f"{text!r} is more than what is available", code="SG206", help=_EXAMPLES)
    return int((available_bytes() + reusable) * percent / 100)


def _unreadable(limit: object) -> UsageError:
    return UsageError(f"cannot read {limit!r} as a number of bytes", code="SG206", help=_EXAMPLES)


def available_bytes() -> int:
    """What this process may still take: free memory of the machine, of its control group and of its batch job."""
    bounds = (virtual_memory().available, cgroup_remaining(), _job_limit())
    return max(0, min(bound for bound in bounds if bound is not None))


def cgroup_remaining(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> int | None:
    """Bytes left under the tightest control group above this process; None without a limit."""
    left = [limit - usage for limit, usage in _cgroup_limits(root, membership)]
    return min(left, default=None)


def _cgroup_limits(root: Path, membership: Path) -> Iterator[tuple[int, int]]:
    """(limit, usage that cannot be reclaimed) of each limited group, from this process' own group to the root."""
    for line in text_of(membership).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            yield from _walk(root, group, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            yield from _walk(root / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file")


def _walk(root: Path, group: str, limit: str, usage: str, reclaimable: str) -> Iterator[tuple[int, int]]:
    own = root / group.lstrip("/")
    for folder in (own, *own.parents):
        text = text_of(folder / limit).strip()
        # Version 1 says "no limit" with a number near 2**63, version 2 with the word max.
        if text.isdigit() and int(text) < 2**62:
            used = int(text_of(folder / usage).strip() or 0)
            yield int(text), used - _statistic(folder / "memory.stat", reclaimable)
        if folder == root:
            return


def _statistic(file: Path, name: str) -> int:
    for line in text_of(file).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _job_limit() -> int | None:
    """Slurm gives the job's memory on this node in MiB."""
    mebibytes = os.environ.get("SLURM_MEM_PER_NODE", "")
    return int(mebibytes) * 2**20 if mebibytes.isdigit() and mebibytes != "0" else None


def format_bytes(count: int | float) -> str:
    """Decimal units and three digits: ``8.39 GB``, ``21 kB``, ``512 B``."""
    if abs(count) < 1000:
        return f"{count:.0f} B"
    scaled = ((count / 1000 ** (i + 1), prefix) for i, prefix in enumerate("kMGTPE"))
    value, prefix = next(((v, p) for v, p in scaled if abs(v) < 999.5 or p == "E"))
    return f"{_three_digits(value)} {prefix}B"


def _three_digits(value: float) -> str:
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
