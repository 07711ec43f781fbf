"""Arrays that loops make longer or shorter by as much in every iteration: parts of one that is long enough for all."""
from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdfgad.frontend.bodies.shape import as_long_as
from sdfgad.frontend.elements.elementwise import int_ix, int_value
from sdfgad.frontend.loops.loop_forms import first_iteration
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.references import references
from sdfgad.frontend.state.values import ArrayValue, Lazy, Rows, Value
from sdfgad.frontend.syntax.liveness import assigned, extended, has_exit
from sdfgad.frontend.syntax.nodes import constant, copied, load, placed, store
from sdfgad.ir.index import ix

_READ = ast.Load()
_COUNTER = "iterations of a loop that resizes"


@dataclass(frozen=True)
class _Resized:
    """An array of a shape after one iteration, which has `step` elements more along each axis after each other one."""

    name: str
    shape: tuple[int, ...]
    step: tuple[int, ...]
    dtype: np.dtype

    @property
    def room(self) -> str:
        return f"room of {self.name}"

    def after(self, count: int) -> tuple[int, ...]:
        """The shape when so many more iterations have run."""
        return tuple(n + d * count for n, d in zip(self.shape, self.step, strict=True))


def run_resizing(ctx: Context, stmt: ast.For, rows: Rows, bind: Callable[[Value], None],
                 run: Callable[[Context, ast.For, Rows, Callable[[Value], None]], None]) -> None:
    """The first iteration on its own, then those in which arrays have lengths that are known from the place.

    for _ in range(m): v = f(v[1:])   ->   v = f(v[1:]); room = np.empty(n - 1); room[:n - 1] = v
                                           for k in range(m - 1):
                                               v = room[:n - 1 - k].copy(); v = f(v[1:]); room[:n - 2 - k] = v
                                           v = room[:n - m]
    run: makes a loop of the program. Raises UnsupportedError where no array changes its shape by the same in all.
    """
    count = rows.count.const or 0
    if has_exit(stmt.body) or stmt.orelse or count < 3 or _COUNTER in ctx.frame.names:
        raise _refused(ctx)
    names = [n for n in assigned(stmt.body) if n in ctx.frame.liveness.at_loop[stmt]]
    before = {n: ctx.frame.names.get(n) for n in names}
    bind(rows.item(ix(0)))
    first_iteration(ctx, stmt)
    found = [r for n in names if (r := _resized(n, before[n], ctx.frame.names.get(n))) is not None]
    if not found or any(min(r.after(count - 1), default=0) < 0 for r in found):
        raise _refused(ctx)
    rest = Rows(rows.count - 1, lambda k: (int_value(k), rows.item(k + 1)), held=rows.held)
    before_it, loop, behind_it = _written(stmt, found, rest)
    frame = ctx.frame
    frame.liveness = extended(frame.liveness, [*before_it, loop, *behind_it], frame.liveness.after[stmt])
    ctx.execute(ctx, before_it)
    run(ctx, loop, rest, lambda item: _bind_both(ctx, item, bind))
    ctx.execute(ctx, behind_it)
    for name in (_COUNTER, *(r.room for r in found)):
        frame.names.pop(name, None)


def fits(ctx: Context, array: Value, resized: _Resized, k: Value) -> Value:
    """An array that is as expected after k more iterations, and belongs to one name."""
    shape = tuple(int_ix(k) * d + n for n, d in zip(resized.shape, resized.step, strict=True))
    if not isinstance(array, ArrayValue) or array.shape != shape or array.dtype != resized.dtype:
        raise _refused(ctx)
    if not isinstance(array, Lazy):
        holders = {n for _, n, v in ctx.values() if not references(v).isdisjoint(array.reads)}
        if len(holders) > 1 or not array.reads.isdisjoint(ctx.builder.arguments):
            raise _refused(ctx)
    return array


def _refused(ctx: Context) -> Exception:
    return ctx.refuse("an array that changes its shape in a loop", "use a fixed shape, and parts of it", "SG104")


def _resized(name: str, before: Value, after: Value) -> _Resized | None:
    """How an array has changed its shape in the first iteration."""
    if not (isinstance(before, ArrayValue) and isinstance(after, ArrayValue)) or before.ndim != after.ndim:
        return None
    old, new = (tuple(n.const for n in v.shape if n.const is not None) for v in (before, after))
    if len(old) < before.ndim or len(new) < after.ndim or old == new:
        return None
    return _Resized(name, new, tuple(b - a for a, b in zip(old, new, strict=True)), after.dtype)


def _bind_both(ctx: Context, item: Value, bind: Callable[[Value], None]) -> None:
    ctx.frame.names[_COUNTER], given = item
    bind(given)


def _written(stmt: ast.For, found: list[_Resized], rest: Rows) -> tuple[list[ast.stmt], ast.For, list[ast.stmt]]:
    """The statements before the loop, the loop, and those behind it."""
    count = rest.count.const or 0
    then = ast.BinOp(load(_COUNTER), ast.Add(), constant(1))
    room = [_assigned(r.room, _called(np.empty, tuple(map(max, r.shape, r.after(count))), r.dtype)) for r in found]
    begin = [_assigned(r.name, ast.Call(ast.Attribute(_part(r, load(_COUNTER)), "copy", _READ), [], []))
             for r in found]
    body = [*begin, *copied(stmt.body), *(_kept(r, then) for r in found)]
    loop = ast.For(ast.Tuple([store(_COUNTER), stmt.target], ast.Store()), constant(rest), body, [])
    before = [*room, *(_kept(r, constant(0)) for r in found)]
    behind = [_assigned(r.name, _part(r, constant(count))) for r in found]
    for made in (*before, loop, *behind):
        placed(made, stmt, None)
    return before, loop, behind


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([store(name)], value)


def _called(function: Callable[..., object], *arguments: object) -> ast.Call:
    return ast.Call(constant(function), [constant(a) for a in arguments], [])


def _part(resized: _Resized, k: ast.expr, context: ast.expr_context = _READ) -> ast.Subscript:
    """room[:n + d * k, ...]"""
    ends = [ast.BinOp(constant(n), ast.Add(), ast.BinOp(constant(d), ast.Mult(), k))
            for n, d in zip(resized.shape, resized.step, strict=True)]
    return ast.Subscript(load(resized.room), ast.Tuple([ast.Slice(None, e) for e in ends], ast.Load()), context)


def _kept(resized: _Resized, k: ast.expr) -> ast.stmt:
    """room[:n + d * k, ...] = v"""
    value = ast.Call(constant(as_long_as), [load(resized.name), constant(resized), k], [])
    return ast.Assign([_part(resized, k, ast.Store())], value)
