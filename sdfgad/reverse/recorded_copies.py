"""Keep the copy of a state that a loop makes anyway, instead of what the loop then overwrites of the state itself."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sdfgad.ir.program import Program
from sdfgad.reverse.inversion import worth_undoing
from sdfgad.reverse.made import ReverseRequest
from sdfgad.reverse.storage import SLACK, least_bytes
from sdfgad.transform.copies.read_copies import copied, read_copies


def record_copies(program: Program, request: ReverseRequest) -> Program:
    """for i: { t = s ; y += f(s) ; s = g(t) }   ->   for i: { t = s ; y += f(t) ; s = g(t) }

    When the reverse sweep would be given back elements of s, and with all or some of the copies read it keeps no more
    bytes, give or take the difference between a whole array and the part of it that is overwritten.
    """
    sources = copied(program) & request.sets(program)[0]
    if not sources or read_copies(program, sources) is program:
        return program
    now = _Candidate(program, request)
    lost = sources & now.kept.keys()
    for group in _groups(lost):
        other = _Candidate(read_copies(now.program, group), request)
        if other.bytes <= now.bytes * (1 + SLACK) and not group <= other.kept.keys():
            now = other
            if group == lost:
                break
    return now.program


def _groups(names: frozenset[str]) -> Iterator[frozenset[str]]:
    """All of them, then each on its own."""
    if names:
        yield names
    if len(names) > 1:
        yield from (frozenset({n}) for n in sorted(names))


@dataclass(frozen=True)
class _Candidate:
    """A way to write the program."""

    program: Program
    request: ReverseRequest

    @cached_property
    def kept(self) -> Mapping[str, float]:
        """Bytes kept for the reverse sweep, by array."""
        active, seen = self.request.sets(self.program)
        return least_bytes(self.program, active, seen, worth_undoing(self.program, active, seen))

    @property
    def bytes(self) -> float:
        return sum(self.kept.values())
