"""Read what a loop restores where it was kept, all of it, so that nothing has to be restored."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.analysis.elements.region import region_of
from sdfgad.codegen.cpu.schedule.copies.propagate_kept_copies import KeptCopy, copy_of
from sdfgad.ir.expr import Expr, Load, loads, rewrite
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import all_writes, children, statements, with_children, within
from sdfgad.thresholds import thresholds
from sdfgad.transform.dropping.unread import remove_unseen_copies


def propagate_restored_copies(program: Program) -> Program:
    """for t: { map j = 0:t: x[j] = tape[t, j] ; map j = 0:t: y[j] += x[t - 1 - j] * x[j] }
    ->   for t: { map j = 0:t: y[j] += tape[t, t - 1 - j] * tape[t, j] }

    Where the loop does nothing else with x and leaves the tape alone, every look is at what the iteration has copied,
    what it has copied is small, and nobody sees the copy later on (`unread.py`).
    """
    for _ in range(thresholds().restored_loops):
        found = next(_improved(program), None)
        if found is None:
            break
        program = found
    return program


def _improved(program: Program) -> Iterator[Program]:
    """Programs in which one loop reads the source of a copy, and there is no copy."""
    tried = 0
    for loop, path in _loops(program.body, ()):
        more = tried < thresholds().restored_loops and not loop.parallel
        made = _redirected(loop, path, program.arrays) if more else None
        if made is not None:
            tried += 1
            name, changed = made
            found = remove_unseen_copies(program.but(body=_with(program.body, loop, changed)))
            if _stores(found, name) < _stores(program, name):
                yield found


def _loops(block: Block, path: tuple[Range, ...]) -> Iterator[tuple[Loop, tuple[Range, ...]]]:
    """The loops of a block, each with the ranges around its body."""
    for stmt in block:
        inside = (*path, stmt.range) if isinstance(stmt, Loop) else path
        if isinstance(stmt, Loop):
            yield stmt, inside
        for inner in children(stmt):
            yield from _loops(inner, inside)


def _with(block: Block, loop: Loop, changed: Loop) -> Block:
    """A block with another loop in place of one of those inside."""
    return tuple(changed if s is loop else with_children(s, [_with(b, loop, changed) for b in children(s)])
                 for s in block)


def _stores(program: Program, name: str) -> int:
    return sum(name in within(s)[1] for s in statements(program.body) if not children(s))


def _redirected(loop: Loop, path: Sequence[Range], arrays: Mapping[str, Array]) -> tuple[str, Loop] | None:
    """The first array of which the loop can read the source, and the loop that does."""
    for k, stmt in enumerate(loop.body):
        copy = copy_of(stmt, arrays) if isinstance(stmt, Map) else None
        body = None if copy is None or not _small(copy, path, arrays) else _reading(loop, k, copy, path)
        if copy is not None and body is not None:
            return copy.target.array, replace(loop, body=body)
    return None


def _small(copy: KeptCopy, path: Sequence[Range], arrays: Mapping[str, Array]) -> bool:
    """Whether what an iteration copies stays near."""
    size, env = arrays[copy.source.array].dtype.itemsize, interval_env((*path, *copy.domain))
    for r in copy.domain:
        most = extent_bound(r, env)
        size *= thresholds().restored_bytes if most is None else most
    return size <= thresholds().restored_bytes


def _reading(loop: Loop, k: int, copy: KeptCopy, path: Sequence[Range]) -> Block | None:
    """The body with loads from the source in place of all loads of the copy; None where some has to stay."""
    name = copy.target.array
    if any(_touches(s, name) for s in loop.body[:k]):
        return None
    users = tuple(s for s in loop.body[k + 1:] if _touches(s, name))
    if not users or copy.source.array in all_writes(loop.body) \
            or name in all_writes(users) or {name, copy.source.array} & {*loop.private}:
        return None
    changed = [_from_source(s, copy, path) if j > k and _touches(s, name) else s for j, s in enumerate(loop.body)]
    return None if None in changed else tuple(s for s in changed if s is not None)


def _touches(stmt: Stmt, name: str) -> bool:
    read, written = within(stmt)
    return name in read or name in written


def _from_source(stmt: Stmt, copy: KeptCopy, path: Sequence[Range]) -> Stmt | None:
    """A map with loads from the source of a copy; None where it may look at something that was not copied."""
    if not isinstance(stmt, Map):
        return None
    places = {n: _place(stmt, n.index, copy, path) for p in stmt.body for n in loads(p.expr)
              if n.array == copy.target.array}
    if None in places.values() or not places:
        return None

    def one(n: Expr) -> Expr | None:
        place = places.get(n) if isinstance(n, Load) else None
        return None if place is None else replace(copy.source, index=place)

    return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, one)) for p in stmt.body))


def _place(stmt: Map, index: Sequence[Ix], copy: KeptCopy, path: Sequence[Range]) -> tuple[Ix, ...] | None:
    """Where the source has what an element of the copy is, if the element is one of those copied at every point."""
    ranges = {r.var: r for r in copy.domain}
    region = region_of(stmt.domain, path)
    values: dict[str, Ix] = {}
    for mine, other in zip(copy.target.index, index, strict=True):
        own = [v for v in mine.symbols if v in ranges]
        if not own and mine == other:
            continue
        factor = mine.coefficient(own[0]) if len(own) == 1 and own[0] not in values else None
        if factor not in (1, -1) or region is None:
            return None
        value = (other - mine.subs({own[0]: 0})) * factor
        r = ranges[own[0]]
        gaps = (value - r.start).affine, (r.stop - 1 - value).affine
        if r.step != 1 or r.early or not all(gap is not None and region.implies(gap) for gap in gaps):
            return None
        values[own[0]] = value
    return tuple(i.subs(values) for i in copy.source.index) if values.keys() == ranges.keys() else None
