"""Which lists a loop makes longer, and loops where data decide how long these become."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.containers.growing import may_grow, run_growing
from sdfgad.frontend.containers.renewed import joined_name
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Grown, ListValue, Rows, Value
from sdfgad.frontend.static.settled import GrowingRefusal
from sdfgad.frontend.syntax.liveness import assigned, load_names


def run_counted(ctx: Context, stmt: ast.For | ast.While, rows: Rows, refusal: UnsupportedError,
                run: Callable[[Rows], None]) -> None:
    """A loop where data decide how many items lists get: these are counted in the run."""
    lists, back = lists_of(ctx, stmt), ctx.mark()
    first = getattr(refusal, "changed", None)
    more = None if first is None else may_grow(ctx, [first], rows, 0, True)
    while True:
        lists += [v for v in more or () if all(v is not known for known in lists)]
        try:
            if run_growing(ctx, lists, rows, 0, run, counted=True):
                return
            raise refusal
        except UnsupportedError as found:
            changed = found.changed if isinstance(found, GrowingRefusal) and found is not refusal else None
        back()
        new = [] if changed is None or any(v is changed for v in lists) else [changed]
        # Two lists that are walked over side by side have to be of one kind.
        others = [v for v in lists_of(ctx, stmt, shorter=True) if all(v is not known for known in lists)]
        more = may_grow(ctx, new, rows, 0, True) or may_grow(ctx, others, rows, 0, True)
        if not more:
            raise refusal


def appended(body: Sequence[ast.stmt], shorter: bool = False) -> list[ast.expr]:
    """What the lists are called that a block makes longer, if they are lists: `name.append(item)`, `name += items`.

    A list that gives items away as well may keep its length. shorter: such ones, too.
    """
    nodes = [n for s in body for n in ast.walk(s)]
    called = [n.func for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    longer: list[ast.expr] = [f.value for f in called if f.attr in ("append", "extend")]
    longer += [n.target for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)
               and isinstance(n.target, ast.Name)]
    longer += [name for n in nodes if isinstance(n, ast.stmt) and (name := joined_name(n)) is not None]
    lost = {ast.unparse(f.value) for f in called if f.attr in ("pop", "popleft") and not shorter}
    lost |= {ast.unparse(t.value) for n in nodes if isinstance(n, ast.Delete) for t in n.targets
             if isinstance(t, ast.Subscript) and not shorter}
    found = {ast.unparse(n): n for n in longer}
    return [n for text, n in found.items() if text not in lost]


def lists_of(ctx: Context, stmt: ast.For | ast.While, shorter: bool = False) -> list[ListValue | Grown]:
    """The lists that the body of a loop makes longer, as far as its text shows."""
    bound = {*assigned(stmt.body), *(assigned([ast.Expr(stmt.target)]) if isinstance(stmt, ast.For) else ())}
    found: list[ListValue | Grown] = []
    for node in appended(stmt.body, shorter):
        if not isinstance(node, ast.Name) and (not _is_place(node) or not bound.isdisjoint(load_names(node))):
            continue
        value = _looked_up(ctx, node)
        if isinstance(value, (ListValue, Grown)) and all(v is not value for v in found):
            found.append(value)
    return found


def _is_place(node: ast.expr) -> bool:
    """Whether an expression is a name, or an attribute or item of one."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, (ast.Constant, ast.Name)) and _is_place(node.value)
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and _is_place(node.value)


def _looked_up(ctx: Context, node: ast.expr) -> Value:
    if isinstance(node, ast.Name):
        return ctx.frame.names.get(node.id)
    back = ctx.mark()
    try:
        return ctx.evaluate(ctx, node)
    except UnsupportedError:
        return None
    finally:
        back()
