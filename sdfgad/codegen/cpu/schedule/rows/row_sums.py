"""Sums over whole arrays taken along by the rows that make the elements."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sdfgad.analysis.loops.rows import footprint, stride
from sdfgad.codegen.cpu.schedule.rows.rows import split_rows
from sdfgad.codegen.cpu.schedule.rows.step_sums import (
    left_alone,
    loops_of_steps,
    loops_with_moving_sums,
    sums_by_points,
)
from sdfgad.codegen.cpu.schedule.rows.strip_sums import sums_by_strips
from sdfgad.ir import algebra
from sdfgad.ir.expr import Const, Load, loads
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, ranges_of, statements, with_loops, within
from sdfgad.names import fresh
from sdfgad.thresholds import RowLimits, thresholds
from sdfgad.transform.clearing.clearings import touches
from sdfgad.transform.spelling import only_store, sum_over_all


def split_with_sums(program: Program, limits: RowLimits | None = None,
                    whole: frozenset[Range] = frozenset()) -> Program:
    """map i, j: t[i, j] = f(i, j) ; map i, j: v += t[i, j] ; map i, j: y[i, j] = g(t[i, j])
    ->   parallel i, private t: { map j: t[j] = f(i, j) ; map j: s[i] += t[j] ; map j: y[i, j] = g(t[j]) } ;
         map i: v += s[i]

    `split_rows`, to which a sum over everything is no obstacle as long as nobody in the rows looks at it: in one pass
    over memory it is added up row by row, and the sums of the rows behind it. Rows that no longer stay in the cache may
    not become others than they are without the sum. Sums that steps of a loop add to are sums of points first, where
    rows then run through all steps, and have these sums to themselves; other numbers of a step are computed where they
    are read. Where that leaves loops without rows, sums into elements that move have an element for each strip of rows.
    """
    limits = limits or thresholds().rows
    first = _results_last(_starts_first(program, limits))
    made = _by_steps(first, limits, whole, frozenset()).program
    moving = loops_with_moving_sums(first)
    left = left_alone(first, made, moving.keys())
    if not left:
        return made
    first = _results_last(_starts_first(program, limits, frozenset().union(*(moving[k] for k in left))))
    found = _by_steps(first, limits, whole, left_alone(first, made, loops_with_moving_sums(first).keys()))
    return found.program if found.moving else made


@dataclass(frozen=True)
class _Found:
    """A program in rows, and the loops whose moving sums are sums of strips there."""

    program: Program
    moving: frozenset[int]


def _by_steps(program: Program, limits: RowLimits, whole: frozenset[Range], moving: Collection[int]) -> _Found:
    """The rows of a program, some of them through all steps of loops; moving: those of which sums move, too."""
    loops = loops_of_steps(program).union(moving)
    while True:
        points = sums_by_points(program, loops, loops.intersection(moving))
        made = _split(_results_last(points.program), limits, whole)
        shared = {k for n, k in points.places.items()
                  if n in made.arrays and made.arrays[n] == points.program.arrays[n]}
        shared |= left_alone(program, made, loops - set(points.places.values()))
        strips = sums_by_strips(made, points.moving, limits)
        shared |= {points.places[n] for n in strips.left}
        if not shared:
            return _Found(strips.program, loops.intersection(moving))
        loops -= shared


def _split(program: Program, limits: RowLimits, whole: frozenset[Range]) -> Program:
    """The rows of a program, with sums over everything taken along where that may be."""
    keep, seen = tuple(program.live_out), frozenset[int]()
    while True:
        apart, totals = _taken_apart(program, seen)
        rows = split_rows(apart, (*keep, *totals), limits, whole)
        looked_at = {t.order for s in rows.body for t in _summed_where_seen(s, totals)}
        if not looked_at:
            break
        seen |= looked_at
    made = _put_together(rows, totals)
    summed = [size for size, name in _nests(made) if name - rows.arrays.keys()]
    if max(summed, default=0) <= limits.nearby:
        return made
    plain = split_rows(program, keep, limits, whole)
    return made if _alike(_shapes(made), _shapes(plain)) else plain


def _nests(program: Program) -> Iterator[tuple[int, frozenset[str]]]:
    """Per innermost parallel loop the bytes that an iteration touches, and the arrays it writes."""
    for stmt in statements(program.body):
        if isinstance(stmt, Loop) and stmt.parallel and not any(isinstance(s, Loop) and s.parallel for s in stmt.body):
            yield footprint(stmt.body, program.arrays), frozenset(all_writes(stmt.body))


def _shapes(program: Program) -> Counter[int | None]:
    """How many iterations parallel loops have."""
    return Counter(s.range.trips for s in statements(program.body) if isinstance(s, Loop) and s.parallel)


def _alike(made: Counter[int | None], plain: Counter[int | None]) -> bool:
    """Whether rows were joined, and nothing else became rows."""
    return made <= plain and made.keys() == plain.keys()


def _results_last(program: Program) -> Program:
    """v += f(i, j) ; r = v / n ; s   ->   v += f(i, j) ; s ; r = v / n, so that nothing stands between the rows of f
    and s, where no statement that stays looks at r or changes v."""
    last, kept = list[Stmt](), list[Stmt]()
    seen, changed = set[str](), set[str]()
    for stmt in reversed(program.body):
        read, written = within(stmt)
        if isinstance(stmt, Map) and not stmt.domain and written.isdisjoint(seen) and read.isdisjoint(changed):
            last.append(stmt)
            continue
        kept.append(stmt)
        seen |= read | written
        changed |= written
    return program.but(body=(*reversed(kept), *reversed(last)))


@dataclass(frozen=True)
class _Total:
    """A sum over everything, of which `terms` stands for the terms; order: its place among the sums. last: whether only
    more sums into it come later."""

    terms: str
    stmt: Map
    store: Store
    order: int
    last: bool


def _starts_first(program: Program, limits: RowLimits, more: frozenset[str] = frozenset()) -> Program:
    """s ; v = 0 ; v += f(i, j)   ->   v = 0 ; s ; v += f(i, j), so that nothing stands between the rows of s and f.

    Among small arrays other ones, too, where anything is summed. more: other sums.
    """
    totals = more.union(p.array for s in statements(program.body) if (p := sum_over_all(s)) is not None)
    touched: set[str] = set()
    first: list[Stmt] = []
    for stmt in program.body:
        part = only_store(stmt) if isinstance(stmt, Map) and not within(stmt)[0] else None
        if part is not None and part.array not in touched and part.op is None and isinstance(part.expr, Const) and \
                (part.array in totals or totals and program.arrays[part.array].size < limits.fewest):
            first.append(stmt)
        touched |= all_reads((stmt,)) | all_writes((stmt,))
    return program.but(body=(*first, *(s for s in program.body if not any(s is f for f in first))))


def _taken_apart(program: Program, seen: Collection[int]) -> tuple[Program, dict[str, _Total]]:
    """v += f(i, j)   ->   terms[i, j] = f(i, j), by the names of the terms; but for some of them, by their places."""
    arrays = dict(program.arrays)
    body = list(program.body)
    totals: dict[str, _Total] = {}
    for k, stmt in enumerate(program.body):
        part = sum_over_all(stmt)
        if part is None or not isinstance(stmt, Map) or k in seen:
            continue
        name = fresh("terms", arrays)
        domain = _as_read(stmt.domain, part, program.arrays)
        shape = tuple(r.trips or 0 for r in domain)
        arrays[name] = replace(arrays[part.array], name=name, shape=shape, role="transient")
        made = Store(name, tuple(ix(r.var) - r.start for r in domain), part.expr)
        body[k] = replace(stmt, domain=domain, body=(made,))
        totals[name] = _Total(name, stmt, part, k, _unseen(part.array, program.body[k + 1:]))
    return program.but(body=tuple(body), arrays=arrays), totals


def _as_read(domain: tuple[Range, ...], part: Store, arrays: Mapping[str, Array]) -> tuple[Range, ...]:
    """The ranges of a sum, those last that go through memory in small steps: its rows lie in memory as a whole."""
    steps = Counter[str]()
    for load in loads(part.expr):
        for r in domain:
            steps[r.var] += abs(stride(arrays[load.array], load.index, r.var) or 0)
    return tuple(sorted(domain, key=lambda r: -steps[r.var]))


def _unseen(name: str, later: Sequence[Stmt]) -> bool:
    """Whether nothing but more sums into it touches an array."""
    return not any(touches(s, name) and ((part := sum_over_all(s)) is None or part.array != name) for s in later)


def _summed_where_seen(stmt: Stmt, totals: Mapping[str, _Total]) -> Iterator[_Total]:
    """Sums whose terms rows make that look at what these are a part of."""
    if isinstance(stmt, Loop):
        yield from (t for name, _ in _summed_in_rows(stmt, totals)
                    if touches(stmt, (t := totals[name]).store.array))


def _summed_in_rows(stmt: Stmt, totals: Mapping[str, _Total]) -> list[tuple[str, tuple[Range, ...]]]:
    """The terms made inside a nest of parallel loops, and those loops."""
    found = ((_total_of(s, totals), around) for s, around in with_loops((stmt,)))
    return [(total.terms, ranges_of(around)) for total, around in found if total is not None]


def _put_together(program: Program, totals: Mapping[str, _Total]) -> Program:
    """Terms made in rows are summed there, others where they were."""
    arrays = {n: a for n, a in program.arrays.items() if n not in totals}
    body: list[Stmt] = []
    ends: list[tuple[int, Map]] = []
    for stmt in program.body:
        total = _total_of(stmt, totals)
        if total is not None:
            body.append(total.stmt)
            continue
        here: list[tuple[int, Map]] = []
        for inside, path in _summed_in_rows(stmt, totals):
            own = totals[inside]
            into = _row_sum(own, path, arrays)
            arrays[into.array.name] = into.array
            stmt = _changed(stmt, partial(_adding, name=own.terms, into=into))
            (ends if own.last else here).append((own.order, into.end(own)))
        body += [stmt, *_in_order(here)]
    return program.but(body=(*body, *_in_order(ends)), arrays=arrays)


def _in_order(ends: Iterable[tuple[int, Map]]) -> list[Map]:
    return [end for _, end in sorted(ends, key=lambda e: e[0])]


def _total_of(stmt: Stmt, totals: Mapping[str, _Total]) -> _Total | None:
    """The sum whose terms a statement makes, when it is not part of rows."""
    part = only_store(stmt) if isinstance(stmt, Map) else None
    return totals.get(part.array) if part is not None else None


@dataclass(frozen=True)
class _RowSums:
    """An element for each iteration of a nest of loops."""

    array: Array
    loops: tuple[Range, ...]

    @property
    def index(self) -> tuple[Ix, ...]:
        return tuple(ix(r.var) - r.start for r in self.loops)

    def end(self, total: _Total) -> Map:
        """The sums of the rows added up."""
        value = Load(self.array.name, self.index, self.array.dtype)
        return Map(self.loops, (replace(total.store, expr=value),), total.stmt.source)


def _row_sum(total: _Total, loops: tuple[Range, ...], arrays: Mapping[str, Array]) -> _RowSums:
    shape = tuple(r.trips or 0 for r in loops)
    name = fresh(f"{total.store.array}_rows", arrays)
    return _RowSums(replace(arrays[total.store.array], name=name, shape=shape, role="transient"), loops)


def _changed(stmt: Stmt, change: Callable[[Stmt], Block]) -> Stmt:
    """Loops with other statements inside their nest."""
    if not isinstance(stmt, Loop):
        return stmt
    body = tuple(made for s in stmt.body
                 for made in ((_changed(s, change),) if isinstance(s, Loop) else change(s)))
    return replace(stmt, body=body)


def _adding(stmt: Stmt, name: str, into: _RowSums) -> Block:
    """terms[i, j] = e   ->   s[i] = 0 ; s[i] += e"""
    part = only_store(stmt) if isinstance(stmt, Map) else None
    if part is None or not isinstance(stmt, Map) or part.array != name:
        return (stmt,)
    zero = Store(into.array.name, into.index, algebra.zero(into.array.dtype))
    more = Store(into.array.name, into.index, part.expr, "+")
    return Map((), (zero,), stmt.source), replace(stmt, body=(more,))
