"""Records of strips: what one iteration of a parallel loop keeps lies in one piece, in the order of keeping."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sdfgad.analysis.rows import touched, touches
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import children, map_accesses, with_children
from sdfgad.thresholds import thresholds
from sdfgad.transform.storage.orient import free_arrays

Path = tuple[Range, ...]


@dataclass(frozen=True)
class _Strips:
    """The dimension that strips divide, and how many elements of it each has."""

    dimension: int
    width: int


def line_up_records(program: Program) -> Program:
    """parallel for s: for t: map i, j = 8 * s:8 * s + 8: tape[t, i, j] = x[i, j]
    ->   parallel for s: for t: map i, j = 8 * s:8 * s + 8: tape[s, t, i, j - 8 * s] = x[i, j]

    For large arrays of the program's own of which every access lies in a strip, narrow ones, all of the same width.
    Rows of a strip that lie far apart cannot be fetched ahead; now they follow each other. No value depends on where an
    element lies.
    """
    uses = list(_uses(program.body, ()))
    for name in free_arrays(program, program.live_out, thresholds().recorded_bytes):
        strips = _strips(program.arrays[name], [(m, path) for m, path in uses if name in touched(m)[0]])
        if strips is not None:
            program = _in_pieces(program, name, strips)
            uses = list(_uses(program.body, ()))
    return program


def _uses(block: Block, path: Path) -> Iterator[tuple[Map, Path]]:
    """Every map, and the parallel loops around it."""
    for stmt in block:
        if isinstance(stmt, Map):
            yield stmt, path
        inner = (*path, stmt.range) if isinstance(stmt, Loop) and stmt.parallel else path
        for part in children(stmt):
            yield from _uses(part, inner)


def _strips(array: Array, uses: list[tuple[Map, Path]]) -> _Strips | None:
    """How all accesses to an array divide it; None where they differ, or where its rows are long as they are."""
    found = {_strip_of(array, t.index, stmt, path) for stmt, path in uses for t in touches(stmt)
             if t.array == array.name}
    strips = found.pop() if len(found) == 1 else None
    narrow = strips and strips.width < thresholds().narrow_strip
    return strips if strips and narrow and array.shape[strips.dimension] % strips.width == 0 else None


def _strip_of(array: Array, index: tuple[Ix, ...], stmt: Map, path: Path) -> _Strips | None:
    """The strip that one access keeps to: along the last dimension, and in no other one."""
    last = len(array.shape) - 1
    strip = _strip_number(index[last], stmt, path)
    if strip is None or any(strip[0] in i.symbols for i in index[:last]):
        return None
    return _Strips(last, strip[1])


def _strip_number(position: Ix, stmt: Map, path: Path) -> tuple[str, int] | None:
    """The variable that counts strips and their width, when a position takes exactly the values of one strip."""
    for r in stmt.domain:
        width = (r.stop - r.start).const
        if r.step != 1 or width is None or position.coefficient(r.var) != 1:
            continue
        first = position.subs({r.var: r.start})
        for outer in path:
            if outer.step == 1 and first == ix(outer.var) * width:
                return outer.var, width
    return None


def _in_pieces(program: Program, name: str, strips: _Strips) -> Program:
    """The program with an array whose first dimension counts strips."""
    array = program.arrays[name]
    shape = (array.shape[strips.dimension] // strips.width, *array.shape[:-1], strips.width)
    arrays = {**program.arrays, name: replace(array, shape=shape)}

    def block(body: Block, path: Path) -> Block:
        return tuple(moved(stmt, path) for stmt in body)

    def moved(stmt: Stmt, path: Path) -> Stmt:
        if not isinstance(stmt, Map):
            inner = (*path, stmt.range) if isinstance(stmt, Loop) and stmt.parallel else path
            return with_children(stmt, [block(b, inner) for b in children(stmt)]) if children(stmt) else stmt
        return map_accesses(stmt, lambda n, i: change(i, stmt, path) if n == name else i)

    def change(index: tuple[Ix, ...], stmt: Map, path: Path) -> tuple[Ix, ...]:
        found = _strip_number(index[-1], stmt, path)
        if found is None:
            raise ValueError(f"{name}[{', '.join(map(str, index))}] lies in no strip")
        return (ix(found[0]), *index[:-1], index[-1] - ix(found[0]) * strips.width)

    return program.but(body=block(program.body, ()), arrays=arrays)
