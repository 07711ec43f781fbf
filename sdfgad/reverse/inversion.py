"""Which overwrites are better taken back exactly than stored."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.block_local import BlockLocal, block_locals
from sdfgad.analysis.elements.access import Site, sites, writes_of
from sdfgad.analysis.formula import NOTHING, Again, formulas
from sdfgad.analysis.reversal.inverse import NO_UNDOING, Inversions, Undoing, inversions
from sdfgad.analysis.reversal.needed import Needed
from sdfgad.ir.program import Program, Stmt
from sdfgad.ir.walk import statements
from sdfgad.reverse.storage import expected, facts_of


def worth_undoing(program: Program, active: frozenset[str], seen: frozenset[str], barred: Collection[str] = (),
                  bold: bool = False) -> frozenset[str]:
    """The units (`analysis/inverse`) to take back so that less has to be stored, as far as is seen without a plan.

    What taking a unit back reads may have to be stored instead; then it has to be less. barred: units, arrays or user's
    names that are stored whatever it takes. bold: as if all that can be were computed again where it is read.
    """
    place = sites(program.body)
    local = block_locals(program, place, seen)
    found = inversions(program, place, local)
    labels = {n: {n, u.array, program.arrays[u.array].label} for n, u in found.units.items()}
    allowed = frozenset(n for n, names in labels.items() if names.isdisjoint(barred))
    if not allowed:
        return frozenset()
    known = formulas(program, local) if bold else {}
    inline = replace(NOTHING, known=known, chosen=frozenset(known))
    return _Choice(program, active, place, local, found, inline).settled(allowed)


@dataclass(frozen=True)
class _Choice:
    program: Program
    active: frozenset[str]
    place: Mapping[int, Site]
    local: Mapping[str, BlockLocal]
    found: Inversions
    inline: Again

    def settled(self, allowed: frozenset[str]) -> frozenset[str]:
        """The allowed units whose undoing costs less than it saves; none if not all together save something."""
        plain = self._facts(NO_UNDOING)
        owner = {id(s): n for n in allowed for s in self.found.units[n].writes}
        chosen = frozenset(owner[k] for k in plain.recorded if k in owner)
        dropped: frozenset[str] = frozenset()
        while chosen:
            undoing = self.found.undoing(chosen)
            facts = self._facts(undoing)
            # What undoing reads may be overwritten by others that can be undone.
            more = frozenset(owner[k] for k in facts.recorded if k in owner) - chosen - dropped
            poor = frozenset() if more else self._poor(undoing, facts, plain)
            if not more and not poor:
                return chosen if self._stored(facts) < self._stored(plain) else frozenset()
            chosen, dropped = (chosen | more) - poor, dropped | poor
        return chosen

    def _facts(self, undoing: Undoing) -> Needed:
        return facts_of(self.program, self.active, inline=self.inline, undoing=undoing)

    def _poor(self, undoing: Undoing, facts: Needed, plain: Needed) -> frozenset[str]:
        """Units whose undoing makes others stored that take no less."""
        # Its accesses are told from others like them by their identity.
        readers = {id(r): a.units for a in undoing.actions for r in a.reads}
        price: dict[frozenset[str], float] = {}
        for stmt in statements(self.program.body):
            for n in facts.recorded.get(id(stmt), ()):
                guilty = readers.get(id(facts.why[(id(stmt), n)]))
                if guilty and n not in plain.recorded.get(id(stmt), ()):
                    price[guilty] = price.get(guilty, 0) + self._bytes(stmt, n)
        saved = {units: sum(self._bytes(s, 0) for u in units for s in undoing.units[u].writes
                            if (id(s), 0) in facts.why) for units in price}
        return frozenset(u for units, cost in price.items() if cost >= saved[units] for u in units)

    def _bytes(self, stmt: Stmt, number: int) -> float:
        """Of what a write destroys."""
        write = writes_of(stmt, self.place[id(stmt)])[number]
        return self.program.arrays[write.array].dtype.itemsize * expected((*write.site.path, *write.domain))

    def _stored(self, facts: Needed) -> float:
        """Of all that is stored, versions of block-local arrays included."""
        total, local = 0.0, set()
        for stmt in statements(self.program.body):
            for n in facts.recorded.get(id(stmt), ()):
                array = self.program.arrays[writes_of(stmt, self.place[id(stmt)])[n].array]
                found = self.local.get(array.name)
                if found is not None and array.name not in local:
                    total += array.bytes * expected(found.path)
                    local.add(array.name)
                if found is None or all(stmt is not s for s in found.first):
                    total += self._bytes(stmt, n)
        return total
