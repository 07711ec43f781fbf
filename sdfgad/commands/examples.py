"""Programs that somebody has as a problem: those of the gallery of the documentation, which come with the package."""
from __future__ import annotations

import ast
from difflib import get_close_matches
from pathlib import Path

from sdfgad.errors import UsageError

FOLDER = Path(__file__).parents[1] / "gallery"


def names() -> tuple[str, ...]:
    """What there is, by name."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.py")))


def text(name: str) -> str:
    """A program as it stands in its file; UsageError for one that is not there."""
    if name not in names():
        near = get_close_matches(name, names(), n=1)
        raise UsageError(f"there is no example {name!r}", code="SG208",
                         help=f"did you mean {near[0]}?" if near else f"examples: {', '.join(names())}")
    return (FOLDER / f"{name}.py").read_text()


def title(name: str) -> str:
    """The first line of what it says about itself."""
    return (ast.get_docstring(ast.parse(text(name))) or "").split("\n")[0]
