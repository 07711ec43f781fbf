"""Runs of copies that lose nothing: swaps, rotations, reversals, values handed on from array to array.

Take a copy D = S backwards, S = D: it gives S the value it had, as long as D holds what the copy put there. A run of
copies, taken backwards last first, therefore puts back what the run overwrote if every element was copied to some other
place before, and each of those places still holds the copy when its turn comes:

    w = u ; u = v ; v = w        taken back by        w = v ; v = u ; u = w

The check walks over boxes of elements, in each way in which boxes at places that depend on data may coincide.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from sdfgad.analysis.elements.access import AFTER, Access, Site, index_accesses, interval_env, range_accesses
from sdfgad.analysis.elements.boxes import Box, Case, Path, cases, path_of
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Bounds
from sdfgad.ir.program import Array, Block, Lib, Map, Stmt, Store
from sdfgad.ir.walk import range_elems, writes


@dataclass(frozen=True)
class Copy:
    """A statement that copies elements, each to one place: `to = of`."""

    stmt: Map
    store: Store
    load: Load
    to: Path
    of: Path

    @property
    def places(self) -> frozenset[str]:
        """Arrays that say which elements are copied."""
        indices = (*self.store.index, *self.load.index)
        return frozenset(e.array for i in indices for e in i.elems) | \
            {e.array for r in self.stmt.domain for e in range_elems(r)}

    @property
    def straight(self) -> bool:
        """Whether both sides are run through alike."""
        return self.to.order is not None and self.to.order == self.of.order

    def back(self) -> Map:
        """The copy the other way."""
        value = Load(self.store.array, self.store.index, self.load.dtype)
        return Map(self.stmt.domain, (Store(self.load.array, self.load.index, value),), self.stmt.source)


def copy_of(stmt: Stmt, arrays: Mapping[str, Array], permutations: Mapping[str, int]) -> Copy | None:
    """A statement as a copy."""
    part = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    if not isinstance(stmt, Map) or not isinstance(part, Store) or part.op is not None or \
            not isinstance(part.expr, Load) or arrays[part.array].dtype != part.expr.dtype:
        return None
    load = part.expr
    to = path_of(part.array, arrays[part.array].shape, part.index, stmt.domain, permutations)
    of = path_of(load.array, arrays[load.array].shape, load.index, stmt.domain, permutations)
    return None if to is None or of is None else Copy(stmt, part, load, to, of)


@dataclass(frozen=True)
class Run:
    """Statements of one block, one after the other: copies, and at some places others, which change nothing that copies
    before them touch or that says which elements are copied. copies: by place in the run. handed_on: arrays of which
    something is copied before something of them is overwritten."""

    stmts: tuple[Stmt, ...]
    copies: Mapping[int, Copy]
    handed_on: frozenset[str]
    env: Mapping[str, Bounds]

    @cached_property
    def checks(self) -> list[_Coincidence]:
        boxes = [b for c in self.copies.values() for b in (c.to.box, c.of.box)]
        return [_Coincidence(self.copies, case) for case in cases(boxes, self.env)]


Near = Callable[[Stmt], frozenset[str]]
"""Arrays that the reverse of a statement may look at."""


def runs_of(block: Block, site: Site, arrays: Mapping[str, Array], permutations: Mapping[str, int],
            near: Near) -> Iterator[Run]:
    """The runs of a block. site: of its first statement."""
    env = interval_env(site.path)
    now = _Growing(near)
    for stmt in block:
        copy = copy_of(stmt, arrays, permutations)
        if not now.takes(stmt, copy):
            yield from now.closed(env)
            now = _Growing(near)
            if copy is None or not now.takes(stmt, copy):
                continue
        now.add(stmt, copy)
    yield from now.closed(env)


class _Growing:
    """A run as far as it has got. places: arrays that say which elements are copied; sources, targets: arrays that are
    copied from and to; handed_on: those of them that were sources first; other: arrays written by others."""

    def __init__(self, near: Near) -> None:
        self.near = near
        self.stmts: list[Stmt] = []
        self.copies: dict[int, Copy] = {}
        self.places: set[str] = set()
        self.sources: set[str] = set()
        self.targets: set[str] = set()
        self.handed_on: set[str] = set()
        self.other: set[str] = set()

    def takes(self, stmt: Stmt, copy: Copy | None) -> bool:
        if copy is None:
            # To look at what has been handed on ends a run: it would be put back too early.
            touched = self.sources | self.targets | self.places
            return bool(self.copies) and isinstance(stmt, (Map, Lib)) and touched.isdisjoint(writes(stmt)) and \
                self.handed_on.isdisjoint(self.near(stmt))
        return copy.places.isdisjoint(self.other | self.targets | {copy.store.array}) and \
            copy.store.array not in self.places

    def add(self, stmt: Stmt, copy: Copy | None) -> None:
        if copy is None:
            self.other |= writes(stmt)
        else:
            self.copies[len(self.stmts)] = copy
            self.places |= copy.places
            self.handed_on |= {copy.store.array} & self.sources
            self.sources.add(copy.load.array)
            self.targets.add(copy.store.array)
        self.stmts.append(stmt)

    def closed(self, env: Mapping[str, Bounds]) -> Iterator[Run]:
        if self.copies:
            last = max(self.copies)
            yield Run(tuple(self.stmts[:last + 1]), self.copies, frozenset(self.handed_on), env)


@dataclass(frozen=True)
class CopyPlan:
    """copies: places in the run of those to take backwards; kept: of those whose target has to hold its value after
    the run, for what it says about the time before."""

    copies: frozenset[int]
    kept: frozenset[int]

    def __or__(self, other: CopyPlan) -> CopyPlan:
        return CopyPlan(self.copies | other.copies, self.kept | other.kept)


NOTHING = CopyPlan(frozenset(), frozenset())


def plan_for(run: Run, array: str) -> CopyPlan | None:
    """How to put back everything the run overwrites of an array; None when that is not seen to be possible."""
    found = NOTHING
    for check in run.checks:
        for k in (k for k, c in run.copies.items() if c.store.array == array):
            wanted = check.overwritten(k)
            if wanted is None:
                return None
            found |= wanted
    # Each copy taken backwards has to give true values, in every case.
    todo = sorted(found.copies)
    while todo:
        k = todo.pop()
        for check in run.checks:
            more = check.intact(k)
            if more is None:
                return None
            todo += more.copies - found.copies
            found |= more
    return found if found.copies else None


class _Coincidence:
    """One way in which the boxes of a run may coincide."""

    def __init__(self, copies: Mapping[int, Copy], case: Case) -> None:
        self.copies = copies
        self.case = case
        self.changing = self._changing()
        self.known: dict[int, CopyPlan | None] = {}

    def _changing(self) -> list[int]:
        """The copies but for those that copy to a place what it holds already."""
        holds: dict[Box, int] = {}
        fresh = count()
        found = []
        for k, c in sorted(self.copies.items()):
            value = holds.setdefault(self.case.one(c.of.box), next(fresh))
            target = self.case.one(c.to.box)
            if c.straight and holds.get(target) == value:
                continue
            found.append(k)
            holds = {b: v for b, v in holds.items() if self.case.apart(b, c.to.box)}
            holds[target] = value if c.straight else next(fresh)
        return found

    def overwritten(self, k: int) -> CopyPlan | None:
        """What to take backwards so that the target of a copy holds what it held before the run."""
        if k not in self.changing:
            return NOTHING  # What others change of it, they put back.
        target = self.copies[k].to.box
        first = next(j for j in self.changing if not self.case.apart(self.copies[j].to.box, target))
        return self._from_copies(target, [j for j in self.copies if j < first])

    def intact(self, k: int) -> CopyPlan | None:
        """What it takes for the target of a copy to hold its value when the copy is taken backwards."""
        if k not in self.known:
            self.known[k] = self._intact(k)
        return self.known[k]

    def _intact(self, k: int) -> CopyPlan | None:
        target = self.copies[k].to.box
        spoilt = next((j for j in self.changing if j > k and not self.case.apart(self.copies[j].to.box, target)), None)
        later = [j for j in self.copies if j > k and (spoilt is None or j < spoilt)]
        again = self._from_copies(target, later)
        if again is not None:
            return again
        return CopyPlan(frozenset(), frozenset({k})) if spoilt is None else None

    def _from_copies(self, target: Box, candidates: Iterable[int]) -> CopyPlan | None:
        """The first copies that together copied all of a box; None unless taken backwards they give true values."""
        chosen: list[int] = []
        for j in sorted(candidates):
            if self.case.covered(target, [self.copies[i].of.box for i in chosen]):
                break
            if not self.case.apart(self.copies[j].of.box, target):
                chosen.append(j)
        if not self.case.covered(target, [self.copies[i].of.box for i in chosen]):
            return None
        found = CopyPlan(frozenset(chosen), frozenset())
        for j in chosen:
            deeper = self.intact(j)
            if deeper is None:
                return None
            found |= deeper
        return found


def taken_back(run: Run, plan: CopyPlan) -> Block:
    """The copies of a plan backwards, last first."""
    return tuple(run.copies[k].back() for k in sorted(plan.copies, reverse=True))


def reads_back(run: Run, plan: CopyPlan, site: Site) -> Sequence[Access]:
    """What that reads of the time before. site: of the statement after which it runs."""
    found: list[Access] = []
    for k in sorted(plan.copies):
        c = run.copies[k]
        found += index_accesses((*c.store.index, *c.load.index), c.stmt.domain, site, AFTER)
        found += range_accesses(c.stmt.domain, site, AFTER)
    for k in sorted(plan.kept):
        c = run.copies[k]
        found.append(Access(c.store.array, c.store.index, c.stmt.domain, site, AFTER))
    return found
