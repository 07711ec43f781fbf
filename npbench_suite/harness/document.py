"""The document of the suite: ``python -m npbench_suite.harness.document RESULT.json``, or the parts of one run.

Writes ``docs/npbench.md`` and ``docs/npbench.svg``, and the table of means between the marks in ``README.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import click

from npbench_suite.harness.columns import COLUMNS, Column
from npbench_suite.harness.report import Result, write_atomically
from npbench_suite.harness.row import Row
from npbench_suite.harness.summary import Summary, ordered, summarize
from npbench_suite.harness.table import duration, failure_lines, ratio_text

TIMES = ("kernel", "status", "rel. error", "grad", "value+grad", "forward", "NumPy", "JAX idiomatic", "JAX literal",
         "JAX value+grad", "JAX matrix")
RATIOS = ("kernel", "JAX/ours", "JAX/ours v+g", "JAX/ours weighted", "literal/ours", "grad/forward",
          "compile", "predicted", "RSS",
          "JAX RSS")
BEGIN, END = "<!-- npbench: begin -->", "<!-- npbench: end -->"
COMPARISONS = {
    "JAX": "the faster of the two ports",
    "JAX idiomatic": "the idiomatic port",
    "JAX literal": "the literal port",
    "JAX value_and_grad": "value and gradient, the faster of the two ports",
    "JAX weighted": "random weights, the faster of the two ports",
}
HOW = Path(__file__).with_name("how_measured.md")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path(),
              help="Folder with README.md and docs/.  [default: here]")
def main(results: tuple[Path, ...], root: Path) -> None:
    """Write docs/npbench.md, docs/npbench.svg and the table of README.md from the JSON of a run, or of its parts."""
    parts = [read(file) for file in results]
    if len({part.options.preset for part in parts}) > 1:
        raise click.UsageError("the results are of different presets")
    kernels = [row.kernel for part in parts for row in part.rows]
    if len(set(kernels)) < len(kernels):
        raise click.UsageError("a program is in two of the results")
    found = parts[0] if len(parts) == 1 else merged(parts)
    readme = (root / "README.md").read_text(encoding="utf-8")
    texts = {"README.md": with_table(readme, found), "docs/npbench.md": document(found)}
    compared = [row for row in found.rows if row.speedup is not None]
    if compared:
        texts["docs/npbench.svg"] = import_module("npbench_suite.harness.page").chart(compared)
    for name, text in texts.items():
        write_atomically(root / name, text)


def read(file: Path) -> Result:
    """The result in a file; a usage error when it holds none."""
    try:
        return Result.from_json(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise click.BadParameter(f"{file} is no result of this benchmark: {error}") from error


def merged(parts: Sequence[Result]) -> Result:
    """Runs over different programs as one."""
    rows = tuple(ordered(row for part in parts for row in part.rows))
    threads = tuple(sorted({n for part in parts for n in part.options.threads}))
    kernels = tuple(name for part in parts for name in part.options.kernels)
    commits = " and ".join(dict.fromkeys(part.machine.commit or "unknown" for part in parts))
    options = replace(parts[0].options, kernels=kernels, threads=threads,
                      seconds=max(part.options.seconds for part in parts))
    return replace(parts[0], options=options, rows=rows, summary=summarize(rows),
                   machine=replace(parts[0].machine, commit=commits))


def document(result: Result) -> str:
    """The whole of ``docs/npbench.md``."""
    parts = [
        "# Gradients of the NPBench programs", _origin(result),
        "## Result", *means_table(result.summary), "![JAX time over sdfgad time](npbench.svg)",
        "## Coverage", *coverage(result),
        "## Times", *markdown(_columns(TIMES), result.rows),
        "## Ratios, compile time and memory", *markdown(_columns(RATIOS), result.rows),
        "## What each column says", *(f"* **{column.name}**: {column.meaning}." for column in COLUMNS),
        HOW.read_text(encoding="utf-8").rstrip(), "## Machine", *machine(result),
    ]
    return "".join(f"{part}\n" if _continues(part, after) else f"{part}\n\n"
                   for part, after in zip(parts, [*parts[1:], ""], strict=True)).rstrip() + "\n"


def with_table(readme: str, result: Result) -> str:
    """The README with the means between its marks."""
    if BEGIN not in readme or END not in readme:
        raise click.UsageError(f"README.md lacks the marks {BEGIN} and {END}")
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    return before + "\n".join([BEGIN, *means_table(result.summary), "", _short_origin(result), END]) + after


def _continues(part: str, after: str) -> bool:
    """Whether the next part is of the same table or list."""
    return part[:1] == after[:1] and part[:1] in ("|", "*")


def _origin(result: Result) -> str:
    return (f"Written by `python -m npbench_suite.harness.document` from a run of `sdfgad bench`, "
            f"not by hand. {_short_origin(result)}")


def _short_origin(result: Result) -> str:
    options, machine = result.options, result.machine
    threads = " and ".join(map(str, options.threads))
    few = sum(len({run.threads for run in row.runs if run.competitor == "sdfgad"}) == 1 for row in result.rows)
    only = f", {few} of them with {max(options.threads)} only" if few and len(options.threads) > 1 else ""
    return (f"Preset {options.preset}, {len(result.rows)} programs, {threads} threads (the faster counts){only}, "
            f"{machine.hardware}, commit `{machine.commit or 'unknown'}`.")


def means_table(summary: Summary) -> Iterator[str]:
    """One line per comparison."""
    yield "| JAX time / sdfgad time | kernels | geometric mean | median | arithmetic mean | worst | best |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, means in summary.means.items():
        ratios = (means.geometric, means.median, means.arithmetic, means.worst, means.best)
        yield f"| {COMPARISONS[name]} | {means.kernels} | " + " | ".join(map(ratio_text, ratios)) + " |"


def coverage(result: Result) -> Iterator[str]:
    """How many rows ended how, and every row that is not plainly right with its reason."""
    yield ", ".join(f"{count} {status}" for status, count in result.summary.statuses.items()) + "."
    for row in result.rows:
        if row.status != "ok":
            reason = ": ".join(part for part in (" ".join(filter(None, (row.status, row.code))), row.message) if part)
            yield f"* {row.kernel}: {escaped(reason)}"
        for line in failure_lines(row):
            yield f"* {escaped(line)}"


def markdown(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[str]:
    """The rows as a table."""
    yield "| " + " | ".join(column.name for column in columns) + " |"
    yield "| --- |" + " ---: |" * (len(columns) - 1)
    for row in rows:
        yield "| " + " | ".join(escaped(column.text(row)) for column in columns) + " |"


def _columns(names: Sequence[str]) -> list[Column]:
    by_name = {column.name: column for column in COLUMNS}
    return [by_name[name] for name in names]


def machine(result: Result) -> Iterator[str]:
    found = result.machine
    values = {"processor": found.hardware, "system": found.system, "compiler": found.compiler, "Python": found.python,
              **found.versions, "commit": found.commit}
    yield "| what | which |"
    yield "| --- | --- |"
    for name, value in values.items():
        yield f"| {name} | {escaped(value or 'unknown')} |"
    options = result.options
    yield (f"| limits | at most {options.seconds:g} s for each process, a measurement is repeated for "
           f"{options.spend:g} s |")
    if result.preparation_seconds is not None:
        yield f"| common headers | compiled, or found in the cache, in {duration(result.preparation_seconds)} |"


def escaped(text: str) -> str:
    """A bar would end a cell, an angle bracket begin a tag."""
    return text.replace("|", r"\|").replace("<", "&lt;")


if __name__ == "__main__":
    main(prog_name="python -m npbench_suite.harness.document")
