"""Write the next state where it is going to be kept, instead of copying it there at the start of the next iteration."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from sdfgad.analysis.elements.cover import covers
from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Program, Stmt, Store, View, over
from sdfgad.ir.walk import reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import Box, size, stored_box, take_out
from sdfgad.transform.clearing.stale import whole
from sdfgad.transform.spelling import only_store


def write_ahead(program: Program) -> Program:
    """for n = 0:N: { t[n] = s ; s[inner] = f(t[n]) } ; y = g(s)
    ->   t[0] = s ; for n = 0:N: { t[n + 1, rim] = t[n, rim] ; t[n + 1, inner] = f(t[n]) } ; y = g(t[N])

    For an argument s that nobody looks at but the copy and what comes behind the loop, and that nobody else writes; t
    is nobody's but the program's (`keep`: arrays somebody reads after it) and made by the copy alone. It gets room for
    one more state, and the caller's array need not be copied any more.
    """
    fixed = program.live_out
    position = 0
    written = _written(program)
    while position < len(program.body):
        step = _first_step(program, position, fixed, written)
        if step is not None:
            program = _ahead(program, position, step)
            written = _written(program)
        position += 1  # The loop stands one statement further on when it has changed: it is looked at again.
    return program


@dataclass(frozen=True)
class _Step:
    """A loop that starts by copying a state to its place among the states of all iterations.

    place: of the copy in the body; store: what it does; states, state: the arrays; now: the number of the iteration;
    rim: what of the state no iteration replaces.
    """

    loop: Loop
    place: int
    copy: Map
    store: Store
    states: Array
    state: Array
    now: Ix
    rim: tuple[Box, ...]


def _written(program: Program) -> Mapping[str, int]:
    """How many statements write an array."""
    return Counter(name for stmt in statements(program.body) for name in writes(stmt))


def _first_step(program: Program, position: int, keep: frozenset[str], written: Mapping[str, int]) -> _Step | None:
    loop = program.body[position]
    if not isinstance(loop, Loop) or loop.until is not None or loop.parallel or loop.range.step != 1 or \
            (loop.range.trips or 0) < 2:
        return None
    steps = (_step(program, loop, k, keep, written) for k in range(len(loop.body)))
    return next((s for s in steps if s is not None), None)


def _step(program: Program, loop: Loop, place: int, keep: frozenset[str],
          written: Mapping[str, int]) -> _Step | None:
    """The copy at a place of a loop's body, when the state can be written ahead."""
    copy = loop.body[place]
    store = only_store(copy) if isinstance(copy, Map) else None
    if not isinstance(copy, Map) or store is None or store.op is not None or not isinstance(store.expr, Load):
        return None
    states, state = program.arrays[store.array], program.arrays[store.expr.array]
    now = ix(loop.range.var) - loop.range.start
    if states.shape != (loop.range.trips, *state.shape) or not state.shape or states.dtype != state.dtype or \
            store.index != (now, *store.expr.index) or not covers(copy, replace(store, index=store.expr.index), state):
        return None
    if not _own(program, states, state, keep) or not _only_made_here(written, loop, place, states, state):
        return None
    rim = _rim(loop.body[place + 1:], state)
    return None if rim is None else _Step(loop, place, copy, store, states, state, now, rim)


def _own(program: Program, states: Array, state: Array, keep: frozenset[str]) -> bool:
    """Whether one array is the program's and the other one an argument, both of numbers that decide no places."""
    return states.role == "transient" and state.role == "argument" and states.packing is None and \
        state.packing is None and keep.isdisjoint({states.name, state.name}) and state.dtype.kind in "fc"


def _only_made_here(written: Mapping[str, int], loop: Loop, place: int, states: Array, state: Array) -> bool:
    """Whether the copy alone writes the states, and only maps behind it the state, which the loop does not read."""
    copy, behind = loop.body[place], loop.body[place + 1:]
    if written[states.name] > 1 or written[state.name] > sum(state.name in writes(s) for s in behind):
        return False
    inside = [s for s in statements(loop.body) if s is not copy]
    return not any(state.name in reads(s) for s in inside) and \
        all(isinstance(s, Map) for s in behind if state.name in writes(s))


def _rim(behind: Block, state: Array) -> tuple[Box, ...] | None:
    """What of the state some statements do not replace, in boxes; None when there is too much or too many of them."""
    rest = [whole(state)]
    for stmt in behind:
        for part in stmt.body if isinstance(stmt, Map) else ():
            if isinstance(part, Store) and part.array == state.name:
                if part.op is not None:
                    return None
                box = stored_box(stmt, part) if isinstance(stmt, Map) else None
                rest = rest if box is None else [piece for r in rest for piece in take_out(r, box)]
                if len(rest) > thresholds().handed_on_pieces:
                    return None
    return tuple(rest) if sum(map(size, rest)) <= thresholds().handed_on * prod(state.shape) else None


def _ahead(program: Program, position: int, step: _Step) -> Program:
    """The program that writes the state where the next iteration looks for it."""
    body = step.loop.body
    ahead = step.now + 1
    handed_on = (_handing_on(step, sides) for sides in step.rim)
    inside = (*body[:step.place], *handed_on, *(_storing(s, step, ahead) for s in body[step.place + 1:]))
    start = replace(step.copy, body=(replace(step.store, index=(ix(0), *step.store.index[1:])),))
    last = ix(step.loop.range.trips or 0)
    rest = rebuild(program.body[position + 1:], lambda s: (_reading(s, step, last),))
    states = replace(step.states, shape=(step.states.shape[0] + 1, *step.states.shape[1:]))
    return program.but(body=(*program.body[:position], start, replace(step.loop, body=inside), *rest),
                       arrays={**program.arrays, states.name: states})


def _handing_on(step: _Step, sides: Box) -> Map:
    """Elements that no iteration replaces."""
    domain = over(sides)
    at = tuple(ix(r.var) for r in domain)
    value = Load(step.states.name, (step.now, *at), step.states.dtype)
    return Map(domain, (Store(step.states.name, (step.now + 1, *at), value),), step.copy.source)


def _storing(stmt: Stmt, step: _Step, version: Ix) -> Stmt:
    if not isinstance(stmt, Map) or step.state.name not in writes(stmt):
        return stmt
    body = tuple(replace(p, array=step.states.name, index=(version, *p.index))
                 if isinstance(p, Store) and p.array == step.state.name else p for p in stmt.body)
    return replace(stmt, body=body)


def _reading(stmt: Stmt, step: _Step, version: Ix) -> Stmt:
    """A statement, not what it holds, that looks for the state among the states."""
    if step.state.name not in reads(stmt):
        return stmt

    def moved(n: Expr) -> Expr | None:
        return Load(step.states.name, (version, *n.index), n.dtype) \
            if isinstance(n, Load) and n.array == step.state.name else None

    if isinstance(stmt, Map):
        return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, moved)) for p in stmt.body))
    if isinstance(stmt, Lib):
        ins = (View(step.states.name, v.shape, (version, *v.index), v.dtype) if v.array == step.state.name else v
               for v in stmt.ins)
        return replace(stmt, ins=tuple(ins))
    return replace(stmt, cond=rewrite(stmt.cond, moved)) if isinstance(stmt, If) else stmt
