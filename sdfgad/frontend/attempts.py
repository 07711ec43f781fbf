"""What a translation assumes at first; where it does not hold, the function is translated anew without it."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.sharing import SharingRefusal

UNROLL_TRIPS = 64
"""Loops of more iterations are never written out."""


class StatementNeeded(Exception):
    """A statement was needed while only expressions were allowed."""


class AssumptionFailed(Exception):
    """An assumption about `container` did not hold."""

    def __init__(self, container: str) -> None:
        super().__init__(container)
        self.container = container


@dataclass(frozen=True)
class Assumed:
    """fragile: containers and literals found to be written, of what was assumed not to be. apart: `t = a if c else b`
    is a branch, as a choice between arrays has been refused. list_trips: loops of no more iterations are written out
    where they make lists longer. refused: what was refused first, which says more than what is refused later."""

    fragile: frozenset[str] = frozenset()
    apart: bool = False
    list_trips: int = 8
    refused: UnsupportedError | None = None

    def without(self, *containers: str) -> Assumed:
        """No longer assumed of these containers."""
        return replace(self, fragile=self.fragile | {*containers})

    def after(self, refusal: UnsupportedError, numbers: Collection[str], hasty: bool) -> Assumed:
        """What to assume once something has been refused: short loops written out, as lists of items may do more,
        choices between arrays as branches, which hold what follows them, or arrays where numbers have been refused,
        which may take what a number does not. hasty: whether such a loop has been kept. Raises what was refused first.
        """
        if hasty:
            return replace(self, list_trips=UNROLL_TRIPS)
        first = self.refused or refusal
        if isinstance(refusal, SharingRefusal) and not self.apart:
            return replace(self, apart=True, refused=first)
        if not numbers:
            raise first from None
        return replace(self.without(*numbers), refused=first)
