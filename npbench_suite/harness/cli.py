"""The command line: ``sdfgad bench`` and ``python -m npbench_suite.harness``.

Everything that can be wrong with the request is found before anything runs.
"""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import click
import psutil
from rich.console import Console

from npbench_suite.harness.job import SUITE, Run
from npbench_suite.harness.machine import Machine, machine, usable_cores
from npbench_suite.harness.process import terminable
from npbench_suite.harness.report import Baseline, Result, read_baseline, regressions, write_atomically
from npbench_suite.harness.resume import finished_rows, part_file
from npbench_suite.harness.row import Row
from npbench_suite.harness.session import PRESETS, Options, measured, prepared
from npbench_suite.harness.summary import ordered, summarize
from npbench_suite.harness.table import duration, show
from sdfgad.errors import UsageError
from sdfgad.memory import parse_bytes

COMPETITORS = ("numpy", "jax", "dace")
# A job may fill this share of the memory that is free at the start.
MEMORY_SHARE = 0.8
EXIT_INTERNAL, EXIT_MISMATCH = 1, 5


@dataclass(frozen=True)
class Outputs:
    """Where the results go and what they are compared with."""

    json: str | None
    html: Path | None
    svg: Path | None
    baseline: Baseline | None
    resume: bool = False


def _comma_list(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def _competitors(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    names = _comma_list(context, parameter, value)
    if names is None:
        return COMPETITORS[:2] if find_spec("jax") else COMPETITORS[:1]
    names = () if names == ("none",) else names
    for name in names:
        if name not in COMPETITORS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(COMPETITORS)} (or none)")
        if find_spec(name) is None:
            raise click.BadParameter(f"{name} is not installed; install the extra [bench]")
    return names


def _threads(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    texts = _comma_list(context, parameter, value)
    if texts is None:
        return tuple(sorted({1, usable_cores()}))
    if not texts or not all(text.isdigit() and int(text) > 0 for text in texts):
        raise click.BadParameter(f"{value!r} is no list of positive numbers such as 1,2")
    return tuple(int(text) for text in texts)


def _memory_limit(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    try:
        parse_bytes(value)
    except UsageError as error:
        raise click.BadParameter(f"{error.message}: {error.help}") from error
    return value


def _writable(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Try the folder now: a result must not be lost at the end of a long run."""
    if value is None or value == "-":
        return value
    if Path(value).is_dir():
        raise click.BadParameter(f"{value} is a folder")
    try:
        with tempfile.TemporaryFile(dir=Path(value).parent):
            pass
    except OSError as error:
        raise click.BadParameter(f"cannot write to {value}: {error.strerror}") from error
    return value


def _drawn_file(context: click.Context, parameter: click.Parameter, value: str | None) -> Path | None:
    if value is None:
        return None
    if value == "-":
        raise click.BadParameter("give a file")
    for package in ("matplotlib", "jinja2"):
        if find_spec(package) is None:
            raise click.BadParameter(f"{package} is not installed; install the extra [bench]")
    return Path(_writable(context, parameter, value) or value)


def _baseline_file(_: click.Context, __: click.Parameter, value: str | None) -> Baseline | None:
    if value is None:
        return None
    try:
        return read_baseline(Path(value))
    except OSError as error:
        raise click.BadParameter(f"cannot read {value}: {error.strerror}") from error
    except ValueError as error:
        raise click.BadParameter(f"{value} is no result of this benchmark: {error}") from error


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("kernels", nargs=-1)
@click.option("--preset", type=click.Choice(PRESETS), default="S", show_default=True, help="Problem sizes.")
@click.option("--against", callback=_competitors, metavar="LIST",
              help="Competitors: numpy, jax, dace, or none.  [default: numpy,jax; without jax where it is missing]")
@click.option("--threads", callback=_threads, metavar="LIST", help="Numbers of threads.  [default: 1 and all cores]")
@click.option("--repeat", type=click.IntRange(1), default=10, show_default=True,
              help="Timed calls per measurement; more of very short ones, fewer of long ones.")
@click.option("--spend", type=click.FloatRange(0, min_open=True), default=Options.spend, show_default=True,
              help="Seconds after which a measurement is repeated no more.")
@click.option("--memory-limit", callback=_memory_limit, metavar="BYTES",
              help='Limit of each gradient, such as 4GB, 4GiB or 80%.  [default: none]')
@click.option("--json", "json_file", callback=_writable, metavar="FILE", help="Write the result as JSON; - for stdout.")
@click.option("--html", callback=_drawn_file, metavar="FILE", help="Write one self-contained page.")
@click.option("--svg", callback=_drawn_file, metavar="FILE", help="Write the chart of the ratios.")
@click.option("--baseline", callback=_baseline_file, metavar="FILE",
              help="JSON of an earlier run; a gradient over 20 % slower, or no longer right, fails the run.")
@click.option("--timeout", type=click.FloatRange(1), default=300.0, show_default=True,
              help="Seconds for each kernel, competitor and number of threads.")
@click.option("--resume", is_flag=True,
              help="Go on with a run that was stopped: finished kernels wait in FILE.part beside the --json FILE.")
@click.option("--suite", default=SUITE, hidden=True)
def bench(
    kernels: tuple[str, ...], preset: str, against: tuple[str, ...], threads: tuple[int, ...], repeat: int,
    spend: float, memory_limit: str | None, json_file: str | None, html: Path | None, svg: Path | None,
    baseline: Baseline | None, timeout: float, resume: bool, suite: str,
) -> None:
    """Check and time the gradients of the NPBench programs (all, or KERNELS) against NumPy and JAX.

    One row per kernel, slower ones first. The time of a gradient is that of the faster number of threads;
    JAX's is that of the faster of its literal and its idiomatic port as well.

    \b
    Exit codes: 0 all right or refused with a reason, 1 an error or a crash, 2 a wrong request,
    5 a wrong gradient or a regression.

    \b
    Example:
      sdfgad bench jacobi_2d gemm --preset M --json new.json --baseline old.json
    """
    if resume and part_file(json_file) is None:
        raise click.UsageError("--resume needs the --json FILE of the run that was stopped")
    if baseline is not None and baseline.preset != preset:
        raise click.UsageError(f"the baseline was measured at preset {baseline.preset}, not {preset}")
    options = Options(
        kernels=known_kernels(kernels, suite), preset=preset, against=against, threads=threads, repeat=repeat,
        memory_limit=memory_limit, seconds=timeout, spend=spend, suite=suite,
        rss_bytes=int(psutil.virtual_memory().available * MEMORY_SHARE),
    )
    sys.exit(run(options, Outputs(json_file, html, svg, baseline, resume)))


def known_kernels(chosen: tuple[str, ...], suite: str) -> tuple[str, ...]:
    """The chosen kernels, all of them without a choice; an unknown one is a usage error with the nearest name."""
    names = list(import_module(suite).names())
    for name in chosen:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
            raise click.UsageError(f"there is no kernel {name!r}; {hint}")
    return tuple(dict.fromkeys(chosen)) or tuple(names)


def run(options: Options, outputs: Outputs) -> int:
    """Measure, write, show; the exit code."""
    progress = Console(stderr=True, highlight=False)
    part = part_file(outputs.json)
    rows = _resumed(options, part) if outputs.resume and part else {}
    left = replace(options, kernels=tuple(name for name in options.kernels if name not in rows))
    if rows:
        progress.print(f"{len(rows)} finished kernels are in {part}", markup=False)
    with terminable(), tempfile.TemporaryDirectory(prefix="sdfgad-bench-") as folder, _told(part, rows, progress):
        preparation = prepared(left, Path(folder), _reporter(progress))
        here = machine()
        for row in measured(left, Path(folder), _reporter(progress)):
            rows[row.kernel] = row
            if part:
                write_atomically(part, _result(options, here, rows, outputs, preparation).to_json())
            progress.print(f"[{len(rows)}/{len(options.kernels)}] {row.kernel}: {row.status}", markup=False)
    result = _result(options, here, rows, outputs, preparation)
    write(result, outputs)
    if part:
        part.unlink(missing_ok=True)
    if outputs.json != "-":
        show(_screen(), result)
    return exit_code(result)


@contextmanager
def _told(part: Path | None, rows: Mapping[str, Row], progress: Console) -> Iterator[None]:
    """Whoever stops the run is told how to go on."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if part and rows:
            progress.print(f"stopped; {len(rows)} finished kernels are in {part}: the same command with --resume "
                           "goes on", markup=False)
        raise


def _resumed(options: Options, part: Path) -> dict[str, Row]:
    """What the stopped run left; a usage error where there is nothing, or where it does not fit this run."""
    try:
        return finished_rows(part, options, machine())
    except OSError as error:
        raise click.UsageError(f"cannot go on from {part}: {error.strerror}") from error
    except ValueError as error:
        raise click.UsageError(f"cannot go on from {part}: {error}") from error


def _result(
    options: Options, here: Machine, rows: Mapping[str, Row], outputs: Outputs, preparation: float | None,
) -> Result:
    """The result of the kernels measured so far."""
    lost = regressions(tuple(rows.values()), outputs.baseline) if outputs.baseline else ()
    return Result(options, here, tuple(ordered(rows.values())), summarize(tuple(rows.values())), lost, preparation)


def _screen() -> Console:
    """Standard output; 80 columns where nothing says how wide it is."""
    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 80)


def _reporter(progress: Console) -> Callable[[Run], None]:
    def report(run: Run) -> None:
        times = next((run.times[name] for name in ("gradient", "primal", "prepare") if run.times.get(name)), [])
        took = duration(median(times)) if times else ""
        words = (run.kernel, run.competitor, f"x{run.threads}:", run.status, took or run.message)
        progress.print("  " + " ".join(filter(None, words)), markup=False)

    return report


def write(result: Result, outputs: Outputs) -> None:
    """The files that were asked for."""
    if outputs.json == "-":
        click.echo(result.to_json(), nl=False)
    elif outputs.json is not None:
        write_atomically(Path(outputs.json), result.to_json())
    if outputs.html is not None:
        page = import_module("npbench_suite.harness.page")
        write_atomically(outputs.html, page.html(result))
    if outputs.svg is not None and (compared := [row for row in result.rows if row.speedup is not None]):
        page = import_module("npbench_suite.harness.page")
        write_atomically(outputs.svg, page.chart(compared))


def exit_code(result: Result) -> int:
    """5 for a wrong gradient or a regression, 1 when sdfgad broke, otherwise 0: a refusal is an answer."""
    statuses = {row.status for row in result.rows}
    if "mismatch" in statuses or result.regressions:
        return EXIT_MISMATCH
    return EXIT_INTERNAL if statuses & {"error", "crash"} else 0
