"""The table on the screen: 80 columns, no colour needed to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import Console
from rich.table import Table

from npbench_suite.harness.report import Result
from npbench_suite.harness.row import FAILURES, Check, Row
from npbench_suite.harness.summary import Summary
from npbench_suite.harness.timing import Timing

COLUMNS = ("kernel", "status", "rel.err", "gradient", "JAX", "JAX/ours", "grad/fwd", "peak")
SHORT_STATUS: Mapping[str, str] = MappingProxyType({
    "no floating input": "no float", "out of memory": "no memory", "over limit": "too big", "unsupported": "refused"})


def show(console: Console, result: Result) -> None:
    """Table, summary, then the full message of every row that has one."""
    console.print(table(result.rows))
    for line in (*summary_lines(result.summary), *context_lines(result)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if notes := list(note_lines(result)):
        console.print()
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def table(rows: Sequence[Row]) -> Table:
    """One line per kernel."""
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for name in COLUMNS:
        grid.add_column(name, justify="left" if name in ("kernel", "status") else "right", no_wrap=True,
                        max_width=18 if name == "kernel" else None)
    for row in rows:
        style = "red" if row.status in FAILURES else "" if row.status == "ok" else "yellow"
        grid.add_row(*cells(row), style=style)
    return grid


def cells(row: Row) -> tuple[str, ...]:
    return (row.kernel, status_text(row), error_text(row.check), seconds_text(row.gradient), seconds_text(row.jax),
            ratio_text(row.speedup), ratio_text(row.gradient_over_forward), bytes_text(row.peak_bytes))


def status_text(row: Row) -> str:
    """The status; ``ok fd`` says that finite differences were the oracle."""
    if row.status == "ok" and by_differences(row):
        return "ok fd"
    return SHORT_STATUS.get(row.status, row.status)


def by_differences(row: Row) -> bool:
    return row.check is not None and row.check.oracle == "differences"


def error_text(check: Check | None) -> str:
    return "-" if check is None else f"{check.error:.0e}"


def seconds_text(measured: Timing | None) -> str:
    return "-" if measured is None else duration(measured.seconds)


def duration(seconds: float) -> str:
    """Three digits and a unit: ``1.23 ms``."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e6:.3g} us"


def ratio_text(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"


def bytes_text(count: int | None) -> str:
    """Three digits and a decimal unit: ``8.39 GB``."""
    if count is None:
        return "-"
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def summary_lines(summary: Summary) -> Iterator[str]:
    """Counts and the means of the ratios."""
    yield ""
    yield "kernels: " + ", ".join(f"{count} {status}" for status, count in summary.statuses.items())
    if not summary.means:
        return
    yield "time of the other / time of sdfgad (above 1: sdfgad is faster)"
    yield f"  {'':<18} kernels  geometric  median  arithmetic  worst  best"
    for name, means in summary.means.items():
        ratios = (means.geometric, means.median, means.arithmetic, means.worst, means.best)
        wide = zip(ratios, (9, 6, 10, 5, 5), strict=True)
        yield f"  {name:<18} {means.kernels:>7}  " + "  ".join(f"{ratio_text(one):>{width}}" for one, width in wide)


def context_lines(result: Result) -> Iterator[str]:
    """Under which conditions the numbers hold."""
    options = result.options
    threads = ", ".join(map(str, options.threads))
    yield (f"preset {options.preset}, threads {threads} (the faster counts), median of about {options.repeat} calls, "
           f"JAX: the faster of its literal and its idiomatic port")
    yield result.machine.hardware
    if result.preparation_seconds is not None:
        yield f"compile times are those of a first use, less the common headers: {duration(result.preparation_seconds)}"
    if any(by_differences(row) for row in result.rows):
        yield "fd: no JAX gradient, or zero or lost in rounding at these data: central differences at a tiny size"


def note_lines(result: Result) -> Iterator[str]:
    """What did not fit the table: messages, competitors that failed, DaCe's own reverse mode, regressions."""
    for row in result.rows:
        if row.message:
            yield " ".join(part for part in (f"{row.kernel}:", row.status, row.code, row.message) if part)
        yield from failure_lines(row)
    for row in result.rows:
        if row.dace_status is not None:
            slower = f", {duration(row.dace.seconds)}" if row.dace else ""
            yield f"{row.kernel}: dace.autodiff {row.dace_status}{slower}"
    for regression in result.regressions:
        yield f"regression: {regression}"


def failure_lines(row: Row) -> Iterator[str]:
    """Why a port has no time, or a check no result: each once, whatever the number of threads."""
    failed = {run.competitor: run for run in reversed(row.runs)
              if run.status != "ok" and run.competitor.partition(":")[0] in ("jax", "numpy", "differences")}
    for competitor, run in sorted(failed.items()):
        yield f"{row.kernel}: {competitor} {run.status} {run.message}".rstrip()
