"""Messages between statements: each rank gets what it reads of others, once for all that read it before it changes."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

import numpy as np

from sdfgad.errors import SourceLine, unsupported
from sdfgad.ir.index import maximum, minimum
from sdfgad.ir.messages import EXCHANGE, OP, order_view
from sdfgad.ir.program import Block, Lib, Map, Stmt
from sdfgad.ir.walk import with_children
from sdfgad.names import loop_name
from sdfgad.transform.cutting.accesses import HaloNeed, ReadBox, around, in_own, within
from sdfgad.transform.cutting.blocks import Span
from sdfgad.transform.cutting.shares import WHOLE, told
from sdfgad.transform.cutting.sides import HaloSide, Way, sides_of
from sdfgad.transform.cutting.strips import HaloMessage, Strip, strips_of
from sdfgad.transform.cutting.tree import CutNode, CutWork, RankPiece, check_message, in_any_order, leaves

TAG = 20_801
"""Of all messages: none that the user has under way is received in place of one."""


@dataclass
class Halos:
    """Puts exchanges into a program."""

    work: CutWork
    known: dict[int, tuple[HaloNeed, tuple[HaloSide, ...]]] = field(default_factory=dict)

    def block(self, nodes: Sequence[CutNode], met: dict[str, list[HaloNeed]], reverse: bool = False) -> Block:
        """The statements of one rank. met: what has been sent before, and has not changed since. reverse: in a loop or
        branch of the reverse sweep, what it computes again included."""
        out: list[Stmt] = []
        met = {name: list(needs) for name, needs in met.items()}
        left = list(nodes)
        while left:
            reverse = reverse or self._in_reverse(left[0])
            if not self._has_all(left[0], met):
                ahead = self._ahead(left, met, reverse)
                left = [*ahead, *(n for n in left if not any(n is a for a in ahead))]
            if not self._has_all(left[0], met):
                asked = self._asked(left, met)
                out += self._exchanges(asked, left[0])
                for need in asked:
                    met.setdefault(need.array, []).append(need)
            node = left.pop(0)
            out += self._own(node, met)
            met = _left(met, node)
        return tuple(out)

    def _ahead(self, nodes: Sequence[CutNode], met: dict[str, list[HaloNeed]], reverse: bool) -> list[CutNode]:
        """exchange(x) ; y = f(x) ; z = g(u) ; exchange(z) ; w = h(z)
        ->   z = g(u) ; exchange(x, z) ; y = f(x) ; w = h(z)

        The statements that can be done before the messages of the first one, up to the last that others of its sweep
        wait for.
        """
        waiting, found, useful = [nodes[0]], list[CutNode](), 0
        known = dict(met)
        for node in nodes[1:]:
            if _of_maps(node) and self._has_all(node, known) and all(in_any_order(node, w) for w in waiting):
                found.append(node)
                known = _left(known, node)
                continue
            made = frozenset(n for f in found for n in f.writes) - frozenset(n for w in waiting for n in w.writes)
            if (reverse or not self._in_reverse(node)) and any(
                    n.array in made and not self._is_met(n, known) for n in node.needs):
                useful = len(found)
            waiting.append(node)
        return found[:useful]

    def _in_reverse(self, node: CutNode) -> bool:
        return bool(self.work.sweep(node.reads | node.writes))

    def _has_all(self, node: CutNode, met: dict[str, list[HaloNeed]]) -> bool:
        return all(self._is_met(n, met) for n in node.needs)

    def _asked(self, nodes: Sequence[CutNode], met: dict[str, list[HaloNeed]]) -> list[HaloNeed]:
        """What is sent ahead of the first statement: what it does not have, and what others need of arrays as they are
        now, unless a later message goes their way that is not there yet.

        Each way takes the fewest messages that can be: the first one goes when somebody has to have it, with all that
        is there by then, and so on (stabbing intervals by their ends).
        """
        there, later = self._open(nodes, met)
        now = {side.way for at, side in there if at == 0}
        elsewhere = {(at, s.way): s.way for at, s in there if s.way is not None and s.way not in now}
        wait = {key for key, way in elsewhere.items()
                if key[0] >= later.get(way, len(nodes)) or self._come_later(nodes, key[0], way, met, there)}
        return [s.need for at, s in there if (at, s.way) not in wait]

    def _open(self, nodes: Sequence[CutNode],
              met: dict[str, list[HaloNeed]]) -> tuple[list[tuple[int, HaloSide]], dict[Way | None, int]]:
        """What statements do not have, of arrays as they are now, with the places of the statements; and ahead of
        which statement there is something else to be sent each way."""
        there, later = list[tuple[int, HaloSide]](), dict[Way | None, int]()
        writing: dict[str, list[tuple[int, CutNode]]] = {}
        for at, node in enumerate(nodes):
            for side in (s for need in node.needs for s in self._sides(need)):
                changed = [k for k, w in writing.get(side.need.array, ()) if not leaves(w, side.need)]
                if changed:
                    later[side.way] = min(later.get(side.way, at), changed[-1] + 1)
                elif not self._is_covered(side.need, met):
                    there.append((at, side))
            for name in node.writes:
                writing.setdefault(name, []).append((at, node))
        return there, later

    def _come_later(self, nodes: Sequence[CutNode], at: int, way: Way, met: dict[str, list[HaloNeed]],
                    there: Sequence[tuple[int, HaloSide]]) -> bool:
        """Whether something else can be sent a way by a statement once what may be done before its messages is."""
        known = {name: list(needs) for name, needs in met.items()}
        for _, side in there:
            if side.way != way:
                known.setdefault(side.need.array, []).append(side.need)
        for node in nodes[:at]:
            known = _left(known, node)
        ahead = self._ahead(nodes[at:], known, self._in_reverse(nodes[at]))
        rest = [n for n in nodes[at:] if not any(n is a for a in ahead)]
        later = self._open([*nodes[:at], *ahead, *rest], met)[1]
        return at + len(ahead) >= later.get(way, len(nodes))

    def _sides(self, need: HaloNeed) -> tuple[HaloSide, ...]:
        if id(need) not in self.known:
            self.known[id(need)] = need, sides_of(need, self.work.cut[need.array], self.work.places)
        return self.known[id(need)][1]

    def _own(self, node: CutNode, met: dict[str, list[HaloNeed]]) -> Sequence[Stmt]:
        if isinstance(node, RankPiece):
            return node.own
        kept = _left(met, node)
        reverse = self._in_reverse(node)
        return (with_children(node.stmt, [self.block(b, kept, reverse) for b in node.blocks]),)

    def _is_met(self, need: HaloNeed, met: dict[str, list[HaloNeed]]) -> bool:
        return all(self._is_covered(side.need, met) for side in self._sides(need))

    def _is_covered(self, need: HaloNeed, met: dict[str, list[HaloNeed]]) -> bool:
        blocks, before = self.work.cut[need.array], met.get(need.array, ())
        own = [box is None or in_own(box, blocks, place)
               for box, place in zip(need.boxes, self.work.places, strict=True)]
        return all(own) or any(all(o or (b is not None and e is not None and within(b, e))
                                   for o, b, e in zip(own, need.boxes, earlier.boxes, strict=True))
                               for earlier in before)

    def _exchanges(self, asked: list[HaloNeed], node: CutNode) -> Iterator[Stmt]:
        """One exchange ahead of a statement for each type of numbers, in an order that is the same on all ranks."""
        arrays = self.work.arrays
        names = dict.fromkeys(n.array for n in asked)
        for dtype in dict.fromkeys(arrays[n].dtype for n in names):
            group = [m for name in names if arrays[name].dtype == dtype
                     for m in self._messages([n for n in asked if n.array == name])]
            if group:
                yield from self._exchange(group, dtype, asked[0], node)

    def _messages(self, needs: list[HaloNeed]) -> Iterator[HaloMessage]:
        """The messages of one array from and to this rank: the elements that one reads and the other has. Both ends
        find them in the same order."""
        rank, count = self.work.wanted.rank, len(self.work.places)
        for target in range(count):
            for source in range(count) if target == rank else (rank,):
                yield from between(self.work, needs, source, target)

    def _exchange(self, group: Sequence[HaloMessage], dtype: np.dtype, need: HaloNeed,
                  node: CutNode) -> Iterator[Stmt]:
        """What this rank sends and receives of some messages."""
        rank, source = self.work.wanted.rank, need.source
        out = strips_of(self.work, [m for m in group if m.source == rank], True, source)
        into = strips_of(self.work, [m for m in group if m.target == rank], False, source)
        yield from (copy for s in out for copy in s.copies)
        yield exchange(self.work, out, into, dtype, node.reads | node.writes, source)
        yield from (copy for s in into for copy in s.copies)


def between(work: CutWork, needs: Sequence[HaloNeed], source: int, target: int) -> Iterator[HaloMessage]:
    """What goes from one rank to another one for needs of one array."""
    name, place, other = needs[0].array, work.places[target], work.places[source]
    blocks, shape = work.cut[name], work.arrays[name].shape
    if source == target or any(a != b for d, (a, b) in enumerate(zip(place, other, strict=True))
                               if d not in blocks.dimensions):
        return
    met = [m for n in needs if (b := n.boxes[target]) is not None
           and not in_own(b, blocks, place) and (m := common(b, blocks.own(other, shape), n)) is not None]
    for box in _joined(met):
        yield HaloMessage(name, source, target, box)


def exchange(work: CutWork, out: Sequence[Strip], into: Sequence[Strip], dtype: np.dtype, names: frozenset[str],
             source: SourceLine | None) -> Lib:
    """Messages of this rank at once. names: of the arrays for which they go."""
    check_message(dtype, source)
    to = work.numbers(*(n for s in out for n in (s.peer, TAG)))
    came = work.numbers(*(n for s in into for n in (s.peer, TAG)))
    attrs = MappingProxyType({"kind": EXCHANGE, "record": False, "dtype": dtype, **work.sweep(names)})
    return Lib(OP, (*(s.view for s in into), order_view()),
               (*(s.view for s in out), to.whole, came.whole, order_view()), attrs, source)


def _of_maps(node: CutNode) -> bool:
    """Whether a node is maps alone, if any on this rank: all ranks say the same."""
    return isinstance(node, RankPiece) and not node.sends and all(isinstance(s, Map) for s in node.own)


def _left(met: Mapping[str, list[HaloNeed]], node: CutNode) -> dict[str, list[HaloNeed]]:
    """What has been sent and does not change in a statement."""
    return {name: left for name, needs in met.items() if (left := [n for n in needs if leaves(node, n)])}


def common(box: ReadBox, own: Sequence[Span], need: HaloNeed) -> ReadBox | None:
    """The elements of a box that a rank has; None where there is none."""
    sides = []
    for k, ((low, high), (first, last)) in enumerate(zip(box, own, strict=True)):
        cut = k in need.axes
        if cut and (low.const is None or high.const is None):
            raise moving(need)
        side = (maximum(low, first), minimum(high, last)) if cut else (low, high)
        if ((side[1] - side[0]).const or 0) <= 0:
            return None
        sides.append(side)
    return tuple(sides)


def moving(need: HaloNeed) -> Exception:
    """The refusal of what is read at another place of a cut axis in each iteration, while that changes."""
    axes, loops = ", ".join(map(str, need.axes)), ", ".join(map(loop_name, sorted(need.varies)))
    return unsupported(need.source, f"axis {axes} of {told(need.array)!r} is cut, and the loop over {loops} decides "
                       "which of its elements are read, and changes them", WHOLE, "SG124")


def _joined(boxes: list[ReadBox]) -> list[ReadBox]:
    """The boxes, with one box around those that it has no elements beside."""
    found: list[ReadBox] = []
    for box in boxes:
        for k, other in enumerate(found):
            both = around(box, other)
            if both is not None and _size(both) <= _size(box) + _size(other):
                found[k] = both
                break
        else:
            found.append(box)
    return found


def _size(box: ReadBox) -> int:
    return prod((high - low).const or 0 for low, high in box)
