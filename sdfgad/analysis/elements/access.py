"""Which element of which array a statement touches, when: the raw material of every dependence question."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from sdfgad.analysis.elements.polyhedron import Row, System
from sdfgad.ir.expr import Expr, index_elems, loads
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Block, If, Lib, Loop, Map, Pop, Push, Range, Stmt, Store, View, While
from sdfgad.ir.walk import children

BEFORE, DURING, AFTER = 0, 1, 2


@dataclass(frozen=True)
class Site:
    """Where a statement stands.

    path: its loops from outside in (`run_range`); order: its place in program order; leave: the place after everything
    it holds.
    """

    path: tuple[Range, ...]
    order: int
    leave: int


@dataclass(frozen=True)
class Access:
    """Elements `array[index]` for every point of `domain` (ranges inside the statement)."""

    array: str
    index: tuple[Ix, ...]
    domain: tuple[Range, ...]
    site: Site
    moment: int  # BEFORE, DURING or AFTER the statement's own write

    @property
    def when(self) -> tuple[int, int]:
        return (self.site.leave if self.moment == AFTER else self.site.order, self.moment)


Place: TypeAlias = tuple[tuple[Ix, ...], tuple[Range, ...], tuple[Range, ...]]
"""Index, domain and path of an access: all that decides which elements it touches."""


def sites(block: Block) -> dict[int, Site]:
    """The site of every statement, by `id` of the statement object."""
    found: dict[int, Site] = {}
    counter = [0]

    def visit(inner: Block, path: tuple[Range, ...]) -> None:
        for stmt in inner:
            counter[0] += 1
            order = counter[0]
            below = path
            if isinstance(stmt, (Loop, While)):
                below = (*path, run_range(stmt))
            for child in children(stmt):
                visit(child, below)
            counter[0] += 1
            if id(stmt) in found:
                raise ValueError("a statement object stands at two places of one program")
            found[id(stmt)] = Site(path, order, counter[0])

    visit(block, ())
    return found


def run_range(stmt: Loop | While) -> Range:
    """The iterations of a loop; a while loop counts upwards from zero for as long as it likes."""
    if isinstance(stmt, Loop):
        return replace(stmt.range, early=True) if stmt.until is not None else stmt.range
    return Range(f"while {stmt.trips}", ix(0), ix(2**62))


def load_accesses(e: Expr, domain: tuple[Range, ...], site: Site, moment: int) -> Iterator[Access]:
    """What evaluating an expression reads."""
    for n in loads(e):
        yield Access(n.array, n.index, domain, site, moment)
    for atom in index_elems(e):
        yield Access(atom.array, atom.parts, domain, site, moment)


def view_access(view: View, site: Site, moment: int) -> Access:
    """All elements of a view."""
    domain = tuple(Range(f"_{k}", ix(0), n) for k, n in enumerate(view.shape))
    return Access(view.array, view.index, domain, site, moment)


def _entry_access(stmt: Push | Pop, site: Site, moment: int) -> Access:
    """All that is used of an entry of a tape."""
    domain = tuple(Range(f"_{k}", ix(0), n) for k, n in enumerate(stmt.shape))
    return Access(stmt.tape, tuple(ix(r.var) for r in domain), domain, site, moment)


def index_accesses(indices: tuple[Ix, ...], domain: tuple[Range, ...], site: Site, moment: int) -> Iterator[Access]:
    """Integer elements that index expressions read."""
    for i in indices:
        for atom in i.elems:
            yield Access(atom.array, atom.parts, domain, site, moment)


def range_accesses(ranges: tuple[Range, ...], site: Site, moment: int) -> Iterator[Access]:
    """Integer elements that loop bounds read."""
    for k, r in enumerate(ranges):
        yield from index_accesses((r.start, r.stop), ranges[:k], site, moment)


def writes_of(stmt: Stmt, site: Site) -> list[Access]:
    """What a computation writes."""
    if isinstance(stmt, Map):
        return [Access(p.array, p.index, stmt.domain, site, DURING) for p in stmt.body if isinstance(p, Store)]
    if isinstance(stmt, Lib):
        return [view_access(v, site, DURING) for v in stmt.outs]
    return [_entry_access(stmt, site, DURING)] if isinstance(stmt, (Push, Pop)) else []


def reads_of(stmt: Stmt, site: Site) -> list[Access]:
    """What a statement itself reads, indices and bounds included."""
    if isinstance(stmt, Map):
        found = list(range_accesses(stmt.domain, site, BEFORE))
        for part in stmt.body:
            found += load_accesses(part.expr, stmt.domain, site, BEFORE)
            if isinstance(part, Store):
                found += index_accesses(part.index, stmt.domain, site, BEFORE)
                if part.op:
                    found.append(Access(part.array, part.index, stmt.domain, site, BEFORE))
        return found
    if isinstance(stmt, Lib):
        return _operand_reads(stmt, site)
    if isinstance(stmt, (Push, Pop)):
        return [_entry_access(stmt, site, BEFORE)]
    if isinstance(stmt, If):
        return list(load_accesses(stmt.cond, (), site, BEFORE))
    return list(range_accesses((stmt.range,), site, BEFORE)) if isinstance(stmt, Loop) else []


def _operand_reads(stmt: Lib, site: Site) -> list[Access]:
    """The operands, the results that are added to, and what the indices of all of them look at."""
    found = [view_access(v, site, BEFORE) for v in stmt.ins]
    if stmt.attrs.get("accumulate"):
        found += [view_access(v, site, BEFORE) for v in stmt.outs]
    for view in (*stmt.ins, *stmt.outs):
        domain = tuple(Range(f"_{k}", ix(0), n) for k, n in enumerate(view.shape))
        found += index_accesses((*view.shape, *view.index), domain, site, BEFORE)
    return found


def overwrites(read: Access, write: Access) -> bool:
    """Whether some element may be written (by an instance of `write`) after `read` looked at it."""
    return overwrites_in(read, write, 0)


def overwrites_in(read: Access, write: Access, loops: int) -> bool:
    """The same, in one iteration of the outermost `loops` loops, which they share."""
    if read.array != write.array:
        return False
    common = 0
    for a, b in zip(read.site.path, write.site.path, strict=False):
        if a.var != b.var:
            break
        common += 1
    if read.when < write.when and _may_meet(read, write, common, None):
        return True
    return any(_may_meet(read, write, level, read.site.path[level]) for level in range(loops, common))


def same_instance_overlap(read: Access, write: Access) -> bool:
    """Whether one execution of a statement both reads and overwrites an element."""
    return _may_meet(read, write, len(read.site.path), None)


def overlap_in(read: Access, write: Access, loops: int) -> bool:
    """Whether both touch one element in one iteration of the outermost `loops` loops, which they share."""
    return _may_meet(read, write, loops, None)


def meets_later(first: Access, second: Access, level: int) -> bool:
    """Whether both touch one element, `second` in a later iteration of their common loop number `level`."""
    return _may_meet(first, second, level, first.site.path[level])


def _may_meet(read: Access, write: Access, same: int, later: Range | None) -> bool:
    """The accesses share an element with equal outer `same` loop variables and the write's next one later, if given."""
    return _places_meet(_place(read), _place(write), same, later)


