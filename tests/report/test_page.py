"""The page: complete, self-contained, and with charts whose areas are the bytes."""
from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from sdfgad.checkpoint.outlook import Moment
from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.plans.plan import Plan
from sdfgad.report.charts import BOTTOM, HEIGHT, MOST_ARRAYS, OTHERS, TOP, front_chart, timeline_chart
from tests.report.test_text import LOOK, PLAN, PLANS, PROBLEM
from tests.support.plans import store_all

TIMELINE = (Moment("forward 0", "forward", {"u": 300, "h": 100}), Moment("t", "forward", {"u": 300, "h": 500}),
            Moment("reverse of t", "reverse", {"u": 300, "h": 500}), Moment("end", "reverse", {"u": 300}))


def bars(svg: str, block: str) -> dict[str, float]:
    """Height of each array's part in a block."""
    found = {}
    for rectangle in ET.fromstring(svg).iter("rect"):
        hint = rectangle.findtext("title") or ""
        if hint.startswith(f"{block}: "):
            found[hint.split(": ")[1].rsplit(" ", 5)[0]] = float(rectangle.attrib["height"])
    return found


def test_the_timeline_is_stacked_to_scale() -> None:
    svg = timeline_chart(TIMELINE, None)
    start, middle, end = (bars(svg, block) for block in ("forward 0", "t", "end"))
    assert middle["h"] == pytest.approx(5 * start["h"], abs=0.3)
    assert middle["u"] == start["u"] == end["u"] == pytest.approx(3 * start["h"], abs=0.3)
    assert "h" not in end


def test_one_array_stands_on_the_other() -> None:
    parts = [r.attrib for r in ET.fromstring(timeline_chart(TIMELINE, None)).iter("rect")
             if (r.findtext("title") or "").startswith("t: ")]
    lower, upper = sorted(((float(a["y"]), float(a["y"]) + float(a["height"])) for a in parts), reverse=True)
    assert lower[1] == pytest.approx(HEIGHT - BOTTOM, abs=0.2)
    assert upper[1] == pytest.approx(lower[0], abs=0.2)


def test_the_limit_is_a_line_at_its_height() -> None:
    lines = ET.fromstring(timeline_chart(TIMELINE, 800)).iter("line")
    line = next(x for x in lines if x.attrib.get("class") == "limit")
    expected = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) / 1.05
    assert float(line.attrib["y1"]) == pytest.approx(expected, abs=0.1)
    assert 'class="limit"' not in timeline_chart(TIMELINE, None)
    assert 'class="limit"' not in timeline_chart(TIMELINE, 10**9)


def test_small_arrays_are_put_together() -> None:
    many = (Moment("f", "forward", {f"a{k}": 100 - k for k in range(MOST_ARRAYS + 5)}),)
    seen = bars(timeline_chart(many, None), "f")
    assert len(seen) == MOST_ARRAYS + 1 and OTHERS in seen
    whole = sum(seen.values())
    assert seen[OTHERS] / whole == pytest.approx(sum(100 - k for k in range(9, 14)) / sum(100 - k for k in range(14)),
                                                 abs=0.01)


def test_the_front_shows_plan_floor_limit_and_store_all() -> None:
    svg = front_chart(PLAN)
    ET.fromstring(svg)
    for wanted in ("chosen 1.16 MB", "store-all 5 MB", ">floor<", ">limit<", "310 kB: 9.00 x"):
        assert wanted in svg
    assert front_chart(store_all(PROBLEM)) == ""


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [f"{tag} {n}={v}" for n, v in attributes if n in ("src", "href", "action", "data")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("plan", PLANS, ids=["full", "open", "hand", "no"])
def test_the_page_needs_nothing_else(plan: Plan) -> None:
    reader, text = Reader(), plan.to_html()
    reader.feed(text)
    assert reader.open == [] and reader.loaded == [] and "script" not in reader.tags
    assert not re.search(r"https?://|url\(|@import", text)


def test_the_page_tells_what_the_text_tells() -> None:
    text = PLAN.to_html()
    assert text.count("<svg") == 2 and text.count("<tr") == 5
    for part in ("model.py:cost", "floor 300 kB", "7 snapshots", "needed by line 5, 12", "measured peak"):
        assert part in text
    assert PLAN._repr_html_() in text


def test_names_cannot_break_the_page() -> None:
    item = Item("<b>@1", "<b>", 8, "m.py", 1, "needed by <i>", True, 1)
    plan = store_all(Problem("<script>", (item,), {})).with_outlook(LOOK)
    text = plan.to_html()
    assert "<script" not in text and "<b>" not in text and "<i>" not in text


def test_a_narrow_window_sees_the_whole_table() -> None:
    """Looked at with a browser at 420 pixels; what is longer still can be moved."""
    text = PLAN.to_html()
    assert text.count("<table") == text.count('<div class="wide"><table') and "overflow-x: auto" in text
