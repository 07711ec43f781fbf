"""Loops: counted and conditional ones in the program, names carried from one iteration to the next, unrolling."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arithmetic import items_of, kept, known_truth, truth_value
from sdfgad.frontend.branches import run_if
from sdfgad.frontend.carried import Carry, after_loop, close_carry, fixpoint, open_carry, restore
from sdfgad.frontend.context import BREAK, CONTINUE, RESULT, RETURN, Context
from sdfgad.frontend.elementwise import BOOL, INT, as_array, describe, int_value
from sdfgad.frontend.indexing import named_int, subscript
from sdfgad.frontend.liveness import assigned
from sdfgad.frontend.merge import holder, in_container
from sdfgad.frontend.values import (
    ArrayValue, IntValue, ListValue, Maybe, RangeValue, Rows, Value, references)
from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Loop, Range, While

UNROLL_TRIPS = 64
UNROLL_CODE = "unrolled"  # never shown
UNROLL_STATEMENTS = 4096

Bind = Callable[[Value], None]


def rows_of(ctx: Context, iterable: Value) -> Rows | None:
    """What a loop walks over when that is no fixed list of items."""
    if isinstance(iterable, Rows):
        return iterable
    if isinstance(iterable, range):
        return Rows(ix(len(iterable)), lambda k: int_value(k * iterable.step + iterable.start))
    if isinstance(iterable, RangeValue):
        gap = iterable.stop - iterable.start if iterable.step > 0 else iterable.start - iterable.stop
        count = (gap + (abs(iterable.step) - 1)) // abs(iterable.step)
        return Rows(ctx.builder.scope.greatest(count, ix(0)), lambda k: int_value(k * iterable.step + iterable.start))
    if isinstance(iterable, ArrayValue):
        if not iterable.shape:
            raise ctx.refuse("a loop over a number", "loop over range(n)", "SG102")
        stored = ctx.builder.materialise(iterable, "items")
        return Rows(stored.shape[0], lambda k: subscript(ctx, stored, int_value(k)))
    return None


def run_for(ctx: Context, stmt: ast.For, bind: Callable[[ast.expr, Value], None]) -> None:
    """A `for` statement."""
    iterable = ctx.evaluate(ctx, stmt.iter)
    target: Bind = lambda item: bind(stmt.target, item)  # noqa: E731
    if isinstance(iterable, (ListValue, tuple, list, str)):
        _unroll(ctx, stmt, items_of(ctx, iterable), target)
        return
    rows = rows_of(ctx, iterable)
    if rows is None:
        raise ctx.refuse(f"a loop over {describe(iterable)}", "loop over a range, an array, a tuple or a list", "SG102")
    count = rows.count.const
    if count is not None and count <= 1:
        _unroll(ctx, stmt, [rows.item(ix(k)) for k in range(count)], target)
        return
    ctx.builder.flush()
    _trial(ctx, stmt, lambda: _counted(ctx, stmt, iterable, rows, target),
           None if count is None or count > UNROLL_TRIPS else
           lambda: _unroll(ctx, stmt, (rows.item(ix(k)) for k in range(count)), target))


def _trial(ctx: Context, stmt: ast.stmt, first: Callable[[], None], fallback: Callable[[], None] | None) -> None:
    """Run `first`; when it is refused, take everything back and run `fallback`, keeping the first refusal."""
    snapshot, names, here, frames = ctx.builder.snapshot(), dict(ctx.frame.names), ctx.here, len(ctx.frames)
    try:
        first()
    except UnsupportedError as error:
        if fallback is None:
            raise
        del ctx.frames[frames:]
        ctx.builder.rollback(snapshot)
        ctx.frame.names, ctx.here = names, here
        try:
            fallback()
        except UnsupportedError as second:
            # Unrolling gets past the first refusal unless the loop is too long for it: then the second one counts.
            raise error if second.code == UNROLL_CODE else second from None


# unrolled

def _unroll(ctx: Context, stmt: ast.For, items: Sequence[Value], bind: Bind) -> None:
    """Run the body once per item, in a row."""
    pending = iter(items)
    live = ctx.frame.liveness.at_loop[stmt]

    def rest() -> None:
        for item in pending:
            if ctx.builder.statements > UNROLL_STATEMENTS:
                raise ctx.refuse("a loop that unrolls to too many statements", "use arrays instead of lists", UNROLL_CODE)
            bind(item)
            ctx.execute(ctx, stmt.body)
            ctx.frame.names[CONTINUE] = False
            _guarded(ctx, rest, live, (BREAK, RETURN))
            return
        if stmt.orelse:
            _guarded(ctx, lambda: ctx.execute(ctx, stmt.orelse), live, (BREAK, RETURN))

    rest()
    ctx.frame.names[BREAK] = False


def _guarded(ctx: Context, rest: Callable[[], None], live: frozenset[str], flags: Sequence[str]) -> None:
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


# loops of the program

def _counted(ctx: Context, stmt: ast.For, iterable: Value, rows: Rows, bind: Bind) -> None:
    start, stop, step = _ends(ctx, iterable, rows)
    label = next((n.id for n in ast.walk(stmt.target) if isinstance(n, ast.Name)), "i")

    def once(carry: Carry) -> None:
        builder = ctx.builder
        span = Range(builder.symbol(label), start, stop, step)
        open_carry(ctx, carry)
        with builder.region() as block:
            builder.scope.ranges.append(span)
            counted = isinstance(iterable, (range, RangeValue))
            bind(int_value(ix(span.var)) if counted else rows.item(ix(span.var)))
            ctx.execute(ctx, stmt.body)
            until = _leave_flag(ctx)
            after = close_carry(ctx, stmt, carry)
        trips = span.trips
        sure = trips is not None and trips > 0 or ctx.builder.scope.nonnegative(rows.count - 1)
        last = None if until else stop - 1 if step == 1 else start + (rows.count - 1) * step
        _emit(ctx, block, until, after, lambda body, flag, count: Loop(
            span, body, builder.source, flag, count, label))
        after_loop(ctx, carry, after, {span.var: last}, sure)
        _else(ctx, stmt, until)

    body_live = ctx.frame.liveness.at_body[stmt]
    if rows.count.const is None and not ctx.builder.scope.nonnegative(rows.count - 1):
        body_live = body_live | ctx.frame.liveness.at_loop[stmt]
    fixpoint(ctx, stmt, body_live - frozenset(assigned([ast.Expr(stmt.target)])), once)


def _ends(ctx: Context, iterable: Value, rows: Rows) -> tuple[Ix, Ix, int]:
    if isinstance(iterable, range):
        return ix(iterable.start), ix(iterable.stop), iterable.step
    if isinstance(iterable, RangeValue):
        return _steady(ctx, iterable.start), _steady(ctx, iterable.stop), iterable.step
    return ix(0), _steady(ctx, rows.count), 1


def _steady(ctx: Context, i: Ix) -> Ix:
    """A loop bound that does not change while the loop runs: data it comes from is copied."""
    if not i.elems:
        return i
    value = as_array(ctx, IntValue(i))
    if all(e.array not in ctx.builder.managed for e in i.elems):
        return named_int(ctx, value, "bound").ix
    stored = ctx.builder.fresh_copy(value, "bound")
    ctx.builder.managed.add(stored.view.array)
    bounds = ctx.builder.scope.bounds(i)
    if bounds != (None, None):
        ctx.builder.know(stored.view.array, bounds)
    return named_int(ctx, stored, "bound").ix


def run_while(ctx: Context, stmt: ast.While) -> None:
    """A `while` statement."""
    ctx.builder.flush()
    snapshot = ctx.builder.snapshot()
    decided = known_truth(ctx, ctx.evaluate(ctx, stmt.test))
    ctx.builder.rollback(snapshot)
    if decided is False:
        if stmt.orelse:
            ctx.execute(ctx, stmt.orelse)
        return
    _trial(ctx, stmt, lambda: _conditional(ctx, stmt), lambda: _unrolled_while(ctx, stmt))


def _unrolled_while(ctx: Context, stmt: ast.While) -> None:
    live = ctx.frame.liveness.at_loop[stmt]

    def rest(trip: int) -> None:
        with ctx.at(stmt.test):
            decided = known_truth(ctx, ctx.evaluate(ctx, stmt.test))
            if decided is None or trip >= UNROLL_TRIPS:
                raise ctx.refuse("a while loop that cannot be unrolled", code=UNROLL_CODE)
        if decided:
            ctx.execute(ctx, stmt.body)
            ctx.frame.names[CONTINUE] = False
            _guarded(ctx, lambda: rest(trip + 1), live, (BREAK, RETURN))
        elif stmt.orelse:
            _guarded(ctx, lambda: ctx.execute(ctx, stmt.orelse), live, (BREAK, RETURN))

    rest(0)
    ctx.frame.names[BREAK] = False


def _conditional(ctx: Context, stmt: ast.While) -> None:
    def once(carry: Carry) -> None:
        builder = ctx.builder
        open_carry(ctx, carry)
        flag = builder.declare((), BOOL, "running")
        _set(ctx, flag.name, _test(ctx, stmt))
        with builder.region() as block:
            ctx.execute(ctx, stmt.body)
            until = _leave_flag(ctx)
            after = close_carry(ctx, stmt, carry)
            restore(ctx, carry)
            _set(ctx, flag.name, _test(ctx, stmt), until)
        restore(ctx, carry)
        _emit_while(ctx, stmt, block, flag.name, until, after)
        after_loop(ctx, carry, after, {}, sure=False)
        _else(ctx, stmt, until)

    fixpoint(ctx, stmt, ctx.frame.liveness.at_loop[stmt], once)


def _test(ctx: Context, stmt: ast.While) -> Value:
    with ctx.at(stmt.test):
        test = ctx.evaluate(ctx, stmt.test)
        decided = known_truth(ctx, test)
        return decided if decided is not None else truth_value(ctx, test)


def _set(ctx: Context, flag: str, test: Value, until: str | None = None) -> None:
    """`flag = test`, or False once the loop has been left."""
    value = as_array(ctx, test)
    e = value.at(())
    ctx.builder.consume(value)
    if until is not None:
        e = call("select", Load(until, (), BOOL), const(False, BOOL), e, dtype=BOOL)
    ctx.builder.store(flag, (), e)


def _emit_while(ctx: Context, stmt: ast.While, block: list, flag: str, until: str | None,
                names: dict[str, Value]) -> None:
    builder = ctx.builder
    trips = builder.declare((), INT, "trips").name
    _flags_down(ctx, names, until)
    builder.store(trips, (), const(0, INT))
    with builder.region(settle=False) as counted:
        builder.store(trips, (), call("add", Load(trips, (), INT), const(1, INT)))
    builder.emit(While(flag, (*counted, *block), trips, builder.source, f"while at line {stmt.lineno}"))


def _emit(ctx: Context, block: list, until: str | None, names: dict[str, Value], make: Callable[..., Loop]) -> None:
    builder = ctx.builder
    if until is None:
        builder.emit(make(tuple(block), None, None))
        return
    trips = builder.declare((), INT, "trips").name
    _flags_down(ctx, names, until)
    builder.store(trips, (), const(0, INT))
    with builder.region(settle=False) as counted:
        builder.store(trips, (), call("add", Load(trips, (), INT), const(1, INT)))
    builder.emit(make((*counted, *block), until, trips))


def _leave_flag(ctx: Context) -> str | None:
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


def _flags_down(ctx: Context, names: dict[str, Value], until: str | None) -> None:
    """Before the loop no flag is up, whether or not its body will ever run."""
    containers = {holder(ctx, names.get(f, False)) for f in (BREAK, RETURN)} | {until}
    for name in sorted(c for c in containers if c is not None):
        ctx.builder.store(name, (), const(False, BOOL))


def _else(ctx: Context, stmt: ast.For | ast.While, until: str | None) -> None:
    """The `else` of a loop, and the flags after it."""
    names = ctx.frame.names
    for flag in (BREAK, RETURN):
        if names.get(flag) is True and until is not None:  # true only if the body has run
            names[flag] = ctx.builder.view(ctx.builder.arrays[until], weak=True, scalar=True)
    names[CONTINUE] = False
    if stmt.orelse:
        live = ctx.frame.liveness.after[stmt]
        _guarded(ctx, lambda: ctx.execute(ctx, stmt.orelse), live, (BREAK, RETURN))
    ctx.frame.names[BREAK] = False


def set_result(ctx: Context, value: Value) -> None:
    """`return value` inside a loop or branch."""
    frame = ctx.frame
    inside = len(ctx.builder.regions) > frame.depth
    value = kept(ctx, value, "result")
    frame.names[RESULT] = in_container(ctx, value, "result") if inside else value
    frame.names[RETURN] = True


__all__ = ("run_for", "run_while", "rows_of", "exit_state", "set_result", "promised")
