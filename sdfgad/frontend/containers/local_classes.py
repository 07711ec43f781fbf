"""Classes that a function defines: Python makes the class, its methods run in the frame around."""
from __future__ import annotations

import ast
import copy
import dataclasses
import typing
from abc import abstractmethod
from collections import ChainMap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Function, Value, is_number
from sdfgad.frontend.syntax.matching import first_line
from sdfgad.frontend.syntax.private import with_private_names

_KINDS = (property, staticmethod, classmethod, abstractmethod)
_HELP = "define the class outside of the function"


def define_class(ctx: Context, stmt: ast.ClassDef) -> None:
    """A `class` statement: in every trial of the loops around the same class."""
    key = ("class", stmt, ctx.frame)
    form = ctx.hints.get(key) or _made(ctx, stmt)
    ctx.hints[key] = form
    ctx.frame.names[stmt.name] = form


def _made(ctx: Context, stmt: ast.ClassDef) -> type:
    names = {"__name__": ctx.frame.code.globals.get("__name__", "")}
    plain = _ClassBody(ctx, names).of_class(copy.deepcopy(stmt))
    tree = ast.fix_missing_locations(ast.Module([plain], []))
    try:
        exec(compile(tree, ctx.frame.code.file, "exec"), names)
    except (AttributeError, LookupError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise ctx.refuse(f"the class {stmt.name}, which cannot be made: {error}", _HELP, "SG102") from error
    form = names[stmt.name]
    ctx.frames_of[form] = ctx.frame
    for node, function in _methods(stmt, form):
        code = ctx.frame.code.inner(with_private_names(node, stmt.name))
        ctx.methods_of[function] = dataclasses.replace(
            code, cells=ChainMap({"__class__": form}, code.cells)), ctx.frame  # type: ignore[arg-type]
    return form


def _methods(stmt: ast.ClassDef, form: type) -> Iterator[tuple[ast.FunctionDef, FunctionType]]:
    """The methods as they are written, and as Python has made them; not those that a decorator has written."""
    written = {(n.name, first_line(n)): n for n in stmt.body if isinstance(n, ast.FunctionDef)}
    for held in vars(form).values():
        for part in (held.fget, held.fset) if isinstance(held, property) else (getattr(held, "__func__", held),):
            if isinstance(part, FunctionType):
                node = written.get((part.__name__, part.__code__.co_firstlineno))
                if node is not None:
                    yield node, part


class _ClassBody:
    """A class statement with constants in place of what it takes from around: `names` holds them."""

    def __init__(self, ctx: Context, names: dict[str, Any]) -> None:
        self.ctx, self.names = ctx, names

    def of_class(self, node: ast.ClassDef) -> ast.ClassDef:
        if node.keywords:
            raise self._refuse("a class with keywords")
        node.bases = [self._held(b, type, typing.NamedTuple) for b in node.bases]
        node.decorator_list = [self._decorator(d) for d in node.decorator_list]
        node.body = [self._statement(s) for s in node.body]
        return node

    def _statement(self, stmt: ast.stmt) -> ast.stmt:
        if isinstance(stmt, ast.Pass) or isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant):
            return stmt
        if isinstance(stmt, ast.FunctionDef):
            return self._method(stmt)
        if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
            stmt.annotation = ast.copy_location(ast.Constant(ast.unparse(stmt.annotation)), stmt.annotation)
            stmt.value = stmt.value and self._constant(stmt.value)
            return stmt
        if isinstance(stmt, ast.Assign) and all(isinstance(t, ast.Name) for t in stmt.targets):
            stmt.value = self._constant(stmt.value)
            return stmt
        with self.ctx.at(stmt):
            raise self._refuse("a statement other than methods and constants in a class")

    def _method(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [d if isinstance(d, ast.Attribute) and d.attr == "setter" else self._held(d, *_KINDS)
                               for d in node.decorator_list]
        arguments = node.args
        arguments.defaults = [self._constant(d) for d in arguments.defaults]
        arguments.kw_defaults = [d and self._constant(d) for d in arguments.kw_defaults]
        for part in ast.walk(arguments):
            if isinstance(part, ast.arg):
                part.annotation = None
        node.returns = None
        return node

    def _decorator(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Call):
            return self._held(node, dataclasses.dataclass)
        if node.args or any(k.arg in (None, "slots", "kw_only") for k in node.keywords):
            raise self._refuse("a dataclass of a special kind")
        node.func = self._held(node.func, dataclasses.dataclass)
        node.keywords = [ast.keyword(k.arg, self._constant(k.value)) for k in node.keywords]
        return node

    def _constant(self, node: ast.expr) -> ast.expr:
        """A value that is known while translating, or `field(...)` of such."""
        if isinstance(node, ast.Call) and self._value(node.func) is dataclasses.field:
            node.func = self._name(dataclasses.field, node)
            for keyword in node.keywords:
                keyword.value = self._held(keyword.value, list, dict) if keyword.arg == "default_factory" else \
                    self._constant(keyword.value)
            return node
        value = self._value(node)
        parts = value if isinstance(value, tuple) else (value,)
        if not all(p is None or is_number(p) or isinstance(p, (str, type)) for p in parts):
            with self.ctx.at(node):
                raise self._refuse(f"{describe(value)} in the body of a class")
        return self._name(value, node)

    def _held(self, node: ast.expr, *allowed: Any) -> ast.expr:
        value = self._value(node)
        fits = isinstance(value, type) if type in allowed and isinstance(value, type) else any(
            value is a for a in allowed)
        if not fits:
            with self.ctx.at(node):
                raise self._refuse(f"{ast.unparse(node)!r} in the head of a class or beside a method")
        return self._name(value, node)

    def _value(self, node: ast.expr) -> Value:
        value = self.ctx.evaluate(self.ctx, node)
        return None if isinstance(value, Function) else value

    def _name(self, value: Any, node: ast.expr) -> ast.expr:
        name = f"%{len(self.names)}"
        self.names[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _refuse(self, what: str) -> UnsupportedError:
        return self.ctx.refuse(what, _HELP, "SG102")
