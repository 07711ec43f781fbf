"""`import` inside of a function."""
from __future__ import annotations

import ast
from importlib import import_module

from sdfgad.frontend.context import Context
from sdfgad.frontend.outside import found_outside
from sdfgad.frontend.values import Value


def run_import(ctx: Context, stmt: ast.Import | ast.ImportFrom) -> None:
    """An `import` statement."""
    if isinstance(stmt, ast.ImportFrom) and (stmt.level or any(a.name == "*" for a in stmt.names)):
        raise ctx.refuse("a relative import, or one of everything, inside the function",
                         "import at the top of the module", "SG102")
    for alias in stmt.names:
        name, value = _imported(ctx, stmt, alias)
        ctx.frame.names[name] = value


def _imported(ctx: Context, stmt: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, Value]:
    try:
        if isinstance(stmt, ast.Import):
            whole = import_module(alias.name)
            top = alias.name.split(".")[0]
            return (alias.asname, whole) if alias.asname else (top, import_module(top))
        module = import_module(stmt.module or "")
        if not hasattr(module, alias.name):
            return alias.asname or alias.name, import_module(f"{stmt.module}.{alias.name}")
        return alias.asname or alias.name, found_outside(ctx, module, alias.name, getattr(module, alias.name))
    except ImportError as error:
        raise ctx.raises(type(error), f"an import that fails: {error}", code="SG102") from error
