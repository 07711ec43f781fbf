"""The printed form of a program, for people, golden files and error excerpts."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import MappingProxyType

from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local, operands, walk
from sdfgad.ir.program import Block, If, Let, Lib, Loop, Map, Pop, Program, Push, Range, Stmt, Store, View, While

_INFIX = MappingProxyType({
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "and", "or": "or", "pow": "**"})


LARGEST = 1 << 10
"""Nodes that are written out. Larger expressions name what they share: `f(%1, %1) where %1 = ...`."""


def expr_text(e: Expr) -> str:
    """A scalar expression in Python-like notation."""
    names = {} if e.size <= LARGEST else {n: f"%{k}" for k, n in enumerate(_shared(e), start=1)}
    texts: dict[Expr, str] = {}
    where: list[str] = []
    for node in walk(e):
        texts[node] = _call_text(node, [texts[a] for a in node.args]) if isinstance(node, Call) else _leaf_text(node)
        if node in names:
            where.append(f"{names[node]} = {texts[node]}")
            texts[node] = names[node]
    return texts[e] + (f" where {', '.join(where)}" if where else "")


def _shared(e: Expr) -> list[Expr]:
    """The calls in an expression that are operands of more than one."""
    uses = Counter(a for n in walk(e) for a in operands(n))
    return [n for n in walk(e) if isinstance(n, Call) and uses[n] > 1]


def _leaf_text(e: Const | Index | Load | Local) -> str:
    if isinstance(e, Const):
        return repr(e.value)
    if isinstance(e, Index):
        return f"({e.ix})"
    if isinstance(e, Load):
        return e.array + (f"[{', '.join(map(str, e.index))}]" if e.index else "")
    return e.name


def _call_text(e: Call, args: list[str]) -> str:
    if e.fn in _INFIX:
        return f"({args[0]} {_INFIX[e.fn]} {args[1]})"
    name = e.dtype.name if e.fn == "cast" else e.fn
    return f"{name}({', '.join(args)})"


def view_text(view: View) -> str:
    """A view as `array[index] (shape)`."""
    return f"{view.array}[{', '.join(map(str, view.index))}]({', '.join(map(str, view.shape))})"


def range_text(r: Range) -> str:
    """`i = start : stop : step`."""
    return f"{r.var} = {r.start}:{r.stop}" + (f":{r.step}" if r.step != 1 else "")


def lines(block: Block, depth: int = 0) -> Iterator[str]:
    """The statements of a block, one line each, indented by nesting."""
    for stmt in block:
        yield from _stmt_lines(stmt, "  " * depth, depth)


def program_text(program: Program) -> str:
    """The whole program: arrays, then statements."""
    heads = [f"{a.role} {a.name}: {a.dtype.name}{list(a.shape)}" + (f" packed {a.packing}" if a.packing else "")
             for a in program.arrays.values()]
    return "\n".join([f"program {program.name}", *heads, *lines(program.body)])


def _stmt_lines(s: Stmt, pad: str, depth: int) -> Iterator[str]:
    if isinstance(s, Map):
        if s.domain:
            yield f"{pad}map {', '.join(map(range_text, s.domain))}"
            pad += "  "
        for part in s.body:
            yield pad + _part_text(part)
    elif isinstance(s, Lib):
        attrs = "".join(f", {k}={expr_text(v) if isinstance(v, Call) else v}" for k, v in sorted(s.attrs.items()))
        yield f"{pad}{', '.join(map(view_text, s.outs))} = {s.op}({', '.join(map(view_text, s.ins))}{attrs})"
    elif isinstance(s, Loop):
        private = f" private {', '.join(s.private)}" if s.private else ""
        behind = f" behind {s.behind.ahead}" if s.behind else ""
        yield (f"{pad}{'parallel' if s.parallel else 'for'} {range_text(s.range)}{private}{behind}"
               + (f" until {s.until}" if s.until else ""))
        yield from lines(s.body, depth + 1)
    elif isinstance(s, While):
        yield f"{pad}while {s.flag}"
        yield from lines(s.body, depth + 1)
    elif isinstance(s, If):
        yield f"{pad}if {expr_text(s.cond)}"
        yield from lines(s.then, depth + 1)
        if s.orelse:
            yield f"{pad}else"
            yield from lines(s.orelse, depth + 1)
    elif isinstance(s, (Push, Pop)):
        yield f"{pad}{type(s).__name__.lower()} {s.tape}[{', '.join(map(str, s.shape))}]"


def _part_text(part: Let | Store) -> str:
    if isinstance(part, Let):
        return f"let {part.name} = {expr_text(part.expr)}"
    at = f"[{', '.join(map(str, part.index))}]" if part.index else ""
    return f"{part.array}{at} {part.op or ''}= {expr_text(part.expr)}"
