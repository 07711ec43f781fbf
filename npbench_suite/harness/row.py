"""From the runs of one kernel to its row: best times, ratios, and what the check said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from statistics import median
from typing import Any

from npbench_suite.harness.job import Run
from npbench_suite.harness.timing import Timing, best, ratio

# From worst to best news; the table lists the first ones first.
FAILURES = ("mismatch", "error", "crash")
DIFFERENCES_TOLERANCE = 1e-6
SINGLE_TOLERANCE = 1e-3
# A port that is one matrix operation is shown, but nothing is measured by it.
COMPARED_PORTS = ("jax:literal", "jax:idiomatic")
PORTS = (*COMPARED_PORTS, "jax:matrix")


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

    @classmethod
    def from_dict(cls, values: dict[str, Any] | None) -> Check | None:
        """An error that is no finite number is null in JSON."""
        return None if values is None else cls(**values | {"error": math.nan if values["error"] is None
                                                           else values["error"]})


@dataclass(frozen=True)
class Costs:
    """What one implementation takes at its faster number of threads: each time on its own, and the largest memory."""

    gradient: Timing | None = None
    value_and_gradient: Timing | None = None
    weighted: Timing | None = None
    compile_seconds: float | None = None
    peak_rss_bytes: int | None = None

    @classmethod
    def of(cls, runs: Sequence[Run], competitor: str) -> Costs:
        own = [run for run in runs if run.competitor == competitor]
        peaks = [run.gradient_rss_bytes for run in own if run.gradient_rss_bytes is not None]
        return cls(best(own, [competitor], "gradient"), best(own, [competitor], "value_and_gradient"),
                   best(own, [competitor], "weighted"), compile_seconds(own), max(peaks, default=None))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Costs:
        timed = {name: Timing.from_dict(values[name]) for name in ("gradient", "value_and_gradient", "weighted")}
        return cls(**values | timed)


@dataclass(frozen=True)
class Row:
    """One kernel in the table; None where something was not measured."""

    kernel: str
    status: str
    code: str = ""
    message: str = ""
    check: Check | None = None
    value_error: float | None = None
    ours: Costs = Costs()
    forward: Timing | None = None
    primal: Timing | None = None
    ports: Mapping[str, Costs] = field(default_factory=dict)
    dace: Timing | None = None
    dace_status: str | None = None
    peak_bytes: int | None = None
    runs: tuple[Run, ...] = ()

    @property
    def gradient(self) -> Timing | None:
        return self.ours.gradient

    @property
    def jax(self) -> Timing | None:
        """JAX's gradient by its faster port, literal or idiomatic."""
        return self._faster("gradient")

    @property
    def jax_value_and_gradient(self) -> Timing | None:
        return self._faster("value_and_gradient")

    def _faster(self, name: str) -> Timing | None:
        found = [getattr(self.ports[port], name) for port in COMPARED_PORTS if port in self.ports]
        return min((timing for timing in found if timing), key=lambda timing: timing.seconds, default=None)

    @property
    def speedup(self) -> float | None:
        """JAX's time over sdfgad's; counted only for gradients that are right."""
        return ratio(self.jax, self.gradient) if self.status == "ok" else None

    @property
    def value_and_gradient_speedup(self) -> float | None:
        """The same for value and gradient in one call."""
        return ratio(self.jax_value_and_gradient, self.ours.value_and_gradient) if self.status == "ok" else None

    @property
    def weighted_speedup(self) -> float | None:
        """The same for the gradient of the outputs' sum with random weights."""
        return ratio(self._faster("weighted"), self.ours.weighted) if self.status == "ok" else None

    def over(self, port: str) -> float | None:
        """The time of one port over sdfgad's."""
        return ratio(self.ports[port].gradient, self.gradient) if self.status == "ok" and port in self.ports else None

    @property
    def gradient_over_forward(self) -> float | None:
        return ratio(self.gradient, self.forward)

    def to_dict(self) -> dict[str, Any]:
        ratios = {"speedup": self.speedup, "value_and_gradient_speedup": self.value_and_gradient_speedup,
                  "weighted_speedup": self.weighted_speedup,
                  "gradient_over_forward": self.gradient_over_forward,
                  "over": {port: self.over(port) for port in self.ports}}
        return asdict(self) | {"ratios": ratios, "runs": [run.to_dict() for run in self.runs]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Row:
        plain = {one.name: values[one.name] for one in fields(cls)}
        return cls(**plain | {
            "check": Check.from_dict(values["check"]), "ours": Costs.from_dict(values["ours"]),
            "ports": {port: Costs.from_dict(costs) for port, costs in values["ports"].items()},
            "runs": tuple(Run(**run) for run in values["runs"]),
            **{name: Timing.from_dict(values[name]) for name in ("forward", "primal", "dace")},
        })


def row_of(kernel: str, runs: Sequence[Run], checks: Sequence[Check], note: str = "") -> Row:
    """The row of a kernel from everything that was run for it; ``note`` is its message when all is right."""
    value_error = objective_error(runs)
    # Where rounding decides the gradient it decides the value as well: NumPy's is no oracle either.
    status, code, message = _status(runs, checks, None if note else value_error)
    ports = {port: Costs.of(runs, port) for port in PORTS if any(run.competitor == port for run in runs)}
    return Row(
        kernel, status, code, message or note, max(checks, key=_severity, default=None), value_error,
        ours=Costs.of(runs, "sdfgad"), forward=best(runs, ["sdfgad"], "forward"),
        primal=best(runs, ["numpy"], "primal"), ports=ports, dace=best(runs, ["dace"], "gradient"),
        dace_status=_dace_status(runs), peak_bytes=_peak(runs), runs=tuple(runs),
    )


def compile_seconds(runs: Iterable[Run]) -> float | None:
    """First call less a later one, of the first run: later runs of sdfgad find the compiled program in the cache."""
    for run in runs:
        if run.times.get("gradient"):
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


def _severity(check: Check) -> float:
    """How far an error is towards its tolerance: checks in single and double precision are compared by this."""
    return math.inf if math.isnan(check.error) else check.error / check.tolerance
