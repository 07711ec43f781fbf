"""The plans of several ranks in one report: the least, the median and the most of each figure, and on which rank."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from sdfgad.memory import format_bytes


@dataclass(frozen=True)
class RankFigures:
    """What the plan of one rank comes to. kept, again: values that are stored, and computed again or undone. messages,
    sent_bytes: what it sends in one call, sums: collectives it takes part in; a loop of unknown length counts once."""

    peak_bytes: int
    store_all_bytes: int
    kept: int
    again: int
    messages: int
    sent_bytes: int
    sums: int


@dataclass(frozen=True)
class RankPlans:
    """What all ranks plan for one call, the same on each of them. figures: one for each rank."""

    target: str
    policies: tuple[str, ...]
    figures: tuple[RankFigures, ...]

    def __str__(self) -> str:
        head = f"plan for {self.target} on {len(self.figures)} ranks: {', '.join(dict.fromkeys(self.policies))}"
        rows = [("", "least", "median", "most")]
        rows += [(_TITLES[f.name][0], *self._spread(f.name)) for f in fields(RankFigures)]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        table = ["  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(
            row, widths, strict=True))).rstrip() for row in rows]
        return "\n".join([head, "", *table])

    def _spread(self, name: str) -> tuple[str, str, str]:
        """The least, the median and the most with a rank that has it."""
        text = _TITLES[name][1]
        ranked = sorted((int(getattr(one, name)), rank) for rank, one in enumerate(self.figures))
        least, middle, most = ranked[0], ranked[(len(ranked) - 1) // 2], ranked[-1]
        return f"{text(least[0])} (rank {least[1]})", text(middle[0]), f"{text(most[0])} (rank {most[1]})"


_TITLES: Mapping[str, tuple[str, Callable[[int], str]]] = MappingProxyType({
    "peak_bytes": ("predicted peak", format_bytes), "store_all_bytes": ("store-all peak", format_bytes),
    "kept": ("values stored", str), "again": ("values computed again", str), "messages": ("messages sent", str),
    "sent_bytes": ("bytes sent", format_bytes), "sums": ("collectives", str)})
