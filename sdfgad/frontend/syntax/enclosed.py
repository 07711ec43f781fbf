"""Names that inner functions bind in the function around them: `nonlocal` statements."""
from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from sdfgad.frontend.syntax.liveness import assigned
from sdfgad.frontend.syntax.matching import FunctionNode

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def without_nonlocal(node: FunctionNode) -> FunctionNode:
    """x = e ; def g(): nonlocal x ; x += 1   ->   v = SimpleNamespace() ; v.x = e ; def g(): v.x += 1

    What changes in calls is an attribute then, which loops and branches look after wherever it is set. A name that the
    function itself takes from outside stays as it is, and so does one that is bound other than by an assignment.
    """
    if not any(isinstance(n, ast.Nonlocal) for n in ast.walk(node)):
        return node
    changed = copy.deepcopy(node)
    for depth, function in enumerate(list(_functions(changed))):
        _box(function, f"%variables {depth}")
    return changed


def _functions(node: FunctionNode) -> Iterator[ast.FunctionDef]:
    """The functions in a function, itself among them, from the inside out: each settles what the inner ones left."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
    return reversed(found)


def _box(function: ast.FunctionDef, holder: str) -> None:
    own = set(_local(function))
    names = {n for inner in _scopes(function.body) for n in _left_open(inner)} & own
    names -= _bound_otherwise(function)
    if not names:
        return
    given = [ast.keyword(n, ast.Name(n, ast.Load())) for n in _parameters(function) if n in names]
    kind: Any = SimpleNamespace
    make = ast.Assign([ast.Name(holder, ast.Store())], ast.Call(ast.Constant(kind), [], given))
    boxed = Boxed(names, holder)
    body: list[ast.stmt] = [boxed.visit(s) for s in function.body]  # type: ignore[misc]
    function.body = [ast.fix_missing_locations(ast.copy_location(make, function.body[0])), *body]


def _scopes(body: Sequence[ast.AST]) -> Iterator[ast.FunctionDef | ast.Lambda]:
    """The functions defined in a block, without those inside of them."""
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield node  # type: ignore[misc]
        else:
            yield from _scopes(list(ast.iter_child_nodes(node)))


def _left_open(function: ast.AST) -> set[str]:
    """The names that a function, or one inside of it, binds further out."""
    if not isinstance(function, ast.FunctionDef):
        return set()
    declared = _declared(function)
    inner = {n for f in _scopes(function.body) for n in _left_open(f)}
    return declared | inner - set(_local(function))


def _declared(function: ast.FunctionDef) -> set[str]:
    """The names of the `nonlocal` statements of a function."""

    def found(nodes: Sequence[ast.AST]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Nonlocal):
                yield from node.names
            elif not isinstance(node, _FUNCTIONS):
                yield from found(list(ast.iter_child_nodes(node)))

    return set(found(function.body))


def _local(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The names that a function binds for itself."""
    if isinstance(function, ast.Lambda):
        return _parameters(function)
    declared = _declared(function)
    return [n for n in (*_parameters(function), *assigned(function.body)) if n not in declared]


def _parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    a = function.args
    found = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(v for v in (a.vararg, a.kwarg) if v is not None)]
    return [v.arg for v in found]


def _bound_otherwise(function: ast.FunctionDef) -> set[str]:
    """Names that are bound by something that takes a name alone: walrus, patterns, imports, definitions."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.NamedExpr):
            found.add(node.target.id)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.FunctionDef)) and node.name and node is not function:
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Delete):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


class Boxed(ast.NodeTransformer):
    """Names become attributes of a holder, wherever they mean those of the function that has it."""

    def __init__(self, names: set[str], holder: str) -> None:
        self.names, self.holder = frozenset(names), holder

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        holder = ast.copy_location(ast.Name(self.holder, ast.Load()), node)
        return ast.copy_location(ast.Attribute(holder, node.id, node.ctx), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        left = [n for n in node.names if n not in self.names]
        return ast.copy_location(ast.Nonlocal(left) if left else ast.Pass(), node)

    def visit(self, node: ast.AST) -> ast.AST:
        """Names that a scope binds for itself are others."""
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            hidden = set(_local(node))
        elif isinstance(node, _COMPREHENSIONS):
            hidden = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        else:
            return super().visit(node)
        before, self.names = self.names, self.names - hidden
        try:
            return self.generic_visit(node)
        finally:
            self.names = before
