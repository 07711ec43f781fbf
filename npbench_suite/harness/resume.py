"""A long run that was stopped can go on: the rows of its finished kernels wait in a file beside the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from npbench_suite.harness.machine import Machine
from npbench_suite.harness.report import Result
from npbench_suite.harness.row import Row
from npbench_suite.harness.session import Options

# What two parts of one run may differ in: which kernels they measured, and how much memory was free.
FREE = ("kernels", "rss_bytes", "suite")


def part_file(json_file: str | None) -> Path | None:
    """Where the rows wait: ``FILE.part``; None where the result goes to no file."""
    return None if json_file in (None, "-") else Path(f"{json_file}.part")


def finished_rows(file: Path, options: Options, here: Machine) -> dict[str, Row]:
    """The rows of an earlier part by kernel, those of kernels that are not asked for left out.

    Raises ValueError that names what differs when the part was measured otherwise, on another machine or at another
    commit: one result has one set of conditions. Raises OSError when the file cannot be read.
    """
    part = Result.from_json(file.read_text(encoding="utf-8"))
    before = _conditions(part.options, part.machine)
    if changed := [f"{name} was {before.get(name)}, is {value}"
                   for name, value in _conditions(options, here).items() if _plain(before.get(name)) != _plain(value)]:
        raise ValueError("; ".join(changed))
    return {row.kernel: row for row in part.rows if row.kernel in options.kernels}


def _conditions(options: Options, machine: Machine) -> dict[str, Any]:
    asked = {name: value for name, value in asdict(options).items() if name not in FREE}
    return dict(_named(asked)) | asdict(machine)


def _named(asked: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The options under the names of the command line."""
    for name, value in asked.items():
        yield {"seconds": "--timeout"}.get(name, "--" + name.replace("_", "-")), value


def _plain(value: Any) -> Any:
    """JSON has lists only."""
    return list(value) if isinstance(value, tuple) else value
