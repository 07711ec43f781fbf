"""Value numbers: which values are the same formula over unchanged arrays (Cocke and Schwartz 1970, chapter 6)."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sdfgad.frontend.state.values import Shape
from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.walk import expr_reads

Place = tuple[int, ...]
"""The regions around a statement."""


@dataclass
class ValueNumbers:
    """Numbers of formulas, and of the containers that hold what one of them gave.

    versions: how often each container has been written; a container keeps its number until it is written again.
    """

    versions: Mapping[str, int]
    formulas: dict[tuple, int] = field(default_factory=dict)
    held: dict[str, tuple[int, Place, int]] = field(default_factory=dict)  # version, where it was stored, number

    def of(self, e: Expr, shape: Shape, here: Place) -> int:
        """Equal for formulas that give the same in one straight line of code; other scalars that hold the same may
        stand in them. A region begins anew: what is stored before a loop is not what a later iteration finds."""
        known = rewrite(e, lambda n: self._renamed(n, here) if isinstance(n, Load) and not n.index else None)
        versions = tuple(sorted((a, self.versions.get(a, 0)) for a in expr_reads(known)))
        return self.formulas.setdefault((known, shape, versions, here), len(self.formulas))

    def hold(self, array: str, number: int, here: Place) -> None:
        """The container has just been filled with what this number stands for."""
        self.held[array] = self.versions.get(array, 0), here, number

    def holds(self, array: str, here: Place) -> int | None:
        """The number of what the container holds, if it was stored in this region and has not changed since."""
        version, place, number = self.held.get(array, (None, (), 0))
        return number if (version, place) == (self.versions.get(array, 0), here) else None

    def _renamed(self, load: Load, here: Place) -> Load | None:
        number = self.holds(load.array, here)
        return None if number is None else Load(f"#{number}", (), load.dtype)
