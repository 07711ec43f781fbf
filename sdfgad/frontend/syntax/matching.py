"""Whether a text is what a function runs: its syntax tree is compiled again and compared with the function's code."""
from __future__ import annotations
import __future__

import ast
import copy
import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from sdfgad.frontend.syntax.private import class_around

FunctionNode: TypeAlias = ast.FunctionDef | ast.Lambda

_OF_THE_UNIT = ("PUSH_NULL", "PRECALL", "EXTENDED_ARG")
"""Instructions that depend on what else was compiled with a function: how a method is looked up differs where the same
text imports the module. A notebook compiles statement by statement, a file is compiled in one."""
_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_REWRITTEN = "@pytest_ar"
"""The name that pytest's assert statements use: functions with them never look like their text."""


def runs(function: FunctionType, node: FunctionNode) -> bool:
    """Whether the function runs what `node` says; its decorators and the values of its defaults are left out."""
    return _runs(function.__code__, function.__code__.co_qualname, node)


@lru_cache(maxsize=1 << 10)
def _runs(code: CodeType, name: str, node: FunctionNode) -> bool:
    """Helpers are called in many places, and by many programs: a function is compiled again only once to be compared.
    name: what the classes around are called, which is part of no code's comparison."""
    unit = ast.fix_missing_locations(ast.Module([_around(code, node)], []))
    try:
        compiled = compile(unit, "<text>", "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    found = next((c for c in _inside(compiled) if c.co_name == code.co_name), None)
    return found is not None and _facts(found) == _facts(code)


def is_rewritten(code: CodeType) -> bool:
    """Whether a test framework has changed what the function runs."""
    return any(_REWRITTEN in c.co_names for c in (code, *_inside(code)))


def first_line(node: FunctionNode) -> int:
    """Where Python says that the function begins: at its first decorator."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


def _around(code: CodeType, node: FunctionNode) -> ast.stmt:
    """f   ->   def enclosing(): a = None ; class C: f

    A scope in which the names of `f` mean what they do in its own: `a` is a variable of a function around it, and the
    private names of its class begin with `_C`.
    """
    inner: ast.stmt = _bare(node) if isinstance(node, ast.FunctionDef) else ast.Expr(_bare(node))
    owner = class_around(code)
    names = [f" {name} = None" for name in code.co_freevars]
    names += [f" global {name}" for name in (owner or code.co_name,) if name.isidentifier()
              and name not in code.co_freevars]
    if owner is not None:
        holder = ast.parse(f"class {owner}: pass").body[0]
        assert isinstance(holder, ast.ClassDef)
        holder.body = [inner]
        inner = holder
    around = ast.parse("\n".join(["def enclosing():", *names, " pass"]))
    outer = around.body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body.append(inner)
    return outer


def _bare(node: Any) -> Any:
    """The function without what runs before it is called."""
    bare = copy.copy(node)
    bare.args = copy.copy(node.args)
    nothing = ast.Constant(None)
    bare.args.defaults = [nothing] * len(node.args.defaults)
    bare.args.kw_defaults = [nothing if d is not None else None for d in node.args.kw_defaults]
    for group in ("posonlyargs", "args", "kwonlyargs"):
        setattr(bare.args, group, [_unannotated(a) for a in getattr(node.args, group)])
    for name in ("vararg", "kwarg"):
        setattr(bare.args, name, _unannotated(getattr(node.args, name)))
    if isinstance(node, ast.FunctionDef):
        bare.decorator_list, bare.returns, bare.type_params = [], None, []
    return bare


def _unannotated(argument: ast.arg | None) -> ast.arg | None:
    return None if argument is None else ast.copy_location(ast.arg(argument.arg), argument)


def _inside(code: CodeType) -> Iterator[CodeType]:
    """The functions defined in it, outer ones first."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _inside(const)


def _facts(code: CodeType) -> tuple[Any, ...]:
    """What a call of the code does."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    return code.co_name, counts, code.co_varnames, frozenset(code.co_freevars), _instructions(code)


def _instructions(code: CodeType) -> list[tuple[str, Any]]:
    kept: list[dis.Instruction] = []
    place: dict[Any, int] = {}
    waiting: list[int] = []
    for i in dis.get_instructions(code):
        waiting.append(i.offset)
        if i.opname not in _OF_THE_UNIT:
            place.update(dict.fromkeys(waiting, len(kept)))  # a jump to what is left out leads to what follows it
            waiting.clear()
            kept.append(i)
    return [(i.opname.replace("METHOD", "ATTR"), place.get(i.argval) if i.opcode in _JUMPS else _argument(i))
            for i in kept]


def _argument(i: dis.Instruction) -> Any:
    if i.opcode in dis.hasconst:
        return _constant(i.argval)
    return i.argval if i.opcode in (*dis.hasname, *dis.haslocal, *dis.hasfree, *dis.hascompare) else i.arg


def _constant(value: Any) -> Any:
    """A constant by type and value; Python takes 1, 1.0 and True for equal."""
    if isinstance(value, CodeType):
        return _facts(value)
    if isinstance(value, tuple):
        return tuple, [_constant(v) for v in value]
    if isinstance(value, frozenset):
        return frozenset, sorted(repr(_constant(v)) for v in value)
    return type(value), repr(value)
