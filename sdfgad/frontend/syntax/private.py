"""Private names of classes: `self.__x` in the body of a class C stands for `self._C__x`."""
from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from types import CodeType, MappingProxyType
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)

_FIELDS: Mapping[type, str] = MappingProxyType({
    ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg", ast.FunctionDef: "name",
    ast.Nonlocal: "names"})
"""Where syntax holds a name, or several."""


def class_around(code: CodeType) -> str | None:
    """The innermost class around the definition of a function."""
    parts = code.co_qualname.split(".")[:-1]
    names = [p for p, following in zip(parts, [*parts[1:], ""], strict=False)
             if p != "<locals>" and following != "<locals>"]
    return names[-1] if names and names[-1].isidentifier() else None


def with_private_names(node: Node, owner: str | None) -> Node:
    """self.__x   ->   self._C__x, in a function of the class C."""
    prefix = (owner or "").lstrip("_")
    if not prefix or not any(_mangled(name, prefix) != name for _, _, name in _names(node)):
        return node
    changed = copy.deepcopy(node)
    for holder, field, name in _names(changed):
        setattr(holder, field, _mangled(name, prefix))
    return changed


def _names(node: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """What may be private: in classes inside of it names belong to these."""
    for inner in ast.iter_child_nodes(node):
        if (field := _FIELDS.get(type(inner))) is not None:
            yield inner, field, getattr(inner, field)
        if not isinstance(inner, ast.ClassDef):
            yield from _names(inner)


def _mangled(name: Any, prefix: str) -> Any:
    if isinstance(name, list):
        return [_mangled(n, prefix) for n in name]
    private = name is not None and name.startswith("__") and not name.endswith("__")
    return f"_{prefix}{name}" if private else name
