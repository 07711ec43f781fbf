"""How a refused program becomes a case, and the check of message, file and line."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse

X = np.arange(6.0)
A = np.ones((3, 4))
I6 = np.array([0, 1, 2, 3, 4, 5])
Z = np.ones(3, complex)
TABLE = np.array([1.0, 2.0])

Refusal = tuple[Callable[..., Any], tuple[Any, ...], int, str]


def collector(cases: list[Refusal]) -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """The decorator that adds a program: `line` counts from the `def` line, `what` is part of the message."""

    def refused(line: int, what: str, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(fn: Callable[..., Any]) -> Callable[..., Any]:
            cases.append((fn, arguments, line, what))
            return fn

        return add

    return refused


def check_refusal(fn: Callable[..., Any], arguments: tuple[Any, ...], line: int, what: str) -> None:
    """The program is refused at that line, with that message."""
    with pytest.raises(UnsupportedError) as caught:
        parse(fn, arguments)
    assert what in caught.value.what, caught.value.what
    file = fn.__code__.co_filename
    assert caught.value.file == file
    with open(file) as source:
        lines = source.readlines()
    first = fn.__code__.co_firstlineno
    start = next(k for k in range(first, first + 5) if lines[k - 1].startswith("def "))
    assert caught.value.line - start == line
    assert str(caught.value).count("-->") == 1
