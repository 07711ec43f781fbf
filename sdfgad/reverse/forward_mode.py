"""Forward mode: each statement is preceded (or, when it reads its own answer, followed) by its linear program."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sdfgad.analysis.elements.access import interval_env, position, run_range
from sdfgad.analysis.reversal.activity import active_arrays
from sdfgad.errors import unsupported
from sdfgad.ir.expr import Expr, Load, Local, rewrite, walk
from sdfgad.ir.index import ix
from sdfgad.ir.messages import EXCHANGE, PAIRS, carries_derivatives, received, sent
from sdfgad.ir.own import OWN_LINEAR, DerivativeRule
from sdfgad.ir.program import (
    Array,
    Block,
    If,
    Let,
    Lib,
    Loop,
    Map,
    Pop,
    Program,
    Push,
    Range,
    Stmt,
    Store,
    View,
    While,
    axis,
    view_of,
    views_of,
)
from sdfgad.ir.walk import expr_reads, rebuild, writes
from sdfgad.names import fresh
from sdfgad.reverse.naming import Names
from sdfgad.reverse.transpose import clear
from sdfgad.rules.linearise import finish_stmt, linearise
from sdfgad.transform.routines import copied, operands, put_in


@dataclass(frozen=True)
class Tangent:
    """The tangent program. arguments: for each name of `wrt`, the array its tangent is passed in (None: no effect).

    view: where the tangent of a result lies.
    """

    program: Program
    arguments: Mapping[str, str | None]
    active: frozenset[str]

    def view(self, view: View) -> View | None:
        """The tangent of a view of the program, None when it is identically zero."""
        return View("tan_" + view.array, view.shape, view.index, view.dtype) if view.array in self.active else None


def tangent(program: Program, wrt: tuple[str, ...]) -> Tangent:
    """The forward-mode program of a normalised program."""
    # What the results do not depend on, as the iterations of an implicit function, needs no derivative rule.
    active = active_arrays(program, wrt, {v.array for v in views_of(program.returns)}) | frozenset(wrt)
    names = Names(dict(program.arrays), active, "tan_")
    for name in sorted(names.active):
        a = program.arrays[name]
        role = "argument" if name in wrt else "tape" if a.role == "tape" else "transient"
        names.arrays["tan_" + name] = Array("tan_" + name, a.shape, a.dtype, role, a.source, a.label)
    zeros: list[Stmt] = [clear(names.arrays["tan_" + n].whole, Map((), ())) for n in sorted(names.active - set(wrt))
                         if names.arrays["tan_" + n].role != "tape"]
    body = (*zeros, *_block(program.body, names))
    arguments = {n: names.tangent(n) for n in wrt}
    passed = (*program.arguments, *(n for n in arguments.values() if n is not None))
    whole = program.but(body=body, arrays=names.arrays, arguments=passed)
    return Tangent(whole, arguments, names.active)


def made_again(program: Program) -> Program:
    """A gradient program as one to be differentiated once more.

    map i: { let v = x[i] ; x[i] = f(v) ; y[i] += g(v) }
    ->   map i: v[i] = x[i] ; map i: x[i] = f(v[i]) ; map i: y[i] += g(v[i])

    For statements that read what they have just written, or names of what they replace. No iteration looks at what
    another one writes, so all of them may do the first part first. And a derivative takes the vectors of a
    decomposition even where the function itself looks at its values alone.
    """
    arrays = dict(program.arrays)

    def change(stmt: Stmt) -> Block:
        if isinstance(stmt, Lib) and "vectors" in stmt.attrs:
            attrs = {name: value for name, value in stmt.attrs.items() if name != "vectors"}
            return (replace(stmt, attrs=MappingProxyType(attrs)),)
        return tuple(_parts(stmt, arrays)) if isinstance(stmt, Map) and _reads_itself(stmt) else (stmt,)

    body = rebuild(program.body, change)
    return program.but(body=body, arrays=arrays) if body != program.body else program


def _reads_itself(stmt: Map) -> bool:
    """Whether what an earlier store of a body has written is read by a later one, or by a name that it uses."""
    written: set[str] = set()
    named: dict[str, set[str]] = {}
    for part in stmt.body:
        found = expr_reads(part.expr).union(*(named.get(n.name, ()) for n in walk(part.expr) if isinstance(n, Local)))
        if isinstance(part, Let):
            named[part.name] = found
        elif written & found:
            return True
        else:
            written.add(part.array)
    return False


def _parts(stmt: Map, arrays: dict[str, Array]) -> Iterator[Map]:
    """A statement for each part of the body. Names become arrays, which `arrays` gets."""
    extents = [r.trips for r in stmt.domain]
    place = position(stmt)
    known: dict[str, Load] = {}

    def read(n: Expr) -> Expr | None:
        return known[n.name] if isinstance(n, Local) else None

    for part in stmt.body:
        expr = rewrite(part.expr, read)
        if isinstance(part, Store):
            yield replace(stmt, body=(replace(part, expr=expr),))
            continue
        if None in extents:
            raise unsupported(stmt.source, "a statement that reads what it has just written", "split it", "SG190")
        name = fresh(part.name, arrays)
        arrays[name] = Array(name, tuple(n or 0 for n in extents), expr.dtype)
        known[part.name] = Load(name, place, expr.dtype)
        yield replace(stmt, body=(Store(name, place, expr),))


def _block(block: Block, names: Names, path: tuple[Range, ...] = ()) -> Block:
    return tuple(s for stmt in block for s in _statement(stmt, names, path))


def _statement(stmt: Stmt, names: Names, path: tuple[Range, ...]) -> list[Stmt]:
    if isinstance(stmt, (Loop, While)):
        return [replace(stmt, body=_block(stmt.body, names, (*path, run_range(stmt))))]
    if isinstance(stmt, If):
        return [replace(stmt, then=_block(stmt.then, names, path), orelse=_block(stmt.orelse, names, path))]
    if carries_derivatives(stmt) and stmt.attrs["kind"] == EXCHANGE:
        return _side_by_side(stmt, names)
    if isinstance(stmt, (Push, Pop)) and names.tangent(stmt.tape):
        return [replace(stmt, tape="tan_" + stmt.tape), stmt]
    if not isinstance(stmt, (Map, Lib)) or not (
            carries_derivatives(stmt) or any(names.tangent(n) for n in writes(stmt))):
        return [finish_stmt(stmt)]
    lin = linearise(stmt, replace(names.tangents(), around=interval_env(path)), answer=False)
    ready = [finish_stmt(part) for s in (*lin.prep, *lin.linear) for part in _written_out(s, names)]
    stmt = finish_stmt(stmt)
    return [stmt, *ready] if lin.after else [*ready, stmt]


def _side_by_side(stmt: Lib, names: Names) -> list[Stmt]:
    """y = exchange(x)   ->   [y, dy] = exchange([x, dx]): one message for both, side by side.

    Ranks may send two messages at once and receive them one after the other, from anybody. A tangent that is a message
    of its own would come between them.
    """
    before: list[Stmt] = []
    behind: list[Stmt] = []

    def pair(view: View, goes: bool) -> View:
        shape = tuple(n.const or 0 for n in view.shape)
        both = names.declare("pair", (*shape, 2), view.dtype)
        for k, one in enumerate((view, names.tangents().view(view))):
            assert one is not None  # all that messages bring is active
            part = View(both.name, view.shape, (*(ix(axis(d)) for d in range(len(shape))), ix(k)), view.dtype)
            before.extend([copied(part, one, None, stmt.source)] if goes else [])
            behind.extend([] if goes else [copied(one, part, None, stmt.source)])
        return view_of(both)

    out, into = sent(stmt), received(stmt)
    ins = (*(pair(v, True) for v in out), *stmt.ins[len(out):])
    outs = (*(pair(v, False) for v in into), *stmt.outs[len(into):])
    attrs = MappingProxyType({**stmt.attrs, PAIRS: True})
    return [*before, replace(stmt, ins=ins, outs=outs, attrs=attrs), *behind]


def _written_out(stmt: Stmt, names: Names) -> Block:
    """A linear statement, as the forward routine where it is that of an operation with a rule of its own."""
    if not isinstance(stmt, Lib) or stmt.op != OWN_LINEAR:
        return (stmt,)
    rule: DerivativeRule = stmt.attrs["rule"]
    if rule.forward is None:
        raise unsupported(stmt.source, f"forward mode through {rule.name}, which has a reverse rule",
                          "use grad or vjp, or give it a forward rule, too: f.defjvp(rule)", "SG135")
    tangents = dict(zip(stmt.attrs["inputs"], stmt.ins, strict=False))
    given, copies = operands((*rule.read, *((rule.answer,) if rule.answer else ())), stmt.ins[len(tangents):],
                             names.fresh, stmt.source)
    body, arrays = put_in(rule.forward, given, names.fresh)
    taken = [copied(arrays[name], tangents[k], None, stmt.source) if k in tangents else clear(arrays[name], stmt)
             for k, name in enumerate(rule.forward.takes)]
    name = rule.forward.gives[0]
    out = clear(stmt.outs[0], stmt) if name is None else copied(stmt.outs[0], arrays[name], None, stmt.source)
    return (*copies, *taken, *body, out)
