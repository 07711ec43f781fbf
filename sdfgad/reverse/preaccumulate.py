"""Loops of which one number per point is asked for carry their derivative forward, and need no tape."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sdfgad.analysis.elements.cover import covers, is_pointwise
from sdfgad.analysis.reversal.activity import differentiable_loads
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, loads, rewrite, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.messages import communicates
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store, While, views_of
from sdfgad.ir.walk import in_terms_of, map_exprs, own_ranges, reads, rebuild_blocks, statements, within, writes
from sdfgad.names import fresh
from sdfgad.reverse.made import ReverseRequest
from sdfgad.rules.linearise import Tangents, finish, linearise

VALUE, SLOPE = "value_of_", "slope_of_"
_TANGENT = "tangent of "
_OF_PARTS = frozenset({"conj", "real", "imag", "complex", "cast"})


def preaccumulate(program: Program, request: ReverseRequest) -> Program:
    """for k: y[i] = y[i] * x[i] + c[k]
    ->   v[i] = y[i] ; d[i] = 0
         for k: { d[i] = d[i] * x[i] + v[i] ; v[i] = v[i] * x[i] + c[k] }
         y[i] = v[i], with derivative d[i] by x[i]

    For loops of pointwise statements whose derivatives read what the loop overwrites, when all that is active and goes
    in at a point is one number: then its tangent is as much work as a cotangent, and runs along with the values.
    Griewank and Walther: Evaluating Derivatives (SIAM 2008), chapter 10, preaccumulation of local Jacobians.
    """
    active = request.sets(program)[0]
    shown = {v.array for v in (*request.outputs, *views_of(program.returns))}
    return _Rewriting(program, active, frozenset(shown | program.live_out)).done()


@dataclass(frozen=True)
class Chain:
    """A loop whose statements do something at each point of a domain, and look at no other point's states.

    steps: the statements, those that touch a state in the variables of the domain. states: what they replace of what
    is active. whole: of these, all of whose elements are replaced.
    """

    loop: Loop | While
    domain: tuple[Range, ...]
    steps: tuple[Map, ...]
    states: frozenset[str]
    active: frozenset[str]
    whole: frozenset[str]

    @cached_property
    def own(self) -> tuple[tuple[Map, Store], ...]:
        """The statements that replace states."""
        return tuple((s, p) for s in self.steps for p in s.body if isinstance(p, Store) and p.array in self.states)

    @cached_property
    def places(self) -> Mapping[str, Load]:
        """Each state at a point, as it is first met."""
        found: dict[str, Load] = {}
        for n in self._touched():
            found.setdefault(n.array, n)
        return found

    def _touched(self) -> Iterator[Load]:
        for s in self.steps:
            here = self.states if self.states & writes(s) else self.states - self.whole
            for part in s.body:
                yield from (n for n in loads(part.expr) if n.array in here)
                if isinstance(part, Store) and part.array in here:
                    yield Load(part.array, part.index, part.expr.dtype)

    @property
    def dtype(self) -> np.dtype:
        return self.own[0][1].expr.dtype

    @property
    def is_pointwise(self) -> bool:
        """Whether every state has one place at a point, that of all iterations, and each statement replaces one."""
        single = all(len(s.body) == 1 and p.op is None for s, p in self.own)
        still = all(n == self.places[n.array] and n.dtype == self.dtype for n in self._touched())
        return single and still and all(is_pointwise(self.domain, n.index) and stays(n.index, self.loop)
                                        for n in self.places.values())

    @cached_property
    def tangents(self) -> tuple[Expr, ...]:
        """The tangent of what each of `own` stores."""
        return tuple(self.tangent(s) for s, _ in self.own)

    @property
    def is_nonlinear(self) -> bool:
        """Whether a derivative reads a state, which the next iteration replaces."""
        return any(n.array in self.states for e in self.tangents for n in loads(e))

    @property
    def inputs(self) -> set[Load]:
        """What is active and no state."""
        return {n for e in self.tangents for n in inputs(e) if n.array not in self.states}

    @property
    def carried(self) -> list[str]:
        """States of which the first iteration sees what was there before; all where there may be none."""
        runs = isinstance(self.loop, Loop) and self.loop.range.trips and not self.loop.until
        found: dict[str, None] = {} if runs else dict.fromkeys(sorted(self.states))
        made: set[str] = set()
        for s in self.steps:
            found |= dict.fromkeys(sorted(reads(s) & self.states - made))
            made |= writes(s)
        return list(found)

    def takes(self, x: Load) -> bool:
        """Whether a number is the same in all iterations, and its derivative a number like the states."""
        return x.dtype == self.dtype and x.array not in within(self.loop)[1] and stays(x.index, self.loop)

    def start(self, name: str, before: Sequence[Stmt], array: Array) -> Expr | None:
        """The tangent of a state when the loop begins, by what is active in the statements before; None where they do
        not say."""
        replaced: set[str] = set()
        for s in reversed(before):
            replaced |= within(s)[1]
            if name not in within(s)[1]:
                continue
            store = s.body[0] if isinstance(s, Map) and len(s.body) == 1 else None
            if not isinstance(s, Map) or not isinstance(store, Store) or store.op:
                return None
            here = in_terms_of(self.domain, s)
            whole = here is not None and writes_at(here, self.places[name])
            if self.active.isdisjoint(differentiable_loads(store.expr)):
                if whole or covers(s, store, array):
                    return algebra.zero(self.dtype)
                continue  # a part that holds nothing active
            later = name in frozenset().union(*(within(t)[1] for t in before[before.index(s) + 1:]))
            return self.tangent(here) if here and whole and not later and replaced.isdisjoint(reads(here)) else None
        return None

    def tangent(self, stmt: Map) -> Expr:
        """Of what a statement stores, by all that is active."""
        def name(array: str) -> str | None:
            return _TANGENT + array if array in self.active else None

        made = linearise(stmt, Tangents(name, _none_afresh, lambda array: array.startswith(_TANGENT)), answer=False)
        linear = made.linear[-1]
        if not isinstance(linear, Map):
            raise TypeError("a map has a linear map")
        return linear.body[0].expr


def chain_of(stmt: Stmt, active: frozenset[str], arrays: Mapping[str, Array]) -> Chain | None:
    """The pointwise computation that a loop repeats, when it is nonlinear; None where it does something else."""
    if not isinstance(stmt, (Loop, While)) or communicates(stmt.body) or isinstance(stmt, Loop) and (
            stmt.parallel or stmt.behind):
        return None
    if isinstance(stmt, Loop) and stmt.range.trips in (0, 1):
        return None
    states = within(stmt)[1] & active
    first = next((s for s in stmt.body if not writes(s).isdisjoint(states)), None)
    if not isinstance(first, Map) or not stays((i for r in first.domain for i in (r.start, r.stop)), stmt):
        return None
    whole = {p.array for s in stmt.body if isinstance(s, Map) for p in s.body
             if isinstance(p, Store) and p.array in states and covers(s, p, arrays[p.array])}
    steps: list[Map] = []
    for s in stmt.body:
        # What only looks at whole states may look anywhere.
        here = in_terms_of(first.domain, s) if isinstance(s, Map) and (
            states & writes(s) or states & reads(s) - whole) else s
        if not isinstance(here, Map):
            return None
        steps.append(here)
    chain = Chain(stmt, first.domain, tuple(steps), states, active, frozenset(whole))
    return chain if chain.is_pointwise and chain.is_nonlinear else None


def writes_at(stmt: Map, place: Load) -> bool:
    """Whether the statement's first store replaces this element."""
    first = stmt.body[0]
    return isinstance(first, Store) and (first.array, first.index) == (place.array, place.index)


