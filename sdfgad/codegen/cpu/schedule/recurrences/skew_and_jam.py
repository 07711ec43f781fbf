"""Sweeps that follow each other at a distance, several of them at a time: their recurrences wait side by side."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from sdfgad.analysis.block_local import block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.analysis.loops.sweeps import counted, least_lag, looked_into, recurs, simple, stores, within_segments
from sdfgad.codegen.cpu.schedule.recurrences.sweep_groups import SweepNest, SweepWriter
from sdfgad.ir.program import Array, Block, Loop, Program, Range, Stmt, While
from sdfgad.ir.walk import all_reads, all_variables, all_writes, children, statements, with_children
from sdfgad.thresholds import thresholds

TOGETHER = (4, 2)
"""So many sweeps run side by side: as many as a recurrence needs to hide behind the others."""


def skew_and_jam(program: Program) -> Program:
    """for t = 0:4: for i = 1:n: for j = 1:m: x[i, j] = x[i, j - 1] / 2 + x[i - 1, j] + x[i + 1, j]
    ->   for t = 0:4:4: { for k = 0:3: for i = 1:7 - 2 * k: for j = 1:m: x[i, j] = ...
                          for i = 7:n: for j = 1:m: { x[i, j] = ... ; x[i - 2, j] = ... ; ... ; x[i - 6, j] = ... }
                          for k = 0:4: for i = n - 2 * k:n: for j = 1:m: x[i, j] = ... }

    For loops of numbers of iterations around nothing but loops of which each iteration, a row, has a recurrence, and
    where every array that changes is touched in rows at fixed distances from the row's own. A sweep that stays further
    behind the one before than the farthest of these (two rows above) meets nothing of what that one does meanwhile.
    Every element sees the same operations in the same order. What belongs to a row alone gets copies where rows would
    share it. Several groups of sweeps become a parallel loop around one over blocks of rows, which each group does
    behind the one before; what is left over is a smaller group.
    """
    work = _Jam(program, program.live_out)
    body = work.block(program.body, 0)
    return program if body == program.body else program.but(body=body, arrays=work.left(body))


class _Jam:
    def __init__(self, program: Program, seen: frozenset[str]) -> None:
        self.program, self.seen = program, seen
        self.arrays = dict(program.arrays)
        self.writer = SweepWriter(self.arrays, all_variables(program.body))
        self.own: set[str] = set()

    def left(self, body: Block) -> dict[str, Array]:
        """The arrays without those of which there are only copies now."""
        gone = self.own - all_reads(body) - all_writes(body)
        return {n: a for n, a in self.arrays.items() if n not in gone}

    def block(self, block: Block, depth: int) -> Block:
        """The block, inside `depth` loops, with its nests jammed."""
        return tuple(s for stmt in block for s in self.statement(stmt, depth))

    def statement(self, stmt: Stmt, depth: int) -> Block:
        # The private arrays of a parallel loop are declared there, and there is enough to do side by side.
        if not children(stmt) or isinstance(stmt, Loop) and stmt.parallel:
            return (stmt,)
        nest = self.nest(stmt, depth) if isinstance(stmt, Loop) else None
        if nest is not None:
            self.own |= nest.own
            return self.writer.written(nest)
        inside = depth + isinstance(stmt, (Loop, While))
        return (with_children(stmt, [self.block(b, inside) for b in children(stmt)]),)

    def nest(self, outer: Loop, depth: int) -> SweepNest | None:
        """Two loops that can be jammed, where that pays; cheap questions first."""
        inner = outer.body[0] if len(outer.body) == 1 else None
        if not isinstance(inner, Loop) or not (counted(outer) and counted(inner)):
            return None
        moving = frozenset((outer.range.var, inner.range.var))
        if not any(recurs(s, moving) for s in inner.body) or not simple(inner.body, moving):
            return None
        own = self.private(inner.body, depth + 2)
        copied = own - within_segments(inner.body, moving)
        lag = least_lag(inner.body, inner.range, own)
        if lag is None or not self._may_copy(inner.body, copied, copied):
            return None
        count = _count(outer.range, inner, lag, moving)
        if count is None:
            return None
        nest = SweepNest(outer.range, inner.range, inner.body, lag, count, own, copied)
        return replace(nest, blocks=_blocks(nest)) if self._may_copy(inner.body, own, copied) else nest

    @cached_property
    def local_depths(self) -> Mapping[str, int]:
        """For arrays that live within a run of a block: the loops around it."""
        found = block_locals(self.program, sites(self.program.body), self.seen)
        return {name: len(local.path) for name, local in found.items()}

    def private(self, body: Block, depth: int) -> frozenset[str]:
        """Arrays that a row makes and nobody else looks at."""
        names = {n for n in all_writes(body) if self.program.arrays[n].role == "transient"}
        return frozenset(n for n in names if self.local_depths.get(n, 0) >= depth)

    def _may_copy(self, body: Block, once: frozenset[str], often: frozenset[str]) -> bool:
        """Whether arrays can have other names for other sweeps: small ones that no index looks into."""
        total = sum(self.arrays[n].bytes for n in once) + sum(self.arrays[n].bytes for n in often) * TOGETHER[0]
        return total <= thresholds().jammed_bytes and once.isdisjoint(looked_into(body))


def _count(sweeps: Range, rows: Loop, lag: int, moving: frozenset[str]) -> int | None:
    """How many sweeps to run together: as many as leave half of the rows to be run so."""
    most = max((stores(s) for s in statements(rows.body) if isinstance(s, Loop) and recurs(s, moving)), default=0)
    return next((n for n in TOGETHER if n <= (sweeps.trips or 0) and n * most <= thresholds().jammed_stores
                 and 2 * lag * (n - 1) <= (rows.range.trips or 0)), None)


def _blocks(nest: SweepNest) -> int:
    """How many blocks of rows there are: many, so that many groups run at once, and such that few rows are left over.

    A block is as long as the last sweep of a group is behind the first one of the next group.
    """
    together = (nest.rows.trips or 0) - nest.before
    most = together // (nest.lag * nest.count)
    if nest.groups < thresholds().sweep_groups or most < thresholds().sweep_blocks:
        return 1
    return min(range(most, max(thresholds().sweep_blocks, most - most // 6) - 1, -1), key=lambda n: together % n)
