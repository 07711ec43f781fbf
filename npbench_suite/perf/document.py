"""``docs/performance.md`` from the results of a run: the text of `performance.md` with its figures filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from string import Template

from npbench_suite.harness.document import escaped
from npbench_suite.harness.document import machine as machine_lines
from npbench_suite.harness.report import Result
from npbench_suite.harness.session import Options
from npbench_suite.harness.summary import summarize
from npbench_suite.harness.table import bytes_text, duration
from npbench_suite.perf import applications, bandwidth, busy, compile_times, overheads, scaling
from npbench_suite.perf.interleave import Ratio
from npbench_suite.perf.pairs import Comparison
from npbench_suite.perf.results import Results
from npbench_suite.perf.subjects import SUBJECTS

TEMPLATE = Path(__file__).with_name("performance.md")
NOTHING = "Not measured in this run."
BEHIND = 1.3
"""From this ratio on the page says what the hand-written adjoint does that the generated code does not."""


def document(results: Results) -> str:
    """The whole page."""
    fill = {
        "origin": _origin(results), "pairs": _pairs(results), "summary": _summary(results), "behind": _behind(results),
        "bandwidth": _bandwidth(results), "sizes": _sizes(results), "steps": _steps(results),
        "applications": _applications(results), "ahead": _ahead(results),
        "compile": _compile(results), "overheads": _overheads(results), "busy": _busy(results),
        "failures": _failures(results), "machine": _machine(results),
    }
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(fill)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown with the first column to the left and the others to the right; `NOTHING` without rows."""
    lines = [" | ".join(escaped(cell) for cell in row) for row in rows]
    if not lines:
        return NOTHING
    rule = " | ".join(["---", *["---:"] * (len(head) - 1)])
    return "\n".join(f"| {line} |" for line in (" | ".join(head), rule, *lines))


def comparisons(results: Results) -> list[Comparison]:
    """The rows of the first table, in the order of the subjects."""
    found = results.of("pairs")
    return [Comparison.from_dict(found[name]) for name in SUBJECTS if name in found]


def _pairs(results: Results) -> str:
    head = ("program", "threads", "sdfgad", "hand-written", "sdfgad / hand-written", "gradient / forward",
            "1 thread / all, sdfgad", "the same, hand-written", "difference")
    return table(head, (row for one in comparisons(results) for row in _pair_rows(one)))


def _pair_rows(one: Comparison) -> Iterator[tuple[str, ...]]:
    most = max(timed.threads for timed in one.timed)
    for timed in one.timed:
        speedups = (one.speedup, one.hand_speedup) if timed.threads == most else (None, None)
        yield (one.name, str(timed.threads), duration(timed.sdfgad), duration(timed.hand), _range(timed.ratio),
               f"{timed.over_forward.median:.2f}", *("" if s is None else f"{s.median:.2f}" for s in speedups),
               f"{one.error:.0e}")


def _range(ratio: Ratio) -> str:
    return f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _summary(results: Results) -> str:
    rows = comparisons(results)
    threads = sorted({timed.threads for one in rows for timed in one.timed})
    lines = [(str(n), [timed.ratio.median for one in rows for timed in one.timed if timed.threads == n])
             for n in threads]
    return table(("threads", "programs", "geometric mean", "median", "best", "worst"),
                 ((n, str(len(found)), *(f"{f(found):.2f}" for f in (geometric_mean, median, min, max)))
                  for n, found in lines))


def _behind(results: Results) -> str:
    """One line per program: its size and what the hand-written adjoint does, the slow ones marked."""
    lines = []
    for one in comparisons(results):
        worst = max(timed.ratio.median for timed in one.timed)
        mark = f" sdfgad takes up to {worst:.1f} times as long." if worst > BEHIND else ""
        lines.append(f"* **{one.name}** ({one.sizes}): {SUBJECTS[one.name].idea}.{mark}")
    return "\n".join(lines) or NOTHING


def _bandwidth(results: Results) -> str:
    rows = ((name, row) for name, found in results.of("bandwidth").items() for row in bandwidth.read(found))
    head = ("program", "size", "threads", "arrays", "must move", "sdfgad", "triad", "sdfgad's share",
            "hand-written share")
    return table(head, ((name, row.sizes, str(row.threads), bytes_text(row.footprint), *_moved(row))
                        for name, row in rows))


def _moved(row: bandwidth.Stream) -> tuple[str, ...]:
    if not row.moved:
        return "in cache", duration(row.sdfgad), _rate(row.triad), "-", "-"
    return (bytes_text(row.moved), duration(row.sdfgad), _rate(row.triad), f"{100 * row.fraction:.0f} %",
            f"{100 * row.hand_fraction:.0f} %")


