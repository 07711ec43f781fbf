"""The pages that explain are executed: each python block runs, each text block is what it printed."""
from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/derivatives.md", "docs/how_it_works.md", "docs/plans.md", "docs/sdfg.md", "docs/writing_rules.md")
# What they show is tested elsewhere, too.
LATE = ("docs/coming_from.md", "docs/nan.md", "docs/tutorial.md")
_BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)


def run_page(page: Path, folder: Path) -> list[tuple[str, str]]:
    """(printed, expected) for every text block. Code runs from a file, so that its source can be read."""
    blocks, folder = _BLOCK.findall(page.read_text()), folder.resolve()
    namespace: dict[str, object] = {"__name__": f"page_{page.stem}"}
    pairs, printed = [], ""
    for number, (kind, body) in enumerate(blocks):
        if kind == "text":
            pairs.append((printed.strip(), body.strip()))
            continue
        file = folder / f"{page.stem}_{number}.py"
        file.write_text(body)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(folder):
            exec(compile(body, str(file), "exec"), namespace)
        printed = out.getvalue()
    return pairs


@pytest.mark.parametrize("name", [*PAGES, *(pytest.param(p, marks=pytest.mark.slow) for p in LATE)])
def test_the_page_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    pairs = run_page(ROOT / name, tmp_path)
    assert pairs
    for printed, expected in pairs:
        assert printed == expected


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    assert run_page(ROOT / "README.md", tmp_path) == []


def test_the_report_shown_names_the_lines_of_its_program(tmp_path: Path) -> None:
    """Its bytes and times are those of one machine; which lines overwrite and need what is the program's."""
    page = (ROOT / "docs/plans.md").read_text()
    (tmp_path / "heat.py").write_text(_BLOCK.findall(page)[0][1])
    command, shown = re.findall(r"```console\n\$ sdfgad (.*?)\n(.*?)```", page, re.DOTALL)[0]
    found = subprocess.run([sys.executable, "-m", "sdfgad.cli", *command.split()], cwd=tmp_path, check=True, text=True,
                           capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    lines = re.compile(r"line \d+")
    assert lines.findall(found.stdout) == lines.findall(shown) != []


def main() -> None:
    """`python -m tests.docs.test_how_it_works FOLDER` rewrites the text blocks; read what changed."""
    for name in (*PAGES, *LATE):
        page = ROOT / name
        text = page.read_text()
        for printed, expected in run_page(page, Path(sys.argv[1])):
            text = text.replace(f"```text\n{expected}\n```", f"```text\n{printed}\n```", 1)
        page.write_text(text)


if __name__ == "__main__":
    main()
