"""Derivatives of routines are written out: `pushed` becomes the forward mode, `pulled` the reverse mode of the routine.

t = pushed(v, x, read...)   ->   tan_x = v ; (the tangent program of the routine) ; t = tan_y
c = pulled(g, x, read...)   ->   seed = g ; (the gradient program of the routine, which stores everything) ; c = grad_x

What comes out are statements like any other, to be differentiated once more where a second derivative is asked for.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sdfgad.errors import unsupported
from sdfgad.ir.own import OWN, PULLED, PUSHED, DerivativeRule, Routine
from sdfgad.ir.program import FAILED, Array, Block, Lib, Program, Push, Stmt, View
from sdfgad.ir.verify import PREPARED
from sdfgad.ir.walk import all_reads, all_variables, all_writes, rebuild, statements, with_other_loops
from sdfgad.names import fresh
from sdfgad.reverse.forward_mode import made_again, tangent
from sdfgad.reverse.made import ReverseRequest
from sdfgad.reverse.sweeps import gradient
from sdfgad.reverse.transpose import clear
from sdfgad.rules.linear import strong_products_kept
from sdfgad.transform.dropping.dead import without_dead_code
from sdfgad.transform.passes import Stage
from sdfgad.transform.routines import copied, on_arrays, operands
from sdfgad.transform.stages import PREPARE, TABULATE

_NORMAL = Stage("prepare", tuple(p for p in PREPARE.passes if p is not TABULATE), PREPARED)
"""Normal form without new constants, which routines cannot have."""


class _SecondOfTapes(Exception):
    """A derivative is asked for of one that keeps growable tapes."""


def written_out(program: Program) -> Program:
    """The program without derivatives of routines, in routines neither; it has some (`has_routines`)."""
    arrays = dict(program.arrays)
    writer = _Writer(program, _names(program))
    try:
        with strong_products_kept():
            body = writer.block(program.body, arrays)
    except _SecondOfTapes as error:
        raise unsupported(error.args[0],
                          "a second derivative of a loop of unknown length inside an equation or a gradient",
                          "give the loop a bound known in advance", "SG136") from None
    return program.but(body=body, arrays=MappingProxyType(arrays))


def _names(program: Program) -> set[str]:
    """Every name of an array or a variable, in routines too."""
    found = {*program.arrays, *all_variables(program.body)}
    for routine in _routines(program.body):
        found |= {*routine.arrays, *routine.read, *all_variables(routine.body), *all_writes(routine.body)}
    return found


def _routines(block: Block) -> Iterator[Routine]:
    for stmt in statements(block):
        if isinstance(stmt, Lib) and stmt.op in (OWN, PUSHED, PULLED):
            for routine in (stmt.attrs["rule"].routines if stmt.op == OWN else (stmt.attrs["of"],)):
                yield routine
                yield from _routines(routine.body)


@dataclass
class _Writer:
    """program: the one around all of it. taken: names that are in use."""

    program: Program
    taken: set[str]

    def block(self, block: Block, arrays: dict[str, Array]) -> Block:
        """The statements; `arrays` gets those that are made."""
        return rebuild(block, lambda s: self.statement(s, arrays))

    def statement(self, stmt: Stmt, arrays: dict[str, Array]) -> Block:
        if not isinstance(stmt, Lib) or stmt.op not in (OWN, PUSHED, PULLED):
            return (stmt,)
        if stmt.op == OWN:
            rule: DerivativeRule = stmt.attrs["rule"]
            try:
                forward = rule.forward and self.routine(rule.forward)
            except _SecondOfTapes:  # for a second derivative, which goes through the solver of the linear system then
                forward = None
            rule = replace(rule, forward=forward, reverse=rule.reverse and self.routine(rule.reverse))
            return (_without_unread(stmt, rule),)
        return _Place(self, stmt, self.routine(stmt.attrs["of"]), arrays).written()

    def routine(self, routine: Routine) -> Routine:
        arrays = dict(routine.arrays)
        body = self.block(routine.body, arrays)
        whole = self.program.but(body=body, arrays={**self.program.arrays, **arrays}, arguments=())
        body = without_dead_code(whole, (FAILED, *(n for n in routine.gives if n is not None))).body
        return replace(routine, body=body, arrays=MappingProxyType(arrays))

    def fresh(self, name: str) -> str:
        made = fresh(name, self.taken)
        self.taken.add(made)
        return made


def _without_unread(stmt: Lib, rule: DerivativeRule) -> Lib:
    """The operation without operands that no routine reads, so that nothing has to keep them."""
    used = set().union(*(all_reads(r.body) for r in rule.routines))
    inputs = [k for k in range(rule.count) if rule.forward and rule.forward.takes[k] in used
              or rule.reverse and rule.reverse.gives[k] is not None]
    kept = [k for k, name in enumerate(rule.read) if name in used]
    ins = (stmt.ins[0], *(stmt.ins[1 + k] for k in inputs), *(stmt.ins[1 + rule.count + k] for k in kept))
    rule = replace(rule, count=len(inputs), read=tuple(rule.read[k] for k in kept),
                   forward=rule.forward and replace(rule.forward, takes=tuple(rule.forward.takes[k] for k in inputs)),
                   reverse=rule.reverse and replace(rule.reverse, gives=tuple(rule.reverse.gives[k] for k in inputs)))
    return replace(stmt, ins=ins, attrs=MappingProxyType({**stmt.attrs, "rule": rule}))


@dataclass
class _Place:
    """One derivative of a routine: `stmt` in a block whose arrays are `arrays`."""

    writer: _Writer
    stmt: Lib
    of: Routine
    arrays: dict[str, Array]

    @property
    def views(self) -> dict[str, View]:
        """The operands that are no tangents, by their names in the routine."""
        names = (*self.of.takes, *self.of.read)
        return dict(zip(names, self.stmt.ins[-len(names):], strict=True))

    def written(self) -> Block:
        if any(isinstance(s, Push) for s in statements(self.of.body)):
            raise _SecondOfTapes(self.stmt.source)
        views = self.views
        given, copies = operands(tuple(views), tuple(views.values()), self.declare, self.stmt.source)
        for name in sorted(given.keys() & all_writes(self.of.body)):
            given[name] = self.declare(f"own_{name}", _extents(views[name]), views[name].dtype).name
            copies.append(copied(self.arrays[given[name]].whole, views[name], None, self.stmt.source))
        way = self.pushed if self.stmt.op == PUSHED else self.pulled
        body, made = way(self.stmt.ins[:-len(views)], given)
        out = [clear(v, self.stmt) if n is None else copied(v, self.arrays[n].whole, None, self.stmt.source)
               for v, n in zip(self.stmt.outs, made, strict=True)]
        return (*copies, *body, *out)

    def pushed(self, tangents: tuple[View, ...], given: Mapping[str, str]) -> tuple[Block, list[str | None]]:
        by: tuple[str, ...] = self.stmt.attrs["by"]
        program = made_again(self.program_of(self.of.gives[0] or ""))
        made = tangent(program, by)
        starts, names = list[Stmt](), dict(given)
        for name, view in zip(by, tangents, strict=True):
            array = made.program.arrays[made.arguments[name] or ""]
            names[array.name] = self.declare(f"own_{name}", array.shape, array.dtype).name
            starts.append(copied(self.arrays[names[array.name]].whole, view, None, self.stmt.source))
        result = made.view(program.returns)
        body = self.put(made.program, names, () if result is None else (result.array,))
        return (*starts, *body), [None if result is None else names[result.array]]

    def pulled(self, cotangents: tuple[View, ...], given: Mapping[str, str]) -> tuple[Block, list[str | None]]:
        by: tuple[str, ...] = self.stmt.attrs["by"]
        program = self.program_of(self.of.gives[0] or "")
        made = gradient(program, ReverseRequest(by, (program.returns,), "arguments"))
        seed = made.program.arrays[made.seeds[0]]
        names = {**given, seed.name: self.declare("own_seed", seed.shape, seed.dtype).name}
        start = copied(self.arrays[names[seed.name]].whole, cotangents[0], None, self.stmt.source)
        found = [made.gradients[n] for n in by]
        body = self.put(made.program, names, made.results)
        return (start, *body), [None if n is None else names[n] for n in found]

    def program_of(self, result: str) -> Program:
        """The routine as a program in normal form."""
        arguments = {n: Array(n, _extents(v), v.dtype, "argument") for n, v in self.views.items()}
        arrays = {**self.of.arrays, **arguments}
        failed = {FAILED: self.writer.program.arrays[FAILED]} if FAILED in self.writer.program.arrays else {}
        view = arrays[result].whole
        program = Program("routine", MappingProxyType({**arrays, **failed}), tuple(arguments), self.of.body, view,
                          failures=self.writer.program.failures, lookups=self.writer.program.lookups)
        return _NORMAL(program.but(live_out=frozenset({result, *program.watched})))

    def put(self, program: Program, names: dict[str, str], results: Sequence[str]) -> Block:
        """What gives the results of a program, among the statements around the place; `names` gets what its arrays are
        called there."""
        program = made_again(without_dead_code(program, (*results, *program.watched)))
        for array in program.arrays.values():
            if array.name not in names and array.name != FAILED:
                role = "tape" if array.role == "tape" else "transient"
                names[array.name] = self.declare(f"own_{array.name}", array.shape, array.dtype, role).name
        return with_other_loops(on_arrays(program.body, names), self.writer.taken)

    def declare(self, name: str, shape: tuple[int, ...], dtype: np.dtype, role: str = "transient") -> Array:
        made = Array(self.writer.fresh(name), shape, dtype, role, source=self.stmt.source)
        self.arrays[made.name] = made
        return made


def _extents(view: View) -> tuple[int, ...]:
    return tuple(n.const or 0 for n in view.shape)
