"""What every iteration of a loop computes alike from one counter, computed once per value of the counter."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from sdfgad.ir.expr import Call, Expr, Index, Load, Local, map_indices, operands, walk
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, children, own_ranges, with_children
from sdfgad.names import fresh, variable
from sdfgad.thresholds import thresholds

Values = Mapping[str, tuple[int, int]]
"""The first and the last number that each counter takes."""
CHEAP = frozenset({"add", "sub", "mul", "neg", "abs", "minimum", "maximum", "fmin", "fmax", "lt", "le", "gt", "ge",
                   "eq", "ne", "and", "or", "not", "cast", "select", "real", "imag", "conj", "complex"})
_COUNTER = "the counter"


def tabulate_rows(program: Program) -> Program:
    """for t: { map i, j: x[i, j] = y[i, j] / (a * p[j] + b) * sqrt(p[j]) }
    ->   map j: row[j] = sqrt(p[j]) ; ... ; for t: { map i, j: x[i, j] = y[i, j] / (a * p[j] + b) * row[j] }

    For divisions and functions of what the loop does not change, at one counter between numbers. The same operations
    on the same numbers: nothing changes by rounding. What only some iterations need is computed for all of them: of
    floating point, and within the arrays, that does no harm.
    """
    arrays = dict(program.arrays)
    out: list[Stmt] = []
    for stmt in program.body:
        if isinstance(stmt, Loop) and not stmt.parallel and (stmt.range.trips or 0) > 1:
            rows, stmt = _Tabulation(arrays, stmt).result()
            out += rows
        out.append(stmt)
    return program.but(body=tuple(out), arrays=arrays) if len(arrays) > len(program.arrays) else program


@dataclass(frozen=True)
class _CountedUse:
    """An expression in terms of `_COUNTER`, and from where to where that counts."""

    expr: Expr
    first: int
    last: int
    times: int


@dataclass(frozen=True)
class _Made:
    """What an expression is made of. counters: the variables in its indices; dear: whether something in it takes time;
    free: whether it reads nothing that the loop changes, and knows no name, index or number that a row cannot hold."""

    counters: frozenset[str]
    dear: bool
    free: bool


class _Tabulation:
    """One loop and the rows made for it; `arrays` gets them."""

    def __init__(self, arrays: dict[str, Array], loop: Loop) -> None:
        self.arrays, self.loop = arrays, loop
        self.changed = all_writes((loop,))
        self.uses: dict[Expr, _CountedUse] = {}
        self.rows: dict[Expr, tuple[str, int]] = {}
        self.made: dict[Expr, _Made] = {}

    def result(self) -> tuple[list[Map], Loop]:
        for use in self._found((self.loop,), {}, 1):
            have = self.uses.get(use.expr, use)
            self.uses[use.expr] = _CountedUse(use.expr, min(have.first, use.first), max(have.last, use.last),
                                       max(have.times, use.times))
        made = [self._row(use) for use in self.uses.values() if use.times >= thresholds().tabulated_uses]
        loop = self._reading(self.loop, {}) if made else self.loop
        assert isinstance(loop, Loop)
        return made, loop

    def _found(self, block: Block, values: Values, times: int) -> Iterator[_CountedUse]:
        for stmt in block:
            known, count = _within(stmt, values), times * _trips(stmt)
            for part in stmt.body if isinstance(stmt, Map) else ():
                yield from self._parts(part.expr, known, count, set())
            for inner in children(stmt):
                yield from self._found(inner, known, count)

    def _parts(self, e: Expr, values: Values, times: int, seen: set[Expr]) -> Iterator[_CountedUse]:
        """The largest parts of an expression that a row may hold; none is looked at twice."""
        if e in seen:
            return
        seen.add(e)
        var = self._counter(e, values)
        if var is None:
            for part in operands(e):
                yield from self._parts(part, values, times, seen)
            return
        first, last = values[var]
        yield _CountedUse(_counted(e, var), first, last, times // (last - first + 1))

    def _counter(self, e: Expr, values: Values) -> str | None:
        """The one counter that a value depends on which a row may hold."""
        if not isinstance(e, Call) or e.dtype.kind not in "fc":
            return None
        made = self._made_of(e)
        if not made.dear or not made.free or len(made.counters) != 1:
            return None
        var, = made.counters
        fits = var in values and var != self.loop.range.var and self._inside(list(walk(e)), var, values[var])
        near = fits and (values[var][1] - values[var][0] + 1) * e.dtype.itemsize <= thresholds().tabulated_row
        return var if near else None

    def _made_of(self, e: Expr) -> _Made:
        if e not in self.made:
            parts = [self._made_of(part) for part in operands(e)]
            places = e.index if isinstance(e, Load) else (e.ix,) if isinstance(e, Index) else ()
            free = not isinstance(e, Local) and (not isinstance(e, Call) or e.dtype.kind in "fcb") and \
                not (isinstance(e, Load) and e.array in self.changed) and not any(i.elems for i in places)
            self.made[e] = _Made(frozenset(s for i in places for s in i.symbols).union(*(p.counters for p in parts)),
                                 any(p.dear for p in parts) or isinstance(e, Call) and e.fn not in CHEAP,
                                 free and all(p.free for p in parts))
        return self.made[e]

    def _inside(self, nodes: list[Expr], var: str, between: tuple[int, int]) -> bool:
        """Whether every load stays within its array, whatever else decides if it is made."""
        for n in nodes:
            if isinstance(n, Load) and (self.arrays[n.array].packing or self.arrays[n.array].role == "disk"):
                return False
            for i, extent in zip(n.index, self.arrays[n.array].shape, strict=True) if isinstance(n, Load) else ():
                ends = [i.subs({var: value}).const for value in between]
                if i.affine is None or any(end is None or not 0 <= end < extent for end in ends):
                    return False
        return True

    def _row(self, use: _CountedUse) -> Map:
        name = fresh("row", self.arrays)
        self.arrays[name] = Array(name, (use.last - use.first + 1,), use.expr.dtype)
        self.rows[use.expr] = (name, use.first)
        var = variable("c")
        moved = map_indices(use.expr, lambda i: i.subs({_COUNTER: ix(var)}))
        store = Store(name, (ix(var) - use.first,), moved)
        return Map((Range(var, ix(use.first), ix(use.last + 1)),), (store,), self.loop.source)

    def _reading(self, stmt: Stmt, values: Values) -> Stmt:
        """The statement with loads from the rows."""
        known = _within(stmt, values)
        if not isinstance(stmt, Map):
            return with_children(stmt, [tuple(self._reading(s, known) for s in b) for b in children(stmt)])

        def put(e: Expr) -> Expr | None:
            var = self._counter(e, known)
            row = None if var is None else self.rows.get(_counted(e, var))
            return None if row is None or var is None else Load(row[0], (ix(var) - row[1],), e.dtype)

        return replace(stmt, body=tuple(replace(p, expr=_rewritten(p.expr, put, {})) for p in stmt.body))


def _rewritten(e: Expr, put: Callable[[Expr], Expr | None], known: dict[Expr, Expr]) -> Expr:
    """`rewrite` from the outside: parts of what is replaced are not looked at. known: what parts have become."""
    if e not in known:
        found = put(e)
        if found is None:
            args = tuple(_rewritten(a, put, known) for a in operands(e))
            found = replace(e, args=args) if isinstance(e, Call) else e
        known[e] = found
    return known[e]


def _counted(e: Expr, var: str) -> Expr:
    return map_indices(e, lambda i: i.subs({var: ix(_COUNTER)}))


def _within(stmt: Stmt, values: Values) -> Values:
    """The numbers that counters take inside a statement; those whose ends are no numbers are left out."""
    known = dict(values)
    for r in own_ranges(stmt):
        known.pop(r.var, None)
        if r.start.const is not None and r.stop.const is not None and (r.trips or 0) > 0:
            ends = range(r.start.const, r.stop.const, r.step)
            known[r.var] = (min(ends[0], ends[-1]), max(ends[0], ends[-1]))
    return known


def _trips(stmt: Stmt) -> int:
    """How often a statement's body runs, as far as numbers say so."""
    return prod(max(1, r.trips or 1) for r in own_ranges(stmt))
