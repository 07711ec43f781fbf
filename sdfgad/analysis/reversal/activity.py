"""Which arrays carry derivatives: those that depend on an input asked for and that an output depends on."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sdfgad.ir.expr import Call, Expr, Load, Local, rewrite, walk
from sdfgad.ir.messages import OP, carries_derivatives, messages, received, sent
from sdfgad.ir.own import OWN
from sdfgad.ir.program import Block, Let, Lib, Map, Program, Store
from sdfgad.ir.walk import statements
from sdfgad.rules import registry

_FIRST_ACTIVE: Mapping[str, int] = MappingProxyType({"select": 1, "with_partial": 2, "attached": 1})
"""The first operand that a function is differentiated by, where that is not the first of all."""


def active_arrays(program: Program, wrt: Iterable[str], outputs: Iterable[str]) -> frozenset[str]:
    """Names of the floating and complex arrays on some path from `wrt` to `outputs`."""
    edges, (out, into) = list(_flows(program.body)), _traffic(program.body)
    varied, useful = _reach({*wrt, *into}, edges), _reach({*outputs, *out}, [(b, a) for a, b in edges])
    return frozenset((varied & useful) | out | into)


def _traffic(block: Block) -> tuple[frozenset[str], frozenset[str]]:
    """Arrays that messages with derivatives take out of the program, and bring into it. What other ranks depend on, and
    whether they wait, is known there alone: all of these are active here."""
    found = [s for s in messages(block) if carries_derivatives(s)]
    return (frozenset(v.array for s in found for v in sent(s)), frozenset(v.array for s in found for v in received(s)))


def differentiable_loads(e: Expr) -> set[str]:
    """Arrays whose change moves the expression to first order."""
    return {n.array for n in walk(e, _differentiable) if isinstance(n, Load) and n.dtype.kind in "fc"}


def _differentiable(e: Expr) -> tuple[Expr, ...]:
    """The operands whose change moves a value to first order."""
    if not isinstance(e, Call) or e.dtype.kind not in "fc" or e.fn in registry.without_gradient():
        return ()
    return e.args[_FIRST_ACTIVE.get(e.fn, 0):]


def _flows(block: Block) -> Iterable[tuple[str, str]]:
    """(read array, written array) for every differentiable dependence."""
    for stmt in statements(block):
        if isinstance(stmt, Lib) and stmt.op == OWN:
            yield from ((stmt.ins[1 + k].array, o.array) for k in stmt.attrs["rule"].active for o in stmt.outs)
        elif isinstance(stmt, Lib) and stmt.op != OP:
            yield from ((i.array, o.array) for i in stmt.ins for o in stmt.outs if o.dtype.kind in "fc")
        elif isinstance(stmt, Map):
            yield from _map_flows(stmt)


def _map_flows(stmt: Map) -> Iterable[tuple[str, str]]:
    local: dict[str, Expr] = {}
    for part in stmt.body:
        e = rewrite(part.expr, lambda n: local.get(n.name) if isinstance(n, Local) else None)
        if isinstance(part, Let):
            local[part.name] = e
        elif isinstance(part, Store):
            yield from ((name, part.array) for name in differentiable_loads(e))


def _reach(start: Iterable[str], edges: list[tuple[str, str]]) -> set[str]:
    after: dict[str, set[str]] = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)
    reached, todo = set(), list(start)
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo.extend(after.get(name, ()))
    return reached
