"""Pairs in the order of their distance: in rows of one length, which add up for one body at every point."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sdfgad.analysis.loops.exchange import Kind
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, index_elems, loads, rewrite, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import (
    all_reads,
    all_writes,
    conflicts,
    expr_reads,
    reads,
    rebuild_blocks,
    rename_symbols,
    statements,
    writes,
)
from sdfgad.names import fresh, variable
from sdfgad.thresholds import thresholds
from sdfgad.transform.sums.pair_statements import PairStatement, matrices_of_its_own, store_of

_BODY, _HALF = variable("k"), variable("h")


def pair_by_distance(program: Program, long_row: int | None = None) -> Program:
    """map i = 0:n, j = i + 1:n: t[i, j] = f(x[i], x[j]) ; map i = 0:n, j = i + 1:n: s[i] += g(t[i, j], x[j]) ;
    map i = 0:n, j = i + 1:n: s[j] += g(+-t[i, j], x[i])
    ->   map h = 0:2, k = 0:n: l[n * h + k] = x[k] ; map k = 0:n + n / 2: b[k] = 0 ;
         map d = 0:n / 2, i = 0:n: t[d, i] = f(x[i], l[i + d + 1]) ;
         map d = 0:n / 2, i = 0:n: s[i] += g(t[d, i], l[i + d + 1]) ;
         map d = 0:n / 2, i = 0:n: b[i + d + 1] += g(+-t[d, i], x[i]) ;
         map k = 0:n: s[k] += b[k] ; map k = n:n + n / 2: s[k - n] += b[k]

    Every body with those that follow it, the first ones again behind the last: rows are all of one length (the last one
    half as long where n is even), and none of them is a sum. For matrices that nobody else looks at, whose elements are
    the same both ways but for the sign, and sums that are the same both ways or come in both.
    """
    long_row = thresholds().paired_row if long_row is None else long_row
    if not any(_above_diagonal(s, long_row) for s in statements(program.body)):
        return program
    users = matrices_of_its_own(program)
    arrays = dict(program.arrays)
    body = rebuild_blocks(program.body, lambda block: _by_distance(block, users, arrays, long_row))
    return program.but(body=body, arrays=arrays)


@dataclass(frozen=True)
class _PairMap(PairStatement):
    """A map over pairs i < j that does one thing per pair.

    age: how often what it reads was written before in its block, or what it adds to was looked at or written anew.
    """

    age: int

    def body_of(self, index: tuple[Ix, ...]) -> Ix | None:
        """What an index says of the pair: i, j, or nothing."""
        return next((i for i in index if i.symbols & {self.first, self.second}), None)

    def in_lines(self, known: Mapping[str, Kind]) -> bool:
        """Whether it touches elements that one body alone numbers, those of the pair in known matrices aside."""
        own = {self.first, self.second}
        strange = any(isinstance(n, Index) and n.ix.symbols & own for n in walk(self.store.expr))
        read = [n.index for n in loads(self.store.expr) if n.array not in known]
        at_pair = all(n.index == self.here for n in loads(self.store.expr) if n.array in known)
        written = [] if self.makes else [self.store.index]
        return at_pair and not strange and not index_elems(self.store.expr) and \
            not any(i.elems for i in self.store.index) and all(map(self._is_line, (*read, *written)))

    def _is_line(self, index: tuple[Ix, ...]) -> bool:
        used = [i for i in index if i.symbols & {self.first, self.second}]
        return not used or (len(used) == 1 and used[0] in self.here)

    def spelt(self) -> tuple[int, Store]:
        """The store in names that other maps share, signs in front of products, and of what age the values are."""
        names = {self.first: ix("first body"), self.second: ix("second body")}
        made = rename_symbols((Map((), (self.store,)),), names)[0]
        if not isinstance(made, Map) or not isinstance(made.body[0], Store):
            raise TypeError(f"{made!r} is no store")
        return self.age, replace(made.body[0], expr=_signs_in_front(made.body[0].expr))


def _above_diagonal(stmt: Stmt, long_row: int) -> bool:
    """Whether a map over pairs of some numbers from 0, each pair once and enough of them, has one store."""
    if not isinstance(stmt, Map) or len(stmt.domain) != 2 or len(stmt.body) != 1 or not isinstance(stmt.body[0], Store):
        return False
    first, second = stmt.domain
    return first.start.const == 0 and (first.trips or 0) >= max(3, 2 * long_row) and \
        first.step == second.step == 1 and second.start == ix(first.var) + 1 and second.stop == first.stop


def _pair(block: list[Stmt], place: int, stmt: Map) -> _PairMap:
    store = store_of(stmt)
    read = expr_reads(store.expr)
    return _PairMap(stmt, store, sum(not read.isdisjoint(all_writes((s,))) or not _only_adds(s, store.array)
                                  for s in block[:place]))


def _only_adds(stmt: Stmt, name: str) -> bool:
    """Whether a statement does nothing with an array but add to it."""
    if not isinstance(stmt, Map):
        return name not in all_reads((stmt,)) | all_writes((stmt,))
    stores = [p for p in stmt.body if isinstance(p, Store)]
    bare = replace(stmt, body=tuple(replace(p, op=None) if isinstance(p, Store) else p for p in stmt.body))
    return name not in reads(bare) and all(p.op == "+" for p in stores if p.array == name)


def _signs_in_front(e: Expr) -> Expr:
    """-x * y   ->   -(x * y), and -(-x)   ->   x: the same bits."""
    return rewrite(e, _sign_in_front)


def _sign_in_front(e: Expr) -> Expr | None:
    if not isinstance(e, Call) or e.fn not in ("mul", "neg"):
        return None
    negative = [isinstance(a, Call) and a.fn == "neg" for a in e.args]
    bare = tuple(a.args[0] if isinstance(a, Call) and minus else a for a, minus in zip(e.args, negative, strict=True))
    if e.fn == "neg":
        return bare[0] if negative[0] else None
    if not any(negative):
        return None
    product = replace(e, args=bare)
    return product if all(negative) else Call("neg", (product,), e.dtype)


def _by_distance(block: list[Stmt], users: Mapping[str, int], arrays: dict[str, Array], long_row: int) -> Block:
    pairs = {k: _pair(block, k, s) for k, s in enumerate(block) if isinstance(s, Map) and _above_diagonal(s, long_row)}
    for count in dict.fromkeys(p.stmt.domain[0].trips for p in pairs.values()):
        alike = _fitting({k: p for k, p in pairs.items() if p.stmt.domain[0].trips == count}, users)
        rows = _DistanceRows(count or 0, dict(arrays))
        made = rows.placed(block, alike)
        if alike and rows.bytes <= thresholds().pair_lines:
            arrays.update(rows.arrays)
            return _by_distance(list(made), users, arrays, long_row)
    return tuple(block)


def _fitting(pairs: Mapping[int, _PairMap], users: Mapping[str, int]) -> dict[int, _PairMap]:
    """Those that can take their pairs in any order, either way round; none when nothing is left to add up."""
    fit = dict(pairs)
    while True:
        known = _kinds(fit, users)
        terms = Counter(p.spelt() for p in fit.values() if p.makes is None)
        left = {k: p for k, p in fit.items() if p.in_lines(known) and (
            p.makes in known if p.makes else _adds_both_ways(p, known, terms))}
        if left == fit:
            return fit if known and terms else {}
        fit = left


def _kinds(pairs: Mapping[int, _PairMap], users: Mapping[str, int]) -> dict[str, Kind]:
    """What becomes of each matrix when bodies change places, for those that nobody but these maps reads, later on."""
    known: dict[str, Kind] = {}
    for place, pair in pairs.items():
        if pair.makes is not None and pair.makes in users:
            kind = pair.exchange(known).kind(pair.store.expr)
            readers = [k for k, p in pairs.items() if pair.makes in reads(p.stmt)]
            if kind is not None and len(readers) == users[pair.makes] and all(k > place for k in readers):
                known[pair.makes] = kind
    return known


def _adds_both_ways(pair: _PairMap, known: Mapping[str, Kind], terms: Mapping[tuple[int, Store], int]) -> bool:
    """Whether a sum is the same with its bodies exchanged, or another one adds what it would add then."""
    exchange, store = pair.exchange(known), pair.store
    if store.op != "+" or not exchange.steady(store.expr):
        return False
    if pair.body_of(store.index) is None and exchange.kind(store.expr) == "same":
        return True
    other = replace(store, index=tuple(map(exchange.index, store.index)), expr=exchange.value(store.expr))
    return terms[replace(pair, store=other).spelt()] == terms[pair.spelt()]


@dataclass
class _DistanceRows:
    """Maps over pairs as maps over distances and bodies; `arrays` are those of the program, and new ones.

    lines: per array and index, with k for the body, its elements behind each other, far ones twice. late: what sums of
    second bodies add to those of first ones, not yet placed.
    """

    count: int
    arrays: dict[str, Array]
    bytes: int = 0
    lines: dict[tuple[str, bool, tuple[Ix, ...]], str] = field(default_factory=dict)
    matrices: dict[str, str] = field(default_factory=dict)
    late: list[Map] = field(default_factory=list)

    def placed(self, block: list[Stmt], pairs: Mapping[int, _PairMap]) -> Block:
        """The block with `pairs` in rows. Late sums stay together until something needs them."""
        done: list[Stmt] = []
        for k, stmt in enumerate(block):
            pair = pairs.get(k)
            if self._waits_for_late(stmt, pair):
                done += self._taken()
            done += [stmt] if pair is None else self._in_rows(pair)
            self._forget(all_writes((stmt,)))
        return (*done, *self._taken())

    def _waits_for_late(self, stmt: Stmt, pair: _PairMap | None) -> bool:
        """Whether a statement touches what late sums add to; a sum may come before them unless it reads the array."""
        if pair is None:
            return any(conflicts(s, stmt) for s in self.late)
        read = {n.array for n in loads(pair.store.expr)} | ({pair.makes} if pair.makes else set())
        return any(writes(s) & read for s in self.late)

    def _taken(self) -> list[Map]:
        found, self.late = self.late, []
        self._forget(set().union(*(writes(s) for s in found)))
        return found

    def _forget(self, written: set[str]) -> None:
        self.lines = {key: name for key, name in self.lines.items() if key[0] not in written}

    def _in_rows(self, pair: _PairMap) -> Iterator[Stmt]:
        """The map in rows, and before it the lines that it is the first to read."""
        made: list[Map] = []
        expr = rewrite(pair.store.expr, lambda n: self._read(n, pair, made) if isinstance(n, Load) else None)
        store = replace(pair.store, expr=_signs_in_front(expr) if pair.store.op else expr)
        if pair.makes:
            store = replace(store, array=self._matrix(pair.makes), index=(ix(pair.second), ix(pair.first)))
        elif pair.body_of(store.index) == ix(pair.second):
            store = self._behind(store, pair, made)
        else:
            self.bytes += self.count * self.arrays[store.array].dtype.itemsize
        yield from made
        yield replace(pair.stmt, domain=self._domain(pair), body=(store,))

    def _domain(self, pair: _PairMap) -> tuple[Range, Range]:
        """Distances less one, and first bodies; half of those where the distance is half of the way round."""
        half, stop = self.count // 2, ix(self.count)
        if self.count % 2 == 0:
            stop = stop - (ix(pair.second) + 1) // half * half
        return Range(pair.second, ix(0), ix(half)), Range(pair.first, ix(0), stop)

    def _read(self, node: Load, pair: _PairMap, made: list[Map]) -> Expr | None:
        if node.array in self.matrices:
            return Load(self.matrices[node.array], (ix(pair.second), ix(pair.first)), node.dtype)
        body = pair.body_of(node.index)
        far = body == ix(pair.second)
        if body is None or not far and len([n for n in self.arrays[node.array].shape if n != 1]) == 1:
            return None
        place = ix(pair.first) + pair.second + 1 if far else body
        return Load(self._line(node, pair, far, made), (place,), node.dtype)

    def _line(self, node: Load, pair: _PairMap, far: bool, made: list[Map]) -> str:
        index = tuple(i.subs({pair.first: ix(_BODY), pair.second: ix(_BODY)}) for i in node.index)
        key = (node.array, far, index)
        if key not in self.lines:
            self.lines[key] = name = self._another(f"{node.array}_line", self.count * (1 + far), node.dtype)
            around = (Range(_HALF, ix(0), ix(2)), Range(_BODY, ix(0), ix(self.count)))
            place = ix(_HALF) * self.count + _BODY if far else ix(_BODY)
            store = Store(name, (place,), Load(node.array, index, node.dtype))
            made.append(Map(around if far else around[1:], (store,), pair.stmt.source))
        return self.lines[key]

    def _behind(self, store: Store, pair: _PairMap, made: list[Map]) -> Store:
        """A sum of second bodies in a line of its own, which goes on behind the last body with the first one."""
        length, dtype = self.count + self.count // 2, self.arrays[store.array].dtype
        name = self._another(f"{store.array}_behind", length, dtype)
        zero = Store(name, (ix(_BODY),), Const(dtype.type(0).item(), dtype))
        made.append(Map((Range(_BODY, ix(0), ix(length)),), (zero,), pair.stmt.source))
        for start, stop in ((0, self.count), (self.count, length)):
            index = tuple(i.subs({pair.second: ix(_BODY) - start}) for i in store.index)
            part = Store(store.array, index, Load(name, (ix(_BODY),), dtype), "+")
            self.late.append(Map((Range(_BODY, ix(start), ix(stop)),), (part,), pair.stmt.source))
        return replace(store, array=name, index=(ix(pair.first) + pair.second + 1,))

    def _matrix(self, name: str) -> str:
        made = fresh(f"{name}_pairs", self.arrays)
        self.arrays[made] = replace(self.arrays[name], name=made, shape=(self.count // 2, self.count))
        self.matrices[name] = made
        return made

    def _another(self, stem: str, length: int, dtype: np.dtype) -> str:
        name = fresh(stem, self.arrays)
        self.arrays[name] = Array(name, (length,), dtype)
        self.bytes += self.arrays[name].bytes
        return name
