"""Charts as SVG text: memory over the schedule, and bytes against time."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape
from math import floor, log10

from sdfgad.checkpoint.decided import Decided
from sdfgad.checkpoint.outlook import Moment
from sdfgad.memory import format_bytes

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 70, 180, 16, 36
MOST_ARRAYS = 9
COLOURS = ("#2f6f9f", "#b5651d", "#4f9d69", "#8c5a9e", "#c9a227", "#5b7f95", "#a34a4a", "#6b8e23", "#7a6a5a", "#bbbbbb")
OTHERS = "other arrays"
LIMIT, CHOSEN, QUIET = "#c0392b", "#2f6f9f", "#777777"
Scale = Callable[[float], float]


def timeline_chart(timeline: Sequence[Moment], limit: int | None) -> str:
    """Bytes in use in each block, stacked by array; the reverse sweep is shaded, the limit is a line."""
    names = _largest(timeline)
    top = max(max(m.bytes for m in timeline), limit or 0) * 1.05 or 1.0
    if limit and limit > 4 * max(m.bytes for m in timeline):
        top = max(m.bytes for m in timeline) * 1.25
    y = _scale(0, top, HEIGHT - BOTTOM, TOP)
    step = (WIDTH - LEFT - RIGHT) / len(timeline)
    parts = [*_phases(timeline, step), *_byte_axis(top, y)]
    for k, moment in enumerate(timeline):
        base = 0.0
        for name, size in _grouped(moment.live, names).items():
            colour = COLOURS[min(names.index(name) if name in names else len(COLOURS) - 1, len(COLOURS) - 1)]
            hint = f"{moment.block}: {name} {format_bytes(size)} of {format_bytes(moment.bytes)}"
            parts.append(_rectangle(LEFT + k * step, y(base + size), step, y(base) - y(base + size), colour, hint))
            base += size
    parts += [_label(WIDTH - RIGHT + 14, TOP + 10 + 18 * k, name, COLOURS[min(k, len(COLOURS) - 1)])
              for k, name in enumerate(_legend(timeline, names))]
    if limit is not None and limit <= top:
        parts += _limit_line(y(limit), limit)
    return _svg(parts, "memory in use over the schedule, stacked by array")


def _largest(timeline: Sequence[Moment]) -> list[str]:
    most: dict[str, int] = {}
    for moment in timeline:
        for name, size in moment.live.items():
            most[name] = max(size, most.get(name, 0))
    ranked = sorted((n for n, size in most.items() if size), key=lambda n: (-most[n], n))
    return ranked[:MOST_ARRAYS]


def _grouped(live: Mapping[str, int], names: Sequence[str]) -> dict[str, int]:
    """Sizes of the named arrays in their order, and of all others together."""
    found = {name: live[name] for name in names if live.get(name)}
    rest = sum(size for name, size in live.items() if name not in names)
    return {**found, OTHERS: rest} if rest else found


def _legend(timeline: Sequence[Moment], names: Sequence[str]) -> list[str]:
    rest = any(name not in names and size for m in timeline for name, size in m.live.items())
    # The colour of the others is the last one, whatever their place.
    return [*names, *([OTHERS] if rest and len(names) == MOST_ARRAYS else [])]


def _phases(timeline: Sequence[Moment], step: float) -> Iterator[str]:
    turn = sum(m.phase == "forward" for m in timeline)
    middle = LEFT + turn * step
    yield _rectangle(middle, TOP, (len(timeline) - turn) * step, HEIGHT - TOP - BOTTOM, "#f0f0f0", "reverse sweep")
    yield _text(LEFT + turn * step / 2, HEIGHT - 14, "forward sweep", "middle")
    yield _text(middle + (len(timeline) - turn) * step / 2, HEIGHT - 14, "reverse sweep", "middle")


def front_chart(plan: Decided) -> str:
    """Peak against time, both on log axes: the front, the chosen plan, store-all, the floor and the limit."""
    look = plan.outlook
    if look is None or min(look.time_factor, look.store_all_factor, look.floor_bytes) <= 0:
        return ""
    chosen = (plan.predicted.peak_bytes, look.time_factor)
    all_stored = (plan.predicted.store_all_bytes, look.store_all_factor)
    points = _front({(p.peak_bytes, p.time_factor) for p in look.front} | {chosen}, all_stored)
    sizes = [p for p, _ in (*points, chosen, all_stored)] + [look.floor_bytes]
    low, high = min(sizes) / 1.3, max(sizes) * 1.3
    factors = [f for _, f in (*points, chosen, all_stored)]
    least, most = min(factors) / 1.5, max(factors) * 1.5
    x, y = _log_scale(low, high, LEFT, WIDTH - RIGHT), _log_scale(least, most, HEIGHT - BOTTOM, TOP)
    parts = [*_size_axis(low, high, x), *_factor_axis(least, most, y)]
    line = " ".join(f"{x(size):.1f},{y(factor):.1f}" for size, factor in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{QUIET}"/>')
    parts += [_dot(x(s), y(f), QUIET, 3, f"{format_bytes(s)}: {f:.2f} x") for s, f in points]
    parts += [_upright(x(look.floor_bytes), "floor", QUIET)]
    if plan.limit_bytes and low <= plan.limit_bytes <= high:
        parts.append(_upright(x(plan.limit_bytes), "limit", LIMIT))
    for (size, factor), name, colour in ((all_stored, "store-all", COLOURS[1]), (chosen, "chosen", CHOSEN)):
        parts.append(_dot(x(size), y(factor), colour, 6, f"{name} {format_bytes(size)}"))
    parts += [_label(WIDTH - RIGHT + 14, TOP + 10, "chosen plan", CHOSEN),
              _label(WIDTH - RIGHT + 14, TOP + 28, "store-all", COLOURS[1])]
    return _svg(parts, "peak memory against time over one forward sweep")


def _front(points: Collection[tuple[int, float]], all_stored: tuple[int, float]) -> list[tuple[int, float]]:
    """The points that no other beats, from the smallest up: each one that takes more is faster. What takes as much as
    storing everything is that."""
    found: list[tuple[int, float]] = []
    for size, factor in sorted({p for p in points if p[0] != all_stored[0]} | {all_stored}):
        if not found or factor < found[-1][1]:
            found.append((size, factor))
    return found


def _scale(low: float, high: float, start: float, stop: float) -> Scale:
    return lambda value: start + (value - low) / ((high - low) or 1.0) * (stop - start)


def _log_scale(low: float, high: float, start: float, stop: float) -> Scale:
    straight = _scale(log10(low), log10(high), start, stop)
    return lambda value: straight(log10(value))


def _ticks(top: float) -> list[float]:
    """About five round numbers from zero up."""
    rough = top / 5
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough)
    return [step * k for k in range(int(top / step) + 1)]


def _byte_axis(top: float, y: Scale) -> Iterator[str]:
    for tick in _ticks(top):
        yield from _grid(y(tick), format_bytes(tick))


def _factor_axis(low: float, high: float, y: Scale) -> Iterator[str]:
    for tick in _decades(low, high):
        yield from _grid(y(tick), f"{tick:g} x")


def _grid(height: float, text: str) -> Iterator[str]:
    yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="#dddddd"/>'
    yield _text(LEFT - 6, height + 4, text, "end")


def _size_axis(low: float, high: float, x: Scale) -> Iterator[str]:
    for tick in _decades(low, high):
        yield _text(x(tick), HEIGHT - BOTTOM + 16, format_bytes(tick), "middle")


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20, ... within a range; whole decades when there are many."""
    every = [m * 10.0**d for d in range(floor(log10(low)), floor(log10(high)) + 1) for m in (1, 2, 5)]
    found = [tick for tick in every if low <= tick <= high]
    return found if len(found) <= 10 else [tick for tick in found if f"{tick:e}".startswith("1.0")]


def _limit_line(height: float, limit: int) -> Iterator[str]:
    yield (f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" '
           f'stroke="{LIMIT}" stroke-dasharray="6 3"/>')
    yield _text(WIDTH - RIGHT - 4, height - 4, f"limit {format_bytes(limit)}", "end", LIMIT)


def _upright(at: float, text: str, colour: str) -> str:
    return (f'<line class="{text}" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{colour}" '
            f'stroke-dasharray="6 3"/>' + _text(at + 4, TOP + 10, text, "start", colour))


def _rectangle(left: float, top: float, width: float, height: float, colour: str, hint: str) -> str:
    return (f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">'
            f"<title>{escape(hint)}</title></rect>")


def _dot(x: float, y: float, colour: str, radius: int, hint: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"><title>{escape(hint)}</title></circle>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#222222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _label(x: float, y: float, text: str, colour: str) -> str:
    return _rectangle(x, y - 9, 10, 10, colour, text) + _text(x + 16, y, text, "start")


def _svg(parts: Sequence[str], title: str) -> str:
    body = "\n".join(parts)
    return (f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" font-family="system-ui, sans-serif" font-size="12" '
            f'role="img"><title>{escape(title)}</title>\n{body}\n</svg>')
