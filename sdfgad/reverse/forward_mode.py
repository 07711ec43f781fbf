"""Forward mode: each statement is preceded (or, when it reads its own answer, followed) by its linear program."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sdfgad.analysis.reversal.activity import varied_arrays
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Pop, Program, Push, Stmt, View, While
from sdfgad.ir.walk import writes
from sdfgad.reverse.naming import Names
from sdfgad.reverse.transpose import clear
from sdfgad.rules.linearise import finish_stmt, linearise


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
    names = Names(dict(program.arrays), varied_arrays(program, wrt), "tan_")
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


def _block(block: Block, names: Names) -> Block:
    return tuple(s for stmt in block for s in _statement(stmt, names))


def _statement(stmt: Stmt, names: Names) -> list[Stmt]:
    if isinstance(stmt, (Loop, While)):
        return [replace(stmt, body=_block(stmt.body, names))]
    if isinstance(stmt, If):
        return [replace(stmt, then=_block(stmt.then, names), orelse=_block(stmt.orelse, names))]
    if isinstance(stmt, (Push, Pop)) and names.tangent(stmt.tape):
        return [replace(stmt, tape="tan_" + stmt.tape), stmt]
    if not isinstance(stmt, (Map, Lib)) or not any(names.tangent(n) for n in writes(stmt)):
        return [stmt]
    lin = linearise(stmt, names.tangents(), answer=False)
    ready = [finish_stmt(s) for s in (*lin.prep, *lin.linear)]
    return [stmt, *ready] if lin.after else [*ready, stmt]
