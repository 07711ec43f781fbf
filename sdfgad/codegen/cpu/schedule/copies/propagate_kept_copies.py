"""Read what a loop brings back where it was kept, so that it need not be brought back."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.analysis.elements.region import region_of
from sdfgad.analysis.loops.rows import stride
from sdfgad.codegen.cpu.schedule.copies.unseen_copies import has_unseen_copies, remove_unseen_copies
from sdfgad.codegen.cpu.schedule.copies.widened_records import widen_records
from sdfgad.ir.expr import Expr, Load, loads, rewrite
from sdfgad.ir.index import Ix
from sdfgad.ir.program import IN_MEMORY, Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, children, ranges_of, reads, replaced_by, with_children, with_loops
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import touches

Path = tuple[Range, ...]


def propagate_kept_copies(program: Program) -> Program:
    """for t: { map j = 0:t: x[j] = tape[t, j] ; map j = 0:t: y[j] += x[t - 1 - j] * x[j] }
    ->   for t: { map j = 0:t: y[j] += tape[t, t - 1 - j] * tape[t, j] }

    Where the loop does nothing else with x and leaves the tape alone, every look is at what the iteration has copied,
    what it has copied is small, and nobody sees the copy later on (`unseen_copies.py`). In parallel loops, where
    everything is near, such looks alone, as long as both arrays stay what they are:

    map j: x[k, j] = tape[k - 1, j] ; map j: y[j] += x[k, j] * x[k - 1, j]
    ->   map j: x[k, j] = tape[k - 1, j] ; map j: y[j] += tape[k - 1, j] * x[k - 1, j]

    Where looks go a little beyond what was copied, the tape has that as well (`widened_records.py`).
    """
    program = widen_records(program)
    body = tuple(_near(s, program.arrays, (), False) for s in program.body)
    program = program.but(body=body) if body != program.body else program
    for _ in range(thresholds().restored_loops):
        found = next(_improved(program), None)
        if found is None:
            break
        program = found
    return program


@dataclass(frozen=True)
class KeptCopy:
    """target = source at every point of a domain, each with an element of its own."""

    domain: tuple[Range, ...]
    target: Load
    source: Load


def copy_of(stmt: Stmt, arrays: Mapping[str, Array]) -> KeptCopy | None:
    """A statement as a copy of numbers, element by element, to places no nearer to each other than where they are."""
    part = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    if not isinstance(stmt, Map) or not isinstance(part, Store) or part.op or not isinstance(part.expr, Load):
        return None
    made, kept = arrays[part.array], arrays[part.expr.array]
    plain = all(a.role in IN_MEMORY and a.packing is None and a.dtype == part.expr.dtype and a.dtype.kind in "fc"
                for a in (made, kept))
    if not plain or made is kept or any(i.elems for i in (*part.index, *part.expr.index)) \
            or not is_pointwise(stmt.domain, part.index):
        return None
    steps = ((stride(kept, part.expr.index, r.var), stride(made, part.index, r.var)) for r in stmt.domain)
    if not all(a is not None and b is not None and abs(a) <= abs(b) for a, b in steps):
        return None
    return KeptCopy(stmt.domain, Load(part.array, part.index, made.dtype), part.expr)


def _near(stmt: Stmt, arrays: Mapping[str, Array], path: Path, near: bool) -> Stmt:
    """A statement whose parallel loops look at what was kept."""
    near = near or isinstance(stmt, Loop) and stmt.parallel
    path = (*path, stmt.range) if isinstance(stmt, Loop) else path
    blocks = [tuple(_near(s, arrays, path, near) for s in b) for b in children(stmt)]
    return with_children(stmt, [_redirected_near(b, arrays, path) for b in blocks] if near else blocks)


def _redirected_near(block: Block, arrays: Mapping[str, Array], path: Path) -> Block:
    """The block with loads from the source of a copy, up to the first statement that writes one of the two arrays."""
    work = list(block)
    for k, stmt in enumerate(block):
        copy = copy_of(work[k], arrays) if isinstance(stmt, Map) else None
        for j in range(k + 1, len(work) if copy is not None else 0):
            if copy is None or not all_writes((work[j],)).isdisjoint((copy.target.array, copy.source.array)):
                break
            work[j] = _from_source(work[j], copy, path)[0] if copy.target.array in reads(work[j]) else work[j]
    return tuple(work)


def _improved(program: Program) -> Iterator[Program]:
    """Programs in which one loop reads the source of a copy, and there is no copy."""
    tried = 0
    for loop, around in with_loops(program.body):
        if not isinstance(loop, Loop) or loop.parallel or tried >= thresholds().restored_loops:
            continue
        made = _redirected(loop, ranges_of((*around, loop)), program.arrays)
        if made is not None:
            tried += 1
            name, changed = made
            found = program.but(body=replaced_by(program.body, loop, (changed,)))
            if has_unseen_copies(found, name):
                yield remove_unseen_copies(found)


def _redirected(loop: Loop, path: Path, arrays: Mapping[str, Array]) -> tuple[str, Loop] | None:
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


def _reading(loop: Loop, k: int, copy: KeptCopy, path: Path) -> Block | None:
    """The body with loads from the source in place of all loads of the copy; None where some has to stay."""
    name = copy.target.array
    if any(touches(s, name) for s in loop.body[:k]):
        return None
    users = tuple(s for s in loop.body[k + 1:] if touches(s, name))
    if not users or copy.source.array in all_writes(loop.body) \
            or name in all_writes(users) or {name, copy.source.array} & {*loop.private}:
        return None
    changed = [_from_source(s, copy, path) if j > k and touches(s, name) else (s, True)
               for j, s in enumerate(loop.body)]
    return tuple(s for s, _ in changed) if all(whole for _, whole in changed) else None


def _from_source(stmt: Stmt, copy: KeptCopy, path: Path) -> tuple[Stmt, bool]:
    """A map with loads from the source of a copy; whether that are all, or some may look at what was not copied."""
    if not isinstance(stmt, Map):
        return stmt, False
    places = {n: _place(stmt, n.index, copy, path) for p in stmt.body for n in loads(p.expr)
              if n.array == copy.target.array}

    def one(n: Expr) -> Expr | None:
        place = places.get(n) if isinstance(n, Load) else None
        return None if place is None else replace(copy.source, index=place)

    body = tuple(replace(p, expr=rewrite(p.expr, one)) for p in stmt.body)
    return replace(stmt, body=body) if body != stmt.body else stmt, bool(places) and None not in places.values()


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
