"""Arguments of the test programs, and how a program and its arguments become a case."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

A34 = np.arange(12.0).reshape(3, 4) / 7 - 0.6
A44 = np.cos(np.arange(16.0)).reshape(4, 4)
V4 = np.array([0.3, -0.7, 1.1, 0.4])
V6 = np.array([0.3, 0.7, 1.1, -0.4, 0.9, 0.6])
F6 = V6.astype(np.float32)
I6 = np.array([0, 2, 2, 5, 1, 0])
Z3 = np.array([0.3 + 1j, 0.7 - 0.2j, -1.1 + 0.5j])

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def collector(cases: list[Case]) -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """The decorator that adds a program, with these arguments, to `cases`."""

    def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(fn: Callable[..., Any]) -> Callable[..., Any]:
            cases.append((fn, arguments))
            return fn

        return add

    return case
