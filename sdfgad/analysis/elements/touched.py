"""Which part of an array an access touches: linear rows about the positions along its dimensions."""
from __future__ import annotations

from sdfgad.analysis.elements.access import Access
from sdfgad.analysis.elements.polyhedron import Row, shadow
from sdfgad.ir.index import Atom, FloorDiv, Ix, Max, Min, Mod, ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Range


def touched(access: Access) -> tuple[Row, ...] | None:
    """Rows in `axis(0)`, `axis(1)`, ... that hold for every element touched; None when they get too many."""
    ranges = (*access.site.path, *access.domain)
    if len({r.var for r in ranges}) < len(ranges):
        return None
    found = _LinearRows()
    for r in ranges:
        found.inside(r)
    # Positions in a view are called like those in an array.
    names = {f"position {k}": axis(k) for k in range(len(access.index))}
    for name, i in zip(names, access.index, strict=True):
        found.equal(ix(name), i)
    rows = shadow(found.rows, list(names))
    return None if rows is None else tuple(({names[v]: c for v, c in row.items()}, n) for row, n in rows)


class _LinearRows:
    """What is known, with a name for every term that is no multiple of a variable."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.named: set[str] = set()

    def inside(self, r: Range) -> None:
        """The values a loop's variable takes."""
        var, sign = ix(r.var), 1 if r.step > 0 else -1
        self.nonnegative((var - r.start) * sign)
        self.nonnegative((r.stop - var) * sign - 1)
        if abs(r.step) > 1:
            self.equal(var, r.start + ix(f"{r.var} steps") * r.step)

    def equal(self, a: Ix, b: Ix) -> None:
        self.nonnegative(a - b)
        self.nonnegative(b - a)

    def nonnegative(self, i: Ix) -> None:
        self.rows.append(self._linear(i))

    def _linear(self, i: Ix) -> Row:
        coefficients: dict[str, int] = {}
        constant = 0
        for atoms, factor in i.terms:
            if atoms:
                name = atoms[0] if len(atoms) == 1 and isinstance(atoms[0], str) else self._name(atoms)
                coefficients[name] = coefficients.get(name, 0) + factor
            else:
                constant += factor
        return coefficients, constant

    def _name(self, atoms: tuple[Atom, ...]) -> str:
        """A variable for a term; what is known of it joins the rows."""
        name = "*".join(f"({a})" for a in atoms)
        if name not in self.named:
            self.named.add(name)
            if len(atoms) == 1:
                self._explain(ix(name), atoms[0])
        return name

    def _explain(self, value: Ix, atom: Atom) -> None:
        if isinstance(atom, (Min, Max)):
            for part in atom.parts:
                self.nonnegative(value - part if isinstance(atom, Max) else part - value)
        elif isinstance(atom, (FloorDiv, Mod)) and (divisor := atom.parts[1].const or 0) > 0:
            rest = atom.parts[0] - value * divisor if isinstance(atom, FloorDiv) else value
            self.nonnegative(rest)
            self.nonnegative(divisor - 1 - rest)
