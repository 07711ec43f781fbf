"""The programs of docs/adapters.md do what the page says; those of libraries that are not there are left out."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_how_it_works import run_page

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
SECTIONS = {part.split("\n")[0]: part for part in PAGE.read_text().split("\n## ")[1:]}


@pytest.mark.slow
@pytest.mark.parametrize("library", SECTIONS)
def test_the_page_prints_what_it_shows(library: str, tmp_path: Path) -> None:
    pytest.importorskip({"PyTorch": "torch"}.get(library, library.lower()))
    (tmp_path / "page.md").write_text(SECTIONS[library])
    (printed, expected), = run_page(tmp_path / "page.md", tmp_path)
    assert printed == expected
