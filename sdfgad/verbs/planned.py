"""What gradients would store, by the function: verbs that make no gradient."""
from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from sdfgad.plans.pins import Names
from sdfgad.plans.plan import Plan
from sdfgad.verbs.api import GradFunction
from sdfgad.verbs.tracebacks import shortened


@shortened
def plan(fn: Callable[..., Any], *args: Any, wrt: Any = None, argnums: Any = None, output: Any = None,
         reduce: str | None = None, has_aux: bool = False, memory_limit: Any = None, device: str | None = None,
         plan: Plan | None = None, store: Names = (), recompute: Names = (), snapshot: Names = (),
         spill: str | PathLike[str] | None = None, source: str | None = None, **keywords: Any) -> Plan:
    """What the gradient will store for these arguments or specs; nothing is compiled or allocated.

    Options and errors as in `grad`; `keywords` are arguments of the function. Print it, or see `Plan.to_json`,
    `to_html`, `save`.
    """
    made = GradFunction(fn, wrt=wrt, argnums=argnums, output=output, reduce=reduce, has_aux=has_aux,
                        memory_limit=memory_limit, device=device, plan=plan, store=store, recompute=recompute,
                        snapshot=snapshot, spill=spill, source=source)
    return made.plan(*args, **keywords)


@shortened
def pareto(fn: Callable[..., Any], *args: Any, points: int = 12, wrt: Any = None, argnums: Any = None,
           output: Any = None, reduce: str | None = None, has_aux: bool = False, device: str | None = None,
           store: Names = (), recompute: Names = (), snapshot: Names = (), source: str | None = None,
           **keywords: Any) -> list[Plan]:
    """Plans that trade memory for time, from the fastest to the smallest, at most `points` of them.

    Arguments or specs and options as in `plan`. Each is executable as it is, `grad(fn, plan=p)`, and its predicted peak
    is that of its program; none is both smaller and faster than another.
    """
    made = GradFunction(fn, wrt=wrt, argnums=argnums, output=output, reduce=reduce, has_aux=has_aux, device=device,
                        store=store, recompute=recompute, snapshot=snapshot, source=source)
    return made.pareto(*args, points=points, **keywords)
