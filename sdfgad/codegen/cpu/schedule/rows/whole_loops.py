"""Loops in which whole arrays move no more bytes than rows that stay in the cache."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from sdfgad.analysis.elements.access import interval_env
from sdfgad.analysis.loops.rows import touches
from sdfgad.ir.index import Bounds, Ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import children, ranges_of, statements, with_loops, writes
from sdfgad.thresholds import thresholds


def loops_left_whole(program: Program, rows: Program, finish: Callable[[Program], Program]) -> frozenset[Range]:
    """for t: { parallel i: { x[i] = 0 ; map j: x[i, j] += f(y) } ; parallel i: map j: y[i, j] += x[i, j] ; ... }
    from for t: { x = 0 ; x += f(y) ; y += x ; ... }, of which x = f(y) is left where the arrays take turns

    The ranges of the loops that `rows`, the program with its rows taken apart, had better leave as they are: `finish`
    stands for what comes after the rows, and what an iteration moves then is compared. Of rows that save nothing, the
    beginnings and ends are work for nothing. Where rows hold loops whose iterations wait for each other, as strips of
    sweeps do, they are what threads can share: such loops are not asked about.
    """
    parts = _loops(rows)
    asked = [r for r, body in _loops(program).items()
             if _taken_apart(parts.get(r, body)) > _taken_apart(body) and not _sweeps(parts.get(r, body))]
    if not asked:
        return frozenset()
    whole, apart = finish(program), finish(rows)
    found = {r: (_moved_by(whole, r), _moved_by(apart, r)) for r in asked}
    return frozenset(r for r, (a, b) in found.items() if a is not None and b and a <= b)


def _loops(program: Program) -> dict[Range, Block]:
    """The bodies of loops whose iterations wait for each other."""
    return {s.range: s.body for s in statements(program.body) if isinstance(s, Loop) and not s.parallel}


def _taken_apart(body: Block) -> int:
    return sum(isinstance(s, Loop) and s.parallel for s in body)


def _sweeps(body: Block) -> bool:
    """Whether threads that share rows share loops whose iterations wait for each other."""
    shared = [s for s in body if isinstance(s, Loop) and s.parallel]
    return any(isinstance(s, Loop) and not s.parallel for s in statements(tuple(shared)))


def _moved_by(program: Program, r: Range) -> float | None:
    """Bytes per iteration of a loop, which may go two by two by now."""
    for found, body in _loops(program).items():
        if (found.var, found.start) == (r.var, r.start) and found.step in (r.step, 2 * r.step):
            return sum(_bytes(s, program.arrays) for s in body) * r.step / found.step
    return None


def _bytes(stmt: Stmt, arrays: Mapping[str, Array]) -> float:
    """Bytes that one pass moves: what is written is read into the cache first. Small parts of arrays, as at the rim of
    something larger, are there already."""
    if isinstance(stmt, Loop) and not stmt.parallel:
        return (stmt.range.trips or 1) * sum(_bytes(s, arrays) for s in stmt.body)
    if not isinstance(stmt, (Map, Loop)):
        return max((sum(_bytes(s, arrays) for s in b) for b in children(stmt)), default=0.0)
    size: dict[str, float] = {}
    written: set[str] = set()
    for inner, around in with_loops((stmt,)):
        if not isinstance(inner, Map):
            continue
        written |= writes(inner)
        for t in touches(inner):
            array = arrays[t.array]
            here = _elements(t.index, (*ranges_of(around), *inner.domain), array) * array.dtype.itemsize
            size[t.array] = max(size.get(t.array, 0.0), here)
    private = stmt.private if isinstance(stmt, Loop) else ()
    return sum(n * (2 if name in written else 1) for name, n in size.items()
               if name not in private and n >= thresholds().rows.reuse)


def _elements(index: tuple[Ix, ...], domain: tuple[Range, ...], array: Array) -> int:
    """Elements of the box around what an index means; what does not change in the domain is one."""
    env = interval_env(domain)
    return prod(_extent(i, env, n) for i, n in zip(index, array.shape, strict=True))


def _extent(i: Ix, env: Mapping[str, Bounds], most: int) -> int:
    if i.symbols.isdisjoint(env):
        return 1
    low, high = i.bounds(env)
    return most if low is None or high is None else max(0, min(most, high - low + 1))
