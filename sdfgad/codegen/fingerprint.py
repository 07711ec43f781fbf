"""A text that two programs share exactly when they have the same code; shared expression nodes appear once.

Contents of constants are left out: they are passed to the code, not compiled into it.
"""
from __future__ import annotations

from collections.abc import Iterator

from sdfgad.codegen.expressions import operands, topological
from sdfgad.ir.expr import Call, Const, Expr, Index, Load
from sdfgad.ir.messages import is_message
from sdfgad.ir.program import Block, If, Let, Lib, Loop, Map, Pop, Program, Push, Range, Stmt, Store, View, While


def fingerprint(program: Program) -> str:
    """Everything the generated code depends on, in one text."""
    heads = [f"{a.name} {a.shape} {a.dtype.str} {a.packing or ''}" for a in program.arrays.values()]
    outside = f"{program.arguments} {tuple(program.constants)}"
    return "\n".join([program.name, *heads, outside, *_block(program.body)])


def _block(block: Block) -> Iterator[str]:
    yield "{"
    for stmt in block:
        yield from _statement(stmt)
    yield "}"


def _statement(stmt: Stmt) -> Iterator[str]:
    if isinstance(stmt, Map):
        yield f"map {[_range(r) for r in stmt.domain]}"
        for part in stmt.body:
            yield f"let {part.name}" if isinstance(part, Let) else f"store {part.array} {part.index} {part.op}"
        yield from _expressions(stmt)
    elif isinstance(stmt, Loop):
        yield f"loop {_range(stmt.range)} {stmt.until} {stmt.parallel} {stmt.private} {stmt.behind}"
        yield from _block(stmt.body)
    elif isinstance(stmt, While):
        yield f"while {stmt.flag}"
        yield from _block(stmt.body)
    elif isinstance(stmt, If):
        yield "if"
        yield from _nodes([stmt.cond])
        yield from _block(stmt.then)
        yield from _block(stmt.orelse)
    elif isinstance(stmt, Lib):
        yield f"{stmt.op} {[_view(v) for v in (*stmt.outs, *stmt.ins)]} {len(stmt.outs)} {sorted(stmt.attrs.items())}"
        if is_message(stmt):
            yield f"line {stmt.source.line if stmt.source else 0}"  # who waits too long says where
    elif isinstance(stmt, (Push, Pop)):
        yield f"{type(stmt).__name__} {stmt.tape} {stmt.shape}"


def _expressions(stmt: Map) -> Iterator[str]:
    yield from _nodes([p.expr for p in stmt.body if isinstance(p, (Let, Store))])


def _nodes(roots: list[Expr]) -> Iterator[str]:
    """One line per distinct node, which refers to its operands by number."""
    numbers: dict[Expr, int] = {}
    for node in topological(roots, operands):
        parts = [numbers[a] for a in operands(node)]
        numbers[node] = len(numbers)
        yield f"{type(node).__name__} {node.dtype.str} {_own(node)} {parts}"
    yield f"= {[numbers[r] for r in roots]}"


def _own(node: Expr) -> str:
    if isinstance(node, Const):
        return repr(node.value)
    if isinstance(node, Index):
        return str(node.ix)
    if isinstance(node, Load):
        return f"{node.array} {node.index}"
    return node.fn if isinstance(node, Call) else node.name


def _range(r: Range) -> str:
    return f"{r.var} {r.start} {r.stop} {r.step}"


def _view(view: View) -> str:
    return f"{view.array} {view.shape} {view.index} {view.dtype.str}"
