"""The result as one self-contained HTML page: bars on a log axis and the table."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import jinja2
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from npbench_suite.harness.columns import COLUMNS
from npbench_suite.harness.report import Result
from npbench_suite.harness.row import Row
from npbench_suite.harness.table import context_lines, note_lines, summary_lines

TEMPLATE = Path(__file__).with_name("page.html")
FASTER, SLOWER = "#2f6f9f", "#b5651d"


def html(result: Result) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    compared = [row for row in result.rows if row.speedup is not None]
    return template.render(
        columns=COLUMNS, rows=result.rows,
        chart=jinja2.filters.Markup(chart(compared)) if compared else "", machine=result.machine,
        summary="\n".join(summary_lines(result.summary)).strip(), context=list(context_lines(result)),
        notes=list(note_lines(result)), preset=result.options.preset,
    )


def chart(rows: Sequence[Row]) -> str:
    """The ratios as horizontal bars from 1, as an ``<svg>`` element."""
    ratios = [row.speedup or 1.0 for row in rows]
    figure = Figure(figsize=(8, 1.0 + 0.24 * len(rows)), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    # A bar on a log axis starts at 1, where both take the same time.
    axes.barh([row.kernel for row in rows], [ratio - 1 for ratio in ratios], left=1,
              color=[FASTER if ratio >= 1 else SLOWER for ratio in ratios])
    axes.set_xscale("log")
    axes.set_xlim(min(0.5, *ratios) / 1.2, max(2.0, *ratios) * 1.2)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("JAX time / sdfgad time")
    axes.tick_params(axis="y", labelsize=8)
    stream = io.StringIO()
    # No date, so that equal results give equal pages.
    figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg"):]
