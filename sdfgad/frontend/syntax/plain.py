"""Statements that stand for plainer ones: loops whose condition binds names, `finally`."""
from __future__ import annotations

import ast
import builtins
import copy
from types import BuiltinFunctionType

import numpy as np

from sdfgad.frontend.syntax.liveness import has_exit

_LIBRARIES = frozenset({"np", "numpy", "math", "scipy"})
"""Names whose functions change nothing."""


def plain_statements(stmt: ast.stmt) -> list[ast.stmt]:
    """while a and (x := e) > 0: s   ->   while True: if not a: break ; if not (x := e) > 0: break ; s

    while f(x[i]): s ; if c: break   ->   while True: if not f(x[i]): break ; s ; if c: break: a loop that has been
    left does not ask for its condition any more, which may look where nothing is, or change something.

    (a if e else b).m(x)   ->   if e: a.m(x) else: b.m(x)

    try: s finally: t   ->   s ; t where `s` is left early by `return` alone: an error that is not caught ends the call.
    """
    if not any(isinstance(n, ast.Try) or isinstance(n, ast.While) and _asks(n) or _picks(n)
               for n in ast.walk(stmt)):
        return [stmt]
    found = _Plainer().visit(copy.deepcopy(stmt))  # the tree is that of the text, which others look at
    return found if isinstance(found, list) else [found]


def _picks(node: ast.AST) -> bool:
    """Whether a statement calls a method of one of two things: `(a if e else b).append(x)`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(
        node.value.func, ast.Attribute) and isinstance(node.value.func.value, ast.IfExp)


def _asks(loop: ast.While) -> bool:
    """Whether it matters where the condition of a loop is evaluated: it binds names, or does more than to compare
    numbers, and the loop may be left from inside."""
    left = has_exit(loop.body, (ast.Break, ast.Return))
    return _binds(loop.test) or left and any(map(_does_more, ast.walk(loop.test)))


def _binds(test: ast.expr) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(test))


def _does_more(node: ast.AST) -> bool:
    """Whether part of a condition looks at a place that moves, or calls a function that may change something."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, (ast.Constant, ast.UnaryOp))
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return not isinstance(getattr(builtins, node.func.id, None), (type, BuiltinFunctionType))
    of_library = isinstance(node.func, ast.Attribute) and ast.unparse(node.func).split(".")[0] in _LIBRARIES
    return not of_library and not (isinstance(node.func, ast.Attribute) and hasattr(np.ndarray, node.func.attr))


class _Returning(ast.NodeTransformer):
    """return e   ->   result = e ; what comes finally ; return result"""

    def __init__(self, behind: list[ast.stmt]) -> None:
        self.behind = behind

    def all_of(self, stmt: ast.stmt) -> list[ast.stmt]:
        found = self.visit(stmt)
        return found if isinstance(found, list) else [found]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        name = "result before what comes finally"
        made = [ast.Assign([ast.Name(name, ast.Store())], node.value or ast.Constant(None)),
                *copy.deepcopy(self.behind), ast.Return(ast.Name(name, ast.Load()))]
        return [s if k and s is not made[-1] else ast.fix_missing_locations(ast.copy_location(s, node))
                for k, s in enumerate(made)]


def _with_end(body: list[ast.stmt], end: list[ast.stmt]) -> list[ast.stmt]:
    """A block with what is done before each return in it."""
    returns = _Returning(end)
    return [made for s in body for made in returns.all_of(s)]


class _Plainer(ast.NodeTransformer):

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if not _picks(node):
            return node
        picked = node.value.func.value  # type: ignore[attr-defined]

        def on(owner: ast.expr) -> list[ast.stmt]:
            call = copy.deepcopy(node)
            call.value.func.value = owner  # type: ignore[attr-defined]
            return [call]

        return ast.copy_location(ast.If(picked.test, on(picked.body), on(picked.orelse)), node)

    def visit_Try(self, node: ast.Try) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if not node.finalbody or has_exit(node.finalbody) or has_exit([node], (ast.Break, ast.Continue)):
            return node
        if has_exit([node]) and not node.handlers:
            return [*_with_end([*node.body, *node.orelse], node.finalbody), *node.finalbody]
        if has_exit([node]):
            if not all(isinstance(s, (ast.Expr, ast.Pass)) for s in node.finalbody):
                return node
            node.body = _with_end(node.body, node.finalbody)
            for handler in node.handlers:
                handler.body = _with_end(handler.body, node.finalbody)
            node.orelse = _with_end(node.orelse, node.finalbody)
        body: list[ast.stmt] = [ast.copy_location(ast.Try(node.body, node.handlers, node.orelse, []), node)]
        return [*(body if node.handlers else node.body), *node.finalbody]

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        if _asks(node) and not has_exit(node.orelse, (ast.Break, ast.Continue)):
            both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            parts = node.test.values if both else [node.test]  # type: ignore[attr-defined]
            left = [ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), p), [*copy.deepcopy(node.orelse), ast.Break()], []),
                                      p) for p in parts]
            node.body[:0] = map(ast.fix_missing_locations, left)
            node.test = ast.copy_location(ast.Constant(True), node.test)
            node.orelse = []
        return node
