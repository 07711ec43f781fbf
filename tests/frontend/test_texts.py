"""Where the text of a function is found."""
from __future__ import annotations

import inspect

import pytest

from sdfgad.frontend.syntax.texts import file_text


def test_the_text_of_a_file_is_read_without_asking_every_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """With DaCe and what it imports that took longer than to parse a small function."""
    monkeypatch.setattr(inspect, "getmodule", None)
    found = file_text(test_the_text_of_a_file_is_read_without_asking_every_module.__code__)
    assert found is not None and "def test_the_text_of_a_file_is_read" in found.content


def test_a_file_that_has_become_shorter_is_not_the_text() -> None:
    code = test_a_file_that_has_become_shorter_is_not_the_text.__code__
    assert file_text(code.replace(co_firstlineno=10_000)) is None
