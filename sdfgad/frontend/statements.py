"""Statements: one function per kind, and blocks whose rest depends on whether they have been left."""
from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.jitted import compiled, is_numba
from sdfgad.frontend.branches.binding import bind
from sdfgad.frontend.branches.branches import run_branches, run_if
from sdfgad.frontend.branches.raising import always_raises, definite, opposite, run_assert, run_raise
from sdfgad.frontend.cases import run_match
from sdfgad.frontend.containers.classes import iterated, operated
from sdfgad.frontend.containers.comprehensions import with_rest
from sdfgad.frontend.containers.growing import append, as_list
from sdfgad.frontend.containers.local_classes import define_class
from sdfgad.frontend.containers.renewed import renewed
from sdfgad.frontend.copying import copy_places, same_places
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.elements.failing import raise_if
from sdfgad.frontend.elements.in_place import check_update
from sdfgad.frontend.expressions import evaluate, make_function, operator_of
from sdfgad.frontend.functions.arithmetic import items_of, kept, known_truth, truth_value
from sdfgad.frontend.handlers import run_try
from sdfgad.frontend.loops.exits import exit_state, promised, set_result
from sdfgad.frontend.loops.loops import run_for
from sdfgad.frontend.loops.whiles import run_while
from sdfgad.frontend.managers import Managing, run_with
from sdfgad.frontend.merging.exchanges import exchange
from sdfgad.frontend.merging.generators import Yielding, listed
from sdfgad.frontend.merging.none_or import tell
from sdfgad.frontend.operands import waiting
from sdfgad.frontend.state.attempts import ApartRefusal
from sdfgad.frontend.state.context import BREAK, CONTINUE, EXITS, Context
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.sharing import SharingRefusal
from sdfgad.frontend.state.values import (
    SELECTED,
    Applied,
    Function,
    Grown,
    ListValue,
    Method,
    Record,
    Value,
    contained,
)
from sdfgad.frontend.static.imports import run_import
from sdfgad.frontend.static.sets import updated
from sdfgad.frontend.static.settled import taken
from sdfgad.frontend.syntax.liveness import always_exits, as_branch, has_exit
from sdfgad.frontend.updates import (
    changes_in_place,
    makes_array,
    settled,
    store_attribute,
    store_item,
    update,
    update_attribute,
    update_items,
    update_list,
)
from sdfgad.ir.expr import Expr

MAX_SPLITS = 4


def execute(ctx: Context, body: Sequence[ast.stmt]) -> None:
    """Run statements in order; what follows a possible break, continue or return is guarded."""
    for k, stmt in enumerate(body):
        rest = body[k + 1:]
        stmt = as_branch(stmt, ctx.frame.liveness) if ctx.builder.assumed.apart else stmt
        if isinstance(stmt, ast.If):
            _if(ctx, stmt, rest)
            return
        if isinstance(stmt, ast.Match):
            with ctx.at(stmt):
                run_match(ctx, stmt, _needed(ctx, stmt, ()))
            _rest(ctx, stmt, rest)
            return
        _one(ctx, stmt)
        if isinstance(stmt, ast.Raise):
            return
        if isinstance(stmt, (ast.For, ast.While, ast.With, ast.Try, ast.Break, ast.Continue, ast.Return)):
            state = exit_state(ctx, EXITS)
            if state is not False:
                _rest(ctx, stmt, rest)
                return


def _one(ctx: Context, stmt: ast.stmt) -> None:
    rule = _RULES.get(type(stmt))
    with ctx.at(stmt):
        if ctx.here is not None and not ctx.frame.quiet:
            ctx.builder.source = ctx.here
        if rule is None:
            raise ctx.refuse(f"this statement ({type(stmt).__name__})", _HELP.get(type(stmt), ""), "SG102")
        rule(ctx, stmt)


def _rest(ctx: Context, stmt: ast.stmt, rest: Sequence[ast.stmt]) -> None:
    """Run the rest of a block unless it has been left."""
    if not rest:
        return
    state = exit_state(ctx, EXITS)
    if state is True:
        return
    if state is False:
        execute(ctx, rest)
        return
    run_if(ctx, state, lambda: promised(ctx, EXITS), lambda: execute(ctx, rest), _needed(ctx, stmt, rest))


