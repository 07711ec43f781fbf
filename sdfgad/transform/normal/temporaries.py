"""Temporaries of a loop body written straight to where their value goes, so that they tie nothing together."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.analysis.elements.access import overlap_in
from sdfgad.analysis.elements.dependence import READ, Touch, clash, touches
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, loads, map_indices, rewrite
from sdfgad.ir.index import Elem, Ix, elem
from sdfgad.ir.program import Array, Map, Range, Store
from sdfgad.ir.walk import expr_reads, in_indices, map_stmt_indices, places_of, reads, writes
from sdfgad.transform.spelling import accumulating, only_store

Box = tuple[tuple[Ix, Ix], ...]
Body = list[Map]


@dataclass(frozen=True)
class LoopScope:
    """The arrays of the program, those only this body reads, and the loops around it, its own last."""

    arrays: Mapping[str, Array]
    private: frozenset[str]
    path: tuple[Range, ...]


def settle(body: Body, scope: LoopScope) -> Body:
    """Write temporaries to where they go, and what adds to an element as an addition."""
    while True:
        places = places_of(body)
        tried = (_settled(body, name, places[name], scope) for name in _latest_first(body, scope))
        smaller = next((made for made in tried if made is not None), None)
        if smaller is None:
            return body
        body = [accumulating(stmt) for stmt in smaller]


def settle_sums(body: Body, scope: LoopScope) -> Body:
    """Write the sums among the temporaries to the elements that they are added to or taken from."""
    for name in _latest_first(body, scope):
        ready = [accumulating(stmt) for stmt in body]
        role = role_of(ready, name, places_of(ready)[name])
        body = body if role is None else _summed_in_place(ready, role, scope) or body
    return body


def _latest_first(body: Body, scope: LoopScope) -> list[str]:
    """Temporaries by where they are made: one that is made of another finds its place before the other."""
    found = dict.fromkeys(p.array for stmt in reversed(body) for p in stmt.body if isinstance(p, Store))
    return [name for name in found if name in scope.private]


@dataclass(frozen=True)
class Role:
    """What happens to a temporary in a body: the places of the statements that write and read it."""

    name: str
    makers: tuple[int, ...]
    readers: tuple[int, ...]


def _settled(body: Body, name: str, about: Sequence[int], scope: LoopScope) -> Body | None:
    direct = _read_directly(body, name, about, scope)
    if direct is not None:
        return direct
    role = role_of(body, name, about)
    if role is None:
        return None
    return _summed_in_place(body, role, scope) or _made_in_place(body, role, scope)


def _read_directly(body: Body, name: str, about: Sequence[int], scope: LoopScope) -> Body | None:
    """t = k[i] ; y[t] = t   ->   y[k[i]] = k[i]"""
    store = only_store(body[about[0]]) if about else None
    if store is None or store.array != name or store.op is not None or body[about[0]].domain or len(about) < 2:
        return None
    found = _as_index(store.expr)
    e = store.expr
    # The last reader reads before it writes, unless it does several things.
    until = about[-1] + (len(body[about[-1]].body) > 1)
    changed = {n for s in body[about[0] + 1:until] for n in writes(s)}
    if found is None or not changed.isdisjoint(expr_reads(e)) or any(name in writes(body[k]) for k in about[1:]):
        return None

    def index(i: Ix) -> Ix:
        return i.rebuild(lambda a: found if a == Elem(name, store.index) else None) if i.elems else i

    moved = {k: _reading(body[k], index, Load(name, store.index, e.dtype), e) for k in about[1:]}
    # Other elements of the temporary may be read, too.
    if any(name in reads(s) or clash(s, scope.path) for s in moved.values()):
        return None
    return [moved.get(k, s) for k, s in enumerate(body) if k != about[0]]


def _as_index(e: Expr) -> Ix | None:
    """An element or a position read as it stands, the way indices say it."""
    if isinstance(e, Call) and e.fn == "cast" and e.dtype.kind == "i" and np.can_cast(e.args[0].dtype, e.dtype):
        return _as_index(e.args[0])
    if isinstance(e, Load):
        return elem(e.array, e.index)
    return e.ix if isinstance(e, Index) and e.dtype.kind == "i" else None


def _reading(stmt: Map, index: Callable[[Ix], Ix], old: Load, new: Expr) -> Map:
    def put(n: Expr) -> Expr | None:
        return new if n == old else None

    moved = map_stmt_indices(stmt, index)
    if not isinstance(moved, Map):
        raise TypeError("new indices change no statement into another")
    return replace(moved, body=tuple(replace(p, expr=rewrite(p.expr, put)) for p in moved.body))


def role_of(body: Body, name: str, about: Sequence[int]) -> Role | None:
    """None unless every iteration makes the temporary afresh, over one box, before it is read. about: the places of
    the statements that touch it."""
    makers = tuple(k for k in about if name in writes(body[k]))
    readers = tuple(k for k in about if k not in makers)
    if not makers or not readers or makers[-1] > readers[0]:
        return None
    stores = [only_store(body[k]) for k in makers]
    if any(s is None or name in {n.array for n in loads(s.expr)} for s in stores):
        return None
    if stores[0].op is not None or any(s.op != "+" for s in stores[1:]):  # type: ignore[union-attr]
        return None
    boxes = [_box(body[k], s.index) for k, s in zip(makers, stores, strict=True)]  # type: ignore[union-attr]
    for k in readers:
        uses = [n for n in loads(reader.expr) if n.array == name] if (reader := only_store(body[k])) else []
        if not uses or in_indices(body[k], name):
            return None
        boxes += [_box(body[k], n.index) for n in uses]
    return Role(name, makers, readers) if boxes[0] is not None and all(b == boxes[0] for b in boxes) else None


def _box(stmt: Map, index: tuple[Ix, ...]) -> Box | None:
    """Per dimension, the first element and the one after the last; None unless one variable runs through each."""
    ranges = {r.var: r for r in stmt.domain}
    used: set[str] = set()
    out = []
    for i in index:
        inner = i.symbols & ranges.keys()
        if not inner:
            out.append((i, i + 1))
            continue
        var = next(iter(inner))
        r = ranges[var]
        closed = (r.start.symbols | r.stop.symbols).isdisjoint(ranges)
        if len(inner) > 1 or var in used or i.coefficient(var) != 1 or r.step != 1 or not closed:
            return None
        used.add(var)
        out.append((i - var + r.start, i - var + r.stop))
    return tuple(out)


def _target(reader: Map, store: Store, load: Load, element: Sequence[Ix]) -> tuple[dict[str, Ix], tuple[Ix, ...]]:
    """Where the reader puts a given element of the temporary, and the values its variables have then."""
    at: dict[str, Ix] = {}
    for have, want in zip(load.index, element, strict=True):
        for r in reader.domain:
            if r.var in have.symbols:
                at[r.var] = want - (have - r.var)
    return at, tuple(i.subs(at) for i in store.index)


def _decided(reader: Map, load: Load) -> bool:
    """Whether the element of the temporary says which point of the reader it is."""
    return all(any(r.var in i.symbols for i in load.index) for r in reader.domain)


def _summed_in_place(body: Body, role: Role, scope: LoopScope) -> Body | None:
    """t[j] = 0 ; t[j] += f(j, k) ; y[j] += c * t[j]   ->   y[j] += c * f(j, k)"""
    if len(role.readers) != 1:
        return None
    place = role.readers[0]
    reader = body[place]
    store = only_store(reader)
    first = only_store(body[role.makers[0]])
    if store is None or first is None or store.op != "+" or not algebra.is_number(first.expr, 0):
        return None
    load = next(n for n in loads(store.expr) if n.array == role.name)
    parts = _linear(store.expr, load)
    if parts is None or not _decided(reader, load) or not _cheap(parts[0]):
        return None
    factor, rest = parts
    sums = [_moved_sum(body[k], reader, store, load, factor) for k in role.makers[1:]]
    kept = [] if rest is None else [replace(reader, body=(replace(store, expr=rest),))]
    if any(_disturbed(body, k, place) for k in role.makers[1:]) or not _apart([*kept, *sums], store.array, scope):
        return None
    return [*(s for k, s in enumerate(body[:place]) if k not in role.makers), *kept, *sums, *body[place + 1:]]


def _moved_sum(maker: Map, reader: Map, store: Store, load: Load, factor: Expr) -> Map:
    part = maker.body[0]
    at, index = _target(reader, store, load, part.index)  # type: ignore[union-attr]
    e = algebra.mul(map_indices(factor, lambda i: i.subs(at)), part.expr)
    return replace(maker, body=(Store(store.array, index, e, "+"),))


def _linear(e: Expr, load: Load) -> tuple[Expr, Expr | None] | None:
    """(c, r) with e == c * load + r; None when e is not such a sum."""
    if e == load:
        return algebra.number(1, e.dtype), None
    if load not in loads(e):
        return algebra.zero(e.dtype), e
    if not isinstance(e, Call) or e.dtype != load.dtype:
        return None
    if e.fn == "mul":
        k = 0 if load in loads(e.args[0]) else 1
        inner = _linear(e.args[k], load) if load not in loads(e.args[1 - k]) else None
        return None if inner is None or inner[1] is not None else (algebra.mul(e.args[1 - k], inner[0]), None)
    if e.fn not in ("add", "sub", "neg"):
        return None
    parts = [_linear(a, load) for a in e.args]
    if parts[0] is None or parts[-1] is None:
        return None
    if e.fn == "neg":
        return algebra.neg(parts[0][0]), None if parts[0][1] is None else algebra.neg(parts[0][1])
    (c, r), (d, s) = parts[0], parts[1]  # type: ignore[misc]
    join = algebra.add if e.fn == "add" else algebra.sub
    rest = r if s is None else join(algebra.zero(e.dtype) if r is None else r, s)
    return join(c, d), rest


def _cheap(factor: Expr) -> bool:
    """Whether a factor may move into a sum: a number, a scalar or their product."""
    if isinstance(factor, Call):
        return factor.fn in ("mul", "neg") and all(_cheap(a) for a in factor.args)
    return isinstance(factor, Const) or (isinstance(factor, Load) and not factor.index)


def _disturbed(body: Body, start: int, stop: int) -> bool:
    """Whether what a sum reads changes before the place it would move to."""
    part = only_store(body[start])
    own = reads(replace(body[start], body=(replace(part, op=None),))) if part else frozenset()
    return any(not writes(s).isdisjoint(own) for s in body[start + 1:stop])


def _apart(made: Sequence[Map], array: str, scope: LoopScope) -> bool:
    """Whether the statements are maps, and none of them reads of an array what another writes."""
    if any(clash(s, scope.path) for s in made):
        return False
    known = [t for s in made for t in touches(s, scope.path)]
    read = [t for t in known if t.how == READ and t.access.array == array]
    return not any(_meet(r, w, scope) for r in read for w in known if w.how != READ)


def _meet(a: Touch, b: Touch, scope: LoopScope) -> bool:
    return a.access.array == b.access.array and overlap_in(a.access, b.access, len(scope.path))


def _made_in_place(body: Body, role: Role, scope: LoopScope) -> Body | None:
    """t[j] = e ; t[j] += f(j, k) ; y[j] = g(t[j])   ->   y[j] = e ; y[j] += f(j, k) ; y[j] = g(y[j])

    A plain copy y = t is gone afterwards, and other readers of t read y. Of several copies the one with unit stride
    is chosen.
    """
    homes = [h for place in role.readers if (h := _home(body, role, place, scope)) is not None]
    homes.sort(key=lambda h: (not h.copied, not h.unit_stride))
    return next((made for h in homes if (made := _rehoused(body, role, h, scope)) is not None), None)


@dataclass(frozen=True)
class _Home:
    """A statement of the body that puts every element of a temporary somewhere. copied: just so."""

    place: int
    reader: Map
    store: Store
    load: Load
    copied: bool

    @property
    def unit_stride(self) -> bool:
        last = self.reader.domain[-1].var if self.reader.domain else None
        return not self.store.index or last in self.store.index[-1].symbols

    def at(self, element: Sequence[Ix]) -> tuple[Ix, ...]:
        return _target(self.reader, self.store, self.load, element)[1]

    def put(self, stmt: Map, name: str) -> Map:
        """The statement with this place instead of the temporary `name`."""
        part = stmt.body[0]
        e = rewrite(part.expr, lambda n: Load(self.store.array, self.at(n.index), n.dtype)
                    if isinstance(n, Load) and n.array == name else None)
        if isinstance(part, Store) and part.array == name:
            return replace(stmt, body=(Store(self.store.array, self.at(part.index), e, part.op),))
        return without_own_ends(replace(stmt, body=(replace(part, expr=e),)))


def _home(body: Body, role: Role, place: int, scope: LoopScope) -> _Home | None:
    reader = body[place]
    store = only_store(reader)
    if store is None or store.op is not None or scope.arrays[store.array].dtype != scope.arrays[role.name].dtype:
        return None
    operands = loads(store.expr)
    found = [n for n in operands if n.array == role.name]
    if len(found) != 1 or not _decided(reader, found[0]):
        return None
    copied = store.expr == found[0]
    alone = len(role.readers) == 1 < len(role.makers) and all(n.array != store.array for n in operands)
    return _Home(place, reader, store, found[0], copied) if copied or alone else None


def _rehoused(body: Body, role: Role, home: _Home, scope: LoopScope) -> Body | None:
    about = {*role.makers, *role.readers} - ({home.place} if home.copied else set())
    moved = {k: home.put(body[k], role.name) for k in about}
    if any(clash(s, scope.path) for s in moved.values()):
        return None
    own = next(t for t in touches(home.reader, scope.path) if t.how != READ)
    for k in range(role.makers[0], max(home.place, role.readers[-1]) + 1):
        foreign = [] if k == home.place else _foreign(body[k], moved.get(k, body[k]), k, role, home, scope)
        if any(_meet(t, own, scope) for t in foreign):
            return None
    return [moved.get(k, s) for k, s in enumerate(body) if not (home.copied and k == home.place)]


def _foreign(stmt: Map, moved: Map, k: int, role: Role, home: _Home, scope: LoopScope) -> list[Touch]:
    """What a statement does with the home on its own account: reads count as long as the home has its old value."""
    read = [t for t in touches(stmt, scope.path) if t.how == READ and k < home.place]
    return read if k in role.makers else [*read, *(t for t in touches(moved, scope.path) if t.how != READ)]


def without_own_ends(stmt: Map) -> Map:
    """map j = 0:n: y[i, j + i] = y[j + i, i]   ->   map j = 1:n: ...: an element that is its own copy stays"""
    store = only_store(stmt)
    if store is None or store.op is not None or not isinstance(store.expr, Load) or store.expr.array != store.array:
        return stmt
    pairs = list(zip(store.index, store.expr.index, strict=True))
    domain = []
    for r in stmt.domain:
        for end, less in ((r.start, replace(r, start=r.start + r.step)),
                          (r.stop - 1, replace(r, stop=r.stop - 1))):
            if r.step == 1 and all(a.subs({r.var: end}) == b.subs({r.var: end}) for a, b in pairs):
                r = less
                break
        domain.append(r)
    return replace(stmt, domain=tuple(domain))