def _rate(rate: float) -> str:
    return f"{rate / 1e9:.1f} GB/s"


def _sizes(results: Results) -> str:
    rows = ((name, found["cache"], size) for name, found in results.of("scaling").items()
            for size in scaling.read(found)[0])
    head = ("program", "points", "arrays", "of the last cache", "threads", "time", "per point and sweep")
    return table(head, ((name, str(size.points), bytes_text(size.footprint), f"{size.footprint / cache:.2f}",
                         str(size.threads), duration(size.seconds), f"{size.per_point * 1e9:.2f} ns")
                        for name, cache, size in rows))


def _steps(results: Results) -> str:
    rows = ((name, one) for name, found in results.of("scaling").items() for one in scaling.read(found)[1])
    head = ("program", "points", "sweeps", "arrays", "arrays with 4 times the sweeps", "threads",
            "time per sweep, 4 times the sweeps / as many")
    return table(head, ((name, str(one.points), str(one.sweeps), bytes_text(one.footprint),
                         bytes_text(one.more_footprint), str(one.threads), _range(one.ratio)) for name, one in rows))


def _applications(results: Results) -> str:
    rows = ((name, application, timed) for name, found in results.of("applications").items()
            for application in [applications.read(found)] for timed in application.timed)
    head = ("application", "size", "threads", "forward", "gradient", "gradient / forward", "peak")
    return table(head, ((name, application.size, str(timed.threads), duration(timed.forward), duration(timed.gradient),
                         _range(timed.over_forward), bytes_text(application.peak_bytes))
                        for name, application, timed in rows))


def _ahead(results: Results) -> str:
    rows = ((name, timed) for name, found in results.of("applications").items()
            for timed in applications.read(found).timed)
    return table(("application", "sdfgad", "JAX", "JAX / sdfgad"),
                 ((name, duration(timed.gradient), duration(timed.jax), _range(timed.under_jax))
                  for name, timed in rows if timed.jax is not None and timed.under_jax is not None))


def _compile(results: Results) -> str:
    found = {name: compile_times.read(values) for name, values in results.of("compile").items()}
    taken = {name: one for name, one in found.items() if not one.refused}
    if not taken:
        return NOTHING
    parts = {"reading, differentiating, planning": {name: one.derive for name, one in taken.items()},
             "generating and compiling code": {name: one.build for name, one in taken.items()},
             "both": {name: one.total for name, one in taken.items()}}
    rows = table(("what", "programs", "median", "worst", "which"),
                 ((what, str(len(times)), duration(median(times.values())), duration(max(times.values())),
                   max(times, key=lambda name: times[name])) for what, times in parts.items()))
    refused = [f"{name} ({one.refused})" for name, one in found.items() if one.refused]
    return rows + (f"\n\nRefused: {', '.join(refused)}." if refused else "")


def _overheads(results: Results) -> str:
    rows = (cost for found in results.of("overheads").values() for cost in overheads.read(found))
    return table(("what", "time", "remark"),
                 ((cost.what, "-" if cost.seconds is None else duration(cost.seconds), cost.note) for cost in rows))


def _busy(results: Results) -> str:
    rows = [(name, busy.read(found)) for name, found in results.of("busy").items()]
    if not rows:
        return NOTHING
    worst = max(one.ratio.median for _, one in rows)
    head = ("program", "threads", "1 thread", "all threads", "all / 1", "slowest call / 1 thread", "the same, 1 thread")
    text = table(head,
                 ((name, str(one.threads), duration(one.alone), duration(one.shared), _range(one.ratio),
                   f"{one.slowest:.1f}", f"{one.slowest_alone:.1f}") for name, one in rows))
    ratios = geometric_mean([one.ratio.median for _, one in rows])
    return f"{text}\n\n{sum(one.good for _, one in rows)} of {len(rows)} within the bounds; all threads take " \
           f"{ratios:.2f} of the time of one in the geometric mean, {worst:.2f} in the worst case."


def _failures(results: Results) -> str:
    lines = [f"* {part}, {name}: {escaped(why)}" for part, name, why in results.failures()]
    lines += [f"* {one.name}: the two gradients differ by {one.error:.0e}" for one in comparisons(results)
              if not one.equal]
    return "\n".join(lines) or "None."


def _origin(results: Results) -> str:
    quick = "Quick run: few repetitions, fewer sizes. " if results.quick else ""
    return (f"{quick}Written by `./scripts/perf`, not by hand. {results.machine.hardware}, commit "
            f"`{results.machine.commit or 'unknown'}`.")


def _machine(results: Results) -> str:
    whole = Result(Options(()), results.machine, (), summarize(()))
    return "\n".join(machine_lines(whole))
