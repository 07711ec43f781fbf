"""Sums into places that move, for random programs."""
from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.programs.text import N, Text
from tests.programs.writer import SIMPLE, sources


def add_up(t: Text) -> None:
    """Sums into places that move: the rows of a triangle, blocks, a window; and one sum after the other."""
    v, w, m, i, j = t.any_of(t.vectors), t.any_of(t.vectors), t.any_of(t.matrices), t.fresh("i"), t.fresh("j")
    for line in t.any_of((
            (f"{v}[1:4] = 0.5 * {w}[:3]", f"{v}[1:4] += 0.3 * {m}[0, 1:4]",
             f"{v}[1:4] += 0.2 * {m}[1, 2:] * {m}[1, :3]"),
            (f"for {i} in range({N}):", f"    for {j} in range({i} + 1):", f"        {v}[{j}] += 0.2 * {m}[{i}, {j}]"),
            (f"for {i} in range({N // 2}):", f"    {v}[2 * {i}:2 * {i} + 2] *= 0.3 + {m}[{i}, 0]"),
            (f"for {i} in range({N - 2}):", f"    {v}[{i}:{i} + 3] += 0.1 * {m}[0, :3] * {m}[1, :3]"))):
        t.line(line)


KINDS = (*SIMPLE, add_up)


def programs() -> st.SearchStrategy[Any]:
    return sources(KINDS)
