"""What a translation assumes at first; where it does not hold, the function is translated anew without it."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.state.sharing import SharingRefusal
from sdfgad.ir.index import Ix

Refusal = TypeVar("Refusal", bound=UnsupportedError)
UNROLL_TRIPS = 64
"""Loops of more iterations are never written out."""


class SizesRefusal(UnsupportedError):
    """A refusal because sizes that data decide may not agree."""


class ApartRefusal(UnsupportedError):
    """A refusal of what data choose: where the choice is a branch, it may hold what follows."""


def of_kind(kind: type[Refusal], found: UnsupportedError) -> Refusal:
    """A refusal as one of a kind."""
    return kind(found.what, source=found.source, code=found.code, help=found.help, calls=found.calls,
                within=found.within)


def differing(sizes: Iterable[Ix]) -> tuple[str, str]:
    """The advice for sizes that do not agree, and the code of that refusal."""
    known = all(n.const is not None for n in sizes)
    return "NumPy raises a ValueError here as well" if known else (
        "the sizes have to be equal or 1 whatever the data"), "SG103"


def of_sizes(sizes: Iterable[Ix], found: UnsupportedError) -> UnsupportedError:
    """The refusal of sizes that do not agree."""
    return of_kind(SizesRefusal, found) if any(n.elems for n in sizes) else found


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
    is a branch, as a choice between arrays or objects has been refused. list_trips: loops of no more iterations are
    written out where they make lists longer. cut_off: slices at places that data decide may be cut off by the end of
    their array. known_masks: masks that arrays from outside tell are places that are known, which later calls look at:
    as data they have been refused. refused: what was refused first, which says more than what is refused later."""

    fragile: frozenset[str] = frozenset()
    apart: bool = False
    list_trips: int = 8
    cut_off: bool = True
    known_masks: bool = False
    refused: UnsupportedError | None = None

    def without(self, *containers: str) -> Assumed:
        """No longer assumed of these containers."""
        return replace(self, fragile=self.fragile | {*containers})

    def after(self, refusal: UnsupportedError, numbers: Collection[str], hasty: bool, masks: bool) -> Assumed:
        """What to assume once something has been refused: short loops written out, as lists of items may do more,
        choices between arrays as branches, which hold what follows them, slices that lie in their arrays, or arrays
        where numbers have been refused, which may take what a number does not, and known places for masks. hasty:
        whether such a loop has been kept; masks: whether there are masks. Raises what was refused first.
        """
        if hasty:
            return replace(self, list_trips=UNROLL_TRIPS)
        first = self.refused or refusal
        if isinstance(refusal, SizesRefusal) and self.cut_off:
            return replace(self, cut_off=False, refused=first)
        if isinstance(refusal, (SharingRefusal, ApartRefusal)) and not self.apart:
            return replace(self, apart=True, refused=first)
        if numbers:
            return replace(self.without(*numbers), refused=first)
        if masks and not self.known_masks:
            return replace(self, known_masks=True, refused=first)
        raise first from None
