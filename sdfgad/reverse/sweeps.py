"""The gradient program: the forward sweep with its records, the seeds, and the reverse sweep.

The reverse sweep undoes the program: at each statement it adds to the cotangents and puts back what the statement
overwrote, so memory always holds what it held when the statement ran, as far as anybody looks.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sdfgad.analysis.access import Site, sites, writes_of
from sdfgad.analysis.activity import active_arrays
from sdfgad.analysis.needed import Needed, needed
from sdfgad.ir import algebra
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Elem, Ix, ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Range, Stmt, Store, View, While
from sdfgad.ir.walk import reads, statements, writes
from sdfgad.names import fresh
from sdfgad.reverse.naming import Names
from sdfgad.reverse.storage import Kept, Storage, ends_of_blocks, lay_out, rebuilt_blocks, views_of
from sdfgad.reverse.tape import Record, record
from sdfgad.reverse.transpose import Scope, clear, transpose


@dataclass(frozen=True)
class Request:
    """What to differentiate. wrt: argument arrays. outputs: views, one cotangent seed each.

    seeds: "ones", or "arguments": the program takes arrays seed_0, seed_1, ... shaped like the outputs.
    value: whether the program must also deliver its value.
    """

    wrt: tuple[str, ...]
    outputs: tuple[View, ...]
    seeds: str = "ones"
    value: bool = False


@dataclass(frozen=True)
class Gradient:
    """The gradient program. gradients: result array for each name of `wrt` (None: identically zero).

    results: arrays the caller receives. kept: every value stored, or rebuilt, for the reverse sweep.
    """

    program: Program
    gradients: Mapping[str, str | None]
    results: tuple[str, ...]
    seeds: tuple[str, ...]
    kept: tuple[Kept, ...]


def gradient(program: Program, request: Request, recompute: frozenset[str] = frozenset()) -> Gradient:
    """The reverse-mode program of a normalised program.

    recompute: names of kept values to rebuild instead of storing; PlanNotExecutable when one cannot be.
    """
    seen = {v.array for v in (*request.outputs, *views_of(program.returns))}
    active = active_arrays(program, request.wrt, {v.array for v in request.outputs})
    storage = lay_out(program, active, seen, recompute)
    program = storage.program
    names = Names(dict(program.arrays), active, "grad_", storage.versions)
    for name in sorted(active):
        a = program.arrays[name]
        names.arrays["grad_" + name] = Array("grad_" + name, a.shape[storage.versions.get(name, 0):], a.dtype,
                                             source=a.source, label=a.label)
    place = sites(program.body)
    facts = needed(program, names.tangents(), names.scratch, ends_of_blocks(program, storage.rebuild), storage.inline)
    sweeps = _Sweeps(names, facts, place, storage)
    forward = sweeps.forward(program.body)
    backward = sweeps.backward(program.body)
    seeds = [names.declare(f"seed_{k}", tuple(n.const or 0 for n in v.shape), v.dtype, "argument")
             for k, v in enumerate(request.outputs)] if request.seeds == "arguments" else []
    returns, copies = _keep_results(program.returns, backward, names) if request.value else (None, [])
    zeros = [clear(names.arrays["grad_" + n].whole, Map((), ())) for n in sorted(active)]
    body = (*forward, *copies, *zeros, *_seed(request, seeds, names), *backward)
    gradients = {n: names.tangent(n) for n in request.wrt}
    arguments = (*program.arguments, *(s.name for s in seeds))
    whole = program.but(body=body, arrays=names.arrays, arguments=arguments, returns=returns)
    results = tuple(n for n in gradients.values() if n is not None)
    return Gradient(whole, gradients, results, tuple(s.name for s in seeds), (*storage.kept, *sweeps.kept))


def _seed(request: Request, seeds: Sequence[Array], names: Names) -> list[Stmt]:
    out: list[Stmt] = []
    for k, view in enumerate(request.outputs):
        target = names.tangent(view.array)
        if target is None:
            continue
        domain = tuple(Range(f"c{d}", ix(0), n) for d, n in enumerate(view.shape))
        here = tuple(ix(r.var) for r in domain)
        value = Load(seeds[k].name, here, view.dtype) if seeds else algebra.number(1, view.dtype)
        out.append(Map(domain, (Store(target, view.at(here), value, "+"),)))
    return out


def _keep_results(returns: Any, backward: Block, names: Names) -> tuple[Any, list[Stmt]]:
    """Copy results the reverse sweep would change."""
    changed = {n for s in statements(backward) for n in writes(s)}
    copies: list[Stmt] = []

    def visit(tree: Any) -> Any:
        if isinstance(tree, (tuple, list)):
            return type(tree)(visit(t) for t in tree)
        if not isinstance(tree, View) or tree.array not in changed:
            return tree
        kept = names.declare(f"result_{tree.array}", tuple(n.const or 0 for n in tree.shape), tree.dtype)
        domain = tuple(Range(f"c{d}", ix(0), n) for d, n in enumerate(tree.shape))
        here = tuple(ix(r.var) for r in domain)
        copies.append(Map(domain, (Store(kept.name, here, Load(tree.array, tree.at(here), tree.dtype)),)))
        return kept.whole

    return visit(returns), copies


class _Sweeps:
    def __init__(self, names: Names, facts: Needed, place: Mapping[int, Site], storage: Storage) -> None:
        self.names = names
        self.facts = facts
        self.place = place
        self.records: dict[int, list[Record]] = {}
        self.kept: list[Kept] = []
        self.rebuilt = rebuilt_blocks(storage, place)
        self._record_all(storage)

    def _record_all(self, storage: Storage) -> None:
        lines = {self.place[id(s)].order: s.source.line for s in statements(storage.program.body) if s.source}
        for stmt in statements(storage.program.body):
            numbers = self.facts.recorded.get(id(stmt), ())
            accesses = writes_of(stmt, self.place[id(stmt)]) if numbers else []
            for n in {(accesses[n].array, accesses[n].index): n for n in numbers}.values():
                array = self.names.arrays[accesses[n].array]
                if array.name in storage.rebuild:
                    continue
                made = record(accesses[n], array, self.names.declare, stmt.source)
                self.records.setdefault(id(stmt), []).append(made)
                again = array.name in storage.light or array.name in storage.heavy
                stem = f"{array.name}@{stmt.source.line}" if stmt.source and not again else array.name
                name = fresh(stem, {k.name for k in self.kept})
                line = lines.get(self.facts.why[(id(stmt), n)].site.order, 0)
                self.kept.append(Kept(name, array.name, made.tape, made.bytes, stmt.source, f"needed by line {line}",
                                      again, storage.heavy.get(array.name, 0), array.name in storage.light))

    def recorded(self, stmt: Stmt) -> list[Record]:
        return self.records.get(id(stmt), [])

    def forward(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, (Loop, While)):
                out.append(replace(stmt, body=self.forward(stmt.body)))
            elif isinstance(stmt, If):
                out.append(replace(stmt, then=self.forward(stmt.then), orelse=self.forward(stmt.orelse)))
            else:
                out += [*(r.save for r in self.recorded(stmt)), stmt]
        return tuple(out)

    def backward(self, block: Block) -> Block:
        again = self.rebuilt.get(id(block[0]), []) if block else []
        return (*again, *(s for stmt in reversed(block) for s in self.undo(stmt)))

    def undo(self, stmt: Stmt) -> Block:
        if isinstance(stmt, If):
            then, orelse = self.backward(stmt.then), self.backward(stmt.orelse)
            return (replace(stmt, then=then, orelse=orelse),) if then or orelse else ()
        if isinstance(stmt, (Loop, While)):
            body = self.backward(stmt.body)
            return (Loop(reversed_range(stmt), body, stmt.source, label=stmt.label),) if body else ()
        restore = tuple(r.restore for r in reversed(self.recorded(stmt)))
        linear = self.facts.linear.get(id(stmt))
        if linear is None:
            return restore
        scope = Scope(self.names.is_tangent, self.names.fresh, self.place[id(stmt)].path)
        adjoint = (*linear.prep, *self._clear_scratch(linear.linear), *transpose(linear.linear, scope))
        return (*adjoint, *restore) if linear.after else (*restore, *adjoint)

    def _clear_scratch(self, linear: Block) -> list[Stmt]:
        used = {n for s in linear for n in reads(s) | writes(s)}
        return [clear(self.names.arrays[n].whole, linear[0]) for n in sorted(used)
                if n in self.names.scratch and self.names.is_tangent(n)]


def reversed_range(stmt: Loop | While) -> Range:
    """The same iterations, last first. A loop that may end early counts what it really ran."""
    if isinstance(stmt, While):
        return Range(f"{stmt.trips}_back", _scalar(stmt.trips) - 1, ix(-1), -1)
    r = stmt.range
    if stmt.trips is not None:
        trips = _scalar(stmt.trips)
    elif abs(r.step) == 1:
        return Range(r.var, r.stop - r.step, r.start - r.step, -r.step)
    else:
        trips = (r.stop - r.start + (r.step - (1 if r.step > 0 else -1))) // r.step
    return Range(r.var, r.start + (trips - 1) * r.step, r.start - (1 if r.step > 0 else -1), -r.step)


def _scalar(name: str) -> Ix:
    return Ix((((Elem(name, ()),), 1),))
