"""Solve a PuLP model with HiGHS and report what HiGHS itself says.

PuLP's own status calls a solution found at the time limit "Optimal", and its interface has no warm start; so status,
bound and gap are read from the solver, and the start is handed to it right before it runs. Both packages take a while
to import and few programs need them, hence on first use.
"""
from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.checkpoint.schedule_plan import FEASIBLE, OPTIMAL
from sdfgad.errors import ToolchainError

INFEASIBLE, UNKNOWN = "infeasible", "unknown"
SEED = 7
STRICT, LOOSE = 1e-8, 1e-6
"""How far from an integer a value may be; the second is HiGHS's own, for models that give it numerical trouble."""


@dataclass(frozen=True)
class Outcome:
    """status: optimal, feasible, infeasible, or unknown when the time did not suffice. values: by variable name."""

    status: str
    values: Mapping[str, float]
    objective: float
    bound: float
    gap: float
    seconds: float


@cache
def pulp() -> Any:
    """The modelling package."""
    return _package("pulp")


@cache
def _highspy() -> Any:
    return _package("highspy")


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolchainError(f"the package {name} cannot be imported: {error}", code="SG506",
                             help=f"install it: pip install {name}") from error


def solver_name() -> str:
    """HiGHS and its version."""
    return f"HiGHS {_solver().version()}"


@cache
def _silent() -> Any:
    """The class of solvers that print nothing. HiGHS 1.16 writes its name to stdout as soon as one is made, where data
    may be expected: when it is given its callbacks, before anybody has had a chance to set an option."""
    def enable(solver: Any) -> None:
        solver.setOptionValue("output_flag", False)
        _highspy().Highs.enableCallbacks(solver)

    return type("Silent", (_highspy().Highs,), {"enableCallbacks": enable})


def _solver(options: Mapping[str, Any] = MappingProxyType({})) -> Any:
    solver = _silent()()
    for name, value in {"output_flag": False, **options}.items():
        solver.setOptionValue(name, value)
    return solver


def run(model: Any, time_limit: float, start: Mapping[str, float] | None = None) -> Outcome:
    """Solve a model: one thread, fixed seed, no gap. start: values of the integer variables of a feasible solution."""
    began = time.monotonic()
    for tolerance, values in ((STRICT, start or {}), (LOOSE, {})):
        _run_once(model, max(time_limit - (time.monotonic() - began), 1e-3), tolerance, values)
        if model.solverModel.getModelStatus() != _highspy().HighsModelStatus.kSolveError:
            break
    return _outcome(model, time.monotonic() - began)


def _run_once(model: Any, time_limit: float, tolerance: float, start: Mapping[str, float]) -> None:
    # No restarts: after one, HiGHS 1.15.1 was seen to call a plan optimal that takes 14 times the seconds of another.
    options = {"threads": 1, "time_limit": float(time_limit), "mip_rel_gap": 0.0, "mip_abs_gap": 0.0,
               "random_seed": SEED, "mip_feasibility_tolerance": tolerance, "mip_allow_restart": False}
    made = _solver(options)
    solver = pulp().HiGHS(msg=False)
    solver.createAndConfigureSolver = lambda lp: setattr(lp, "solverModel", made)
    solver.callSolver = lambda lp: _start_and_run(lp, start)
    # PuLP's reading of the solution trips over a model without one; `_outcome` does not need it.
    solver.findSolutionValues = lambda lp: (pulp().LpStatusNotSolved, pulp().LpSolutionNoSolutionFound)
    model.solve(solver)


def _start_and_run(lp: Any, start: Mapping[str, float]) -> None:
    index = {v.name: v.index for v in lp.variables()}
    if start:
        lp.solverModel.setSolution(len(start), np.array([index[n] for n in start], dtype=np.int32),
                                   np.array(list(start.values()), dtype=np.float64))
    _run_aside(lp.solverModel)


def _run_aside(solver: Any) -> None:
    """In another thread: this one hears interrupts, lets it run out of time, and raises when it has stopped."""
    with ThreadPoolExecutor(1) as aside:
        running = aside.submit(solver.run)
        try:
            running.result()
        finally:
            if not running.done():
                solver.setOptionValue("time_limit", 0.0)


def _outcome(lp: Any, seconds: float) -> Outcome:
    solver, status = lp.solverModel, _highspy().HighsModelStatus
    ended, info = solver.getModelStatus(), solver.getInfo()
    found = info.primal_solution_status == _highspy().SolutionStatus.kSolutionStatusFeasible
    if ended in (status.kInfeasible, status.kUnboundedOrInfeasible):
        return Outcome(INFEASIBLE, {}, 0.0, 0.0, 0.0, seconds)
    if not found:
        return Outcome(UNKNOWN, {}, 0.0, info.mip_dual_bound, float("inf"), seconds)
    values = list(solver.getSolution().col_value)
    named = {v.name: values[v.index] for v in lp.variables()}
    objective = solver.getObjectiveValue()
    if ended == status.kOptimal:
        return Outcome(OPTIMAL, named, objective, objective, 0.0, seconds)
    return Outcome(FEASIBLE, named, objective, info.mip_dual_bound, info.mip_gap, seconds)
