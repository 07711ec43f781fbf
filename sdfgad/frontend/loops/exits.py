"""break, continue and return as flags: when they are up, what follows is skipped."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from sdfgad.frontend.branches.branches import run_if
from sdfgad.frontend.branches.fields import SHARED
from sdfgad.frontend.branches.raising import definite_parts, opposite
from sdfgad.frontend.containers.numbered import as_lists
from sdfgad.frontend.elements.elementwise import BOOL, as_array
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.functions.arithmetic import both, kept, truth_value
from sdfgad.frontend.merging.merge import holder, in_container
from sdfgad.frontend.merging.none_or import NOWHERE, blank_of
from sdfgad.frontend.merging.structures import mutable_parts
from sdfgad.frontend.state.context import BREAK, CONTINUE, RESULT, RETURN, Context
from sdfgad.frontend.state.references import references
from sdfgad.frontend.state.values import ListValue, Maybe, NoneOr, Record, Unbound, Value, contained
from sdfgad.frontend.syntax.liveness import always_exits, has_exit
from sdfgad.ir.expr import call, const
from sdfgad.ir.program import Failure


def guarded(ctx: Context, rest: Callable[[], None], live: frozenset[str], flags: Sequence[str]) -> None:
    """Run `rest` unless one of the flags is up."""
    state = exit_state(ctx, flags)
    if state is True:
        return
    if state is False:
        rest()
        return
    run_if(ctx, state, lambda: promised(ctx, flags), rest, live)


def promised(ctx: Context, flags: Sequence[str]) -> None:
    """Where a flag is up, names that it says are bound are bound."""
    names = ctx.frame.names
    raised = [f for f in flags if names.get(f, False) is not False]
    for name, value in names.items():
        if isinstance(value, Maybe) and raised == [value.when]:
            names[name] = value.value


def exit_state(ctx: Context, flags: Sequence[str]) -> Value:
    """True or False when it is known whether a flag is up, else the condition."""
    values = [ctx.frame.names.get(f, False) for f in flags]
    if any(v is True for v in values):
        return True
    open_ = [truth_value(ctx, v).at(()) for v in values if v is not False]
    if not open_:
        return False
    condition = open_[0]
    for other in open_[1:]:
        condition = call("or", condition, other, dtype=BOOL)
    reads = frozenset().union(*(references(v) for v in values))
    return ctx.builder.lazy((), BOOL, lambda _: condition, reads, True)


def leave_flag(ctx: Context) -> str | None:
    """A container that says whether this iteration ended the loop; None when it cannot."""
    flags = [ctx.frame.names.get(f, False) for f in (BREAK, RETURN)]
    raised = [f for f in flags if f is not False]
    if not raised:
        return None
    if len(raised) == 1 and (container := holder(ctx, raised[0])) is not None:
        return container
    value = as_array(ctx, exit_state(ctx, (BREAK, RETURN)))
    e = value.at(())
    ctx.builder.consume(value)
    array = ctx.builder.declare((), BOOL, "left")
    ctx.builder.store(array.name, (), e)
    return array.name


def flags_down(ctx: Context, names: dict[str, Value], until: str | None) -> None:
    """Before the loop no flag is up, whether or not its body will ever run."""
    containers = {holder(ctx, names.get(f, False)) for f in (BREAK, RETURN)} | {until}
    for name in sorted(c for c in containers if c is not None):
        ctx.builder.store(name, (), const(False, BOOL))


def loop_else(ctx: Context, stmt: ast.For | ast.While, until: str | None) -> None:
    """The `else` of a loop, and the flags after it."""
    names = ctx.frame.names
    for flag in (BREAK, RETURN):
        if names.get(flag) is True and until is not None:  # true only if the body has run
            names[flag] = ctx.builder.view(ctx.builder.arrays[until], weak=True, scalar=True)
    names[CONTINUE] = False
    if stmt.orelse:
        run_else(ctx, stmt, ctx.frame.liveness.after[stmt])
    _keep_bound(ctx)
    breaks_over(ctx, stmt)


def run_else(ctx: Context, stmt: ast.For | ast.While, live: frozenset[str]) -> None:
    """The `else` of a loop that has come to its end. A `break` in it is one of the loop around, with the same flag."""
    state = exit_state(ctx, (BREAK, RETURN))
    if not has_exit(stmt.orelse, (ast.Break,)) or state is False:
        guarded(ctx, lambda: ctx.execute(ctx, stmt.orelse), live, (BREAK, RETURN))
        return

    def left() -> None:
        promised(ctx, (BREAK, RETURN))
        ctx.frame.names[BREAK] = False

    def ended() -> None:
        ctx.frame.names[BREAK] = False
        ctx.execute(ctx, stmt.orelse)

    if state is True:
        left()
    else:
        run_if(ctx, state, left, ended, live)


def breaks_over(ctx: Context, stmt: ast.For | ast.While) -> None:
    """Behind a loop its own breaks are no matter any more."""
    if not has_exit(stmt.orelse, (ast.Break,)):
        ctx.frame.names[BREAK] = False


def _keep_bound(ctx: Context) -> None:
    """Behind a loop, names bound where it was left by `break` are known to be so there alone."""
    names = ctx.frame.names
    if len(ctx.builder.regions) > ctx.frame.depth or names.get(BREAK, False) is False:
        return  # in a loop around this one, they may have their values from an iteration before
    for name, value in names.items():
        if isinstance(value, Maybe) and value.when == BREAK and blank_of(NOWHERE, value.value) is not None:
            names[name] = Unbound(names[BREAK], value.value)


def set_result(ctx: Context, value: Value) -> None:
    """`return value` inside a loop or branch."""
    frame = ctx.frame
    inside = len(ctx.builder.regions) > frame.depth
    value = kept(ctx, value, "result")
    if mutable_parts(value):
        frame.returned.append(value)
        frame.branched = frame.branched or inside
    frame.names[RESULT] = in_container(ctx, value, "result") if inside else value
    frame.names[RETURN] = True


def result_of(ctx: Context) -> Value:
    """What the call returns whose statements have all been run.

    Where some runs come to the end of a function that returns a value in others, it is None in these.
    """
    frame = ctx.frame
    found, up = frame.names.get(RESULT), exit_state(ctx, (RETURN,))
    value = found.value if isinstance(found, Maybe) else found
    if up is False or not any(map(_returns_value, frame.code.body)):
        return value
    if isinstance(found, Maybe) and value is None:
        raise ctx.refuse(f"a call of {frame.code.name}, which returns None in some runs and a value in others",
                         "return values of one form", "SG106")
    if up is True or always_exits(frame.code.body):
        return value
    if isinstance(value, NoneOr):
        return NoneOr(kept(ctx, both(ctx, up, value.there)), value.value)
    if (blank := blank_of(value, None)) is not None and blank.made is NoneOr:
        return NoneOr(kept(ctx, up), value)
    ended = opposite(as_array(ctx, up).at(()))
    text = f"{frame.code.name} returned None: it came to its end without a return statement"
    raise_if(ctx, ended, lambda: fail(ctx, Failure(TypeError, (text,))))
    return value


def own_result(ctx: Context, result: Value) -> Value:
    """A container that a call has returned from inside of a branch or loop, where it has been copied.

    The same one on every way is that one. One of several that others know may not change any more, nor may the copy:
    the others would not see it.
    """
    frame = ctx.frame
    if len(ctx.frames) == 1:
        result = definite_parts(ctx, as_lists(ctx, result))
    if not frame.branched:
        return result
    first = frame.returned[0]
    if isinstance(first, (ListValue, Record)) and 0 <= first.depth <= frame.depth and all(
            v is first for v in frame.returned):
        return first
    others = {id(p) for other, _, v in ctx.values(False) if other is not frame for p in contained(v)}
    named = [p for v in frame.returned for p in mutable_parts(v) if id(p) in others]
    for part in (*named, *(mutable_parts(result) if named else ())):
        part.depth = SHARED
    return result


def _returns_value(node: ast.AST) -> bool:
    """Whether a `return` with a value belongs to these statements, not to a function in them."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        return False
    if isinstance(node, ast.Return):
        return not (node.value is None or isinstance(node.value, ast.Constant) and node.value.value is None)
    return any(map(_returns_value, ast.iter_child_nodes(node)))