def _needed(ctx: Context, stmt: ast.stmt, rest: Sequence[ast.stmt]) -> frozenset[str]:
    liveness = ctx.frame.liveness
    end = rest[-1] if rest else stmt
    around = frozenset().union(*(liveness.around.get(s, frozenset()) for s in (stmt, *rest)))
    return liveness.after[end] | liveness.captured | around


def _if(ctx: Context, stmt: ast.If, rest: Sequence[ast.stmt]) -> None:
    with ctx.at(stmt):
        if ctx.here is not None and not ctx.frame.quiet:
            ctx.builder.source = ctx.here
        test = evaluate(ctx, stmt.test)
        decided = known_truth(ctx, test)
        if decided is None:
            with ctx.at(stmt.test):
                test = truth_value(ctx, test)
    if decided is not None:
        execute(ctx, stmt.body if decided else stmt.orelse)
        _rest(ctx, stmt, rest)
        return
    condition = test.at(())
    ctx.builder.consume(test)
    ctx.builder.flush()
    if always_raises(stmt.body) or always_raises(stmt.orelse):
        _guard(ctx, stmt, condition)
        _rest(ctx, stmt, rest)
        return
    if has_exit([stmt]) and (always_exits(stmt.body) or always_exits(stmt.orelse)):
        _branch(ctx, stmt, condition, rest, (always_exits(stmt.orelse), always_exits(stmt.body)))
        return
    _branch_or_split(ctx, stmt, condition, rest)


def _guard(ctx: Context, stmt: ast.If, condition: Expr) -> None:
    """if c: raise E   else: s   ->   if c: raise E   ;   s"""
    raises, other = (stmt.body, stmt.orelse) if always_raises(stmt.body) else (stmt.orelse, stmt.body)
    raise_if(ctx, condition if raises is stmt.body else opposite(condition), lambda: execute(ctx, raises))
    tell(ctx, stmt.test, raises is not stmt.body)
    execute(ctx, other)


def _branch(ctx: Context, stmt: ast.If, condition: Expr, rest: Sequence[ast.stmt], inside: tuple[bool, bool]) -> None:
    """The statement with the rest of its block in those branches that `inside` says."""

    def way(body: Sequence[ast.stmt], holds: bool) -> None:
        tell(ctx, stmt.test, holds)
        execute(ctx, [*body, *rest] if all(inside) else body)
        if inside[not holds] and not all(inside):
            _rest(ctx, stmt, rest)

    run_branches(ctx, condition, lambda: way(stmt.body, True), lambda: way(stmt.orelse, False),
                 _needed(ctx, stmt, rest if any(inside) else ()))


def _branch_or_split(ctx: Context, stmt: ast.If, condition: Expr, rest: Sequence[ast.stmt]) -> None:
    """The branches meet before the rest of the block; where that would mix up arrays or objects, each runs the rest."""
    back = ctx.mark()
    try:
        _branch(ctx, stmt, condition, (), (False, False))
        _rest(ctx, stmt, rest)
    except (SharingRefusal, ApartRefusal):
        if not rest or ctx.splits >= MAX_SPLITS:
            raise
        back()
        ctx.splits += 1
        try:
            _branch(ctx, stmt, condition, rest, (True, True))
        finally:
            ctx.splits -= 1


# assignments

_ASSIGNED = "%assigned"


def _assign(ctx: Context, stmt: ast.Assign) -> None:
    step = ctx.frame.exchanges.get(stmt)
    if step is not None:
        exchange(ctx, stmt, step)
        return
    if renewed(ctx, stmt):
        return
    label = next((t.id for t in stmt.targets if isinstance(t, ast.Name)), "")
    if len(stmt.targets) == 1 and same_places(stmt.targets[0], stmt.value):
        copy_places(ctx, stmt.targets[0], stmt.value)
        return
    value = _named(ctx, stmt.value, label)
    if len(stmt.targets) > 1:
        value = kept(ctx, value, label or "tmp")
    leaves = [n for t in stmt.targets for n in ast.walk(t) if isinstance(getattr(n, "ctx", None), ast.Store)]
    if len(leaves) > 1 and any(isinstance(n, ast.Subscript) for n in leaves):
        ctx.frame.names[_ASSIGNED] = value  # whatever is stored in one of them, the others know as well
    for target in stmt.targets:
        assign(ctx, target, value)
    ctx.frame.names.pop(_ASSIGNED, None)


