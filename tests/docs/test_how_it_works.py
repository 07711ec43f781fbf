"""The page that explains the stages is executed: each python block runs, each text block is what it printed."""
from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/how_it_works.md", "docs/plans.md", "docs/writing_rules.md")
_BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)


def run_page(page: Path, folder: Path) -> list[tuple[str, str]]:
    """(printed, expected) for every text block. Code runs from a file, so that its source can be read."""
    blocks = _BLOCK.findall(page.read_text())
    namespace: dict[str, object] = {"__name__": f"page_{page.stem}"}
    pairs, printed = [], ""
    for number, (kind, body) in enumerate(blocks):
        if kind == "text":
            pairs.append((printed.strip(), body.strip()))
            continue
        file = folder / f"{page.stem}_{number}.py"
        file.write_text(body)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(body, str(file), "exec"), namespace)
        printed = out.getvalue()
    return pairs


@pytest.mark.parametrize("name", [p for p in PAGES if (ROOT / p).exists()])
def test_the_page_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    pairs = run_page(ROOT / name, tmp_path)
    assert pairs
    for printed, expected in pairs:
        assert printed == expected


def main() -> None:
    """`python -m tests.docs.test_how_it_works FOLDER` rewrites the text blocks; read what changed."""
    for name in PAGES:
        page = ROOT / name
        if page.exists():
            text = page.read_text()
            for printed, expected in run_page(page, Path(sys.argv[1])):
                text = text.replace(f"```text\n{expected}\n```", f"```text\n{printed}\n```", 1)
            page.write_text(text)


if __name__ == "__main__":
    main()
