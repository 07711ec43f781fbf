"""A program of DaCe beside the same in NumPy."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dace
import numpy as np

N, M = dace.symbol("N"), dace.symbol("M")


@dataclass(frozen=True)
class Pair:
    """A program, what it does in NumPy, arguments for both, and which result is looked at, by name if in place."""

    program: Any
    twin: Callable[..., Any]
    arguments: tuple[Any, ...]
    output: str | None = None

    @property
    def name(self) -> str:
        return str(self.program.f.__name__)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).uniform(0.5, 1.5, shape)
