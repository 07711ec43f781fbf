"""The planner's answer: what is stored, what is made again and where, the mode of every loop. Executable as it is."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sdfgad.checkpoint.modes import STORE_ALL, Mode
from sdfgad.checkpoint.schedule import ScheduleProblem
from sdfgad.errors import UsageError

SCHEMA = "sdfgad.schedule-plan/1"
OPTIMAL, FEASIBLE, BY_HAND = "optimal", "feasible", "by hand"


@dataclass(frozen=True, order=True)
class Rebuild:
    """Make an item again right before a block; before the first block of an inner loop means before that loop.

    It stays until the last block that uses it, as far as no later rebuild of it serves that block; when that block is
    repeated by a loop inside the item's region, until the end of that loop.
    """

    item: str
    block: int


@dataclass(frozen=True)
class SolverReport:
    """What the solver itself says. bound: no plan takes fewer extra seconds. gap: relative distance to the bound.

    points: how many (bytes, seconds) points inner loops offered to the loops around them; "optimal" means among these.
    """

    status: str
    name: str = ""
    bound: float = 0.0
    gap: float = 0.0
    seconds: float = 0.0
    points: int = 0


@dataclass(frozen=True)
class SchedulePlan:
    """stored: items kept from the forward sweep. modes: of every loop. peak_bytes and seconds: as predicted, the latter
    beyond a run that stores everything in no time. Items neither stored nor rebuilt are needed by nothing."""

    problem: ScheduleProblem
    stored: frozenset[str]
    rebuilds: tuple[Rebuild, ...] = ()
    modes: Mapping[str, Mode] = field(default_factory=dict)
    limit_bytes: int | None = None
    peak_bytes: int = 0
    seconds: float = 0.0
    solver: SolverReport = SolverReport(BY_HAND)

    def to_json(self) -> str:
        """The plan as a string of schema `sdfgad.schedule-plan/1`, its problem included."""
        return json.dumps({
            "schema": SCHEMA, "problem": json.loads(self.problem.to_json()), "stored": sorted(self.stored),
            "rebuilds": [asdict(r) for r in self.rebuilds], "modes": {n: asdict(m) for n, m in self.modes.items()},
            "limit_bytes": self.limit_bytes, "peak_bytes": self.peak_bytes, "seconds": self.seconds,
            "solver": asdict(self.solver)}, indent=1)

    @staticmethod
    def from_json(text: str) -> SchedulePlan:
        """Read what `to_json` wrote; UsageError when the text is something else. `verify` says whether it is legal."""
        try:
            return _read(json.loads(text))
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this is not a plan: {error}", code="SG205") from error


def _read(raw: dict[str, Any]) -> SchedulePlan:
    if raw["schema"] != SCHEMA:
        raise UsageError(f"this is not a plan of schema {SCHEMA}", code="SG205")
    return SchedulePlan(ScheduleProblem.from_json(json.dumps(raw["problem"])), frozenset(raw["stored"]),
                        tuple(Rebuild(**r) for r in raw["rebuilds"]), {n: Mode(**m) for n, m in raw["modes"].items()},
                        raw["limit_bytes"], raw["peak_bytes"], raw["seconds"], SolverReport(**raw["solver"]))


def store_everything(problem: ScheduleProblem) -> SchedulePlan:
    """Every item stored, of every iteration."""
    return SchedulePlan(problem, frozenset(problem.item), (), {p.name: Mode(STORE_ALL) for p in problem.loops})
