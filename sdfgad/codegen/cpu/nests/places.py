"""Places that data decide, looked up and checked once: what follows finds them in locals."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sdfgad.codegen.cpp import Frame, Writer, flat, index_text
from sdfgad.ir.expr import Index, Load, certain, walk
from sdfgad.ir.index import Ix, Mod, of_atom
from sdfgad.ir.program import Map, Range, Store


@dataclass(frozen=True)
class Places:
    """levels: for each place the number of loops that have to be open for it."""

    levels: dict[Mod, int]

    def bind(self, writer: Writer, frame: Frame, depth: int) -> Frame:
        """The frame behind the lines that look up what is known so deep inside."""
        for atom in (a for a, level in self.levels.items() if level == depth):
            name = writer.fresh("w")
            writer.line(f"const int64_t {name} = {index_text(frame, of_atom(atom))};")
            frame = replace(frame, places={**frame.places, atom: name})
        return frame


def places_of(frame: Frame, stmt: Map, loops: tuple[Range, ...], guard: int | None) -> Places:
    """p[q[i]] += x[q[i], j] for each j   ->   w = q[i] if that is within p, else what Python makes of it; p[w] += ...

    A check is a branch, which keeps the compiler from moving it out of a loop. At every point only what is used again
    gets a local. guard: the deepest loop that may have no iteration.
    """
    written = {p.array for p in stmt.body if isinstance(p, Store)}
    used = Counter(a for i in _indices(frame, stmt) for a in _checked(i, written))
    depths = {a: max((d + 1 for d, r in enumerate(loops) if r.var in of_atom(a).symbols), default=0) for a in used}
    levels = {a: d if guard is None else max(d, guard) for a, d in depths.items()}
    return Places({a: level for a, level in levels.items() if level < len(loops) or used[a] > 1})


def _indices(frame: Frame, stmt: Map) -> Iterator[Ix]:
    """Where a map surely looks or stores at each of its points, as offsets."""
    for part in stmt.body:
        for node in walk(part.expr, certain):
            if isinstance(node, Load):
                yield flat(frame.arrays[node.array], node.index).simplify(frame.bounds)
            elif isinstance(node, Index):
                yield node.ix.simplify(frame.bounds)
        if isinstance(part, Store):
            yield flat(frame.arrays[part.array], part.index).simplify(frame.bounds)


def _checked(index: Ix, written: set[str]) -> Iterator[Mod]:
    """The remainders of an index that depend on elements, all of arrays that stay as they are."""
    for atoms, _ in index.terms:
        for atom in atoms:
            elems = of_atom(atom).elems if isinstance(atom, Mod) else ()
            if isinstance(atom, Mod) and elems and written.isdisjoint(e.array for e in elems):
                yield atom
