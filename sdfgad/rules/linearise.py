"""Linearise statements: the tangent of what a statement writes, linear in the tangents of what it reads.

Linear expressions use two products, both with the linear factor second: `times(p, t)`, and `scale(p, t)`, which is 0
where t is 0 whatever p is. Both modes read this one form.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from sdfgad.errors import SourceLine, unsupported
from sdfgad.ir import algebra
from sdfgad.ir.algebra import Term
from sdfgad.ir.called import PYTHON
from sdfgad.ir.expr import Call, Const, Expr, Load, Local, rewrite, walk
from sdfgad.ir.index import Bounds, Ix
from sdfgad.ir.messages import OP, TANGENTS, carries_derivatives, order_view, received, sent, told
from sdfgad.ir.own import OWN, OWN_LINEAR, DerivativeRule
from sdfgad.ir.program import Array, Block, Let, Lib, Map, Stmt, Store, View
from sdfgad.ir.walk import expr_reads, map_exprs, reads, rebuild, writes
from sdfgad.rules import decompositions, nodes, registry, scalar  # noqa: F401  (the tables register themselves)
from sdfgad.rules import linear as linear_rules
from sdfgad.rules.extremum import winners

Rename = Callable[[str], str | None]
Fresh = Callable[[str, tuple[int, ...], np.dtype], Array]


@dataclass(frozen=True)
class Linearised:
    """prep: nonlinear statements the linear ones read; linear: the linear statements, in program order.

    after: they read what the statement itself writes, so they run after it (forward) and before it is undone (reverse).
    again: arrays that they read and that are made again for them, in this order, and the statements that do; none where
    others have done so.
    """

    prep: tuple[Stmt, ...]
    linear: tuple[Stmt, ...]
    after: bool
    again: Mapping[str, tuple[Stmt, ...]] = field(default_factory=dict)

    @property
    def makers(self) -> tuple[Stmt, ...]:
        """All that make arrays again."""
        return tuple(s for made in self.again.values() for s in made)


@dataclass(frozen=True)
class Tangents:
    """How to linearise: `name` maps an array to its tangent (None: inactive), `fresh` makes temporaries.

    versions: how many leading indices of an array number its versions. arrays: those of the program. around: intervals
    of the variables of the loops around the statement.
    """

    name: Rename
    fresh: Fresh
    is_tangent: Callable[[str], bool]
    versions: Mapping[str, int] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    around: Mapping[str, Bounds] = field(default_factory=dict)

    def view(self, view: View) -> View | None:
        name = self.name(view.array)
        return None if name is None else View(name, view.shape, self.at(view.array, view.index), view.dtype)

    def at(self, array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        """The index of the tangent: one tangent serves all versions of an array, whose numbers come first."""
        return index[self.versions.get(array, 0):]


def inline_lets(stmt: Map) -> list[Store]:
    """The stores of a map with its local names substituted.

    Refused: a store that reads what an earlier one of the same body wrote; it would be linearised at the old value.
    """
    bound: dict[str, Expr] = {}
    stores: list[Store] = []
    for part in stmt.body:
        expr = rewrite(part.expr, lambda n: bound[n.name] if isinstance(n, Local) else None)
        if isinstance(part, Let):
            bound[part.name] = expr
            continue
        if not {s.array for s in stores}.isdisjoint(expr_reads(expr)):
            raise unsupported(stmt.source, "a statement that reads what it has just written", "split it", "SG190")
        stores.append(Store(part.array, part.index, expr, part.op))
    return stores


def linearise(stmt: Map | Lib, tangents: Tangents, answer: bool) -> Linearised:
    """The linear program of one statement; `answer` lets it read the value just written instead of the operands."""
    if isinstance(stmt, Lib):
        return _linearise_lib(stmt, tangents)
    if any(isinstance(p, Store) and p.op in ("min", "max") for p in stmt.body):
        return _linearise_map(stmt, tangents, answer)  # with temporaries of its own each time
    names = sorted(reads(stmt) | writes(stmt))
    key = (answer, *((tangents.name(n), tangents.versions.get(n, 0)) for n in names))
    known: dict[object, Linearised] = stmt.__dict__.setdefault("_linear", {})
    if key not in known:
        known[key] = _linearise_map(stmt, tangents, answer)
    return known[key]


def _linearise_map(stmt: Map, tangents: Tangents, answer: bool) -> Linearised:
    prep: list[Stmt] = []
    linear: list[Stmt] = []
    plain: list[Store] = []
    after = False
    stores = inline_lets(stmt)
    answer = answer and (len(stores) == 1 or not _reads_own_writes(stores))
    for store in stores:
        target = tangents.name(store.array)
        if target is None:
            continue
        if store.op in ("min", "max"):
            after = True
            _linearise_extremum(stmt, store, target, tangents, prep, linear)
            continue
        if store.op == "*":
            raise unsupported(stmt.source, "the derivative of a product accumulated in place", "use a loop", "SG133")
        found, used = _tangent_of(store, tangents, stmt.source, answer and store.op is None)
        after = after or used
        if found is not None or store.op is None:
            zero = algebra.zero(store.expr.dtype)
            at = tangents.at(store.array, store.index)
            plain.append(Store(target, at, zero if found is None else found, store.op))
    if plain:
        linear.append(Map(stmt.domain, tuple(plain), stmt.source))
    return Linearised(tuple(prep), tuple(linear), after)


def _tangent_of(store: Store, tangents: Tangents, source: SourceLine | None, answer: bool) -> tuple[Expr | None, bool]:
    """The tangent of what is stored, and whether it reads the answer from where it was stored."""
    written = Load(store.array, store.index, store.expr.dtype)
    if answer:
        known = Local("answer", store.expr.dtype)
        d = _Differential(tangents, source)
        found = d.of(store.expr, known)
        # The same element as an operand has its old value, so that one load cannot stand for both.
        if found is not None and d.used_answer and not _mentions(found, written):
            return rewrite(found, lambda n: written if n == known else None), True
    return _Differential(tangents, source).of(store.expr), False


def _reads_own_writes(stores: list[Store]) -> bool:
    written = {s.array for s in stores}
    return any(isinstance(n, Load) and n.array in written for s in stores for n in walk(s.expr))


def _linearise_lib(stmt: Lib, tangents: Tangents) -> Linearised:
    if stmt.op == OP:
        return _linearise_message(stmt, tangents)
    rule = registry.node(stmt.op)
    target = tangents.view(stmt.outs[0])
    if target is None:
        return Linearised((), (), True)
    if stmt.op == OWN:
        return Linearised((), (_own_linear(stmt, tangents, target),), True)
    if stmt.op == PYTHON:
        raise unsupported(stmt.source, "the derivative of a rule that stays Python", "second derivatives need rules "
                          "that sdfgad compiles", "SG135")
    if rule is None:
        raise unsupported(stmt.source, f"no derivative rule for '{stmt.op}'", "see docs/writing_rules.md", "SG130")
    c = nodes.Linearisation(tangents.view, tangents.fresh, stmt.source)
    rule.linearise(c, stmt.outs[0], stmt.ins, stmt.attrs, target)
    if not c.linear and not stmt.attrs.get("accumulate"):
        c.each(target, lambda p: algebra.zero(target.dtype))
    return Linearised((), tuple(c.linear), True)


def _linearise_message(stmt: Lib, tangents: Tangents) -> Linearised:
    """The same message with the tangents, if its numbers have any. What a wildcard received comes from there again."""
    if not carries_derivatives(stmt):
        return Linearised((), (), True)
    ins, outs = ([t for v in views if (t := tangents.view(v)) is not None] for views in (sent(stmt), received(stmt)))
    attrs = MappingProxyType({**{k: v for k, v in stmt.attrs.items() if k != "record"}, "sweep": TANGENTS})
    there = Lib(OP, (*outs, order_view()), (*ins, *told(stmt), order_view()), attrs, stmt.source)
    return Linearised((), (there,), True)


def _own_linear(stmt: Lib, tangents: Tangents, target: View) -> Lib:
    """The linear part of an operation with a rule of its own, from those inputs that are active: their tangents, what
    the routines read, and the value of the operation."""
    rule: DerivativeRule = stmt.attrs["rule"]
    moved = {k: view for k in rule.active if (view := tangents.view(stmt.ins[1 + k])) is not None}
    answer = stmt.outs if rule.answer else ()
    attrs = {"rule": rule, "inputs": tuple(moved)}
    return Lib(OWN_LINEAR, (target,), (*moved.values(), *stmt.ins[rule.count + 1:], *answer), MappingProxyType(attrs),
               stmt.source)


def _linearise_extremum(stmt: Map, store: Store, target: str, tangents: Tangents, prep: list[Stmt],
                        linear: list[Stmt]) -> None:
    """m = max over the map of e: the winners share the tangent equally; the value before the map when it beats all."""
    from_expr = _Differential(tangents, stmt.source).of(store.expr)
    into = tangents.at(store.array, store.index)
    zero = algebra.zero(store.expr.dtype)
    found = winners(stmt, store, tangents.fresh, tangents.arrays, tangents.around)
    prep += found.prep
    old = Load(target, tangents.at(store.array, found.index), zero.dtype)
    linear.append(Map(found.kept, (Store(target, old.index, algebra.select(found.old_wins, old, zero)),), stmt.source))
    if from_expr is None:
        return
    share = algebra.div(algebra.number(1, zero.dtype), found.ties)
    part = algebra.select(found.wins, Call("times", (share, from_expr), from_expr.dtype), zero)
    linear.append(Map(stmt.domain, (Store(target, into, part, "+"),), stmt.source))


class _Differential:
    """The tangent of an expression, sharing what the expression shares. None is a known zero."""

    def __init__(self, tangents: Tangents, source: SourceLine | None) -> None:
        self.tangents = tangents
        self.source = source
        self.memo: dict[tuple[Expr, Expr | None], Expr | None] = {}
        self.used_answer = False

    def of(self, e: Expr, answer: Expr | None = None) -> Expr | None:
        key = (e, answer)
        if key not in self.memo:
            self.memo[key] = self._of(e, answer)
        return self.memo[key]

    def _of(self, e: Expr, answer: Expr | None) -> Expr | None:
        if e.dtype.kind not in "fc":
            return None
        if isinstance(e, Load):
            name = self.tangents.name(e.array)
            return None if name is None else Load(name, self.tangents.at(e.array, e.index), e.dtype)
        if not isinstance(e, Call):
            return None
        special = _SPECIAL.get(e.fn)
        if special is not None:
            return special(self, e, answer)
        if e.fn in linear_rules.UNARY:
            t = self.of(e.args[0])
            return None if t is None else Call(e.fn, (t,), e.dtype)
        return self.by_rule(e, answer)

    def by_rule(self, e: Call, answer: Expr | None) -> Expr | None:
        if not registry.known(e.fn):
            raise unsupported(self.source, f"no derivative rule for '{e.fn}'", "see docs/writing_rules.md", "SG130")
        rule = registry.scalar(e.fn)
        parts = [self.of(a) for a in e.args]
        if rule is None or all(p is None for p in parts):
            return None
        y = e if answer is None else answer
        total: Expr | None = None
        for partial, t in zip(rule.of(Term(y), *map(Term, e.args)), parts, strict=True):
            if t is None or partial is None:
                continue
            p = partial.expr if isinstance(partial, Term) else algebra.number(partial, e.dtype)
            self.used_answer = self.used_answer or (answer is not None and _mentions(p, answer))
            term = linear_rules.product(p, t, rule.singular and not _polynomial(e))
            total = term if total is None else total if term is None else algebra.add(total, term)
        return total

    def add(self, e: Call, answer: Expr | None) -> Expr | None:
        a, b = (self.of(x) for x in e.args)
        if a is None or b is None:
            return a if b is None else b
        return Call("add", (a, b), e.dtype)

    def sub(self, e: Call, answer: Expr | None) -> Expr | None:
        a, b = (self.of(x) for x in e.args)
        if b is None:
            return a
        return Call("neg", (b,), e.dtype) if a is None else Call("sub", (a, b), e.dtype)

    def select(self, e: Call, answer: Expr | None) -> Expr | None:
        a, b = (self.of(x, answer) for x in e.args[1:])
        if a is None and b is None:
            return None
        zero = algebra.zero(e.dtype)
        return Call("select", (e.args[0], zero if a is None else a, zero if b is None else b), e.dtype)

    def complex_(self, e: Call, answer: Expr | None) -> Expr | None:
        parts = [self.of(x) for x in e.args]
        if all(p is None for p in parts):
            return None
        zero = algebra.zero(e.args[0].dtype)
        return Call("complex", tuple(zero if p is None else p for p in parts), e.dtype)

    def with_partial(self, e: Call, answer: Expr | None) -> Expr | None:
        _, partial, x = e.args
        t = self.of(x)
        return None if t is None else linear_rules.product(partial, t, singular=True)

    def attached(self, e: Call, answer: Expr | None) -> Expr | None:
        return self.of(e.args[1])

    def displaced(self, e: Call, answer: Expr | None) -> Expr | None:
        return self.of(e.args[0])

    def scale(self, e: Call, answer: Expr | None) -> Expr | None:
        """Of a strong product in a gradient program. Where the second factor is zero, the first one may be infinite,
        and how it changes is of no consequence."""
        p, t = e.args
        dp, dt = self.of(p), self.of(t)
        total = None if dt is None else linear_rules.product(p, dt, singular=True)
        if dp is not None:
            zero = algebra.zero(e.dtype)
            other = algebra.select(linear_rules.is_zero(t), zero, Call("times", (t, dp), e.dtype))
            total = other if total is None else algebra.add(total, other)
        return total

    def abs(self, e: Call, answer: Expr | None) -> Expr | None:
        x = e.args[0]
        t = self.of(x)
        if t is None:
            return None
        if x.dtype.kind != "c":
            return Call("times", (Call("sign", (x,), x.dtype), t), e.dtype)
        size = algebra.cast(e, x.dtype)
        direction = algebra.div(linear_rules.conj(x), size)
        at_zero = Call("eq", (e, algebra.zero(e.dtype)), np.dtype(bool))
        p = algebra.select(at_zero, algebra.zero(x.dtype), direction)
        return Call("real", (Call("times", (p, t), x.dtype),), e.dtype)


_SPECIAL: Mapping[str, Callable[[_Differential, Call, Expr | None], Expr | None]] = MappingProxyType({
    "add": _Differential.add, "sub": _Differential.sub, "select": _Differential.select,
    "complex": _Differential.complex_, "abs": _Differential.abs, "with_partial": _Differential.with_partial,
    "scale": _Differential.scale, "attached": _Differential.attached,
    "displaced": _Differential.displaced})


def _polynomial(e: Call) -> bool:
    """A power whose derivative is finite wherever the power is."""
    p = e.args[-1]
    return e.fn == "pow" and isinstance(p, Const) and not isinstance(p.value, complex) and p.value >= 1


def _mentions(p: Expr, answer: Expr) -> bool:
    found = False

    def look(n: Expr) -> None:
        nonlocal found
        found = found or n == answer

    rewrite(p, look)
    return found


def finish(e: Expr) -> Expr:
    """A linear expression in ordinary functions, ready to run."""

    def one(n: Expr) -> Expr | None:
        if isinstance(n, Call) and n.fn == "times":
            return algebra.mul(*n.args)
        if isinstance(n, Call) and n.fn == "scale":
            return linear_rules.strong_product(*n.args)
        return None

    return rewrite(e, one)


def finish_stmt(stmt: Stmt) -> Stmt:
    """A linear statement ready to run."""
    return map_exprs(stmt, finish) if isinstance(stmt, Map) else stmt


def without_partials(block: Block) -> Block:
    """The block for those who do not differentiate it (any more): values alone, without the partial derivatives that
    stand beside them. What is differentiated once more keeps the rules of users."""
    value = _value_once_more if linear_rules.are_strong_products_kept() else _value
    return rebuild(tuple(map_exprs(s, lambda e: rewrite(e, value)) for s in block), _own_value)


def _own_value(stmt: Stmt) -> Block:
    """The value of an operation with a rule of its own, which is its first operand. Where the rule says what the
    tangent of the value is, it is kept for the second derivative."""
    if not isinstance(stmt, Lib) or stmt.op != OWN:
        return (stmt,)
    if stmt.attrs["rule"].forward and linear_rules.are_strong_products_kept():
        return (stmt,)
    out, value = stmt.outs[0], stmt.ins[0]
    domain, here = out.points("o")
    store = Store(out.array, out.at(here), value.load(here))
    return (Map(domain, (store,), stmt.source),)


def _value(e: Expr) -> Expr | None:
    if isinstance(e, Call) and e.fn == "displaced":
        return algebra.zero(e.dtype)
    return e.args[0] if isinstance(e, Call) and e.fn in _FOR_DERIVATIVES else None


def _value_once_more(e: Expr) -> Expr | None:
    return e.args[0] if isinstance(e, Call) and e.fn in ("passive", "with_partial") else None


_FOR_DERIVATIVES = frozenset({"passive", "with_partial", "attached"})
