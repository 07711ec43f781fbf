"""The pieces of a schedule as steps of a data-flow analysis: a statement that one thread runs, or a whole kernel."""
from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace

from sdfgad.analysis.elements.cover import replaced
from sdfgad.analysis.lifetimes import Either, Repeated, Step, Steps
from sdfgad.codegen.cpu.order.pieces import Group, Item, Kernel
from sdfgad.ir.program import Array, Block, If, Loop, Map, Range, Stmt, While
from sdfgad.ir.walk import all_reads, all_writes, children, range_elems, reads, writes


def steps_of(items: tuple[Item, ...], arrays: Mapping[str, Array], program: Container[str]) -> Steps:
    """The steps of a schedule. program: names of the arrays that it did not add itself."""
    reader = _StepReader(arrays, program)
    return tuple(reader.top(items))


class _StepReader:
    def __init__(self, arrays: Mapping[str, Array], program: Container[str]) -> None:
        self.arrays, self.program = arrays, program
        self.number = -1

    def top(self, items: tuple[Item, ...]) -> Iterator[Step | Either | Repeated]:
        for item in items:
            for part in ([Group((stmt,)) for stmt in item.body] if isinstance(item, Group) else [item]):
                self.number += 1
                yield from self.item(part)

    def items(self, items: tuple[Item, ...]) -> Steps:
        return tuple(node for item in items for node in self.item(item))

    def item(self, item: Item) -> Steps:
        if isinstance(item, Group):
            return self.block(item.body)
        if isinstance(item, Kernel):
            return (self.kernel(item),)
        return self.control(item.stmt, tuple(self.items(part) for part in item.parts))

    def block(self, block: Block) -> Steps:
        return tuple(node for stmt in block for node in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Steps:
        if isinstance(stmt, (Loop, While, If)):
            return self.control(stmt, tuple(self.block(inner) for inner in children(stmt)))
        return (Step(self.number, reads(stmt), writes(stmt), replaced(stmt, self.arrays)),)

    def control(self, stmt: Loop | While | If, parts: tuple[Steps, ...]) -> Steps:
        """Bounds and conditions are read before anything inside runs; what a while loop reads again is a scalar."""
        head = Step(self.number, reads(stmt))
        if isinstance(stmt, If):
            return head, Either(parts)
        sure = isinstance(stmt, Loop) and stmt.until is None and bool(stmt.range.trips)
        return head, Repeated(parts[0], sure)

    def kernel(self, item: Kernel) -> Step:
        """Partial results, which the schedule adds, are set up and used up by the same kernel."""
        written = frozenset(all_writes(item.body))
        own = frozenset(n for n in written if n not in self.program)
        starts = {e.array for x in item.extents for e in range_elems(x.var)}
        read, filled = frozenset(starts), own
        for stmt in item.origin:
            read |= all_reads((stmt,)) - filled
            filled |= frozenset(_replaced(stmt, self.arrays))
        return Step(self.number, read, written, filled)


def _replaced(stmt: Stmt, arrays: Mapping[str, Array], around: tuple[Range, ...] = ()) -> Iterator[str]:
    """Arrays of which all iterations of loops together replace every element; branches may not run."""
    if isinstance(stmt, Loop):
        for inner in stmt.body if stmt.until is None else ():
            yield from _replaced(inner, arrays, (*around, stmt.range))
    elif isinstance(stmt, Map):
        yield from replaced(replace(stmt, domain=(*around, *stmt.domain)), arrays)
    elif not around:
        yield from replaced(stmt, arrays)
