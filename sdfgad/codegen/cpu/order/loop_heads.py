"""Small maps at the head of a loop, moved to the end of the iteration before: there a kernel has their rows at hand."""
from __future__ import annotations

from dataclasses import dataclass, replace

from sdfgad.codegen.cpu.order.pieces import Group, Item, Kernel
from sdfgad.ir.index import Ix, ix, minimum
from sdfgad.ir.program import Block, Loop, Map, Range
from sdfgad.ir.walk import rename_symbols


@dataclass(frozen=True)
class Head:
    """The maps that a loop begins with. first: as before the first iteration. again: as the next iteration has them.
    runs: 0 in the last iteration, which none follows, and at least 1 in all others."""

    maps: Block
    first: Block
    again: tuple[Map, ...]
    runs: Ix

    def without(self, block: Block) -> Block:
        """A block but for these maps."""
        return tuple(s for s in block if all(s is not m for m in self.maps))


def head_of(stmt: Loop, items: tuple[Item, ...]) -> Head | None:
    """for t = 0:9: { a[t] ; parallel b }   ->   a[0] ; for t = 0:9: { parallel b ; a[t + 1] unless t is 8 }

    The parts of what stands on the right, for a loop with a kernel at its end that is known to run twice at least.
    items: the pieces of its body.
    """
    r, group = stmt.range, items[0] if len(items) > 1 else None
    if not isinstance(group, Group) or not isinstance(items[-1], Kernel) or stmt.until is not None or stmt.private:
        return None
    maps = tuple(s for s in group.body if isinstance(s, Map) and _guarded_range(s) is not None)
    own = {id(s) for s in stmt.body}
    plain = len(maps) == len(group.body) and all(id(m) in own for m in maps)
    if not plain or r.start.const is None or r.early or (r.trips or 0) < 2:
        return None
    last = r.start.const + ((r.trips or 0) - 1) * r.step
    left = ix(last) - ix(r.var) if r.step > 0 else ix(r.var) - last
    first, again = (rename_symbols(maps, {r.var: value}) for value in (r.start, ix(r.var) + r.step))
    return Head(maps, first, tuple(s for s in again if isinstance(s, Map)), left)


def _guarded_range(stmt: Map) -> Range | None:
    """A range between numbers, upwards by one."""
    return next((r for r in stmt.domain if r.step == 1 and r.trips and r.start.const is not None and not r.early), None)


def guarded(stmt: Map, runs: Ix) -> Map:
    """map i = 0:9: ...   ->   map i = 0:min(9, 9 * runs): ..."""
    found = _guarded_range(stmt)
    return replace(stmt, domain=tuple(guarded_range(r, runs) if r is found else r for r in stmt.domain))


def guarded_range(r: Range, runs: Ix) -> Range:
    """A range between numbers that is empty where `runs` is 0, and itself where that is more."""
    return replace(r, stop=minimum(r.stop, r.start + runs * (r.trips or 0)))
