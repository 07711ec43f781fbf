"""The types of what users write: options by name, and functions that take what the differentiated one takes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, ParamSpec, Protocol, TypedDict

from sdfgad.plans.pins import Names
from sdfgad.plans.plan import Plan
from sdfgad.report.ranks import RankPlans

P = ParamSpec("P")


class GradOptions(TypedDict, total=False):
    """Those of `grad` and `value_and_grad`."""

    wrt: Any
    argnums: int | Sequence[int] | None
    output: str | int | tuple[str | int, ...] | None
    reduce: str | None
    has_aux: bool
    memory_limit: int | float | str | None
    device: str | None
    plan: Plan | None
    donate: str | Sequence[str]
    store: Names
    recompute: Names
    snapshot: Names
    spill: str | PathLike[str] | None
    source: str | None
    objective: str | None
    distribute: Any
    comm: Any
    grid: Any
    gather: bool
    deterministic: bool | None
    replicated: str | Sequence[str]


class GradientOf(Protocol[P]):
    """What `grad` and `value_and_grad` make of a function; see `GradFunction`."""

    fn: Callable[..., Any]

    def __call__(self, *args: P.args, **keywords: P.kwargs) -> Any: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any: ...
    def value_and_grad(self, *args: P.args, **keywords: P.kwargs) -> tuple[Any, Any]: ...
    def plan(self, *args: Any, **keywords: Any) -> Plan: ...
    def plan_of_ranks(self, *args: Any, **keywords: Any) -> RankPlans: ...
    def measure(self, *args: Any, **keywords: Any) -> Plan: ...
    def pareto(self, *args: Any, points: int = 12, **keywords: Any) -> list[Plan]: ...
