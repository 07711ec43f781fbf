"""Values that may be computed again where they are read: one expression per element, over things that stay.

A mask is the usual case: cheaper to compute than to store and load. The facts only; which values are really computed
again is for a plan to say.
"""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from types import MappingProxyType

from sdfgad.analysis.block_local import BlockLocal, blocks
from sdfgad.analysis.cost import WEIGHTS
from sdfgad.ir.bits import unpacked
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, loads, moved, rewrite, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import children, expr_reads, map_exprs, reads, statements, within, writes
from sdfgad.rules import registry
from sdfgad.rules.linearise import Linearised, inline_lets
from sdfgad.thresholds import thresholds

_OPERATIONS: Mapping[str, int] = MappingProxyType({
    **dict.fromkeys(("add", "sub", "mul", "neg", "abs", "sign", "minimum", "maximum", "fmin", "fmax", "lt", "le", "gt",
                     "ge", "eq", "ne", "and", "or", "not", "cast", "select", "real", "imag", "conj", "complex",
                     "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite"), 1),
    **{fn: WEIGHTS[fn] for fn in ("div", "sqrt")}})
_OF_A_NUMBER = 4
"""Elementary operations at most that a function of single numbers counts for: vectors do not wait for one."""
_MODULUS = 8
"""Elementary operations for the absolute value of a complex number."""
_SUMS = frozenset({"add", "sub"})
_PRODUCTS = frozenset({"mul", "pow"})


@dataclass(frozen=True)
class Span:
    """Neighbours in a block, and what they hold: from the `first` place to before the `end`. places: in the block, by
    the `id` of a statement."""

    block: Block
    places: Mapping[int, int]
    first: int
    end: int

    def __contains__(self, stmt: Stmt) -> bool:
        place = self.places.get(id(stmt))
        return place is not None and self.first <= place < self.end


@dataclass(frozen=True)
class Formula:
    """`store` says what each element of an array is; `place`: which dimension each variable decides, from where.

    still: the statements that run while all it reads is as it was, their own writes aside.
    """

    store: Store
    place: Mapping[str, tuple[int, Ix]]
    still: Span

    @cached_property
    def inputs(self) -> frozenset[str]:
        return frozenset(expr_reads(self.store.expr))

    def at(self, use: Load, e: Expr) -> Expr:
        """The element that `use` loads, by an expression like the formula's own."""
        return moved(e, {var: use.index[k] - offset for var, (k, offset) in self.place.items()})

    @property
    def cheap(self) -> bool:
        return cheap(self.store.expr, frozenset(self.place))


@dataclass(frozen=True)
class Remake:
    """The statements that make an array piece by piece, to run again before a derivative reads it.

    inputs and still: as for a formula.
    """

    makers: tuple[Map, ...]
    inputs: frozenset[str]
    still: Span


def formulas(program: Program, local: Mapping[str, BlockLocal],
             wanted: Collection[str] = ()) -> dict[str, Formula | Remake]:
    """The block-local arrays that one statement makes, cheaply per element, or that a few make piece by piece.

    wanted: arrays for which it was decided that making them is cheap, before others that they are made of were given
    a place for every version.
    """
    by_first = {id(block[0]): _Order(block) for block in blocks(program.body)}
    found: dict[str, Formula | Remake] = {}
    for name, where in local.items():
        maker, order = where.makers[0], by_first[where.block]
        made: Formula | Remake | None = None
        if len(where.makers) > 1:
            made = _remake(where.makers, program.arrays[name], order, name in wanted)
        elif isinstance(maker, Map):
            made = _formula(maker, name, order)
        if isinstance(made, Remake) or made is not None and (made.cheap or name in wanted):
            found[name] = made
    return found


