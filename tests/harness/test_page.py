import re

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from npbench_suite.harness.columns import COLUMNS  # noqa: E402
from npbench_suite.harness.job import Run  # noqa: E402
from npbench_suite.harness.machine import Machine  # noqa: E402
from npbench_suite.harness.page import html  # noqa: E402
from npbench_suite.harness.report import Result  # noqa: E402
from npbench_suite.harness.row import Check, row_of  # noqa: E402
from npbench_suite.harness.session import Options  # noqa: E402
from npbench_suite.harness.summary import summarize  # noqa: E402

HERE = Machine("Some <CPU>", 2, 8_000_000_000, "Linux", "3.11", None, {"numpy": "2"}, None)


def page(*rows):
    return html(Result(Options(tuple(row.kernel for row in rows)), HERE, rows, summarize(rows)))


def compared(kernel, jax):
    runs = [Run(kernel, "sdfgad", 1, "ok", times={"gradient": [1.0]}, first={"gradient": 2.0}),
            Run(kernel, "jax:idiomatic", 1, "ok", times={"gradient": [jax]}, first={"gradient": 2.0})]
    return row_of(kernel, runs, [Check("JAX", 0.0, 1e-8)])


def test_page_is_self_contained_and_escaped():
    text = page(compared("gemm", 0.25), compared("jacobi_2d", 30.0))
    assert text.count("<svg") == 1 and "gemm" in text
    assert "Some &lt;CPU&gt;" in text
    assert not re.search(r"(src|href)=[\"']https?:", text)
    assert "<script" not in text


def test_page_without_any_ratio_has_no_chart():
    assert "<svg" not in page(row_of("adi", [Run("adi", "sdfgad", 1, "unsupported", "SG121", "x")], []))


def test_equal_results_give_equal_pages():
    strip = lambda text: re.sub(r"(id|href|xlink:href)=\"[^\"]*\"|url\([^)]*\)", "", text)  # noqa: E731
    assert strip(page(compared("gemm", 0.25))) == strip(page(compared("gemm", 0.25)))


def test_every_figure_has_a_column_and_every_time_its_interval():
    text = page(compared("gemm", 0.25))
    for column in COLUMNS:
        assert f">{column.name}</th>" in text.replace("&gt;", ">").replace("<wbr>", "")
    assert "calls, 1 threads, jax:idiomatic" in text


def test_wide_tables_scroll_and_names_of_any_length_have_their_line():
    """Looked at with a browser from 420 to 1400 pixels: at 1100 all columns are seen."""
    text = page(compared("gemm", 0.25))
    assert text.count("<table") == text.count('<div class="wide"><table') and "overflow-x: auto" in text
    assert "dl { display: grid" in text and "float" not in text
