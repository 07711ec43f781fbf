"""Recurrences hand their values from one iteration to the next in registers, not through memory."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeGuard

from sdfgad.analysis.elements.access import interval_env
from sdfgad.analysis.loops.carried import Index, Stream, in_order, streams
from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Let, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import children, with_children
from sdfgad.names import fresh

Path = tuple[Range, ...]


def replace_by_scalars(program: Program) -> Program:
    """for j = 1:n: { x[j] = x[j] / 2 ; x[j + 1] += x[j] }
    ->   c = x[1]
         for j = 1:n: { d = x[j + 1] ; c = c / 2 ; x[j] = c ; d += c ; c = d }
         x[n] = c

    For loops that surely run and compute single elements, where one iteration looks at what an earlier one wrote at
    most three iterations before. All elements of the array that the loop touches are known to be the same in another
    iteration, or never to be; none of them is read under a condition. An element is stored once, after the last change.
    """
    work = _Carrying(dict(program.arrays))
    body, _ = work.block(program.body, ())
    return program if body == program.body else program.but(body=body, arrays=work.arrays)


class _Carrying:
    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def block(self, block: Block, path: Path) -> tuple[Block, list[str]]:
        """The block, and the registers of its loops that belong to nobody else."""
        out: list[Stmt] = []
        registers: list[str] = []
        for stmt in block:
            made, names = self.statement(stmt, path)
            out += made
            registers += names
        return tuple(out), registers

    def statement(self, stmt: Stmt, path: Path) -> tuple[Block, list[str]]:
        if not children(stmt):
            return (stmt,), []
        if isinstance(stmt, Loop) and all(isinstance(s, Map) for s in stmt.body):
            found = streams(stmt, self.arrays) if in_order(stmt, interval_env(path)) else []
            return self.carried(stmt, found) if found else ((stmt,), [])
        inner = (*path, stmt.range) if isinstance(stmt, Loop) else path
        parts = [self.block(b, inner) for b in children(stmt)]
        made, names = with_children(stmt, [b for b, _ in parts]), [n for _, own in parts for n in own]
        if isinstance(made, Loop) and made.parallel and names:
            # Each iteration has registers of its own.
            return (replace(made, private=(*made.private, *names)),), []
        return (made,), names

    def carried(self, stmt: Loop, found: list[Stream]) -> tuple[Block, list[str]]:
        """The loop with its streams in registers, between what loads and what stores their ends."""
        lines = [_Stream(s, stmt.range, self._registers(s)) for s in found]
        body = stmt.body
        for line in lines:
            body = line.in_registers(body)
        before, start, end, after = (_alone([p for line in lines for p in parts(line)])
                                     for parts in (_Stream.begun, _Stream.fetched, _Stream.moved, _Stream.ended))
        registers = [name for line in lines for name in line.registers]
        return (*before, replace(stmt, body=(*start, *body, *end)), *after), registers

    def _registers(self, stream: Stream) -> tuple[str, ...]:
        made = []
        for _ in stream.places:
            made.append(fresh(f"{stream.array}_here", self.arrays))
            self.arrays[made[-1]] = Array(made[-1], (), self.arrays[stream.array].dtype)
        return tuple(made)


@dataclass(frozen=True)
class _Stream:
    """A stream of a loop over `range` with the registers that hold its elements in an iteration, by lead."""

    stream: Stream
    range: Range
    registers: tuple[str, ...]

    def begun(self) -> list[Store]:
        """Before the loop: what iterations look at that is there already."""
        return [self._kept(k, self._element(k, self.range.start)) for k in sorted(self.stream.fetched)
                if k < self.stream.top]

    def fetched(self) -> list[Store]:
        """First in an iteration: the element that no earlier one touched."""
        top = self.stream.top
        return [self._kept(top, self.stream.places[top])] if top in self.stream.fetched else []

    def in_registers(self, body: Block) -> Block:
        """The iteration; an element is stored after its last change."""
        low = self.stream.places[self.stream.stored[0]]
        stores = [p for m in body if isinstance(m, Map) for p in m.body if self._stores(p) and p.index == low]
        ends = id(stores[-1])
        return tuple(replace(m, body=tuple(q for p in m.body for q in self._part(p, id(p) == ends)))
                     if isinstance(m, Map) else m for m in body)

    def moved(self) -> list[Store]:
        """Last in an iteration: in the next one every element is one place further."""
        return [Store(to, (), self._value(k + 1)) for k, to in enumerate(self.registers[:-1])]

    def ended(self) -> list[Store]:
        """After the loop: elements that would have been changed, and stored, by later iterations."""
        low, high = self.stream.stored
        last = self.range.stop - self.range.step
        if self.range.trips is not None:
            last = self.range.start + (self.range.trips - 1) * self.range.step
        return [Store(self.stream.array, self._element(k, last), self._value(k - 1)) for k in range(low + 1, high + 1)]

    def _part(self, part: Let | Store, ends: bool) -> list[Let | Store]:
        part = replace(part, expr=rewrite(part.expr, self._load))
        if not self._stores(part):
            return [part]
        lead = self.stream.leads[part.index]
        kept = replace(part, array=self.registers[lead], index=())
        return [kept, Store(part.array, part.index, self._value(lead))] if ends else [kept]

    def _stores(self, part: Let | Store) -> TypeGuard[Store]:
        return isinstance(part, Store) and part.array == self.stream.array and part.index in self.stream.leads

    def _load(self, e: Expr) -> Expr | None:
        mine = isinstance(e, Load) and e.array == self.stream.array and e.index in self.stream.leads
        return self._value(self.stream.leads[e.index]) if mine and isinstance(e, Load) else None

    def _value(self, lead: int) -> Load:
        return Load(self.registers[lead], (), self.stream.dtype)

    def _kept(self, lead: int, index: Index) -> Store:
        return Store(self.registers[lead], (), Load(self.stream.array, index, self.stream.dtype))

    def _element(self, lead: int, here: Ix) -> Index:
        return tuple(i.subs({self.range.var: here}) for i in self.stream.places[lead])


def _alone(parts: list[Store]) -> tuple[Map, ...]:
    return tuple(Map((), (p,)) for p in parts)
