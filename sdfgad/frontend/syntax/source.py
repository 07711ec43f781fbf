"""The source of a Python function: its syntax tree and where each node stands in the user's file."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import FunctionType, MethodType
from typing import Any

from sdfgad.errors import SourceLine, UnsupportedError, unsupported
from sdfgad.frontend.syntax.enclosed import without_nonlocal
from sdfgad.frontend.syntax.matching import FunctionNode, first_line, is_rewritten, runs
from sdfgad.frontend.syntax.plain import plain_statements
from sdfgad.frontend.syntax.private import class_around, with_private_names
from sdfgad.frontend.syntax.surroundings import Cells
from sdfgad.frontend.syntax.texts import Text, file_text, functions_in, texts_of


@dataclass(frozen=True, eq=False)
class SourceText:
    """One function as text."""

    node: FunctionNode
    file: str
    name: str
    globals: Mapping[str, Any]
    cells: Mapping[str, Any]

    def at(self, node: ast.AST) -> SourceLine:
        """The place of a syntax node in the user's file."""
        home: SourceText = getattr(node, "written_in", self)  # statements of a generator keep their places
        line = getattr(node, "lineno", home.node.lineno)
        column = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", None) if getattr(node, "end_lineno", line) == line else None
        return SourceLine(home.file, line, column, end or 0, home.name)

    @cached_property
    def body(self) -> list[ast.stmt]:
        """The statements, a lambda's expression as a return."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return [p for s in self.node.body for p in plain_statements(s)]

    def inner(self, node: FunctionNode) -> SourceText:
        """A function defined inside this one."""
        name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        return SourceText(node, self.file, name, self.globals, self.cells)


def code_of(fn: Callable[..., Any], text: str = "") -> SourceText:
    """The source of the Python function that a call runs; refused when there is none. text: what the user says it is.
    """
    function = undecorated(_called_first(fn))
    if not isinstance(function, FunctionType):
        raise unsupported(None, f"{getattr(fn, '__name__', fn)!r} is not a Python function with source code",
                          "pass a function written in Python, as lambda x: np.sum(x)", "SG106")
    if function.__code__.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        raise unsupported(None, f"{fn.__name__!r} is a coroutine", "use an ordinary function", "SG106")
    for found in texts_of(function.__code__, text):
        node = _find(function, found)
        if node is not None:
            node = with_private_names(node, class_around(function.__code__))
            return SourceText(without_nonlocal(node), found.file, function.__name__, function.__globals__,
                              _cells(function))
    raise _without_text(function, text)


def _find(function: FunctionType, text: Text) -> FunctionNode | None:
    """The node of `function`, which may stand elsewhere than the function says: the text may be part of another."""
    code = function.__code__
    near = sorted(functions_in(text.content).get(code.co_name, ()),
                  key=lambda node: abs(first_line(node) - code.co_firstlineno))
    if near and first_line(near[0]) == code.co_firstlineno and is_rewritten(code):
        return near[0]
    return next((node for node in near if runs(function, node)), None)


def _without_text(function: FunctionType, given: str) -> UnsupportedError:
    """What to do about a function whose text is not what it runs, or is nowhere."""
    name, code = function.__name__, function.__code__
    if file_text(code) is not None:
        return unsupported(SourceLine(code.co_filename, code.co_firstlineno),
                           f"the file of {name} was edited after it was imported",
                           "import it again, or start a new process", "SG106")
    if given:
        return unsupported(None, f"the text given as source= does not define {name!r}, or not as it is now",
                           f"pass the text that defined {name}", "SG106")
    if code.co_filename.startswith("<frozen"):
        return unsupported(None, f"{function.__qualname__!r} is part of Python itself, which keeps no source of it",
                           "call it before, and pass what it gives as an argument", "SG106")
    return unsupported(None, f"the source of {function.__qualname__!r} cannot be read: Python keeps none",
                       "define it in a file or a notebook cell, or pass the text that defined it: "
                       f"sdfgad.grad({name if name.isidentifier() else 'f'}, source=text)", "SG106")


def _called_first(fn: Any) -> Any:
    """The function behind partials, methods, and objects that their classes make callable."""
    while isinstance(fn, partial):
        fn = fn.func
    fn = fn if hasattr(fn, "__wrapped__") else method_of(fn) or fn
    return fn.__func__ if isinstance(fn, MethodType) else fn


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


def _cells(function: FunctionType) -> Mapping[str, Any]:
    return Cells(dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)))
