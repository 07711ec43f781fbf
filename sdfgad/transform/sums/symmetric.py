"""Sums over all pairs of what is symmetric in the pair: made once for both."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sdfgad.analysis.loops.exchange import Kind
from sdfgad.ir.expr import Call, Expr, Index, Load, index_elems, loads, rewrite, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import conflicts, expr_reads, reads, rebuild_blocks, statements, writes
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds
from sdfgad.transform.sums.pair_statements import PairStatement, matrices_of_its_own, store_of

_CHEAP = frozenset(("add", "sub", "mul", "neg", "abs", "select", "lt", "le", "gt", "ge", "eq", "ne", "not", "and", "or",
                    "maximum", "minimum", "cast"))


def halve_symmetric(program: Program, long_row: int | None = None) -> Program:
    """map i = 0:n, j = 0:n: t[i, j] = f(i, j) ; map i = 0:n, j = 0:n: s[i] += g(t[i, j], i, j), f(j, i) = +-f(i, j)
    ->   map i = 0:n, j = i + 1:n: t[i, j] = f(i, j) ; map i = 0:n: d[i] = f(i, i) ;
         map i = 0:n, j = i + 1:n: s[i] += g(t[i, j], i, j) ; map i = 0:n, j = i + 1:n: s[j] += g(+-t[i, j], j, i) ;
         map i = 0:n: s[i] += g(d[i], i, i)

    For matrices that nobody else looks at, made of each other point by point, when making them takes roots, divisions
    or the like.
    """
    long_row = thresholds().triangle_row if long_row is None else long_row
    if not any(_square(s, long_row) for s in statements(program.body)):
        return program
    users = matrices_of_its_own(program)
    arrays = dict(program.arrays)
    body = rebuild_blocks(program.body, lambda block: _halved(block, users, arrays, long_row))
    return program.but(body=body, arrays=arrays)


@dataclass(frozen=True)
class _Point(PairStatement):
    """A map over a square that does one thing per point."""

    @property
    def adds(self) -> bool:
        """Whether it adds to elements that at most one of its variables tells apart."""
        used = {s for i in self.store.index for s in i.symbols} & {r.var for r in self.stmt.domain}
        return self.store.op == "+" and len(used) < 2 and not any(i.elems for i in self.store.index)

    def reads_here(self, name: str) -> bool:
        """Whether it reads of a matrix nothing but the element of the point."""
        elsewhere = {e.array for e in index_elems(self.store.expr)}
        return name not in elsewhere and all(n.index == self.here for n in loads(self.store.expr) if n.array == name)


def _square(stmt: Stmt, long_row: int) -> bool:
    """Whether a map over pairs from one range, long enough, has one store."""
    if not isinstance(stmt, Map) or len(stmt.domain) != 2 or len(stmt.body) != 1 or not isinstance(stmt.body[0], Store):
        return False
    first, second = stmt.domain
    trips = first.trips if first.start.const is not None else None
    return trips is not None and trips >= 2 * long_row and first.step == second.step == 1 \
        and (first.start, first.stop) == (second.start, second.stop)


def _halved(block: list[Stmt], users: Mapping[str, int], arrays: dict[str, Array], long_row: int) -> Block:
    points = {k: _Point(s, store_of(s)) for k, s in enumerate(block) if isinstance(s, Map) and _square(s, long_row)}
    for domain in dict.fromkeys((p.stmt.domain[0].start, p.stmt.domain[0].stop) for p in points.values()):
        alike = {k: p for k, p in points.items() if (p.stmt.domain[0].start, p.stmt.domain[0].stop) == domain}
        known = _symmetric(alike, users)
        members = {k: p for k, p in alike.items() if p.makes in known or known.keys() & reads(p.stmt)}
        makers = [p for p in members.values() if p.makes in known]
        if thresholds().sums_per_cost * sum(map(_cost, makers)) >= len(members) - len(makers) > 0:
            return _replaced(block, members, _Halves(known, arrays))
    return tuple(block)


def _replaced(block: list[Stmt], users: Mapping[int, _Point], halves: _Halves) -> Block:
    """The block with two halves and a diagonal for each map; those of sums come last, so that sums of one kind stay
    together, unless something in between touches them."""
    done: list[Stmt] = []
    late: tuple[list[Map], list[Map]] = ([], [])
    for k, stmt in enumerate(block):
        if any(_comes_after(s, stmt, k in users) for s in (*late[0], *late[1])):
            done += _taken(late)
        if k not in users:
            done.append(stmt)
            continue
        done.append(halves.above(users[k]))
        if users[k].makes in halves.known:
            done.append(halves.on_diagonal(users[k]))
        else:
            late[0].append(halves.below(users[k]))
            late[1].append(halves.on_diagonal(users[k]))
    return (*done, *_taken(late))


def _comes_after(late: Map, stmt: Stmt, point: bool) -> bool:
    """Whether a statement needs a late sum to be complete, or changes what it reads. Of the `point`s of a square, those
    that add to the same elements may come first."""
    if not point or not isinstance(stmt, Map):
        return bool(conflicts(late, stmt))
    return any(writes(one) & expr_reads(p.expr) for one, other in ((late, stmt), (stmt, late)) for p in other.body)


def _taken(late: tuple[list[Map], list[Map]]) -> list[Map]:
    found = [*late[0], *late[1]]
    for part in late:
        part.clear()
    return found


def _cost(point: _Point) -> int:
    return sum(isinstance(n, Call) and n.fn not in _CHEAP and not _small_power(n) for n in walk(point.store.expr))


def _small_power(node: Call) -> bool:
    return node.fn == "pow" and getattr(node.args[1], "value", None) in (1, 2, 3, 4)


def _symmetric(points: Mapping[int, _Point], users: Mapping[str, int]) -> dict[str, Kind]:
    """The matrices of which half will do: symmetric but for signs, and used by one another and by sums alone."""
    wanted = {p.makes for p in points.values() if p.makes is not None} & users.keys()
    while True:
        known = _kinds(points, wanted)
        fit = {n for n in known if _closed(points, n, known, users[n])}
        if fit == wanted:
            return known
        wanted = fit


def _kinds(points: Mapping[int, _Point], wanted: set[str]) -> dict[str, Kind]:
    """What becomes of each matrix when its indices change places, those made before it being known; should it be read
    elsewhere than at its own point, `_closed` says so."""
    known: dict[str, Kind] = {}
    for point in points.values():
        if point.makes in wanted:
            kind = point.exchange(known).kind(point.store.expr)
            if kind is not None:
                known[point.makes] = kind
    return known


def _closed(points: Mapping[int, _Point], name: str, known: Mapping[str, Kind], readers: int) -> bool:
    """Whether all who read the matrix are made symmetric themselves or add up, and come after it is made."""
    made = next(k for k, p in points.items() if p.makes == name)
    users = {k: p for k, p in points.items() if name in reads(p.stmt)}
    return len(users) == readers and all(
        k > made and p.reads_here(name) and (p.makes in known or (p.adds and p.exchange(known).steady(p.store.expr)))
        for k, p in users.items())


@dataclass
class _Halves:
    """The points of a square as those above its diagonal, which stand for both, and those on it.

    `known`: what becomes of the matrices when their indices change places; their diagonals become `arrays`.
    """

    known: Mapping[str, Kind]
    arrays: dict[str, Array]
    diagonals: dict[str, str] = field(default_factory=dict)

    def above(self, point: _Point) -> Map:
        """What a map does for pairs in order."""
        first, second = point.stmt.domain
        return replace(point.stmt, domain=(first, replace(second, start=ix(first.var) + 1)))

    def below(self, point: _Point) -> Map:
        """What a sum adds for the same pairs the other way round."""
        exchange = point.exchange(self.known)
        index = tuple(map(exchange.index, point.store.index))
        store = replace(point.store, index=index, expr=exchange.value(point.store.expr))
        return replace(self.above(point), body=(store,))

    def on_diagonal(self, point: _Point) -> Map:
        """What a map does for pairs of an index with itself."""
        first, second = point.stmt.domain
        same = {second.var: ix(first.var)}
        index = tuple(i.subs(same) for i in point.store.index)
        store = replace(point.store, index=index, expr=rewrite(point.store.expr, lambda n: self._there(n, same)))
        if point.makes in self.known:
            store = replace(store, array=self._diagonal_of(self.arrays[store.array]), index=index[:1])
        return replace(point.stmt, domain=(first,), body=(store,))

    def _diagonal_of(self, matrix: Array) -> str:
        """A new array for the diagonal of a matrix."""
        name = fresh(f"{matrix.name}_diagonal", self.arrays)
        self.arrays[name] = Array(name, (matrix.shape[0],), matrix.dtype)
        self.diagonals[matrix.name] = name
        return name

    def _there(self, node: Expr, same: Mapping[str, Ix]) -> Expr | None:
        """What reads an element, reading the one on the diagonal."""
        if isinstance(node, Load):
            index = tuple(i.subs(same) for i in node.index)
            name = self.diagonals.get(node.array)
            return Load(node.array, index, node.dtype) if name is None else Load(name, index[:1], node.dtype)
        return Index(node.ix.subs(same), node.dtype) if isinstance(node, Index) else None
