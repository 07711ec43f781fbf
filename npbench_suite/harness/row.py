"""From the runs of one kernel to its row: best times, ratios, and what the check said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, geometric_mean, median
from typing import Any

from npbench_suite.harness.job import Run

# From worst to best news; the table lists the first ones first.
FAILURES = ("mismatch", "error", "crash")
DIFFERENCES_TOLERANCE = 1e-6
SINGLE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Check:
    """What the gradients were compared with, and the largest relative error over objectives and arguments."""

    oracle: str
    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        # Written so that NaN does not pass.
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Best:
    """The fastest median among several runs."""

    seconds: float
    threads: int
    competitor: str


@dataclass(frozen=True)
class Row:
    """One kernel in the table; None where something was not measured."""

    kernel: str
    status: str
    code: str = ""
    message: str = ""
    check: Check | None = None
    value_error: float | None = None
    gradient: Best | None = None
    value_and_gradient: Best | None = None
    forward: Best | None = None
    compile_seconds: float | None = None
    primal: Best | None = None
    jax: Best | None = None
    dace: Best | None = None
    dace_status: str | None = None
    peak_bytes: int | None = None
    runs: tuple[Run, ...] = ()

    @property
    def speedup(self) -> float | None:
        """JAX's time over sdfgad's; counted only for gradients that are right."""
        return _ratio(self.jax, self.gradient) if self.status == "ok" else None

    @property
    def gradient_over_forward(self) -> float | None:
        return _ratio(self.gradient, self.forward)

    def to_dict(self) -> dict[str, Any]:
        ratios = {"speedup": self.speedup, "gradient_over_forward": self.gradient_over_forward}
        return asdict(self) | ratios | {"runs": [run.to_dict() for run in self.runs]}


def row_of(kernel: str, runs: Sequence[Run], checks: Sequence[Check]) -> Row:
    """The row of a kernel from everything that was run for it."""
    value_error = objective_error(runs)
    status, code, message = _status(runs, checks, value_error)
    return Row(
        kernel, status, code, message, max(checks, key=_severity, default=None), value_error,
        gradient=best(runs, "sdfgad", "gradient"), value_and_gradient=best(runs, "sdfgad", "value_and_gradient"),
        forward=best(runs, "sdfgad", "forward"), compile_seconds=compile_seconds(runs),
        primal=best(runs, "numpy", "primal"), jax=best(runs, "jax", "gradient"),
        dace=best(runs, "dace", "gradient"), dace_status=_dace_status(runs), peak_bytes=_peak(runs), runs=tuple(runs),
    )


def best(runs: Iterable[Run], competitor: str, name: str) -> Best | None:
    """The smallest median of ``name`` over the threads and ports of a competitor; wrong results do not count."""
    counted = (run for run in runs if run.competitor.partition(":")[0] == competitor and run.status != "mismatch")
    candidates = [Best(median(run.times[name]), run.threads, run.competitor)
                  for run in counted if run.times.get(name)]
    return min(candidates, key=lambda candidate: candidate.seconds, default=None)


def compile_seconds(runs: Iterable[Run]) -> float | None:
    """First call less a later one, of the first run: the others find the compiled program in the cache."""
    for run in runs:
        if run.competitor == "sdfgad" and run.times.get("gradient"):
            return max(0.0, run.first["gradient"] - median(run.times["gradient"]))
    return None


def objective_error(runs: Sequence[Run]) -> float | None:
    """sdfgad's value against NumPy's, relative to the sum of absolute outputs."""
    values = [run.objective for run in runs if run.competitor == "sdfgad" and run.objective is not None]
    for run in runs:
        if run.competitor == "numpy" and run.objective is not None and values:
            return max(abs(value - run.objective) / (run.objective_scale or 1.0) for value in values)
    return None


def _status(runs: Sequence[Run], checks: Sequence[Check], value_error: float | None) -> tuple[str, str, str]:
    ours = [run for run in runs if run.competitor == "sdfgad"]
    if not ours:
        return "not run", "", ""
    failed = next((run for run in ours if run.status != "ok"), None)
    wrong = next((check for check in checks if not check.passed), None)
    if wrong is not None:
        return "mismatch", "SG401", f"relative error {wrong.error:.1e} against {wrong.oracle}"
    if value_error is not None and checks and not value_error <= max(check.tolerance for check in checks):
        return "mismatch", "SG401", f"the value differs from NumPy's by {value_error:.1e}"
    if failed is not None:
        return failed.status, failed.code, failed.message
    return ("ok", "", "") if checks else ("unchecked", "", "no oracle could be run")


def _dace_status(runs: Iterable[Run]) -> str | None:
    """What a user of DaCe's own reverse mode would have seen; its errors are refusals."""
    statuses = [run.status for run in runs if run.competitor == "dace"]
    if not statuses:
        return None
    return next(("refused" if status == "error" else status for status in statuses if status != "ok"), "ok")


def _peak(runs: Iterable[Run]) -> int | None:
    return max((run.predicted_peak_bytes for run in runs if run.predicted_peak_bytes is not None), default=None)


def _ratio(above: Best | None, below: Best | None) -> float | None:
    return above.seconds / below.seconds if above and below and below.seconds > 0 else None


def _severity(check: Check) -> float:
    """How far an error is towards its tolerance: checks in single and double precision are compared by this."""
    return math.inf if math.isnan(check.error) else check.error / check.tolerance


@dataclass(frozen=True)
class Summary:
    """Ratios JAX over sdfgad of the kernels that have one, and how many rows ended how."""

    statuses: dict[str, int]
    compared: int
    geometric_mean: float | None = None
    median: float | None = None
    arithmetic_mean: float | None = None
    worst: float | None = None
    best: float | None = None


def summarize(rows: Sequence[Row]) -> Summary:
    """The bottom lines of the table."""
    statuses = {status: sum(row.status == status for row in rows) for status in sorted({row.status for row in rows})}
    ratios = [row.speedup for row in rows if row.speedup is not None]
    if not ratios:
        return Summary(statuses, 0)
    means = geometric_mean(ratios), median(ratios), fmean(ratios)
    return Summary(statuses, len(ratios), *means, worst=min(ratios), best=max(ratios))


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Failures, then the kernels with a ratio from slow to fast, then the others by name."""
    def key(row: Row) -> tuple[int, float, str]:
        if row.status in FAILURES:
            return FAILURES.index(row.status), 0.0, row.kernel
        if row.speedup is not None:
            return len(FAILURES), row.speedup, row.kernel
        return len(FAILURES) + 1, 0.0, row.kernel

    return sorted(rows, key=key)
