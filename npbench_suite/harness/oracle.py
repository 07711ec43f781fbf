"""What gradients are compared with, and whether that can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from npbench_suite.harness.job import Run
from npbench_suite.harness.objective import OBJECTIVES, SINGLE, relative_errors
from npbench_suite.harness.row import DIFFERENCES_TOLERANCE, SINGLE_TOLERANCE, Check

# Below this sensitivity a gradient is rounding noise around zero, and two correct ones differ.
NOISE = 1e4 * float(np.finfo(np.float64).eps)
# One rounding error of the arguments against the many of a program: a right gradient may be this much further away.
ALIKE = 10.0


def reference_gradients(runs: list[Run]) -> str | None:
    """The file of the first port whose gradients of both objectives are finite and more than rounding noise."""
    files = (run.gradients for run in runs if run.gradients and (run.sensitivity or 0.0) > NOISE)
    return next((file for file in files if _finite(file)), None)


def _finite(file: str) -> bool:
    with np.load(file) as gradients:
        return all(np.isfinite(gradients[name]).all() for name in gradients.files)


def compared(runs: list[Run], reference: str, kernel: Any) -> tuple[list[Run], list[Check]]:
    """Every saved gradient against the reference: the checks of sdfgad's, and all runs with wrong ones marked."""
    checks: list[Check] = []
    wrong: dict[str, str] = {}
    for run in runs:
        if not run.gradients or run.gradients == reference:
            continue
        found = list(gradient_checks(run, reference, kernel.tolerance))
        if run.competitor == "sdfgad":
            checks += found
        elif (worst := next((check for check in found if not check.passed), None)) is not None:
            wrong[run.competitor] = f"relative error {worst.error:.1e}"
    return [replace(run, status="mismatch", message=wrong[run.competitor]) if run.competitor in wrong else run
            for run in runs], checks


def gradient_checks(run: Run, reference: str, tolerance: float) -> Iterator[Check]:
    """One check in double precision, and one more where the program works in single precision."""
    with np.load(run.gradients) as gradients:
        saved = {key.partition("/")[0] for key in gradients.files}
    wanted = saved | set(OBJECTIVES) if run.competitor == "sdfgad" else saved
    if double := wanted & set(OBJECTIVES):
        yield Check("JAX", worst_error(run.gradients, reference, double), tolerance)
    if SINGLE in wanted:
        yield Check("JAX in double precision", worst_error(run.gradients, reference, {SINGLE}), SINGLE_TOLERANCE)


def worst_error(candidate: str, reference: str, objectives: set[str]) -> float:
    """The largest relative error over the objectives and all arguments; infinite where something is NaN."""
    errors = relative_errors(candidate, reference)
    return max((error if error == error else float("inf") for key, error in errors.items()
                if key.partition("/")[0] in objectives), default=float("inf"))


def ill_conditioned(checks: Sequence[Check], others: Mapping[str, str], reference: str, kernel: Any) -> str:
    """Why the data decide nothing, where other gradients of JAX are about as far away; else empty.

    ``others``: what makes them differ -> their file. Rounding the arguments says nothing of a linear program, whose
    gradient does not depend on them; that another port rounds differently does.
    """
    ours = max(check.error for check in checks if check.tolerance == kernel.tolerance)
    for reason, file in others.items():
        with np.load(file) as gradients:
            saved = {key.partition("/")[0] for key in gradients.files} & set(OBJECTIVES)
        moved = worst_error(file, reference, saved)
        if kernel.tolerance < moved < float("inf") and ours <= ALIKE * moved:
            return (f"ill-conditioned at these data: {reason} JAX's gradient by {moved:.1e}, sdfgad differs by "
                    f"{ours:.1e}; compared with central differences at a tiny size")
    return ""


def difference_checks(runs: list[Run], kernel: Any) -> Iterator[Check]:
    for run in runs:
        if run.directional_error is not None:
            yield Check("differences", run.directional_error, max(kernel.tolerance, DIFFERENCES_TOLERANCE))
