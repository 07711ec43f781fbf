"""A plan as HTML that needs nothing else: no network, no script."""
from __future__ import annotations

from html import escape

from sdfgad.checkpoint.decided import Decided
from sdfgad.report.charts import front_chart, timeline_chart
from sdfgad.report.text import HEADINGS, NOTHING, RIGHT, figures, header, table

STYLE = """\
.sdfgad { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
.sdfgad h1 { font-size: 1.4rem; }
.sdfgad h2 { font-size: 1.1rem; margin: 1.5rem 0 0.3rem; }
.sdfgad table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
.sdfgad th, .sdfgad td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
.sdfgad th.number, .sdfgad td.number { text-align: right; white-space: nowrap; }
.sdfgad tr.recompute td { color: #777; }
.sdfgad pre { white-space: pre-wrap; }
.sdfgad svg { max-width: 100%; height: auto; }
.sdfgad .wide { overflow-x: auto; }
@media (max-width: 40rem) {
  .sdfgad table { font-size: 0.68rem; }
  .sdfgad th, .sdfgad td { padding: 0.15rem 0.2rem; }
  .sdfgad th.number { white-space: normal; }
}
"""
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>sdfgad plan: {title}</title>
<style>body {{ max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }}</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(plan: Decided) -> str:
    """The report as a page of its own."""
    return _PAGE.format(title=escape(plan.target), body=fragment(plan))


def fragment(plan: Decided) -> str:
    """The same for a notebook: figures, timeline, front, table."""
    title = f"plan for {plan.target}"
    parts = [f"<style>{STYLE}</style>", f"<h1>{escape(title)}</h1>", _text(header(plan)), _text(figures(plan))]
    look = plan.outlook
    if look and look.timeline:
        parts += ["<h2>Memory in use, block by block</h2>", timeline_chart(look.timeline, plan.limit_bytes)]
    if look:
        parts += ["<h2>Memory against time</h2>", front_chart(plan)]
    return '<div class="sdfgad">' + "\n".join([*parts, "<h2>Values and loops</h2>", _table(plan)]) + "</div>"


def _text(lines: list[str]) -> str:
    text = "\n".join(line.strip() for line in lines)
    return f"<pre>{escape(text)}</pre>" if lines else ""


def _table(plan: Decided) -> str:
    rows = table(plan)
    if not rows:
        return f"<p>{escape(NOTHING)}</p>"
    head = "".join(f"<th{_number(k)}>{escape(text)}</th>" for k, text in enumerate(HEADINGS))
    body = "\n".join(
        f'<tr class="{escape(row.kind)}">' + "".join(f"<td{_number(k)}>{escape(c)}</td>"
                                                     for k, c in enumerate(row.cells)) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _number(column: int) -> str:
    return ' class="number"' if column in RIGHT else ""
