"""A plan as users hold it: printed, shown as a page, saved and replayed as JSON."""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdfgad.checkpoint.decided import INVERSE, RECOMPUTE, STORE, Decided
from sdfgad.checkpoint.modes import Mode
from sdfgad.checkpoint.outlook import read_about, read_measured, read_outlook
from sdfgad.checkpoint.problem import Problem
from sdfgad.checkpoint.schedule_plan import SchedulePlan
from sdfgad.errors import UsageError
from sdfgad.files import write_whole
from sdfgad.later import later

if TYPE_CHECKING:
    from sdfgad.report.page import fragment, page
    from sdfgad.report.text import report
else:
    fragment = later("sdfgad.report.page", "fragment")
    page = later("sdfgad.report.page", "page")
    report = later("sdfgad.report.text", "report")

SCHEMA = "sdfgad.plan/1"


@dataclass(frozen=True)
class Plan(Decided):
    """What is stored, recomputed and undone, and why: `print` it, or show it in a notebook.

    problem: the values that the reverse sweep needs. decisions: "store", "recompute" or "inverse" for each: kept, made
    again, or put back by undoing what overwrote it. limit_bytes: None is no limit.

    modes: of the loops that start again from snapshots. schedule: what the solver found, if it was asked.
    store_all_bytes: the peak of the program that stores everything; None: of this one. about: the call it is for.
    look: makes the outlook, which may ask the solver again, when somebody wants to read it.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan.from_json, (self.to_json(),)

    def to_json(self) -> str:
        """The plan as a string of schema `sdfgad.plan/1`; `report/plan-1.schema.json` describes it."""
        return json.dumps(_written(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Read what `to_json` wrote; UsageError when the text is something else."""
        try:
            raw: dict[str, Any] = json.loads(text)
            if raw["schema"] != SCHEMA:
                raise UsageError(f"this is not a plan of schema {SCHEMA}", code="SG205")
            return _read(raw)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this is not a plan of schema {SCHEMA}: {error}", code="SG205") from error

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan to a file: all of it or nothing."""
        write_whole(path, self.to_json())

    @staticmethod
    def load(path: str | PathLike[str]) -> Plan:
        """Read a plan from a file."""
        try:
            return Plan.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the plan {path}: {error}", code="SG205") from error

    def to_html(self) -> str:
        """The report as one page that needs nothing else."""
        return page(self)

    def __str__(self) -> str:
        return report(self)

    def _repr_html_(self) -> str:
        return fragment(self)


def _written(plan: Plan) -> dict[str, Any]:
    predicted, look, about = plan.predicted, plan.outlook, asdict(plan.about)
    arrays = [{"name": i.name, "array": i.array, "file": i.file, "line": i.line, "bytes": i.bytes,
               "scope": plan.scope(i), "decision": plan.decisions[i.name], "reason": plan.reason(i),
               "recompute_cost": i.cost} for i in plan.problem.items]
    # Everything but `problem`, `modes`, `schedule`, `outlook` and the decisions is for readers other than this module.
    return {
        "schema": SCHEMA, "target": plan.target, "versions": about["versions"], "device": plan.about.device,
        "symbols": about["symbols"], "wrt": list(plan.about.wrt), "limit_bytes": plan.limit_bytes,
        "policy": plan.policy,
        "predicted": {"peak_bytes": predicted.peak_bytes, "floor_bytes": look and look.floor_bytes,
                      "store_all_bytes": predicted.store_all_bytes, "time_factor": look and look.time_factor,
                      "unbounded": predicted.unbounded, "entry_bytes": predicted.entry_bytes,
                      "most_bytes": predicted.most_bytes},
        "measured": plan.measured and asdict(plan.measured),
        "solver": plan.schedule and asdict(plan.schedule.solver),
        "arrays": arrays, "modes": {n: asdict(m) for n, m in plan.modes.items()},
        "loops": [asdict(row) for row in (look.loops if look else ())],
        "timeline": [[t, m.bytes, m.block] for t, m in enumerate(look.timeline if look else ())],
        "pareto": [asdict(point) for point in (look.front if look else ())],
        "about": about, "store_all_bytes": plan.store_all_bytes,
        "outlook": look and look.to_dict(), "problem": json.loads(plan.problem.to_json()),
        "schedule": plan.schedule and json.loads(plan.schedule.to_json())}


def _read(raw: dict[str, Any]) -> Plan:
    problem = Problem.from_json(json.dumps(raw["problem"]))
    schedule = None if raw["schedule"] is None else SchedulePlan.from_json(json.dumps(raw["schedule"]))
    decisions = {a["name"]: a["decision"] for a in raw["arrays"]}
    known = {STORE, RECOMPUTE, INVERSE}
    if set(decisions) != {i.name for i in problem.items} or not set(decisions.values()) <= known:
        raise UsageError("this plan has other values to decide on than its problem", code="SG205")
    measured = None if raw["measured"] is None else read_measured(raw["measured"])
    plan = Plan(problem, decisions, raw["limit_bytes"], raw["policy"],
                {n: Mode(**m) for n, m in raw["modes"].items()}, schedule, raw["store_all_bytes"],
                read_about(raw["about"]), measured)
    return plan if raw["outlook"] is None else plan.with_outlook(read_outlook(raw["outlook"]))
