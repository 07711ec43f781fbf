"""Whether parts of kernels touch the same element.

    out[i + s] of i = 0:n - s   and   out[i] of i = 0:s, where s = mod(shift[k], n) is read from memory

What data decide is a number as any other where it is the same on both sides: it depends on loops around both, and on
variables that have one value wherever the two touch one element. So the halves of what is rolled are told apart.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from sdfgad.analysis.elements.access import Access, Site, overlap_in, range_accesses
from sdfgad.analysis.elements.dependence import READ, touches
from sdfgad.codegen.cuda.work import Part, ThreadLoop
from sdfgad.ir.atoms import Atom
from sdfgad.ir.index import Ix, ix, of_atom
from sdfgad.ir.program import Map, Range

FAR = 1 << 62
"""No number of a program is so large."""


def meet(parts: tuple[Part, ...], others: tuple[Part, ...], path: tuple[Range, ...],
         but: Collection[str] = ()) -> bool:
    """Whether one of two parts may write an element that the other one touches, in one iteration of the loops around.
    but: coordinates; what has all of these for indices, each in the same dimension, is of the same point."""
    first, second = (list(_touches(p, (), path)) for p in (parts, others))
    written = {a.array for a, writes in (*first, *second) if writes}
    return any(one.array == two.array and (wrote or writes) and not (but and set(but) <= set(_alone(one, two)))
               and overlap_in(one, two, len(path)) and _overlap(one, two, written)
               for one, wrote in first for two, writes in second)


def _touches(parts: tuple[Part, ...], domain: tuple[Range, ...],
             path: tuple[Range, ...]) -> Iterator[tuple[Access, bool]]:
    """What parts touch, and whether they write it: sums do, too."""
    for part in parts:
        if isinstance(part, ThreadLoop):
            inner = *domain, part.range
            yield from ((access, False) for access in range_accesses(inner, Site(path, 0, 1), 0))
            yield from _touches(part.parts, inner, path)
        else:
            yield from ((t.access, t.how != READ) for t in touches(Map((*domain, *part.domain), part.body), path))


def _alone(one: Access, two: Access) -> list[str]:
    """Variables of both that are an index in the same dimension."""
    both = {r.var for r in one.domain} & {r.var for r in two.domain}
    return [v for v in both if any(i is j is ix(v) for i, j in zip(one.index, two.index, strict=True))]


def _overlap(one: Access, two: Access, written: Collection[str]) -> bool:
    """The same, where what is alike on both sides has one value."""
    names: dict[Atom, str] = {}
    alike = {r.var for r in one.site.path} | set(_alone(one, two))

    def number(atom: Atom) -> Ix | None:
        i = of_atom(atom)
        known = i.symbols <= alike | set(names.values())
        if isinstance(atom, str) or not known or any(e.array in written for e in i.elems):
            return None
        return ix(names.setdefault(atom, f"number.{len(names)}"))

    named = [_outwards(access, alike, number) for access in (one, two)]
    numbers = tuple(Range(n, ix(-FAR), ix(FAR)) for n in names.values())
    first, second = (replace(a, site=replace(a.site, path=(*a.site.path, *numbers))) for a in named)
    return overlap_in(first, second, len(first.site.path))


def _outwards(access: Access, alike: Collection[str], number: Callable[[Atom], Ix | None]) -> Access:
    """With numbers for what data decide, and the variables that are alike among the loops around."""
    domain = [Range(r.var, r.start.rebuild(number), r.stop.rebuild(number), r.step) for r in access.domain]
    around = (*access.site.path, *sorted((r for r in domain if r.var in alike), key=lambda r: r.var))
    return replace(access, index=tuple(i.rebuild(number) for i in access.index),
                   domain=tuple(r for r in domain if r.var not in alike), site=replace(access.site, path=around))
