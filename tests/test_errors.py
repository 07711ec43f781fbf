"""Errors: where, what, what to do; each code is known; classes are caught by the built-in they also are."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest

import sdfgad
from sdfgad.errors import (
    CODES,
    MemoryLimitError,
    SourceLine,
    ToolchainError,
    UnsupportedError,
    damaged,
    unsupported,
)

PACKAGE = Path(sdfgad.__file__).parent


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "swe.py"
    file.write_text("def cost(h):\n    q = expit(h)\n\tr = 'ä' + f(h)\n\n")
    return str(file)


def test_a_refusal_shows_the_users_line(program: str) -> None:
    error = unsupported(SourceLine(program, 2, 8, 16, "cost"), "a call into Python", "write it in NumPy", "SG121")
    assert str(error) == (
        "[SG121] this call goes into Python and has no derivative rule\n"
        "  --> swe.py:2:9   in cost()\n"
        "    2 |    q = expit(h)\n"
        "      |        ^^^^^^^^ a call into Python\n"
        "  help: write it in NumPy\n"
        "  see:  sdfgad explain SG121"
    )
    assert (error.file, error.line, error.column, error.what) == (program, 2, 8, "a call into Python")


def test_without_columns_the_whole_line_is_marked(program: str) -> None:
    assert "      |    ^^^^^^^^^^^^ what" in str(unsupported(SourceLine(program, 2), "what"))


def test_tabs_and_wide_characters_keep_the_carets_in_place(program: str) -> None:
    # The offsets of a syntax tree count bytes, and the umlaut has two.
    line = SourceLine(program, 3, 12, 16)
    assert line.excerpt().splitlines()[-1] == "      |\t" + " " * 10 + "^^^^"


@pytest.mark.parametrize("column, end", [(8, 3), (8, 900), (900, 901), (8, 8)])
def test_columns_that_make_no_sense_still_give_an_excerpt(program: str, column: int, end: int) -> None:
    assert "^" in SourceLine(program, 2, column, end).excerpt("label")


def test_a_source_that_is_gone_gives_file_and_line() -> None:
    text = str(unsupported(SourceLine("/nowhere/gone.py", 7), "what", "do this"))
    assert "--> /nowhere/gone.py:7" in text and "what" in text and "do this" in text


def test_a_refusal_without_a_place_is_one_line_and_the_hints() -> None:
    assert str(unsupported(None, "eval", "inline it")).splitlines()[0] == \
        "[SG101] this construct is not supported: eval"


@pytest.mark.parametrize("error, builtin", [
    (sdfgad.UnsupportedError, NotImplementedError),
    (sdfgad.UsageError, ValueError),
    (sdfgad.UsageError, TypeError),
    (sdfgad.OutputError, sdfgad.UsageError),
    (sdfgad.OutOfBoundsError, IndexError),
    (sdfgad.DtypeError, sdfgad.UsageError),
    (sdfgad.AliasError, sdfgad.UsageError),
    (sdfgad.MemoryLimitError, MemoryError),
    (sdfgad.GradientMismatchError, AssertionError),
    (sdfgad.ToolchainError, sdfgad.SdfgadError),
    (sdfgad.PlanNotExecutable, sdfgad.SdfgadError),
    (sdfgad.SnapshotError, OSError),
    (sdfgad.UnusedArgumentWarning, UserWarning),
])
def test_the_class_tree(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, builtin)
    assert error.__module__ == "sdfgad"


@pytest.mark.parametrize("error", [
    unsupported(SourceLine("a.py", 1, 2, 3, "f"), "what", "help", "SG121"),
    MemoryLimitError("too small", minimum_bytes=80, floor=("A", "x"), limit_bytes=40),
    ToolchainError("failed", command=("g++", "x.cpp"), output="a\nb", log="/tmp/log"),
    damaged("u"),
], ids=lambda e: type(e).__name__)
def test_errors_survive_pickle_and_copy(error: Exception) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(twin) == str(error)
        assert vars(twin).keys() == vars(error).keys()


def test_a_limit_error_names_the_floor() -> None:
    error = MemoryLimitError("the gradient needs 80 bytes", minimum_bytes=80, floor=["A", "x"], limit_bytes=40)
    assert error.floor == ("A", "x") and error.minimum_bytes == 80
    assert "floor: 80 bytes: A, x" in str(error)


def test_a_toolchain_error_shows_command_and_last_lines() -> None:
    output = "\n".join(f"line {i}" for i in range(50))
    text = str(ToolchainError("g++ failed", command=("g++", "x.cpp"), output=output, log="build.log"))
    assert "command: g++ x.cpp" in text and "line 49" in text and "line 3\n" not in text and "log: build.log" in text


def test_every_code_in_the_package_is_in_the_table() -> None:
    used = {code for file in PACKAGE.rglob("*.py") for code in re.findall(r"\bSG\d{3}\b", file.read_text())}
    assert used <= CODES.keys()


def test_the_default_code_of_a_refusal_is_general() -> None:
    assert UnsupportedError("x").code == "SG101"
