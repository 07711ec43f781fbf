"""Which neighbours in a stage may change places: a pass says behind which other ones it stands, where that matters."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType

from sdfgad.codegen.cpu.schedule import stage
from sdfgad.errors import UnsupportedError
from sdfgad.ir.program import Program
from sdfgad.ir.text import program_text
from sdfgad.transform import passes, stages
from sdfgad.transform.passes import Application, Pass, Stage
from tests.passes.subjects import Subject

STAGES: tuple[Stage, ...] = tuple(
    s for table in (stages, stage) for s in vars(table).values() if isinstance(s, Stage))
NEIGHBOURS: Mapping[tuple[str, str], tuple[Pass, Pass]] = MappingProxyType(
    {(a.name, b.name): (a, b) for s in STAGES for a, b in zip(s.passes, s.passes[1:], strict=False)})


def unstated(found: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Neighbours whose order is of consequence, of which the second one does not say so."""
    return {(a, b) for a, b in found if a not in NEIGHBOURS[a, b][1].after}


class Swaps:
    """Looks at passes as they are applied, and tries each two neighbours the other way round. found: those of which
    something else came out."""

    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()
        self.tried: set[tuple[str, str]] = set()
        self._last: Application | None = None

    def __call__(self, now: Application) -> None:
        last, self._last = self._last, now
        if last is None or last.after is not now.before or (last.name, now.name) not in NEIGHBOURS:
            return
        if last.changed or now.changed:
            self.tried.add((last.name, now.name))
            if not _same(self._swapped(last, now), now.after):
                self.found.add((last.name, now.name))

    def _swapped(self, last: Application, now: Application) -> Program:
        first, second = NEIGHBOURS[last.name, now.name]
        return first.run(second.run(last.before) if last.changed else now.after)


def _same(one: Program, other: Program) -> bool:
    return one is other or program_text(one) == program_text(other)


def swaps_of(subject: Subject) -> Swaps:
    """What comes out where neighbours change places, in one program; nothing in one that is refused."""
    looked = Swaps()
    with passes.watching(looked), suppress(UnsupportedError):
        subject.derived()
    return looked
