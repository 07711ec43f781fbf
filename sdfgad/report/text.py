"""A plan as text: readable at 80 columns, without colour."""
from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from sdfgad.checkpoint.decided import Decided, Predicted
from sdfgad.checkpoint.outlook import Argument, DeviceLoop, DeviceWork, LoopRow, Measured, Outlook, Traffic
from sdfgad.checkpoint.problem import Item
from sdfgad.memory import format_bytes
from sdfgad.names import loop_name

WIDTH = 80
HEADINGS = ("array", "where", "lives in", "bytes", "decision", "extra time", "because")
WIDEST = (10, 16, 10, 9, 20, 10)
"""Of all columns but the last."""
LEAST_BECAUSE = 15
"""Columns for the reasons, below which they go on lines of their own."""
BELOW = 8
"""Where they start there."""
RIGHT = frozenset({3, 5})
NEEDED = "needed by line "
NOTHING = "nothing has to be stored: every value the reverse sweep reads is intact when it gets there"


@dataclass(frozen=True)
class Line:
    """One row of the table. kind: the decision without its number."""

    cells: tuple[str, ...]
    kind: str


def report(plan: Decided) -> str:
    """Header, table, and the figures that say whether it fits and how slow it is."""
    lines = [*header(plan), "", *_table(table(plan)), "", *figures(plan)]
    return "\n".join(line.rstrip() for line in lines)


def header(plan: Decided) -> list[str]:
    """Whom the plan is for."""
    about = plan.about
    facts = [f"wrt {', '.join(about.wrt)}"] if about.wrt else []
    facts += [f"{name}={value}" for name, value in about.symbols.items()]
    if about.arguments:
        counts = about.threads and about.device == "cpu"
        facts.append(about.device + (f" with {about.threads} threads" if counts else ""))
    title = textwrap.wrap(f"plan for {plan.target}: {plan.policy}", WIDTH, subsequent_indent="   ")
    return title + _wrapped("  ".join(facts)) + _wrapped("  ".join(_arguments(about.arguments))) + (
        _of_ranks(about.traffic) if about.traffic else []) + (_of_device(about.work) if about.work else [])


def _of_device(work: DeviceWork) -> list[str]:
    """What a call asks of a graphics processor."""
    text = f"starts {work.launches} kernels per call"
    if work.ordered_sums:
        text += (f", of these {work.ordered_launches} for {work.ordered_sums} sums in a fixed order, which take "
                 f"{format_bytes(work.ordered_bytes)}")
    said = [text, f"moves about {format_bytes(work.moved_bytes)} between memory and device per call"]
    said += [f"{_loop_name(one)}, per iteration: {one.launches} kernels, {format_bytes(one.moved_bytes)} moved"
             for one in work.loops]
    return [line for one in said for line in _wrapped(one)]


def _loop_name(loop: DeviceLoop) -> str:
    return f"{loop.name} loop" + (f" (line {loop.line})" if loop.line else "")


def _of_ranks(traffic: Traffic) -> list[str]:
    """What one rank has of a distributed program, and what it sends."""
    blocks = "  ".join(f"{name}[{part}]" for name, part in traffic.blocks.items())
    sent = [f"sends {format_bytes(traffic.bytes)} in {traffic.messages} messages per call and takes part in "
            f"{traffic.sums} sums"]
    sent += [f"{one.name} loop, per iteration: {one.messages} messages, {format_bytes(one.bytes)}"
             + (f", {one.sums} sums" if one.sums else "") for one in traffic.loops]
    copied = f", and copies {format_bytes(traffic.copied)} of its arguments" if traffic.copied else ""
    return _wrapped(f"rank {traffic.rank} of {traffic.ranks} has {blocks}{copied}") + [
        line for text in sent for line in _wrapped(text)]


