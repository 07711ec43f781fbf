"""The document and the README's table, from a result on disk."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from npbench_suite.harness import document
from npbench_suite.harness.columns import COLUMNS
from npbench_suite.harness.job import Run
from npbench_suite.harness.machine import Machine
from npbench_suite.harness.report import Result
from npbench_suite.harness.row import Check, row_of
from npbench_suite.harness.session import Options
from npbench_suite.harness.summary import summarize

HERE = Machine("Some CPU", 2, 8_000_000_000, "Linux", "3.11", None, {"numpy": "2"}, "abc123")
ROOT = Path(__file__).resolve().parents[2]


def result():
    runs = [Run("gemm", "sdfgad", 1, "ok", times={"gradient": [0.1]}, first={"gradient": 2.0}),
            Run("gemm", "jax:idiomatic", 1, "ok", times={"gradient": [0.4]}, first={"gradient": 2.0})]
    rows = (row_of("gemm", runs, [Check("JAX", 1e-12, 1e-8)]),
            row_of("crc16", [Run("crc16", "sdfgad", 1, "unsupported", "SG121", "a | b <c>")], []))
    return Result(Options(("gemm", "crc16")), HERE, rows, summarize(rows))


@pytest.fixture
def root(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"before\n{document.BEGIN}\nold\n{document.END}\nafter\n")
    (tmp_path / "r.json").write_text(result().to_json())
    return tmp_path


def call(root, file="r.json"):
    return CliRunner().invoke(document.main, [str(root / file), "--root", str(root)])


def test_document_figure_and_table_are_written(root):
    assert call(root).exit_code == 0
    readme = (root / "README.md").read_text()
    assert readme.startswith("before\n") and readme.endswith("after\n") and "old" not in readme
    assert "| the faster of the two ports | 1 | 4.00 | 4.00 | 4.00 | 4.00 | 4.00 |" in readme
    text = (root / "docs" / "npbench.md").read_text()
    assert "commit `abc123`" in text and "* crc16: unsupported SG121: a \\| b &lt;c>" in text
    assert "| gemm | ok | 1e-12 | 100 ms | - | - | - | 400 ms | - | - | - |" in text
    assert (root / "docs" / "npbench.svg").read_text().startswith("<svg")
    again = (root / "README.md").read_text(), text
    assert call(root).exit_code == 0
    assert ((root / "README.md").read_text(), (root / "docs" / "npbench.md").read_text()) == again


def test_a_file_that_is_no_result_changes_nothing(root):
    (root / "bad.json").write_text("{}")
    before = (root / "README.md").read_text()
    assert call(root, "bad.json").exit_code == 2
    assert (root / "README.md").read_text() == before
    assert not list((root / "docs").iterdir())


def test_the_tables_use_known_columns_and_leave_none_out():
    names = [column.name for column in COLUMNS]
    assert len(set(names)) == len(names)
    assert set(document.TIMES) | set(document.RATIOS) == set(names)


def test_the_readme_has_the_marks():
    text = (ROOT / "README.md").read_text()
    assert text.index(document.BEGIN) < text.index(document.END)


def part(kernel, threads, preset="S"):
    runs = [Run(kernel, "sdfgad", n, "ok", times={"gradient": [0.1]}, first={"gradient": 2.0}) for n in threads]
    rows = (row_of(kernel, runs, [Check("JAX", 1e-12, 1e-8)]),)
    return Result(Options((kernel,), preset=preset, threads=threads), HERE, rows, summarize(rows)).to_json()


def call_parts(root, *texts):
    files = [root / f"{number}.json" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    return CliRunner().invoke(document.main, [*map(str, files), "--root", str(root)])


def test_parts_of_a_run_make_one_document(root):
    assert call_parts(root, part("gemm", (1, 2)), part("atax", (2,))).exit_code == 0
    text = (root / "docs" / "npbench.md").read_text()
    assert "| gemm |" in text and "| atax |" in text
    assert "2 programs, 1 and 2 threads (the faster counts), 1 of them with 2 only" in text


def test_parts_that_do_not_belong_together_are_refused(root):
    before = (root / "README.md").read_text()
    for other in (part("atax", (2,), preset="M"), part("gemm", (2,))):
        assert call_parts(root, part("gemm", (1, 2)), other).exit_code == 2
    assert (root / "README.md").read_text() == before
