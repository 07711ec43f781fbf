"""The same random programs with their variables kept elsewhere: in a dict, an object, a list, or of inner functions.

Some of their loops get an `else`, some statements a `try` without `except`.
"""
from __future__ import annotations

import ast
from copy import deepcopy
from itertools import zip_longest
from random import Random

HOLDERS = ("plain", "dict", "object", "list", "nonlocal")


def held(text: str, how: str, seed: int) -> str:
    """The text of a program whose function `program` keeps some of its local names otherwise."""
    module = ast.parse(text)
    function = next(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "program")
    function.body = _ended(function.body, Random(seed))
    if how == "nonlocal":
        _wrap(function)
    elif how != "plain":
        names = [n for n in _local(function) if Random(f"{seed}{n}").random() < 0.8]
        made = "keeper = " + {"dict": "{}", "object": "SimpleNamespace()", "list": f"[None] * {len(names)}"}[how]
        visitor = _Held(names, how)
        function.body = [*ast.parse(made).body, *(visitor.visit(s) for s in function.body)]
    return "from types import SimpleNamespace\n" + ast.unparse(ast.fix_missing_locations(module)) + "\n"


def _ended(body: list[ast.stmt], random: Random) -> list[ast.stmt]:
    """Loops of a block with what follows them as their `else` too, and statements in a `try`."""
    made: list[ast.stmt] = []
    for stmt, following in zip_longest(body, body[1:]):
        for part in ("body", "orelse"):
            if isinstance(getattr(stmt, part, None), list):
                setattr(stmt, part, _ended(getattr(stmt, part), random))
        if isinstance(stmt, (ast.For, ast.While)) and _repeatable(following) and random.random() < 0.6:
            stmt.orelse = [deepcopy(following)]
        if isinstance(stmt, ast.AugAssign) and random.random() < 0.2:
            made.append(ast.Try([deepcopy(stmt)], [], [], [stmt]))
        else:
            made.append(stmt)
    return made


def _repeatable(stmt: ast.stmt | None) -> bool:
    """Whether a statement may run twice in a row: it does not read what it binds to another kind of value."""
    return isinstance(stmt, ast.AugAssign) or isinstance(stmt, ast.Assign) and not (
        set(_names(stmt, ast.Store)) & set(_names(stmt, ast.Load)))


def _local(function: ast.FunctionDef) -> list[str]:
    """Names that plain assignments bind, where nothing else binds or captures them."""
    bound, other = [], {a.arg for a in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, (ast.For, ast.comprehension)):
            other |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not function:
            other |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {a.arg for a in node.args.args}
            other |= {node.name} if isinstance(node, ast.FunctionDef) else set()
        elif isinstance(node, ast.NamedExpr):
            other.add(node.target.id)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.append(node.id)
    return [n for n in dict.fromkeys(bound) if n not in other]


class _Held(ast.NodeTransformer):

    def __init__(self, names: list[str], how: str) -> None:
        self.names, self.how = names, how

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        holder = ast.Name("keeper", ast.Load())
        if self.how == "object":
            return ast.Attribute(holder, node.id, node.ctx)
        key = node.id if self.how == "dict" else self.names.index(node.id)
        return ast.Subscript(holder, ast.Constant(key), node.ctx)


def _wrap(function: ast.FunctionDef) -> None:
    """for ...: s   ->   def part(): nonlocal ... ; for ...: s   and a call of it"""
    own, parameters = _local(function), {a.arg for a in function.args.args}
    body: list[ast.stmt] = []
    for k, stmt in enumerate(function.body):
        bound = [n for n in _names(stmt, ast.Store) if n in own or n in parameters]
        known = [n for n in bound if n in parameters or any(n in _names(s, ast.Store) for s in function.body[:k])]
        leaves = any(isinstance(n, (ast.Return, ast.FunctionDef)) for n in ast.walk(stmt))
        if not isinstance(stmt, (ast.For, ast.While, ast.If)) or leaves or set(bound) - set(known):
            body.append(stmt)
            continue
        said: list[ast.stmt] = [ast.Nonlocal(known)] if known else []
        inner = ast.parse(f"def part{k}(): pass").body[0]
        assert isinstance(inner, ast.FunctionDef)
        inner.body = [*said, stmt]
        body += [inner, *ast.parse(f"part{k}()").body]
    function.body = body


def _names(node: ast.AST, context: type) -> list[str]:
    return list(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)))