def _named(ctx: Context, node: ast.expr, label: str) -> Value:
    """Evaluate with the name that containers made on the way may carry."""
    before, ctx.label = ctx.label, label or ctx.label
    try:
        return evaluate(ctx, node)
    finally:
        ctx.label = before


def _annotated(ctx: Context, stmt: ast.AnnAssign) -> None:
    if stmt.value is not None:
        assign(ctx, stmt.target, evaluate(ctx, stmt.value))


def assign(ctx: Context, target: ast.expr, value: Value, alone: bool = True) -> None:
    """Bind a name, store into a subscript or unpack."""
    if isinstance(target, ast.Name):
        bind(ctx, target.id, value, alone)
    elif isinstance(target, ast.Subscript):
        base = definite(ctx, evaluate(ctx, target.value))
        items = definite(ctx, evaluate(ctx, target.slice))
        with ctx.at(target):
            store_item(ctx, base, items, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(ctx, target, value)
    elif isinstance(target, ast.Attribute):
        owner = evaluate(ctx, target.value)
        with ctx.at(target):
            store_attribute(ctx, owner, target.attr, value)
    else:
        with ctx.at(target):
            raise ctx.refuse(f"an assignment to this target ({type(target).__name__})",
                             "assign to a name or to elements of an array", "SG102")


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: Value) -> None:
    value = taken(ctx, iterated(ctx, definite(ctx, value)), True)
    value = listed(ctx, value) if isinstance(value, Yielding) else value
    items = with_rest(ctx, target, list(items_of(ctx, value)))
    if len(items) != len(target.elts):
        with ctx.at(target):
            raise ctx.refuse(f"{len(items)} values for {len(target.elts)} names", code="SG102")
    # All values exist before the first name is bound: a swap must not see half of itself.
    single = len(items) == 1
    values = [v if single else kept(ctx, v, t.id if isinstance(t, ast.Name) else "tmp")
              for v, t in zip(items, target.elts, strict=True)]
    for part, item in zip(target.elts, values, strict=True):
        assign(ctx, part.value if isinstance(part, ast.Starred) else part, item, alone=single)


def _augmented(ctx: Context, stmt: ast.AugAssign) -> None:
    ufunc, target = operator_of(stmt.op), stmt.target

    def value(old: Value) -> Value:
        with waiting(ctx, old, stmt.value):
            return definite(ctx, evaluate(ctx, stmt.value))

    if isinstance(target, ast.Name):
        old = definite(ctx, evaluate(ctx, ast.copy_location(ast.Name(target.id, ast.Load()), target)))
        _update_name(ctx, target.id, old, ufunc, value(old))
        return
    base = definite(ctx, evaluate(ctx, target.value))
    if isinstance(target, ast.Attribute):
        update_attribute(ctx, base, target.attr, ufunc, value)
        return
    items = settled(ctx, definite(ctx, evaluate(ctx, target.slice)))
    update_items(ctx, base, items, ufunc, value)


def _update_name(ctx: Context, name: str, old: Value, ufunc: np.ufunc, value: Value) -> None:
    if isinstance(old, Grown) and old.now.begun is None:
        old = as_list(ctx, old)
    if isinstance(old, Grown) and ufunc is np.add and not makes_array(value):
        for item in items_of(ctx, kept(ctx, value)):
            append(ctx, old, item)
        return
    if isinstance(old, SetValue):
        updated(ctx, old, ufunc, value)
        return
    if isinstance(old, ListValue) and update_list(ctx, old, ufunc, value):
        return
    check_update(ctx, name, old)
    if changes_in_place(old):
        update(ctx, old, ufunc, value)
        return
    bind(ctx, name, operated(ctx, ufunc, old, value, update=True))


# the rest

