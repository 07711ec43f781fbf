"""New nodes of syntax trees, at the places of others."""
from __future__ import annotations

import ast
from typing import Any

from sdfgad.frontend.syntax.source import SourceText


def copied(node: Any) -> Any:
    """A syntax tree once more, each node with what it knows of its place."""
    if isinstance(node, list):
        return [copied(n) for n in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)()
    for name, value in vars(node).items():
        setattr(made, name, value if name == "written_in" else copied(value))
    return made


def home_of(node: ast.AST) -> SourceText | None:
    return getattr(node, "written_in", None)


def placed(made: Any, node: ast.AST, home: SourceText | None) -> Any:
    """A new node at the place of another."""
    home = home or home_of(node)
    ast.copy_location(made, node)
    ast.fix_missing_locations(made)
    if home is not None:
        made.written_in = home
    return made


def constant(value: Any) -> ast.Constant:
    """A value of the program in a syntax tree."""
    return ast.Constant(value)


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())