def stays(index: Iterable[Ix], loop: Loop | While) -> bool:
    """Whether places are the same in all iterations."""
    own, written = {r.var for r in own_ranges(loop)}, within(loop)[1]
    return not any(own & i.symbols or not written.isdisjoint(e.array for e in i.elems) for i in index)


def _parts(tangent: Expr) -> bool:
    """Whether the parts of a complex number go different ways: then its derivative is no complex number."""
    return any(isinstance(n, Call) and n.fn in _OF_PARTS for n in walk(tangent))


def _none_afresh(stem: str, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    raise TypeError("a plain store needs no temporary")


def inputs(tangent: Expr) -> set[Load]:
    """What a tangent is linear in."""
    return {replace(n, array=n.array.removeprefix(_TANGENT)) for n in loads(tangent) if _is_tangent(n)}


def _is_tangent(n: Expr) -> bool:
    return isinstance(n, Load) and n.array.startswith(_TANGENT)


@dataclass(frozen=True)
class _Carried:
    """A chain with its derivative by `x` beside it. starts: tangents of the states that it carries when it begins.
    values, slopes: the arrays that stand for its states."""

    chain: Chain
    x: Load
    starts: Mapping[str, Expr]
    values: Mapping[str, str]
    slopes: Mapping[str, str]

    @property
    def tangents(self) -> tuple[Expr, ...]:
        return (*self.chain.tangents, *self.starts.values())

    @property
    def is_possible(self) -> bool:
        """Whether `x` is the same in all iterations, and its derivative a number."""
        parts = self.x.dtype.kind == "c" and any(map(_parts, self.tangents))
        own = self.x == self.chain.places.get(self.x.array)
        return not parts and (own or self.chain.takes(self.x))

    def begin(self) -> Iterator[Stmt]:
        for name, tangent in self.starts.items():
            start = finish(rewrite(tangent, lambda n: algebra.number(1, n.dtype) if _is_tangent(n) else None))
            yield self._set(self.values[name], name, Call("passive", (self.chain.places[name],), self.chain.dtype))
            yield self._set(self.slopes[name], name, rewrite(start, self._outside))

    def loop(self) -> Stmt:
        tangents = iter(self.chain.tangents)
        body: list[Stmt] = []
        for s in self.chain.steps:
            store = s.body[0]
            if isinstance(store, Store) and store.array in self.chain.states:
                slope = finish(rewrite(next(tangents), self._tangent))
                body.append(self._set(self.slopes[store.array], store.array, rewrite(slope, self._inside)))
                body.append(self._set(self.values[store.array], store.array, rewrite(store.expr, self._inside)))
            else:
                body.append(map_exprs(s, lambda e: rewrite(e, self._inside)))
        return replace(self.chain.loop, body=tuple(body))

    def end(self, names: Iterable[str]) -> Iterator[Stmt]:
        for name in names:
            at = self.chain.places[name]
            value, slope = replace(at, array=self.values[name]), replace(at, array=self.slopes[name])
            yield self._set(name, name, Call("with_partial", (value, slope, self.x), at.dtype))

    def _set(self, array: str, state: str, e: Expr) -> Map:
        return Map(self.chain.domain, (Store(array, self.chain.places[state].index, e),), self.chain.loop.source)

    def _tangent(self, n: Expr) -> Expr | None:
        if not isinstance(n, Load) or not _is_tangent(n):
            return None
        name = n.array.removeprefix(_TANGENT)
        return replace(n, array=self.slopes[name]) if name in self.slopes else algebra.number(1, n.dtype)

    def _inside(self, n: Expr) -> Expr | None:
        """What is read in the loop: values of its own, and nothing active."""
        if isinstance(n, Load) and n.array in self.values:
            return replace(n, array=self.values[n.array])
        return self._outside(n)

    def _outside(self, n: Expr) -> Expr | None:
        return Call("passive", (n,), n.dtype) if isinstance(n, Load) and n.array in self.chain.active else None


class _Rewriting:
    """A program, one loop after the other."""

    def __init__(self, program: Program, active: frozenset[str], seen: frozenset[str]) -> None:
        self.program = program
        self.active = active
        self.seen = seen
        self.arrays = dict(program.arrays)

    def done(self) -> Program:
        body = rebuild_blocks(self.program.body, self.block)
        return self.program if len(self.arrays) == len(self.program.arrays) else \
            self.program.but(body=body, arrays=self.arrays)

    def block(self, block: list[Stmt]) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            chain = chain_of(stmt, self.active, self.program.arrays)
            out += [stmt] if chain is None else self.rewritten(chain, out)
        return tuple(out)

    def rewritten(self, chain: Chain, before: Sequence[Stmt]) -> list[Stmt]:
        """The loop with its derivative by the one active number that goes in; the loop itself where there are more."""
        values, slopes = self.declared(VALUE, chain), self.declared(SLOPE, chain)
        for starts in self.starts(chain, before):
            found = chain.inputs.union(*map(inputs, starts.values()))
            made = _Carried(chain, next(iter(found)), starts, values, slopes) if len(found) == 1 else None
            if made is not None and made.is_possible:
                # The number itself, when it is a state, is replaced last.
                ends = sorted((n for n in chain.states if self.is_looked_at(n, chain.loop)),
                              key=lambda n: (n == made.x.array, n))
                self.arrays |= {n: replace(self.arrays[state], name=n, role="transient", label="")
                                for new in (values, slopes) for state, n in new.items()}
                return [*made.begin(), made.loop(), *made.end(ends)]
        return [chain.loop]

    def starts(self, chain: Chain, before: Sequence[Stmt]) -> Iterator[Mapping[str, Expr]]:
        """Tangents of the states when the loop begins: by what is active before it, and by themselves."""
        found = {n: chain.start(n, before, self.arrays[n]) for n in chain.carried}
        own = {n: replace(chain.places[n], array=_TANGENT + n) for n in chain.carried}
        yield {n: own[n] if e is None else e for n, e in found.items()}
        yield {n: own[n] if e is None or inputs(e) else e for n, e in found.items()}

    def declared(self, stem: str, chain: Chain) -> Mapping[str, str]:
        """A name for each state."""
        return {state: fresh(stem + state, self.arrays) for state in sorted(chain.states)}

    def is_looked_at(self, name: str, loop: Loop | While) -> bool:
        """Whether anybody but the loop reads a state."""
        inner = {id(s) for s in loop.body}
        return name in self.seen or any(name in reads(s) for s in statements(self.program.body) if id(s) not in inner)
