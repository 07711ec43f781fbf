"""Plans made by hand."""
from __future__ import annotations

from sdfgad.checkpoint.decided import RECOMPUTE, STORE
from sdfgad.checkpoint.problem import Problem
from sdfgad.plans.plan import Plan


def store_all(problem: Problem, limit_bytes: int | None = None) -> Plan:
    """Store every item."""
    return Plan(problem, {i.name: STORE for i in problem.items}, limit_bytes)


def recompute_where_possible(problem: Problem, limit_bytes: int | None = None) -> Plan:
    """Recompute every item that can be rebuilt from survivors, store the rest."""
    decisions = {i.name: RECOMPUTE if i.recomputable else STORE for i in problem.items}
    return Plan(problem, decisions, limit_bytes, "recompute where possible")
