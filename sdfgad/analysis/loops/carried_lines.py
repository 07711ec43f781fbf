"""Rows of an array that a loop copies to arrays of its own, works on, and copies back: some in several iterations."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.analysis.loops.carried import lines_of
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix
from sdfgad.ir.program import IN_MEMORY, Array, Block, Loop, Map, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, in_terms_of, range_elems, within

FEWEST = 2
"""Iterations from which on one of them hands something on."""


@dataclass(frozen=True)
class LineCopy:
    """Statement `place` of a loop's body copies `far`, a box of an array, to `near`, or back."""

    place: int
    domain: tuple[Range, ...]
    far: Load
    near: Load
    back: bool

    def map(self, source: Load, target: Load) -> Map:
        """The same points, copied from and to other places."""
        return Map(self.domain, (Store(target.array, target.index, source),))


@dataclass(frozen=True)
class Handed:
    """Iteration k of a loop looks at the rows k, k + 1, ... of an array: each is copied in, as `fetched` say by lead,
    and the leads `stored` are copied back. Nothing else in the loop touches the array."""

    fetched: tuple[LineCopy, ...]
    stored: Mapping[int, LineCopy]

    @property
    def array(self) -> str:
        return self.fetched[0].far.array

    @property
    def top(self) -> int:
        return len(self.fetched) - 1

    @property
    def places(self) -> frozenset[int]:
        """The statements that are these copies."""
        return frozenset(c.place for c in (*self.fetched, *self.stored.values()))

    def far(self, lead: int, var: str, here: Ix) -> Load:
        """The row of that lead where the loop's variable has that value."""
        row = self.fetched[lead].far
        return replace(row, index=tuple(i.subs({var: here}) for i in row.index))


def handed_rows(stmt: Loop, arrays: Mapping[str, Array]) -> list[Handed]:
    """The arrays of which a loop has rows again in its next iteration, all of it known."""
    r = stmt.range
    if stmt.parallel or stmt.private or stmt.until is not None or r.early or range_elems(r) \
            or r.trips is None or r.trips < FEWEST:
        return []
    copies: dict[str, list[LineCopy]] = {}
    for place, inner in enumerate(stmt.body):
        for copy in _copies(place, inner, arrays):
            copies.setdefault(copy.far.array, []).append(copy)
    found = (_handed(stmt, own) for own in copies.values() if len({c.near.array for c in own}) > 1)
    return [h for h in found if h is not None]


def _copies(place: int, stmt: Stmt, arrays: Mapping[str, Array]) -> Iterator[LineCopy]:
    """A statement as a copy, element by element, between a row and a transient that may hold no more: both ways to see
    it."""
    part = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    if not isinstance(stmt, Map) or not isinstance(part, Store) or part.op or not isinstance(part.expr, Load):
        return
    to, source = Load(part.array, part.index, part.expr.dtype), part.expr
    plain = all(arrays[n.array].role in IN_MEMORY and arrays[n.array].packing is None
                and arrays[n.array].dtype == part.expr.dtype for n in (to, source))
    indices = (*to.index, *source.index)
    single = all(is_pointwise(stmt.domain, n.index) for n in (to, source))
    if not plain or not single or to.array == source.array or any(i.elems for i in indices) \
            or any(range_elems(r) for r in stmt.domain):
        return
    if arrays[to.array].role == "transient":
        yield LineCopy(place, stmt.domain, source, to, False)
    if arrays[source.array].role == "transient":
        yield LineCopy(place, stmt.domain, to, source, True)


def _handed(stmt: Loop, copies: Sequence[LineCopy]) -> Handed | None:
    """The copies of one array as rows that follow each other."""
    own = _in_terms_of_first(stmt, copies)
    lines = lines_of([c.far.index for c in own], stmt.range) if own else None
    if lines is None or len(lines) != 1 or not _apart(own[0], stmt.range.var):
        return None
    low = min(lines[0].values())
    leads = [lines[0][c.far.index] - low for c in own]
    fetched = {lead: c for lead, c in zip(leads, own, strict=True) if not c.back}
    stored = {lead: c for lead, c in zip(leads, own, strict=True) if c.back}
    if sorted(fetched) != list(range(len(fetched))) or len(fetched) < 2 or not stored.keys() <= fetched.keys():
        return None
    made = Handed(tuple(fetched[k] for k in range(len(fetched))), stored)
    return made if _alone(made, stmt.body) and _in_order(made, stmt.body) else None


def _in_terms_of_first(stmt: Loop, copies: Sequence[LineCopy]) -> list[LineCopy]:
    """The copies over the same points; none when they are not, or if these move with the loop."""
    domain = copies[0].domain
    found = []
    for copy in copies:
        here = in_terms_of(domain, copy.map(copy.far, copy.near))
        part = here.body[0] if here is not None else None
        if not isinstance(part, Store) or not isinstance(part.expr, Load):
            return []
        near = replace(copy.near, index=part.index)
        found.append(replace(copy, domain=domain, far=part.expr, near=near))
    var = stmt.range.var
    still = all(var not in i.symbols for c in found for i in c.near.index) \
        and all(var not in r.start.symbols | r.stop.symbols for r in domain)
    return found if still else []


def _apart(copy: LineCopy, var: str) -> bool:
    """Whether different rows have no element in common: a dimension that the loop moves along alone."""
    inside = {r.var for r in copy.domain}
    return any(i.coefficient(var) and inside.isdisjoint(i.symbols) for i in copy.far.index)


def _alone(handed: Handed, body: Block) -> bool:
    """Whether rows go back from where they came to, and only these copies touch the array."""
    back = all(c.near == handed.fetched[lead].near for lead, c in handed.stored.items())
    return back and all(k in handed.places or handed.array not in _touched(s) for k, s in enumerate(body))


def _in_order(handed: Handed, body: Block) -> bool:
    """Whether all rows come in before one goes back, nobody looks at what is near before it has come, or changes it
    after it has gone back, or at all where it never does."""
    last = min((c.place for c in handed.stored.values()), default=len(body))
    for lead, copy in enumerate(handed.fetched):
        name, back = copy.near.array, handed.stored.get(lead)
        if copy.place > last or any(name in _touched(s) for s in body[:copy.place]):
            return False
        changed = body[back.place + 1:] if back is not None else body[copy.place + 1:]
        if name in all_writes(changed):
            return False
    return True


def _touched(stmt: Stmt) -> frozenset[str]:
    return frozenset().union(*within(stmt))
