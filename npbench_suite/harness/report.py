"""The result as JSON (schema ``sdfgad.bench/2``), and the comparison with an earlier one."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from npbench_suite.harness.machine import Machine
from npbench_suite.harness.row import Row
from npbench_suite.harness.session import Options
from npbench_suite.harness.summary import Summary

SCHEMA = "sdfgad.bench/2"
REGRESSION = 1.2


@dataclass(frozen=True)
class Result:
    """Everything that one benchmark run found."""

    options: Options
    machine: Machine
    rows: tuple[Row, ...]
    summary: Summary
    regressions: tuple[str, ...] = ()
    preparation_seconds: float | None = None

    def to_json(self) -> str:
        document = {
            "schema": SCHEMA, "options": _options(self.options), "machine": asdict(self.machine),
            "summary": asdict(self.summary), "regressions": list(self.regressions),
            "preparation_seconds": self.preparation_seconds,
            "rows": [row.to_dict() for row in self.rows],
        }
        return json.dumps(_finite(document), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Result:
        """What `to_json` wrote; ValueError when it is none."""
        document = _document(text)
        try:
            return cls(
                Options(**document["options"]), Machine(**document["machine"]),
                tuple(Row.from_dict(row) for row in document["rows"]), Summary.from_dict(document["summary"]),
                tuple(document["regressions"]), document["preparation_seconds"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"it lacks {error}") from error


@dataclass(frozen=True)
class Baseline:
    """Status and gradient seconds by kernel of an earlier run."""

    preset: str
    rows: Mapping[str, tuple[str, float | None]]


def read_baseline(file: Path) -> Baseline:
    """An earlier result; ValueError when the file is none."""
    document = _document(file.read_text(encoding="utf-8"))
    try:
        rows = {row["kernel"]: (row["status"], (row["ours"]["gradient"] or {}).get("seconds"))
                for row in document["rows"]}
        return Baseline(document["options"]["preset"], rows)
    except (KeyError, TypeError) as error:
        raise ValueError(f"it lacks {error}") from error


def _document(text: str) -> dict[str, Any]:
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    return document


def regressions(rows: Sequence[Row], baseline: Baseline) -> tuple[str, ...]:
    """One sentence per kernel that was right and no longer is, or takes over 20 % longer than before."""
    found: list[str] = []
    for row in rows:
        status, before = baseline.rows.get(row.kernel, ("", None))
        if status == "ok" and (loss := _loss(row, before)):
            found.append(f"{row.kernel}: {loss}")
    return tuple(found)


def _loss(row: Row, before: float | None) -> str:
    """What became worse since a run that was right; empty when nothing did."""
    if row.status != "ok":
        return f"was ok, now {row.status}"
    if before and row.gradient and row.gradient.seconds > REGRESSION * before:
        slower = 100 * (row.gradient.seconds / before - 1)
        return f"{slower:.0f} % slower ({before:.3g} s, now {row.gradient.seconds:.3g} s)"
    return ""


def write_atomically(file: Path, text: str) -> None:
    """A reader finds the old file or the whole new one."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=f".{file.name}.", delete=False,
                                     encoding="utf-8") as stream:
        try:
            stream.write(text)
            stream.close()
            # Temporary files are private; a result is an ordinary file.
            os.chmod(stream.name, 0o644)
            os.replace(stream.name, file)
        finally:
            Path(stream.name).unlink(missing_ok=True)


def _options(options: Options) -> dict[str, Any]:
    return {name: value for name, value in asdict(options).items() if name != "suite"}


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
