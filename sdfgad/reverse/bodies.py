"""The ways to run the body of a loop that starts again from snapshots."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sdfgad.ir.program import Block


@dataclass(frozen=True)
class Bodies:
    """The three ways to run the body of a loop: `plain`, `recording` for the reverse, and the reverse itself."""

    plain: Callable[[], Block]
    recording: Callable[[], Block]
    backward: Callable[[], Block]
