"""Everything that a run found, as JSON (schema ``sdfgad.perf/1``), written after every task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from npbench_suite.harness.machine import Machine
from npbench_suite.harness.report import write_atomically
from npbench_suite.perf.task import MEASURES, Found

SCHEMA = "sdfgad.perf/1"


@dataclass(frozen=True)
class Results:
    """parts: what each task found, by part and name; quick: at small sizes, with few repetitions."""

    machine: Machine
    quick: bool
    parts: Mapping[str, Mapping[str, Found]]

    def of(self, part: str) -> dict[str, Found]:
        """What the tasks of a part found that ended well."""
        return {name: found for name, found in self.parts.get(part, {}).items() if "failed" not in found}

    def failures(self) -> list[tuple[str, str, str]]:
        """Part, name and reason of every task that did not."""
        return [(part, name, found["failed"]) for part, tasks in self.parts.items() for name, found in tasks.items()
                if "failed" in found]

    def having(self, part: str, name: str, found: Found) -> Results:
        """The results with one more task's."""
        parts = {**self.parts, part: {**self.parts.get(part, {}), name: found}}
        return Results(self.machine, self.quick, {part: parts[part] for part in MEASURES if part in parts})

    def write(self, file: Path) -> None:
        """As JSON."""
        values = {"schema": SCHEMA, "machine": asdict(self.machine), "quick": self.quick, "parts": self.parts}
        write_atomically(file, json.dumps(values, indent=1) + "\n")

    @classmethod
    def load(cls, file: Path) -> Results:
        """What `write` wrote; ValueError when the file holds something else."""
        values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        return cls(Machine(**values["machine"]), values["quick"], values["parts"])