def _expression(ctx: Context, stmt: ast.Expr) -> None:
    if isinstance(stmt.value, ast.Constant):
        return
    if isinstance(stmt.value, (ast.Yield, ast.YieldFrom)):
        raise ctx.refuse("a generator", "return an array", "SG102")
    evaluate(ctx, stmt.value)


def _return(ctx: Context, stmt: ast.Return) -> None:
    value = None if stmt.value is None else _named(ctx, stmt.value, "")
    for part in contained(value) if len(ctx.frames) == 1 else ():
        if isinstance(part, SELECTED):
            raise ctx.refuse(f"{describe(part)} as a return value", "return arrays; use np.where instead of a mask",
                             "SG109")
        if isinstance(part, Record) and issubclass(part.form, defaultdict):
            raise ctx.refuse("a defaultdict as a return value", "return dict(...) of it", "SG109")
        if isinstance(part, (Function, Applied)):
            raise ctx.refuse("a return value that is not made of arrays, numbers and constants",
                             "return arrays, numbers and constants", "SG109")
    set_result(ctx, value)


def _break(ctx: Context, stmt: ast.Break) -> None:
    ctx.frame.names[BREAK] = True


def _continue(ctx: Context, stmt: ast.Continue) -> None:
    ctx.frame.names[CONTINUE] = True


def _for(ctx: Context, stmt: ast.For) -> None:
    run_for(ctx, stmt, lambda target, value: assign(ctx, target, value))


def _delete(ctx: Context, stmt: ast.Delete) -> None:
    for target in stmt.targets:
        if isinstance(target, ast.Subscript):
            owner, key = evaluate(ctx, target.value), evaluate(ctx, target.slice)
            if not isinstance(owner, (ListValue, Grown, Record)) or isinstance(key, slice):
                raise ctx.refuse(f"a deletion of an item of {describe(owner)}", "make another one without it", "SG102")
            ctx.invoke(ctx, Method(owner, "pop"), [key], {})
            continue
        if not isinstance(target, ast.Name) or target.id not in ctx.frame.names:
            raise ctx.refuse("a deletion of something other than a local name or an item", code="SG102")
        del ctx.frame.names[target.id]


def _with(ctx: Context, stmt: ast.With) -> None:
    run_with(ctx, stmt, lambda target, value: assign(ctx, target, value), _for)


def _function(ctx: Context, stmt: ast.FunctionDef) -> None:
    made: Value = make_function(ctx, stmt)
    for decorator in reversed(stmt.decorator_list):
        # What remembers results changes none.
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        rule = evaluate(ctx, called)
        if rule is contextmanager and isinstance(made, Function):
            made = Managing(made)
        elif is_numba(rule, "jit", "njit"):  # whose types of arguments nobody asks for
            known = {k.arg: evaluate(ctx, k.value) for k in getattr(decorator, "keywords", ()) if k.arg == "locals"}
            made = compiled(ctx, rule, [made], known)
        elif rule not in (lru_cache, cache):
            made = ctx.invoke(ctx, evaluate(ctx, decorator), [made], {})
    ctx.frame.names[stmt.name] = made


def _global(ctx: Context, stmt: ast.Global) -> None:
    if bound := [n for n in stmt.names if n in ctx.frame.liveness.local]:
        raise ctx.refuse(f"an assignment to the global name {bound[0]!r}", "pass and return the value", "SG102")


_RULES: Mapping[type, Callable[[Context, Any], None]] = MappingProxyType({
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Expr: _expression,
    ast.Return: _return, ast.Break: _break, ast.Continue: _continue, ast.For: _for, ast.While: run_while,
    ast.Pass: lambda ctx, stmt: None, ast.Assert: run_assert, ast.Delete: _delete, ast.With: _with,
    ast.FunctionDef: _function, ast.ClassDef: define_class, ast.Import: run_import, ast.ImportFrom: run_import,
    ast.Raise: run_raise, ast.Try: run_try, ast.Global: _global})
_HELP: Mapping[type, str] = MappingProxyType({
    ast.Nonlocal: "return the value instead", ast.AsyncFunctionDef: "use an ordinary function"})
