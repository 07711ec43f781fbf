"""The columns of the page and of the document: every figure of a row, each with what it means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npbench_suite.harness.row import Costs, Row
from npbench_suite.harness.table import bytes_text, error_text, ratio_text, seconds_text, status_text
from npbench_suite.harness.timing import Timing


@dataclass(frozen=True)
class Column:
    """``text`` is the cell of a row, ``meaning`` how the figure is measured, ``hint`` what a pointer shows."""

    name: str
    text: Callable[[Row], str]
    meaning: str
    hint: Callable[[Row], str] = lambda row: ""


def interval_text(timing: Timing | None) -> str:
    """How far a median can be trusted, and where it comes from."""
    if timing is None:
        return ""
    low, high = (f"{1e3 * seconds:.4g}" for seconds in (timing.low, timing.high))
    return (f"{low} to {high} ms with {100 * timing.confidence:.0f} %, {timing.repeats} calls, "
            f"{timing.threads} threads, {timing.competitor}")


def timed(name: str, timing: Callable[[Row], Timing | None], meaning: str) -> Column:
    return Column(name, lambda row: seconds_text(timing(row)), meaning, lambda row: interval_text(timing(row)))


def port(row: Row, form: str) -> Costs:
    return row.ports.get(f"jax:{form}", Costs())


def compile_text(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f} s"


def largest_port(row: Row) -> int | None:
    """The resident memory of the port that counts."""
    return row.ports[row.jax.competitor].peak_rss_bytes if row.jax else None


COLUMNS = (
    Column("kernel", lambda row: row.kernel, "the program"),
    Column("status", status_text, "ok: within tolerance of the oracle; fd: the oracle was central differences",
           lambda row: row.message),
    Column("rel. error", lambda row: error_text(row.check),
           "largest difference of a gradient entry over the largest entry, over all arguments, two objectives (plain "
           "sum and random weights) and all numbers of threads", lambda row: row.check.oracle if row.check else ""),
    timed("grad", lambda row: row.gradient, "`sdfgad.grad`, median"),
    timed("value+grad", lambda row: row.ours.value_and_gradient, "`sdfgad.value_and_grad`, median"),
    timed("forward", lambda row: row.forward, "the program compiled by sdfgad, without a gradient, median"),
    Column("grad/forward", lambda row: ratio_text(row.gradient_over_forward), "the two medians"),
    Column("compile", lambda row: compile_text(row.ours.compile_seconds),
           "first call of the gradient less a later one: reading the program, differentiating, planning, compiling; "
           "without the common headers, which are compiled once per machine"),
    timed("NumPy", lambda row: row.primal, "the program itself, without a gradient, median"),
    timed("JAX idiomatic", lambda row: port(row, "idiomatic").gradient,
          "`jax.jit(jax.grad(...))` of the same algorithm in the fastest form found"),
    timed("JAX literal", lambda row: port(row, "literal").gradient, "the same for the program line by line"),
    timed("JAX value+grad", lambda row: row.jax_value_and_gradient,
          "`jax.jit(jax.value_and_grad(...))`, the faster of both ports"),
    Column("JAX/ours", lambda row: ratio_text(row.speedup), "faster of both ports over sdfgad, gradients"),
    Column("JAX/ours v+g", lambda row: ratio_text(row.value_and_gradient_speedup), "the same for value and gradient"),
    Column("JAX/ours weighted", lambda row: ratio_text(row.weighted_speedup),
           "the same for a sum with random weights; the plain sum starts from a matrix of ones, of which sdfgad makes "
           "use"),
    Column("literal/ours", lambda row: ratio_text(row.over("jax:literal")), "the literal port over sdfgad"),
    timed("JAX matrix", lambda row: port(row, "matrix").gradient,
          "a port that calls the matrix operation the loops spell out, or uses another algorithm; in no mean"),
    Column("predicted", lambda row: bytes_text(row.peak_bytes), "bytes of all arrays of the gradient, predicted"),
    Column("RSS", lambda row: bytes_text(row.ours.peak_rss_bytes),
           "most resident memory while the gradient was timed, with interpreter and libraries"),
    Column("JAX RSS", lambda row: bytes_text(largest_port(row)), "the same for the port that counts"),
)
