"""Simple C++ of tasklets as Python."""
from __future__ import annotations

import ast


def statements_of(text: str) -> list[ast.stmt] | None:
    return None