class _Order:
    """What stands where in a block, and where arrays are read and written."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.own = {id(s): k for k, s in enumerate(block)}

    @cached_property
    def places(self) -> dict[int, int]:
        """Of the statements of the block, and of those that they hold."""
        return {id(inner): k for k, s in enumerate(self.block) for inner in statements((s,))}

    @cached_property
    def readers(self) -> dict[str, int]:
        """The first that reads an array."""
        found: dict[str, int] = {}
        for k, stmt in enumerate(self.block):
            for name in within(stmt)[0]:
                found.setdefault(name, k)
        return found

    @cached_property
    def writers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for k, stmt in enumerate(self.block):
            for name in within(stmt)[1]:
                found.setdefault(name, []).append(k)
        return found

    def undisturbed(self, first: int, inputs: Iterable[str]) -> Span:
        """From a place on, before anything of `inputs` is overwritten. A loop may come back to its first statement."""
        end = len(self.block)
        for name in inputs:
            places = self.writers.get(name, [])
            k = bisect_left(places, first)
            end = min(end, places[k]) if k < len(places) else end
        if end < len(self.block) and not children(self.block[end]):
            end += 1
        return Span(self.block, self.places, first, end)


def _remake(makers: tuple[Stmt, ...], array: Array, order: _Order, wanted: bool) -> Remake | None:
    places = sorted(order.own[id(m)] for m in makers if id(m) in order.own)
    maps = tuple(m for m in makers if isinstance(m, Map) and _simple(m, wanted))
    reader = order.readers.get(array.name)
    if len(maps) < len(makers) or len(places) < len(makers) or reader is None or reader < places[-1]:
        return None
    elements = [[r.trips for r in m.domain] for m in maps]
    if any(None in e for e in elements) or \
            sum(prod(n or 0 for n in e) for e in elements) > thresholds().remade_copies * prod(array.shape):
        return None
    inputs = frozenset(n for m in maps for n in reads(m))
    return Remake(maps, inputs, order.undisturbed(places[0], inputs))


def _simple(maker: Map, wanted: bool) -> bool:
    """One plain store, from other arrays, and cheap unless that was decided."""
    part = maker.body[0]
    return len(maker.body) == 1 and isinstance(part, Store) and part.op is None and part.array not in reads(maker) and \
        (wanted or cheap(part.expr, frozenset(r.var for r in maker.domain)))


def _formula(maker: Map, name: str, order: _Order) -> Formula | None:
    if sum(isinstance(p, Store) for p in maker.body) != 1:
        return None
    store = inline_lets(maker)[0]
    place = inverse(maker, store)
    position = order.own.get(id(maker))
    inputs = expr_reads(store.expr)
    if store.op is not None or place is None or position is None or name in inputs:
        return None
    return Formula(store, place, order.undisturbed(position, inputs))


def inverse(maker: Map, store: Store) -> dict[str, tuple[int, Ix]] | None:
    """For each domain variable, the dimension it decides alone and the offset there."""
    place: dict[str, tuple[int, Ix]] = {}
    names = {r.var for r in maker.domain}
    for k, i in enumerate(store.index):
        here = names & i.symbols
        if len(here) > 1 or i.elems:
            return None
        for var in here:
            if var in place or i.coefficient(var) != 1:
                return None
            place[var] = (k, i - var)
    return place if len(place) == len(names) else None


def reach(known: Mapping[str, Formula | Remake], name: str) -> frozenset[str]:
    """All arrays an expression may read, directly or through the expressions of others."""
    found: set[str] = set()
    todo = [name]
    while todo:
        fresh = known[todo.pop()].inputs - found
        found |= fresh
        todo.extend(n for n in fresh if n in known)
    return frozenset(found)


def cheap(e: Expr, variables: frozenset[str]) -> bool:
    """Whether computing it for every value of `variables` takes no longer than storing it and loading it again."""
    moving = _moving(e, variables)
    work = [_work(n) for n in moving if isinstance(n, Call)]
    if not variables:
        work = [w and min(w, _OF_A_NUMBER) for w in work]
    streams = {n.array for n in moving if isinstance(n, Load) and n.index}
    most = thresholds()
    return None not in work and sum(w or 0 for w in work) <= most.remade_operations and \
        len(streams) <= most.remade_loads


def _moving(e: Expr, variables: frozenset[str]) -> set[Expr]:
    """The nodes computed anew for every element; the others are computed once. Of a scalar, all of them."""
    found: set[Expr] = set()
    for node in walk(e):
        places = node.index if isinstance(node, Load) else (node.ix,) if isinstance(node, Index) else ()
        own = not variables or any(not variables.isdisjoint(i.symbols) for i in places)
        if own or isinstance(node, Call) and not found.isdisjoint(node.args):
            found.add(node)
    return found


def _work(node: Call) -> int | None:
    """Elementary operations; None for something dear."""
    if any(n.dtype.kind == "c" for n in (node, *node.args)) and node.fn not in ("real", "imag"):
        return _MODULUS if node.fn == "abs" else None
    return 2 if _small_power(node) else _OPERATIONS.get(node.fn)


def _small_power(node: Call) -> bool:
    power = node.args[1] if node.fn == "pow" else None
    return isinstance(power, Const) and power.value in (1, 2, 3)


def repeatable(e: Expr) -> bool:
    """Whether it has the same bits wherever it is computed: the compiler may round a product once less in a sum."""
    return not any(isinstance(n, Call) and n.fn in _SUMS and n.dtype.kind in "fc" and
                   any(_is_product(a) for a in n.args) for n in walk(e))


def _is_product(e: Expr) -> bool:
    if isinstance(e, Call) and e.fn in ("neg", "cast", "select"):
        return any(_is_product(a) for a in e.args)
    return isinstance(e, Call) and e.fn in _PRODUCTS


@dataclass(frozen=True)
class Again:
    """Values to compute again where the derivative reads them: those `chosen`; their expressions may use all `known`.

    bits: for a statement (by `id`), what stands for expressions of its derivative.
    """

    known: Mapping[str, Formula | Remake]
    chosen: frozenset[str]
    bits: Mapping[int, Mapping[Expr, Expr]]
    _wholes: dict[tuple[str, int, frozenset[str]], Expr | None] = field(
        default_factory=dict, init=False, repr=False, compare=False)

    def put(self, stmt: Stmt, lin: Linearised) -> Linearised:
        """The linear program of a statement with expressions in place of loads of chosen values."""
        if id(stmt) in self.bits:
            table = self.bits[id(stmt)]
            lin = replace(lin, linear=tuple(map_exprs(s, lambda e: rewrite(e, table.get)) for s in lin.linear))
        if self.chosen.isdisjoint(n for s in (*lin.prep, *lin.linear) for n in reads(s)):
            return lin
        spoilt = writes(stmt) if lin.after else frozenset()
        prep, linear = (tuple(map_exprs(s, lambda e: self._expr(e, stmt, spoilt, self.chosen)) for s in part)
                        for part in (lin.prep, lin.linear))
        wanted = sorted(n for s in (*prep, *linear) for n in reads(s))
        return replace(lin, prep=prep, linear=linear, again=self._makers(wanted, stmt, spoilt))

    def _makers(self, wanted: Sequence[str], reader: Stmt, spoilt: frozenset[str]) -> dict[str, tuple[Stmt, ...]]:
        """The statements that make chosen arrays again, what they read first."""
        out: dict[str, tuple[Stmt, ...]] = {}
        for name in wanted:
            made = self.known[name] if name in self.chosen else None
            if name in out or not isinstance(made, Remake):
                continue
            if reader in made.still and made.inputs.isdisjoint(spoilt):
                makers = tuple(map_exprs(m, lambda e: self._expr(e, reader, spoilt, self.known)) for m in made.makers)
                deeper = self._makers(sorted(n for m in makers for n in reads(m)), reader, spoilt)
                out = {**out, **{n: m for n, m in deeper.items() if n not in out},
                       name: tuple(replace(m) for m in makers)}
        return out

    def _expr(self, e: Expr, reader: Stmt, spoilt: frozenset[str], names: Collection[str]) -> Expr:
        if not any(n.array in names for n in loads(e)):
            return e
        decisive = {n for c in walk(e) if isinstance(c, Call) and c.fn in registry.without_gradient() for n in loads(c)}

        def one(n: Expr) -> Expr | None:
            if not isinstance(n, Load) or n.array not in names:
                return None
            found = self.value(n, reader, spoilt)
            rounded = n in decisive or n.dtype.kind not in "fc"
            return None if found is None or (rounded and not repeatable(found)) else found

        return rewrite(rewrite(e, one), unpacked)

    def value(self, use: Load, reader: Stmt, spoilt: frozenset[str] = frozenset()) -> Expr | None:
        """What an element is, at a statement; None when that cannot be said, or only dearly."""
        formula = self.known[use.array]
        whole = None if isinstance(formula, Remake) else self._whole(use.array, formula, reader, spoilt)
        return None if whole is None or isinstance(formula, Remake) else formula.at(use, whole)

    def _whole(self, array: str, formula: Formula, reader: Stmt, spoilt: frozenset[str]) -> Expr | None:
        """The same in the formula's own variables; kept, as each load of the array asks for it."""
        key = (array, id(reader), spoilt)
        if key not in self._wholes:
            self._wholes[key] = self._written_out(formula, reader, spoilt)
        return self._wholes[key]

    def _written_out(self, formula: Formula, reader: Stmt, spoilt: frozenset[str]) -> Expr | None:
        if reader not in formula.still or not formula.inputs.isdisjoint(spoilt):
            return None

        def deeper(n: Expr) -> Expr | None:
            known = isinstance(n, Load) and n.array in self.known
            return self.value(n, reader, spoilt) if known and isinstance(n, Load) else None

        whole = rewrite(formula.store.expr, deeper)
        return whole if cheap(whole, frozenset(formula.place)) else formula.store.expr


NOTHING = Again(MappingProxyType({}), frozenset(), MappingProxyType({}))
