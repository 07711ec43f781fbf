"""`import` inside of a function."""
from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import resolve_name

from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Value
from sdfgad.frontend.static.outside import bind_global, found_outside


def run_import(ctx: Context, stmt: ast.Import | ast.ImportFrom) -> None:
    """An `import` statement."""
    if isinstance(stmt, ast.ImportFrom) and any(a.name == "*" for a in stmt.names):
        raise ctx.refuse("an import of everything inside the function", "import at the top of the module", "SG102")
    for alias in stmt.names:
        name, value = _imported(ctx, stmt, alias)
        if name in ctx.frame.liveness.shared:
            bind_global(ctx, name, value)
        else:
            ctx.frame.names[name] = value


def _imported(ctx: Context, stmt: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, Value]:
    try:
        if isinstance(stmt, ast.Import):
            whole = import_module(alias.name)
            top = alias.name.split(".")[0]
            return (alias.asname, whole) if alias.asname else (top, import_module(top))
        module = import_module(_home(ctx, stmt))
        if not hasattr(module, alias.name):
            return alias.asname or alias.name, import_module(f"{module.__name__}.{alias.name}")
        return alias.asname or alias.name, found_outside(ctx, module, alias.name, getattr(module, alias.name))
    except ImportError as error:
        raise ctx.raises(type(error), f"an import that fails: {error}", code="SG102") from error


def _home(ctx: Context, stmt: ast.ImportFrom) -> str:
    """The module that names come from; dots lead up from the package of the function's file."""
    if not stmt.level:
        return stmt.module or ""
    around = ctx.frame.code.globals
    package = around.get("__package__")
    if package is None:
        name = str(around.get("__name__", ""))
        package = name if "__path__" in around else name.rpartition(".")[0]
    return resolve_name("." * stmt.level + (stmt.module or ""), package)
