"""Messages between two ranks that go at the same time lie side by side: one message, whatever they are of."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Array, Map, Stmt, Store, View, all_of
from sdfgad.transform.cutting.accesses import ReadBox
from sdfgad.transform.cutting.tree import CutWork

TOGETHER = 1 << 15
"""Elements up to which messages lie side by side: more are held up by their size, not by their number."""


@dataclass(frozen=True)
class HaloMessage:
    """One message: a box of an array from a rank that owns it to one that reads it."""

    array: str
    source: int
    target: int
    box: ReadBox

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple((high - low).const or 0 for low, high in self.box)

    def view(self, dtype: np.dtype) -> View:
        return View(self.array, tuple(high - low for low, high in self.box),
                    tuple(low + axis(k) for k, (low, _) in enumerate(self.box)), dtype)


@dataclass(frozen=True)
class Strip:
    """What goes between this rank and another one. copies: to where it is sent from, or from where it is received."""

    peer: int
    view: View
    copies: tuple[Stmt, ...] = ()


def strips_of(work: CutWork, messages: Sequence[HaloMessage], outgoing: bool, source: SourceLine | None) -> list[Strip]:
    """send x[4:5] ; send y[4:5]   ->   s[0:1] = x[4:5] ; s[1:2] = y[4:5] ; send s

    What the other end does of these messages is the same.
    """
    made: list[Strip] = []
    for peer in dict.fromkeys(m.target if outgoing else m.source for m in messages):
        mine = [m for m in messages if peer == (m.target if outgoing else m.source)]
        size = sum(prod(m.extents) for m in mine)
        dtype = work.arrays[mine[0].array].dtype
        if len(mine) == 1 or size > TOGETHER:
            made += [Strip(peer, m.view(dtype)) for m in mine]
            continue
        strip = work.room("strip", (size,), Array("", (), dtype))
        firsts = np.cumsum([0, *(prod(m.extents) for m in mine)]).tolist()
        copies = (_copied(strip, m, first, outgoing, source) for m, first in zip(mine, firsts, strict=False))
        made.append(Strip(peer, strip.whole, tuple(copies)))
    return made


def _copied(strip: Array, message: HaloMessage, first: int, outgoing: bool, source: SourceLine | None) -> Map:
    """A box to, or from, the elements of a strip from a place on."""
    domain = all_of(message.extents)
    here = tuple(ix(r.var) for r in domain)
    flat: Ix = ix(first)
    for k, i in enumerate(here):
        flat = flat + i * prod(message.extents[k + 1:])
    at = tuple(low + i for i, (low, _) in zip(here, message.box, strict=True))
    store = Store(strip.name, (flat,), Load(message.array, at, strip.dtype)) if outgoing else \
        Store(message.array, at, Load(strip.name, (flat,), strip.dtype))
    return Map(domain, (store,), source)
