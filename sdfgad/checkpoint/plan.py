"""The answer: one decision for every item, and what it comes to. Frozen, printable, saved and replayed as JSON."""
from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.errors import UsageError
from sdfgad.memory import format_bytes

SCHEMA = "sdfgad.plan/1"
STORE, RECOMPUTE = "store", "recompute"


@dataclass(frozen=True)
class Predicted:
    """Bytes of all arrays alive at once: under this plan, with nothing stored, with everything stored."""

    peak_bytes: int
    floor_bytes: int
    store_all_bytes: int
    unbounded: bool


@dataclass(frozen=True)
class Plan:
    """decisions: "store" or "recompute" for every item of the problem. limit_bytes: None is no limit."""

    problem: Problem
    decisions: Mapping[str, str]
    limit_bytes: int | None = None
    policy: str = "store all"

    @property
    def predicted(self) -> Predicted:
        p = self.problem
        stored = sum(i.bytes or 0 for i in p.items if self.decisions[i.name] == STORE)
        floor = sum(i.bytes or 0 for i in p.items if not i.recomputable)
        unbounded = any(i.bytes is None and self.decisions[i.name] == STORE for i in p.items)
        return Predicted(p.base_bytes + stored, p.base_bytes + floor, p.store_all_bytes, unbounded)

    @property
    def recomputed(self) -> frozenset[str]:
        """Names of the items the gradient rebuilds."""
        return frozenset(n for n, d in self.decisions.items() if d == RECOMPUTE)

    def reason(self, item: Item) -> str:
        """Why an item is needed, and why it is recomputed if that costs nothing."""
        free = item.light and self.decisions[item.name] == RECOMPUTE
        return f"{item.because}, as cheap to compute there" if free else item.because

    def to_json(self) -> str:
        """The plan as a string of schema `sdfgad.plan/1`."""
        predicted = self.predicted
        arrays = [{"name": i.name, "file": i.file, "line": i.line, "bytes": i.bytes, "scope": "loop",
                   "decision": self.decisions[i.name], "reason": self.reason(i), "recompute_cost": i.cost}
                  for i in self.problem.items]
        return json.dumps({
            "schema": SCHEMA, "target": self.problem.target, "limit_bytes": self.limit_bytes, "policy": self.policy,
            "predicted": {"peak_bytes": predicted.peak_bytes, "floor_bytes": predicted.floor_bytes,
                          "store_all_bytes": predicted.store_all_bytes, "unbounded": predicted.unbounded},
            "measured": None, "arrays": arrays, "problem": json.loads(self.problem.to_json())}, indent=1)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Read what `to_json` wrote; UsageError when the text is something else."""
        try:
            raw: dict[str, Any] = json.loads(text)
        except json.JSONDecodeError as error:
            raise UsageError(f"this is not a plan: {error}", code="SG205") from error
        if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
            raise UsageError(f"this is not a plan of schema {SCHEMA}", code="SG205")
        problem = Problem.from_json(json.dumps(raw["problem"]))
        return Plan(problem, {a["name"]: a["decision"] for a in raw["arrays"]}, raw["limit_bytes"], raw["policy"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan to a file."""
        Path(path).write_text(self.to_json())

    @staticmethod
    def load(path: str | PathLike[str]) -> Plan:
        """Read a plan from a file."""
        return Plan.from_json(Path(path).read_text())

    def __str__(self) -> str:
        predicted = self.predicted
        rows = [_row("array", "where", "bytes", "decision", "because")]
        rows += [_row(i.array, f"{Path(i.file).name}:{i.line}", _size(i), self.decisions[i.name], self.reason(i))
                 for i in self.problem.items]
        if not self.problem.items:
            rows = ["nothing has to be stored: every value the reverse sweep reads is intact when it gets there"]
        more = " + growable tape" if predicted.unbounded else ""
        limit = "none" if self.limit_bytes is None else format_bytes(self.limit_bytes)
        return "\n".join([f"plan for {self.problem.target}: {self.policy}", *rows,
                          f"limit {limit}   predicted peak {format_bytes(predicted.peak_bytes)}{more}   "
                          f"floor {format_bytes(predicted.floor_bytes)}   "
                          f"store-all {format_bytes(predicted.store_all_bytes)}"])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def store_all(problem: Problem, limit_bytes: int | None = None) -> Plan:
    """Store every item."""
    return Plan(problem, {i.name: STORE for i in problem.items}, limit_bytes)


def recompute_light(problem: Problem, limit_bytes: int | None = None) -> Plan:
    """Recompute what costs no more than storing it, store the rest."""
    decisions = {i.name: RECOMPUTE if i.light else STORE for i in problem.items}
    return Plan(problem, decisions, limit_bytes, "store, but for what is as cheap to recompute")


def recompute_where_possible(problem: Problem, limit_bytes: int | None = None) -> Plan:
    """Recompute every item that can be rebuilt from survivors, store the rest."""
    decisions = {i.name: RECOMPUTE if i.recomputable else STORE for i in problem.items}
    return Plan(problem, decisions, limit_bytes, "recompute where possible")


def _row(array: str, where: str, size: str, decision: str, because: str) -> str:
    return f" {array:<12} {where:<18} {size:>10}  {decision:<10} {because}".rstrip()


def _size(item: Item) -> str:
    return "growable" if item.bytes is None else format_bytes(item.bytes)
