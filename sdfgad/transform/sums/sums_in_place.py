"""Sums of a loop in order added straight to the element they go to."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import all_writes, children, range_elems, reads, statements, with_children
from sdfgad.thresholds import thresholds
from sdfgad.transform.normal.temporaries import LoopScope, settle_sums


def sum_in_place(program: Program) -> Program:
    """for j: { t = 0 ; map d = 0:j: t += a[d, j] * x[d] ; x[j] = x[j] - t ; x[j] = x[j] / p[j] }
    ->   for j: { map d = 0:j: x[j] += -(a[d, j] * x[d]) ; x[j] = x[j] / p[j] }

    For loops that stay loops, of which each iteration makes the temporary afresh.
    """
    work = _InPlace(program, program.live_out, Counter(n for s in statements(program.body) for n in reads(s)))
    body = work.block(program.body, ())
    return program if body == program.body else work.program(body)


@dataclass(frozen=True)
class _InPlace:
    before: Program
    seen: frozenset[str]
    readers: Counter[str]

    def program(self, body: Block) -> Program:
        """The program without the temporaries that are gone."""
        gone = all_writes(self.before.body) - all_writes(body)
        arrays = {n: a for n, a in self.before.arrays.items() if n not in gone or not _own(a)}
        return self.before.but(body=body, arrays=arrays)

    def block(self, block: Block, path: tuple[Range, ...]) -> Block:
        return tuple(self.statement(s, path) for s in block)

    def statement(self, stmt: Stmt, path: tuple[Range, ...]) -> Stmt:
        if not children(stmt):
            return stmt
        inside = (*path, stmt.range) if isinstance(stmt, Loop) else path
        stmt = with_children(stmt, [self.block(b, inside) for b in children(stmt)])
        return self.loop(stmt, inside) if isinstance(stmt, Loop) else stmt

    def loop(self, stmt: Loop, path: tuple[Range, ...]) -> Loop:
        maps = [s for s in stmt.body if isinstance(s, Map)]
        if not len(stmt.body) == len(maps) <= thresholds().summed_statements or stmt.until is not None:
            return stmt
        scope = LoopScope(self.before.arrays, self._private(stmt), path)
        return replace(stmt, body=tuple(settle_sums(maps, scope)))

    def _private(self, stmt: Loop) -> frozenset[str]:
        """Temporaries that nobody else reads."""
        here = Counter(n for s in stmt.body for n in reads(s))
        ends = {e.array for e in range_elems(stmt.range)}
        return frozenset(n for n in all_writes(stmt.body) - self.seen - ends
                         if _own(self.before.arrays[n]) and here[n] == self.readers[n])


def _own(array: Array) -> bool:
    return array.role == "transient"
