"""The source of a Python function: its syntax tree and where each node stands in the user's file."""
from __future__ import annotations

import ast
import dis
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias

from sdfgad.errors import SourceLine, unsupported
from sdfgad.frontend.surroundings import Cells

FunctionNode: TypeAlias = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False)
class Code:
    """One function as text: `node` with line numbers of the dedented source, which `line_shift` makes absolute."""

    node: FunctionNode
    file: str
    name: str
    line_shift: int
    column_shift: int
    globals: Mapping[str, Any]
    cells: Mapping[str, Any]

    def at(self, node: ast.AST) -> SourceLine:
        """The place of a syntax node in the user's file."""
        line = getattr(node, "lineno", self.node.lineno)
        column = getattr(node, "col_offset", 0) + self.column_shift
        end = getattr(node, "end_col_offset", None) if getattr(node, "end_lineno", line) == line else None
        return SourceLine(self.file, line + self.line_shift, column, 0 if end is None else end + self.column_shift,
                          self.name)

    @cached_property
    def body(self) -> list[ast.stmt]:
        """The statements, a lambda's expression as a return."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body

    def inner(self, node: FunctionNode) -> Code:
        """A function defined inside this one."""
        name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        return Code(node, self.file, name, self.line_shift, self.column_shift, self.globals, self.cells)


def code_of(fn: Callable[..., Any]) -> Code:
    """The source of the Python function that a call runs; refused when there is none."""
    function = undecorated(fn.__func__ if isinstance(fn, MethodType) else fn)
    if not isinstance(function, FunctionType):
        raise unsupported(None, f"{getattr(fn, '__name__', fn)!r} is not a Python function with source code",
                          "pass a function written in Python", "SG106")
    try:
        lines, first = inspect.getsourcelines(function.__code__)  # of the function itself, whatever it wraps
    except (OSError, TypeError) as error:
        raise unsupported(None, f"the source of {function.__qualname__!r} cannot be read ({error})",
                          "define the function in a file or a notebook cell", "SG106") from error
    text = "".join(lines)
    plain = textwrap.dedent(text)
    shift = len(text) - len(text.lstrip()) - (len(plain) - len(plain.lstrip()))
    node = _find(function, plain, first)
    _check_fresh(function, node)
    return Code(node, function.__code__.co_filename, function.__name__, first - 1, shift,
                function.__globals__, _cells(function))


def undecorated(fn: Any) -> Any:
    """The function that a call of `fn` runs.

    What compiles a function or remembers its results is left out; a wrapper in Python may change them and stays.
    """
    while hasattr(fn, "__wrapped__") and not is_wrapper(fn):
        fn = fn.__wrapped__
    return fn


def is_wrapper(fn: Any) -> bool:
    """Whether a function in Python, not one of sdfgad's own, stands in front of another one."""
    return isinstance(fn, FunctionType) and hasattr(fn, "__wrapped__") and \
        not fn.__globals__.get("__name__", "").startswith("sdfgad.")


def method_of(thing: Any) -> MethodType | None:
    """What a call of an object runs, when its class says so in Python."""
    rule = inspect.getattr_static(type(thing), "__call__", None)
    return MethodType(rule, thing) if isinstance(rule, FunctionType) else None


def _check_fresh(function: FunctionType, node: FunctionNode) -> None:
    """Refuse a function whose file was edited after it was imported: the text is not what the function runs."""
    ours = function.__code__
    # Test frameworks rewrite assert statements, so such functions never look like their text.
    if any(isinstance(n, ast.Assert) for n in ast.walk(node)):
        return
    try:
        compiled = compile("".join(linecache.getlines(ours.co_filename)), ours.co_filename, "exec", dont_inherit=True)
    except SyntaxError:  # a notebook cell with magic commands, say
        return
    same = [c for c in _codes(compiled) if (c.co_name, c.co_firstlineno) == (ours.co_name, ours.co_firstlineno)]
    if same and all(_facts(c) != _facts(ours) for c in same):
        raise unsupported(SourceLine(ours.co_filename, ours.co_firstlineno),
                          f"the file of {function.__name__} was edited after it was imported",
                          "import it again, or start a new process", "SG106")


def _facts(code: CodeType) -> tuple[object, ...]:
    constants = tuple(repr(c) for c in code.co_consts if not isinstance(c, CodeType))
    return code.co_code, code.co_names, code.co_varnames, constants


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _cells(function: FunctionType) -> Mapping[str, Any]:
    return Cells(dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)))


def _find(function: FunctionType, text: str, first: int) -> FunctionNode:
    """The node of `function` in its own lines; a lambda is told from its neighbours by its code."""
    tree = _parse_lines(function, text)
    name = function.__code__.co_name  # its own, whatever it is called by now
    if name != "<lambda>":
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
    lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and _same_code(n, function)]
    if len(lambdas) == 1 or (lambdas and len({ast.dump(n) for n in lambdas}) == 1):
        return lambdas[0]
    raise unsupported(SourceLine(function.__code__.co_filename, first),
                      "this lambda cannot be told from its neighbours",
                      "give each lambda its own line, or use def", "SG106")


def _parse_lines(function: FunctionType, text: str) -> ast.AST:
    """A lambda's lines may be cut out of a larger expression: then only part of them is a program."""
    lines = text.strip("\n")
    from_lambda = lines[max(lines.find("lambda"), 0):]
    for candidate in (text, f"({lines}\n)", lines.rstrip(",) \n"), from_lambda.rstrip(",) \n")):
        try:
            return ast.parse(candidate)
        except SyntaxError:
            continue
    raise unsupported(SourceLine(function.__code__.co_filename, function.__code__.co_firstlineno),
                      f"the source of {function.__name__} cannot be read on its own",
                      "put it in a def of its own", "SG106")


def _same_code(node: ast.Lambda, function: FunctionType) -> bool:
    module = ast.Module([ast.copy_location(ast.Expr(node), node)], [])
    compiled = compile(module, "<lambda>", "exec").co_consts[0]
    ours = function.__code__
    if compiled.co_varnames != ours.co_varnames:
        return False
    if ours.co_freevars:
        return set(compiled.co_names) == {*ours.co_names, *ours.co_freevars}
    return _instructions(compiled) == _instructions(ours)


def _instructions(code: CodeType) -> list[tuple[str, str]]:
    """What the code does; how a method is looked up depends on the code around it and is left out."""
    kept = [i for i in dis.get_instructions(code) if i.opname not in ("PUSH_NULL", "PRECALL")]
    return [(i.opname.replace("METHOD", "ATTR"),
             "" if isinstance(i.argval, CodeType) else i.argrepr.removeprefix("NULL + ")) for i in kept]
