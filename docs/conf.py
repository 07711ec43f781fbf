"""How the pages are built: ./scripts/docs"""
from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import sdfgad  # noqa: E402
from sdfgad.errors import CODES  # noqa: E402
from sdfgad.explanations import FAMILIES, PAGES  # noqa: E402

project, author, copyright = "sdfgad", "The sdfgad authors", "The sdfgad authors"
version = release = sdfgad.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"],
                      "show_toc_level": 2, "header_links_before_dropdown": 6}
html_static_path = ["_static"]
html_css_files = ["sdfgad.css"]
html_title = "sdfgad"
html_show_sourcelink = False
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
autodoc_typehints = "none"
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "sdfgad" / "gallery"), "gallery_dirs": "gallery", "filename_pattern": r"\.py$",
    "download_all_examples": False, "show_memory": False, "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey", "show_signature": False, "min_reported_time": 1e9,
    "write_computation_times": False, "plot_gallery": True,
}


def _marked(text: str) -> str:
    """Docstrings are plain text with names in single backticks, which are code in the pages."""
    parts = re.split(r"(?<!`)`([^`]+)`(?!`)", text)
    for k, part in enumerate(parts):
        end = r"\ " if k + 1 < len(parts) and parts[k + 1][:1].isalnum() else ""  # markup ends where a word does
        parts[k] = f"``{part}``{end}" if k % 2 else re.sub(r"([*|])", r"\\\1", part)
    return "".join(parts)


def mark(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    lines[:] = _marked("\n".join(lines)).split("\n")


def write_errors(app: Any) -> None:
    """A page for each code, from what `sdfgad explain` prints."""
    folder = HERE / "errors"
    folder.mkdir(exist_ok=True)
    rows = "\n".join(f"| [{code}](errors/{code}.md) | {meaning} |" for code, meaning in CODES.items())
    tree = "\n".join(f"errors/{code}" for code in CODES)
    (HERE / "errors.md").write_text(
        "# Error codes\n\nEach error of sdfgad has a code for its cause. `sdfgad explain SG121` prints what these "
        f"pages say.\n\n| code | cause |\n| --- | --- |\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n")
    for code, meaning in CODES.items():
        page = PAGES[code]
        kind = "python" if page.runs else "text"
        (folder / f"{code}.md").write_text(
            f"# {code}: {meaning}\n\n{page.cause}\n\n{FAMILIES[code[2]]}\n\n## Example\n\n```{kind}\n"
            f"{page.example.strip()}\n```\n\n## Instead\n\n```{kind}\n{page.rewrite.strip()}\n```\n")


def setup(app: Any) -> None:
    app.connect("builder-inited", write_errors)
    app.connect("autodoc-process-docstring", mark)
