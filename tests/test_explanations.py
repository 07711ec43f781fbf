"""Every error code has a page, whose example raises it and whose other way does not."""
from __future__ import annotations

import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

import sdfgad
from sdfgad.errors import CODES, SdfgadError
from sdfgad.explanations import FAMILIES, PAGES, explain
from sdfgad.verbs.api import GradFunction

RUN = [code for code, page in PAGES.items() if page.runs]


def run(folder: Path, text: str) -> None:
    file = folder / "program.py"
    file.write_text("import numpy as np\nimport sdfgad\n" + text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(file))


def planned(gradient: GradFunction, *arguments: Any) -> Any:
    """What comes before a call, without the compiler."""
    return gradient._derivative(gradient._bind(arguments, {}), value=False)


def test_every_code_has_a_page() -> None:
    assert PAGES.keys() == CODES.keys() and {code[2] for code in CODES} == FAMILIES.keys()
    for code, page in PAGES.items():
        text = explain(code.lower())
        assert all(part.strip() for part in (page.cause, page.example, page.rewrite))
        assert CODES[code] in text and "Example:" in text and "Instead:" in text
        assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("written", ["SG121", "sg121", "121", " Sg121 "])
def test_how_a_code_may_be_written(written: str) -> None:
    assert explain(written).startswith("SG121:")


def test_an_unknown_code_lists_the_known_ones() -> None:
    with pytest.raises(sdfgad.UsageError, match=r"SG208.*SG000(.|\n)*SG101"):
        explain("SG000")


@pytest.mark.parametrize("code", RUN)
def test_an_example_raises_its_code(code: str, tmp_path: Path) -> None:
    with pytest.raises(SdfgadError) as caught:
        run(tmp_path, PAGES[code].example)
    assert caught.value.code == code


@pytest.mark.parametrize("code", RUN)
def test_the_other_way_is_taken(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GradFunction, "__call__", planned)
    monkeypatch.setattr(sdfgad, "check_grads", lambda fn, *args: sdfgad.plan(fn, *args), raising=False)
    run(tmp_path, PAGES[code].rewrite)
