"""Lines in which a map adds up for the same elements of one array: one line."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from sdfgad.ir.expr import Const, Load, Local, call
from sdfgad.ir.program import Block, Let, Map, Program, Stmt, Store
from sdfgad.ir.walk import conflicts, in_terms_of, reads, rebuild_blocks, statements, writes
from sdfgad.names import fresh
from sdfgad.transform.fusion.join_pointwise import adds_to


def join_lines(program: Program) -> Program:
    """map i, j: { a[j] += f ; b[j] += g } ; map j: y[j] += a[j] ; map j: y[j] += b[j]
    ->   map i, j: { v = f ; a[j] += v + g } ; map j: y[j] += a[j]

    For temporaries that begin with zeros and that nothing else touches, where nothing between their last statements
    reads or replaces what those add to.
    """
    writers = Counter(n for s in statements(program.body) for n in writes(s))
    readers = Counter(n for s in statements(program.body) for n in reads(s) - writes(s))
    own = frozenset(n for n, a in program.arrays.items() if a.role == "transient" and a.dtype.kind in "fc"
                    and writers[n] == 2 and readers[n] == 1) - {*program.live_out, *program.arguments}
    return program.but(body=rebuild_blocks(program.body, lambda block: _joined(block, own))) if own else program


@dataclass(frozen=True)
class _Line:
    """The three statements of a block that touch a line: where it begins with zeros, is added to, and is added."""

    name: str
    start: int
    sums: int
    end: int


def _joined(block: list[Stmt], own: frozenset[str]) -> Block:
    while (pair := next(_pairs(block, own), None)) is not None:
        first, second = pair
        stmt = block[first.sums]
        if not isinstance(stmt, Map):
            raise TypeError(f"{stmt!r} is no map")
        block = [_added(stmt, first.name, second.name) if k == first.sums else s for k, s in enumerate(block)
                 if k not in (second.start, second.end)]
    return tuple(block)


def _pairs(block: list[Stmt], own: frozenset[str]) -> Iterator[tuple[_Line, _Line]]:
    """Lines of which one will do."""
    groups: dict[object, list[_Line]] = {}
    for line in _lines(block, own):
        store = _sum(block[line.sums], line.name)
        groups.setdefault((line.sums, store.index, store.expr.dtype), []).append(line)
    for lines in groups.values():
        for first, second in combinations(lines, 2):
            if _same_end(block, first, second):
                yield first, second


def _lines(block: list[Stmt], own: frozenset[str]) -> Iterator[_Line]:
    places: dict[str, list[int]] = {}
    for k, stmt in enumerate(block):
        if isinstance(stmt, Map):
            for name in (reads(stmt) | writes(stmt)) & own:
                places.setdefault(name, []).append(k)
    for name, found in places.items():
        if len(found) == 3 and _starts(block[found[0]], name) and _collects(block[found[1]], name) \
                and _ends(block[found[2]], name):
            yield _Line(name, *found)


def _sum(stmt: Stmt, name: str) -> Store:
    """Where a map adds to the line."""
    parts = [p for p in stmt.body if isinstance(p, Store) and p.array == name] if isinstance(stmt, Map) else []
    return parts[0] if parts else _part(stmt)


def _part(stmt: Stmt) -> Store:
    part = stmt.body[0] if isinstance(stmt, Map) else None
    if not isinstance(part, Store):
        raise TypeError(f"{stmt!r} stores nothing")
    return part


def _starts(stmt: Stmt, name: str) -> bool:
    """Whether a map does nothing but set the line to zero."""
    part = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    return isinstance(part, Store) and part.array == name and part.op is None and isinstance(part.expr, Const) \
        and part.expr.value == 0


def _collects(stmt: Stmt, name: str) -> bool:
    """Whether a map adds to the line once per point and does not read it."""
    parts = [p for p in stmt.body if isinstance(p, Store) and p.array == name] if isinstance(stmt, Map) else []
    return len(parts) == 1 and parts[0].op == "+" and isinstance(stmt, Map) \
        and not any(name in reads(replace(stmt, body=(p,))) for p in stmt.body if p is not parts[0])


def _ends(stmt: Stmt, name: str) -> bool:
    """Whether a map does nothing but add the line to something else."""
    part = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    return isinstance(part, Store) and part.op == "+" and part.array != name and isinstance(part.expr, Load) \
        and part.expr.array == name


def _same_end(block: list[Stmt], first: _Line, second: _Line) -> bool:
    """Whether both lines are added to the same elements, with nothing between that would see the difference."""
    a, b = block[first.end], block[second.end]
    if not isinstance(a, Map) or not isinstance(b, Map):
        return False
    start, other = (block[line.start] for line in (first, second))
    if not _alike(a, b, first.name, second.name) or not _alike(start, other, first.name, second.name):
        return False
    low, high = sorted((first.end, second.end))
    target = _part(a).array
    return all(target not in conflicts(b, s) or adds_to(s, target) for s in block[low + 1:high])


def _alike(first: Stmt, second: Stmt, name: str, other: str) -> bool:
    """Whether two maps do the same to two lines."""
    if not isinstance(first, Map) or not isinstance(second, Map):
        return False
    moved = in_terms_of(first.domain, second)
    return moved is not None and _renamed(_part(moved), other, name) == _part(first)


def _renamed(part: Store, old: str, new: str) -> Store:
    expr = replace(part.expr, array=new) if isinstance(part.expr, Load) and part.expr.array == old else part.expr
    return replace(part, array=new if part.array == old else part.array, expr=expr)


def _added(stmt: Map, first: str, second: str) -> Map:
    """The map with one sum in place of two."""
    taken = {p.name for p in stmt.body if isinstance(p, Let)}
    places = [k for k, p in enumerate(stmt.body) if isinstance(p, Store) and p.array in (first, second)]
    body = list(stmt.body)
    early, late = (body[k] for k in places)
    held = Let(fresh(f"{first}_part", taken), early.expr)
    both = call("add", Local(held.name, held.expr.dtype), late.expr)
    body[places[0]], body[places[1]] = held, Store(first, _sum(stmt, first).index, both, "+")
    return replace(stmt, body=tuple(body))
