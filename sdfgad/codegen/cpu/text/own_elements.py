"""What the points of a kernel must not do: store the same element all of them."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from sdfgad.codegen.cpu.order.pieces import Item, Kernel, pieces
from sdfgad.errors import InvariantError
from sdfgad.ir.program import Block, If, Loop, Map, Range, Store, While
from sdfgad.ir.walk import children

Depends: TypeAlias = Mapping[str, frozenset[str]]
"""Which variables of a kernel those of the loops inside depend on."""


def checked(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """A schedule, each of whose kernels stores elements that depend on the point."""
    for piece in pieces(items):
        if isinstance(piece, Kernel):
            require_own_elements(piece)
    return items


def require_own_elements(kernel: Kernel) -> None:
    """Raise an InvariantError where all points of a kernel store the same element: where nothing of the place of a
    store, and of whether it is reached, depends on the point."""
    several = frozenset(e.var.var for e in kernel.extents if e.trips != 1)
    private = frozenset(kernel.private)
    for name, depends in _stores(kernel.body, several, private, {v: frozenset((v,)) for v in several}):
        if depends != several:
            raise InvariantError(f"several points of a kernel store the same elements of {name}")


def _stores(block: Block, several: frozenset[str], private: frozenset[str], known: Depends,
            reached: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """The arrays that a block stores into which are not its own, with the variables that tell where or whether."""
    for stmt in block:
        if isinstance(stmt, (If, While)):
            # What it looks at may depend on anything.
            for inner in children(stmt):
                yield from _stores(inner, several, private, known, several)
        elif isinstance(stmt, Loop):
            inside, here = _inside((stmt.range,), known, reached)
            # Data may end it at any point; and one that follows the loop of the point before stores behind it.
            ordered = stmt.until is not None or stmt.behind is not None
            yield from _stores(stmt.body, several, private | set(stmt.private), inside, several if ordered else here)
        elif isinstance(stmt, Map):
            inside, here = _inside(stmt.domain, known, reached)
            for part in stmt.body:
                if isinstance(part, Store) and part.array not in private:
                    yield part.array, _of({s for i in part.index for s in i.symbols}, inside) | here


def _inside(ranges: Iterable[Range], known: Depends, reached: frozenset[str]) -> tuple[Depends, frozenset[str]]:
    """What loops depend on, and whether they run."""
    inside = dict(known)
    for r in ranges:
        inside[r.var] = _of(r.start.symbols | r.stop.symbols, inside)
        reached |= inside[r.var]
    return inside, reached


def _of(symbols: Collection[str], known: Depends) -> frozenset[str]:
    return frozenset(v for s in symbols for v in known.get(s, ()))
