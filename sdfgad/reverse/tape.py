"""How overwritten elements come back: from a tape with one slot per execution of the write, or by taking it back."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdfgad.analysis.access import Access
from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Map, Pop, Push, Range, Store, View, axis, view_of
from sdfgad.transform.expand import Slots, iteration_slots

Declare = Callable[[str, tuple[int, ...], np.dtype], Array]


@dataclass(frozen=True)
class Record:
    """What is done before a write to store what it overwrites, and to put it back. An overwrite that is taken back
    exactly has nothing to save and no tape. `bytes` is None for a growable tape."""

    save: Block
    restore: Block
    tape: str = ""
    bytes: int | None = 0


def record(write: Access, array: Array, declare: Declare, source: SourceLine | None,
           around: Slots | None = None) -> Record:
    """Tape storage for one write: an array over all iterations, or a growable tape when their number is unknown.

    around: (room, place) for each loop around, where that is not one slot for each of its iterations.
    """
    domain = _region(write)
    slots = iteration_slots((*write.site.path, *(domain or ())))
    if domain is None:
        return _whole_array(write, array, declare, source, around)
    if slots is None:
        return _growable(write, domain, array, source)
    loops = len(write.site.path)
    ordered = [*(around or slots[:loops]), *(slots[loops + d] for d in _layout(domain, write))]
    tape = declare("tape", tuple(n for n, _ in ordered), array.dtype)
    at = tuple(i for _, i in ordered)
    save = Store(tape.name, at, Load(array.name, write.index, array.dtype))
    back = Store(array.name, write.index, Load(tape.name, at, array.dtype))
    return Record((Map(domain, (save,), source),), (Map(domain, (back,), source),), tape.name, tape.bytes)


def _layout(domain: tuple[Range, ...], write: Access) -> list[int]:
    """The ranges in the order in which the array counts them, so that copies run along memory on both sides."""
    def dimension(d: int) -> int:
        return next(k for k, i in enumerate(write.index) if domain[d].var in i.symbols)

    return sorted(range(len(domain)), key=dimension)


def _region(write: Access) -> tuple[Range, ...] | None:
    """The ranges that decide which elements are written; None when data decides."""
    used = set().union(*(i.symbols for i in write.index)) if write.index else set()
    kept = tuple(r for r in write.domain if r.var in used)
    moving = {r.var for r in kept}
    if any(not moving.isdisjoint(part.symbols) for i in write.index for e in i.elems for part in e.parts):
        return None
    return kept


def _whole_array(write: Access, array: Array, declare: Declare, source: SourceLine | None,
                 around: Slots | None) -> Record:
    domain = tuple(Range(f"w{k}", ix(0), ix(n)) for k, n in enumerate(array.shape))
    whole = Access(array.name, tuple(ix(r.var) for r in domain), domain, write.site, write.moment)
    return record(whole, array, declare, source, around)


def _growable(write: Access, domain: tuple[Range, ...], array: Array, source: SourceLine | None) -> Record:
    moving = {r.var for r in domain}
    rectangular = all(moving.isdisjoint(r.start.symbols | r.stop.symbols) for r in domain)
    view = _as_view(write, domain, array) if rectangular else view_of(array)
    tape = f"tape_{array.name}_{write.site.order}"
    return Record((Push(tape, view, source),), (Pop(tape, view, source),), tape, None)


def _as_view(write: Access, domain: tuple[Range, ...], array: Array) -> View:
    """The written region as a view of the array."""
    place = {r.var: r.start + ix(axis(k)) * r.step for k, r in enumerate(domain)}
    shape = tuple((r.stop - r.start + (r.step - (1 if r.step > 0 else -1))) // r.step for r in domain)
    return View(array.name, shape, tuple(i.subs(place) for i in write.index), array.dtype)