def _arguments(arguments: Sequence[Argument]) -> Iterator[str]:
    """Arrays of one kind together: ``u, v float64[64, 64] 32.8 kB each``."""
    arrays = [a for a in arguments if a.shape]
    for (dtype, shape), members in groupby(arrays, key=lambda a: (a.dtype, a.shape)):
        group = list(members)
        each = " each" if len(group) > 1 else ""
        yield (f"{', '.join(a.name for a in group)} {dtype}[{', '.join(map(str, shape))}] "
               f"{format_bytes(group[0].bytes)}{each}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=" ", subsequent_indent="   ", break_on_hyphens=False)


def table(plan: Decided) -> list[Line]:
    """A row for the values of an array that share a fate, and one for each loop that may start again."""
    look = plan.outlook
    groups: dict[tuple[str, str, str, bool, str, str], list[Item]] = {}
    for i in plan.problem.items:
        groups.setdefault((i.array, plan.decisions[i.name], plan.scope(i), i.light, i.file, i.undoes), []).append(i)
    rows = sorted(groups.values(), key=lambda group: (-sum(i.bytes or 0 for i in group), group[0].name))
    return [_row(plan, group, look) for group in rows] + [_loop_row(row, look) for row in (look.loops if look else ())]


def _row(plan: Decided, items: Sequence[Item], look: Outlook | None) -> Line:
    first = items[0]
    decision = plan.decisions[first.name]
    size = "growable" if any(i.bytes is None for i in items) else format_bytes(sum(i.bytes or 0 for i in items))
    extra = _forwards(sum(look.extra_seconds.get(i.name, 0.0) for i in items), look) if look else "-"
    return Line((first.array, _place(items, plan.about.file), plan.scope(first),
                 size if decision == "store" else f"({size})", decision, extra, _because(plan, items)), decision)


def _place(items: Sequence[Item], own: str) -> str:
    """Lines of the program's own file, or of another."""
    file = Path(items[0].file).name
    lines = sorted({i.line for i in items})
    span = str(lines[0]) if len(lines) == 1 else f"{lines[0]}-{lines[-1]}"
    return "-" if not file else f"line {span}" if file == own else f"{file}:{span}"


def _because(plan: Decided, items: Sequence[Item]) -> str:
    """One reason for all: ``needed by line 12, 43``."""
    reasons = list(dict.fromkeys(plan.reason(i) for i in items))
    numbers = [r.split(",")[0].removeprefix(NEEDED) for r in reasons]
    if len(reasons) == 1 or not all(n.isdecimal() for n in numbers):
        return "; ".join(reasons)
    rest = max((r.partition(",")[2] for r in reasons), key=len)
    return NEEDED + ", ".join(sorted(set(numbers), key=int)) + (f":{rest}" if rest else "")


def _loop_row(row: LoopRow, look: Outlook | None) -> Line:
    name, _, line = row.name.partition("@")
    decision, _, together = row.decision.partition(", ")
    because = ", ".join(filter(None, (f"{row.trips} iterations" if row.trips else "unknown length", together)))
    if row.snapshot_bytes and decision != "store all":
        because += f", a snapshot takes {format_bytes(row.snapshot_bytes)}"
    extra = "?" if row.extra_seconds is None else _forwards(row.extra_seconds, look) if look else "-"
    where = f"line {line}" if line else "-"
    return Line((f"{loop_name(name)} loop", where, "whole", format_bytes(row.bytes), decision, extra,
                 because), decision.lstrip("0123456789 "))


def _forwards(seconds: float, look: Outlook) -> str:
    """Extra time in forward sweeps."""
    share = seconds / look.forward_seconds
    return "-" if share < 0.005 else f"+{share:.2f} fwd" if share < 9.95 else f"+{share:.0f} fwd"


def _table(rows: Sequence[Line]) -> list[str]:
    if not rows:
        return _wrapped(NOTHING)
    cells = [HEADINGS, *(row.cells for row in rows)]
    widths = [min(most, max(len(c[k]) for c in cells)) for k, most in enumerate(WIDEST)]
    return [line for c in cells for line in _laid_out(c, widths)]


def _laid_out(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """One row; the reason goes on below, or starts there when there is little room."""
    fixed = [_cell(text, width, k in RIGHT) for k, (text, width) in enumerate(zip(cells, widths, strict=False))]
    start = " " + "  ".join(fixed) + "  "
    room = WIDTH - len(start)
    if room < LEAST_BECAUSE:
        yield start
        yield from textwrap.wrap(cells[-1], WIDTH, initial_indent=" " * BELOW, subsequent_indent=" " * BELOW)
        return
    reason = textwrap.wrap(cells[-1], room) or [""]
    yield start + reason[0]
    yield from (" " * len(start) + more for more in reason[1:])


def _cell(text: str, width: int, right: bool) -> str:
    short = text if len(text) <= width else text[:width - 1] + "~"
    return short.rjust(width) if right else short.ljust(width)


def figures(plan: Decided) -> list[str]:
    """Does it fit, how slow is it, and what would more or less memory bring."""
    predicted, look = plan.predicted, plan.outlook
    sizes = [f"limit {'none' if plan.limit_bytes is None else format_bytes(plan.limit_bytes)}",
             f"predicted peak {format_bytes(predicted.peak_bytes)}",
             *([f"floor {format_bytes(look.floor_bytes)}"] if look else []),
             f"store-all {format_bytes(predicted.store_all_bytes)}"
             + ("" if plan.limit_bytes is None or predicted.store_all_bytes <= plan.limit_bytes else " (does not fit)")]
    lines = _side_by_side(sizes) + (_wrapped(_growing(predicted)) if predicted.unbounded else [])
    if look:
        least = "at least " if any(row.extra_seconds is None for row in look.loops) else ""
        lines += _side_by_side([f"time {least}{look.time_factor:.1f} x forward sweep "
                                f"(store-all {look.store_all_factor:.1f} x)", _solver(plan)])
    if plan.measured:
        lines += _side_by_side([f"measured peak {format_bytes(plan.measured.peak_bytes)}",
                                f"time {plan.measured.seconds:.3g} s"])
        lines += _on_device(plan.measured)
        lines += [line for row in (plan.messages.rows if plan.messages else ()) for line in _wrapped(
            f"{row.sweep} messages: {row.count} {row.kind}, {format_bytes(row.bytes)}")]
    return lines + (_neighbours(plan, look) if look else [])


def _on_device(measured: Measured) -> list[str]:
    """What a call has asked of a graphics processor."""
    if measured.launches is None:
        return []
    return _side_by_side([f"launches {measured.launches}", f"copied {format_bytes(measured.copied_bytes or 0)}",
                          f"on the device {format_bytes(measured.device_bytes or 0)}"])


def _growing(predicted: Predicted) -> str:
    """What comes on top of the predicted peak."""
    text = "and a growable tape, whose size is known only at run time"
    if predicted.entry_bytes:
        text += f": at most {format_bytes(predicted.entry_bytes)} per iteration of loops of unknown length"
    if predicted.entry_bytes and predicted.most_bytes is not None:
        text += f", with it {format_bytes(predicted.most_bytes)} at most"
    return text


def _solver(plan: Decided) -> str:
    if plan.schedule is None:
        return "solver not asked"
    said = plan.schedule.solver
    return f"solver {said.name or 'none'}: {said.status}, gap {100 * said.gap:.1f} %, {said.seconds:.2f} s"


def _side_by_side(parts: Sequence[str]) -> list[str]:
    """Parts three blanks apart, on as many lines as they need."""
    lines: list[str] = []
    for part in filter(None, parts):
        if lines and len(lines[-1]) + 3 + len(part) <= WIDTH:
            lines[-1] += "   " + part
        else:
            lines.append(" " + part)
    return lines


def _neighbours(plan: Decided, look: Outlook) -> list[str]:
    """The points on the front to either side, or all of them."""
    points = [f"{format_bytes(p.peak_bytes)} -> {p.time_factor:.1f} x" for p in look.front]
    if look.whole:
        return [" front, peak -> time over the forward sweep:", *("  " + p for p in _side_by_side(points))]
    return _side_by_side([f"next {points[0]}", *points[1:], "(whole front: --pareto)"]) if points else []