def _place(access: Access) -> Place:
    return access.index, access.domain, access.site.path


@lru_cache(maxsize=1 << 15)
def _places_meet(read: Place, write: Place, same: int, later: Range | None) -> bool:
    """The same; every pass and every plan asks it again of the statements that are as they were."""
    there = [Access("", index, domain, Site(path, 0, 0), DURING) for index, domain, path in (read, write)]
    system = meeting(there[0], there[1], same)
    if later is not None:
        sign = 1 if later.step > 0 else -1
        system.nonnegative.append(({later.var + ".w": sign, later.var + ".r": -sign}, -1))
    return system.feasible()


def meeting(read: Access, write: Access, same: int) -> System:
    """What holds when both touch one element with equal outer `same` loop variables: those of `read` are `var.r` there,
    those of `write` `var.w`."""
    system = System()
    _add_instance(system, read, "r")
    _add_instance(system, write, "w")
    for r in read.site.path[:same]:
        system.zero.append(({r.var + ".r": 1, r.var + ".w": -1}, 0))
    for i, j in zip(read.index, write.index, strict=True):
        left, right = _row(i, "r"), _row(j, "w")
        if left is not None and right is not None:
            system.zero.append((_minus(left[0], right[0]), left[1] - right[1]))
    return system


def _add_instance(system: System, access: Access, tag: str) -> None:
    for r in (*access.site.path, *access.domain):
        var = {f"{r.var}.{tag}": 1}
        start, stop = _row(r.start, tag), _row(r.stop, tag)
        sign = 1 if r.step > 0 else -1
        if start is not None:
            gap = _minus(var, start[0])
            system.nonnegative.append((_times(gap, sign), -sign * start[1]))
            if abs(r.step) > 1:
                system.zero.append(({**gap, f"{r.var}.{tag}.t": -r.step}, -start[1]))
        if stop is not None:
            system.nonnegative.append((_times(_minus(stop[0], var), sign), sign * stop[1] - 1))


