"""The answer: one decision for every item, and what it comes to. Frozen, printable, saved and replayed as JSON."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from sdfgad.checkpoint.modes import Mode
from sdfgad.checkpoint.outlook import About, Measured, MessageCounts, Outlook, read_about, read_measured, read_outlook
from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.checkpoint.schedule_plan import SchedulePlan
from sdfgad.errors import UsageError
from sdfgad.files import write_whole
from sdfgad.memory import format_bytes
from sdfgad.names import loop_name
from sdfgad.report.page import fragment, page
from sdfgad.report.text import report

SCHEMA = "sdfgad.plan/1"
STORE, RECOMPUTE, INVERSE = "store", "recompute", "inverse"


@dataclass(frozen=True)
class Predicted:
    """Bytes of all arrays alive at once: under this plan, with everything stored. unbounded: a growable tape, whose
    size is known only at run time, comes on top: entry_bytes at most for each iteration of loops of unknown length.
    most_bytes: peak_bytes and such tapes at their longest; None where their length has no bound."""

    peak_bytes: int
    store_all_bytes: int
    unbounded: bool
    entry_bytes: int = 0
    most_bytes: int | None = None


@dataclass(frozen=True)
class Plan:
    """decisions: "store", "recompute" or "inverse" for every item of the problem: kept, made again, or put back by
    undoing what overwrote it. limit_bytes: None is no limit.

    modes: of the loops that start again from snapshots. schedule: what the solver found, if it was asked.
    store_all_bytes: the peak of the program that stores everything; None: of this one. about: the call it is for.
    look: makes the outlook, which may ask the solver again, when somebody wants to read it.
    """

    problem: Problem
    decisions: Mapping[str, str]
    limit_bytes: int | None = None
    policy: str = "store all"
    modes: Mapping[str, Mode] = field(default_factory=dict)
    schedule: SchedulePlan | None = None
    store_all_bytes: int | None = None
    about: About = About()
    measured: Measured | None = None
    look: Callable[[], Outlook] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def outlook(self) -> Outlook | None:
        """Floor, times, timeline and neighbours on the front; None for a plan made by hand."""
        return None if self.look is None else self.look()

    def with_outlook(self, outlook: Outlook) -> Plan:
        """The same plan, and what is known of it."""
        return replace(self, look=lambda: outlook)

    def with_front(self, plans: Sequence[Plan]) -> Plan:
        """The same plan, with the whole front in its report: plans of `sdfgad.pareto`."""
        front = next((p.outlook.front for p in plans if p.outlook), ())
        return self if self.outlook is None else self.with_outlook(replace(self.outlook, front=front, whole=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan.from_json, (self.to_json(),)

    @property
    def predicted(self) -> Predicted:
        p = self.problem
        peak = p.peak_bytes(n for n, d in self.decisions.items() if d == STORE)
        unbounded = any(i.bytes is None and self.decisions[i.name] == STORE for i in p.items)
        most = None if p.tape_bytes is None else peak + p.tape_bytes
        return Predicted(peak, self.store_all_bytes or p.store_all_bytes, unbounded, p.tape_entry_bytes, most)

    @property
    def recomputed(self) -> frozenset[str]:
        """Names of the items the gradient rebuilds."""
        return frozenset(n for n, d in self.decisions.items() if d == RECOMPUTE)

    @property
    def undone(self) -> frozenset[str]:
        """Names of the items that the reverse sweep gets back by undoing an update."""
        return frozenset(n for n, d in self.decisions.items() if d == INVERSE)

    @property
    def messages(self) -> MessageCounts | None:
        """What all ranks sent in a call that was measured; None of other plans, and where there is one process."""
        return None if self.measured is None else self.measured.messages

    @property
    def target(self) -> str:
        """The program, with its file where that is known."""
        return f"{self.about.file}:{self.problem.target}" if self.about.file else self.problem.target

    def scope(self, item: Item) -> str:
        """How long an item lives: made in the "body" that reads it, kept for every iteration of a "loop", or "whole".
        """
        if self.decisions[item.name] != STORE:
            return "body"
        return f"{loop_name(item.loop.split('@')[0])} loop" if item.loop else "whole"

    def reason(self, item: Item) -> str:
        """Why an item is needed, and why it is recomputed if that costs nothing, or how it comes back."""
        if item.bytes is None and self.decisions[item.name] == STORE and item.entry_bytes:
            return f"{item.because}, {_grows(item)}"
        if self.decisions[item.name] == INVERSE:
            return f"{item.because}, undone exactly: {item.undoes}"
        free = item.light and self.decisions[item.name] == RECOMPUTE
        return f"{item.because}, as cheap to compute there" if free else item.because

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


def _grows(item: Item) -> str:
    bound = f", {format_bytes(item.most_bytes)} in all" if item.most_bytes is not None else ""
    return f"at most {format_bytes(item.entry_bytes)} per iteration{bound}"


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
