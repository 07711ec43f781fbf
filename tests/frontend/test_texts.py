"""Where the text of a function is found."""
from __future__ import annotations

import inspect

import pytest

from sdfgad.frontend.syntax import matching
from sdfgad.frontend.syntax.source import code_of
from sdfgad.frontend.syntax.texts import file_text


def test_the_text_of_a_file_is_read_without_asking_every_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """With DaCe and what it imports that took longer than to parse a small function."""
    monkeypatch.setattr(inspect, "getmodule", None)
    found = file_text(test_the_text_of_a_file_is_read_without_asking_every_module.__code__)
    assert found is not None and "def test_the_text_of_a_file_is_read" in found.content


def doubled(x: float) -> float:
    return 2.0 * x


def test_a_function_is_compared_with_its_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = code_of(doubled)
    monkeypatch.setattr(matching, "compile", None, raising=False)
    assert code_of(doubled).node is first.node


def test_a_file_that_has_become_shorter_is_not_the_text() -> None:
    code = test_a_file_that_has_become_shorter_is_not_the_text.__code__
    assert file_text(code.replace(co_firstlineno=10_000)) is None