def _row(i: Ix, tag: str) -> Row | None:
    affine = i.affine
    return None if affine is None else ({f"{v}.{tag}": c for v, c in affine[0].items()}, affine[1])


def _minus(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return {v: a.get(v, 0) - b.get(v, 0) for v in {*a, *b}}


def _times(a: Mapping[str, int], by: int) -> dict[str, int]:
    return {v: c * by for v, c in a.items()}


def interval_env(ranges: Iterable[Range]) -> dict[str, Bounds]:
    """Smallest and largest value of each loop variable, outer loops first."""
    env: dict[str, Bounds] = {}
    for r in ranges:
        env[r.var] = range_bounds(r, env)
    return env


def range_bounds(r: Range, env: Mapping[str, Bounds]) -> Bounds:
    """The smallest and the largest value of the variable of a range."""
    (first, first_high), (last_low, last) = r.start.bounds(env), r.stop.bounds(env)
    if r.step > 0:
        return first, None if last is None else last - 1
    return None if last_low is None else last_low + 1, first_high


def always_inside(index: Sequence[Ix], shape: Sequence[int], env: Mapping[str, Bounds]) -> bool:
    """Whether an index is one of an array of this shape for all values of its symbols, each by itself."""
    ends = (i.bounds(env) for i in index)
    return all(low is not None and high is not None and low >= 0 and high < n
               for (low, high), n in zip(ends, shape, strict=True))


def told_apart(write: Access) -> bool:
    """Whether each variable is alone in some dimension of the index, but for others that are known by then."""
    unknown = {r.var for r in write.domain if any(r.var in i.symbols for i in write.index)}
    while unknown:
        alone = {s for i in write.index if i.affine and len(i.symbols & unknown) == 1 for s in i.symbols & unknown}
        if not alone:
            return False
        unknown -= alone
    return True


def extent_bound(r: Range, env: Mapping[str, Bounds]) -> int | None:
    """The largest number of iterations, None when it is unknown."""
    gap = (r.stop - r.start) * (1 if r.step > 0 else -1)
    high = gap.bounds(env)[1]
    return None if high is None else max(0, -(-high // abs(r.step)))


def size_bound(extent: Ix, env: Mapping[str, Bounds]) -> int | None:
    """The largest number of elements along a dimension, None when it is unknown."""
    high = extent.bounds(env)[1]
    return None if high is None else max(0, high)


def extents_of(stmt: Map, path: tuple[Range, ...]) -> tuple[int, ...] | None:
    """The largest number of points along each dimension, within the loops of `path`; None where one is unknown."""
    env = interval_env((*path, *stmt.domain))
    found = [extent_bound(r, env) for r in stmt.domain]
    return tuple(n for n in found if n is not None) if None not in found else None


def position(stmt: Map) -> tuple[Ix, ...]:
    """Where a point of the domain lies in an array with room for all of them."""
    return tuple(((ix(r.var) - r.start) * (1 if r.step > 0 else -1)) // abs(r.step) for r in stmt.domain)
