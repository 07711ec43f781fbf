"""Arrays that are cut take no more room on a rank than what the rank touches: its block and what it receives."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sdfgad.analysis.elements.access import interval_env
from sdfgad.ir.index import Bounds, Ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import children, map_accesses, range_elems
from sdfgad.transform.cutting.accesses import Access, accesses, read_by
from sdfgad.transform.cutting.blocks import Span
from sdfgad.transform.cutting.tree import CutWork


def within_windows(program: Program, work: CutWork) -> Program:
    """map i = 50:100: y[i] = x[i - 1]   ->   map i = 50:100: y[i - 50] = x[i - 49]

    with room for 50 elements of y and 51 of x. Only along axes that are cut; what is gathered is touched as a whole.
    """
    found = _Touched(program.arrays, work)
    found.block(program.body, ())
    windows = {n: found.window(n) for n in work.cut if n in program.arrays}
    low = {n: tuple(first for first, _ in w) for n, w in windows.items()}

    def moved(name: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        return tuple(i - by for i, by in zip(index, low[name], strict=True)) if name in low else index

    arrays = {n: _narrow(a, windows[n]) if n in windows else a for n, a in program.arrays.items()}
    return program.but(arrays=arrays, body=tuple(map_accesses(s, moved) for s in program.body))


def _narrow(array: Array, window: tuple[Span, ...]) -> Array:
    return replace(array, shape=tuple(behind - first for first, behind in window), window=window)


@dataclass
class _Touched:
    """Where statements touch arrays along axes that are cut."""

    arrays: Mapping[str, Array]
    work: CutWork
    spans: dict[str, dict[int, Span]] = field(default_factory=dict)

    def window(self, name: str) -> tuple[Span, ...]:
        """What is touched, and, of arrays that somebody outside knows, all that the rank owns."""
        array, blocks = self.arrays[name], self.work.cut[name]
        own, seen = blocks.own(self.work.here, array.shape), self.spans.get(name, {})
        outside = array.role == "argument" or name in self.work.program.live_out
        sides = []
        for k, (n, cut) in enumerate(zip(array.shape, blocks.axes, strict=True)):
            spans = [seen[k]] if k in seen else []
            spans += [own[k]] if outside and own[k][0] < own[k][1] or not spans else []
            first, behind = min(s[0] for s in spans), max(s[1] for s in spans)
            sides.append((0, n) if cut is None else (min(first, max(n - 1, 0)), min(max(behind, first + 1), n)))
        return tuple(sides)

    def block(self, block: Block, loops: tuple[Range, ...]) -> None:
        for stmt in block:
            domain = stmt.domain if isinstance(stmt, Map) else ()
            self._touch(_touched_by(stmt), interval_env((*loops, *domain)))
            if isinstance(stmt, Lib):
                for view in (*stmt.ins, *stmt.outs):
                    env = interval_env((*loops, *(Range(axis(k), n - n, n) for k, n in enumerate(view.shape))))
                    self._touch([(view.array, view.index)], env)
            for inner in children(stmt):
                self.block(inner, (*loops, stmt.range) if isinstance(stmt, Loop) else loops)

    def _touch(self, found: list[Access], env: Mapping[str, Bounds]) -> None:
        for name, index in found:
            for k, cut in enumerate(self.work.cut[name].axes if name in self.work.cut else ()):
                if cut is not None:
                    span = _span(index[k], self.arrays[name].shape[k], env)
                    low, high = self.spans.setdefault(name, {}).setdefault(k, span)
                    self.spans[name][k] = min(low, span[0]), max(high, span[1])


def _span(i: Ix, extent: int, env: Mapping[str, Bounds]) -> Span:
    low, high = i.bounds(env)
    return max(low or 0, 0), extent if high is None else min(high + 1, extent)


def _touched_by(stmt: Stmt) -> list[Access]:
    """Elements that a statement itself reads or writes, those of operands of library operations aside."""
    if isinstance(stmt, Map):
        return [*read_by(stmt), *((p.array, p.index) for p in stmt.body if isinstance(p, Store))]
    return list(_decided_by(stmt))


def _decided_by(stmt: Stmt) -> Iterator[Access]:
    if isinstance(stmt, If):
        yield from accesses(stmt.cond)
    if isinstance(stmt, Loop):
        yield from ((e.array, e.parts) for e in range_elems(stmt.range))
