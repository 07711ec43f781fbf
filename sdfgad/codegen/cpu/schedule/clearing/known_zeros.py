"""Sums that start from zeros: what was cleared part by part is assigned where it would be added to."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, If, Let, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_writes, children, statements, with_children, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import Box, common, is_zero, size, stored_box, take_out
from sdfgad.transform.clearing.stale import Boxes, hull, without
from sdfgad.transform.spelling import only_store


def assign_to_zeros(program: Program) -> Program:
    """x[0] = 0 ; x[1] += x[0] ; x[1:n] = 0 ; x[0:n] += e   ->   x[0] = 0 ; x[1] += x[0] ; x[1:n] = 0 ; x[0:n] = e
    y[0:n] = 0 ; for t: { y[1:n] = e ; x[0:n] += y[0:n] }   ->   y[0:n] = 0 ; for t: { y[1:n] = e ; x[1:n] += y[1:n] }

    Where each element is known to be zero when it is added to: cleared before, or made of nothing but zeros. Where most
    are, they become a map of their own. Known zeros are not added, where what is left to add is a box.
    """
    return program.but(body=_Zeros().block(program.body))


@dataclass
class _Zeros:
    """known: by array boxes of elements that are zero at this point of the program."""

    known: dict[str, Boxes] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        return tuple(self.statement(s) for stmt in block for s in self.pieces(stmt))

    def pieces(self, stmt: Stmt) -> Iterator[Stmt]:
        """What is left of a sum without the zeros it adds; and if it starts from zeros in most places, and from
        something else at their rim, in these parts."""
        store = only_store(stmt) if isinstance(stmt, Map) else None
        box = stored_box(stmt, store) if isinstance(stmt, Map) and store is not None and store.op == "+" else None
        if not isinstance(stmt, Map) or store is None or box is None:
            yield stmt
            return
        cut = self.cut(stmt, store, box)
        found = [_within(stmt, store.index, piece) for piece in cut]
        parts = [m for m in found if m is not None]
        if cut == [box] or len(parts) < len(cut):
            yield stmt
        else:
            yield from (p for m in parts for p in self.pieces(m))

    def cut(self, stmt: Map, store: Store, box: Box) -> list[Box]:
        """The box that a sum goes to in the pieces that are done one by one, without what gets nothing but zeros."""
        rest = without((box,), self.made_of_zeros(stmt, store, box))
        if len(rest) <= 1 and rest != (box,):
            return list(rest)
        known = self.known.get(store.array, ())
        zeros = [z for b in known if (z := common(box, b)) is not None] if without((box,), known) else []
        most = max(zeros, key=size, default=box)
        apart = most != box and size(most) >= thresholds().from_zeros * size(box)
        return [most, *take_out(box, most)] if apart else [box]

    def statement(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Map):
            # No point looks at what another one stores: its parts might as well run one after the other.
            body = tuple(self.part(stmt, p) for p in stmt.body)
            return replace(stmt, body=body) if body != stmt.body else stmt
        if children(stmt):
            return self.region(stmt)
        self.forget(all_writes((stmt,)))
        return stmt

    def region(self, stmt: Stmt) -> Stmt:
        """What an iteration finds may come from another one. Afterwards as much is known as at the end of the last."""
        before = dict(self.known)
        self.forget_stored(stmt)
        outside = dict(self.known)
        start = before if isinstance(stmt, If) else outside
        blocks = []
        for block in children(stmt):
            self.known = {n: b for n, b in start.items() if not isinstance(stmt, Loop) or n not in stmt.private}
            blocks.append(self.block(block))
        if not isinstance(stmt, Loop) or stmt.until is not None or stmt.parallel or not stmt.range.trips:
            self.known = outside
        return with_children(stmt, blocks)

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.known.pop(name, None)

    def forget_stored(self, region: Stmt) -> None:
        """What a region may write: boxes around the stores of its maps, all of what others write, or keep to
        themselves."""
        for stmt in statements((region,)):
            if isinstance(stmt, Loop):
                self.forget(stmt.private)
            if not isinstance(stmt, Map):
                self.forget(writes(stmt))
                continue
            for part in stmt.body:
                if isinstance(part, Store) and part.array in self.known:
                    self.remember(part.array, without(self.known[part.array], [hull(part.index, stmt.domain)]))

    def remember(self, name: str, boxes: Boxes) -> None:
        self.known[name] = boxes if len(boxes) <= thresholds().boxes else ()

    def part(self, stmt: Map, part: Let | Store) -> Let | Store:
        if isinstance(part, Let) or not part.index:
            return part
        before = self.known.get(part.array, ())
        box = stored_box(stmt, part)
        zeros = self.made_of_zeros(stmt, part, box)
        if part.op is not None:
            zeros = tuple(c for z in zeros for b in before if (c := common(z, b)) is not None)
        gone = box if box is not None else hull(part.index, stmt.domain)
        self.remember(part.array, (*without(before, [gone]), *zeros))
        from_zero = part.op == "+" and box is not None and bool(before) and not without((box,), before)
        return replace(part, op=None) if from_zero else part

    def made_of_zeros(self, stmt: Map, part: Store, box: Box | None) -> Boxes:
        """The elements of a part's box for which the value stored, or added, is zero."""
        if box is None or part.op not in (None, "+"):
            return ()
        if is_zero(part):
            return (box,)
        if not isinstance(part.expr, Load):
            return ()
        inner = (_within(stmt, part.expr.index, zeros) for zeros in self.known.get(part.expr.array, ()))
        found = (stored_box(points, part) for points in inner if points is not None)
        return tuple(b for b in found if b is not None)


def _within(stmt: Map, index: tuple[Ix, ...], box: Box) -> Map | None:
    """The map for the points alone at which an index lies in a box; None where they are no box, or none at all."""
    ranges = {r.var: r for r in stmt.domain}
    for i, (low, high) in zip(index, box, strict=True):
        variables = [v for v in i.symbols if v in ranges]
        if not variables:
            if i.const is None or not low <= i.const < high:
                return None
            continue
        var = variables[0]
        ahead = (i - var).const
        r = ranges[var]
        if ahead is None or r.step != 1 or r.start.const is None or r.stop.const is None:
            return None
        start, stop = max(r.start.const, low - ahead), min(r.stop.const, high - ahead)
        if start >= stop:
            return None
        ranges[var] = replace(r, start=ix(start), stop=ix(stop))
    return replace(stmt, domain=tuple(ranges[r.var] for r in stmt.domain))
