"""`while` loops: conditional loops of the program, and the forms to fall back to."""
from __future__ import annotations

import ast

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arrays.places import perhaps
from sdfgad.frontend.branches.carried import (
    Carry,
    Trial,
    after_loop,
    close_carry,
    fixpoint,
    kept_count,
    open_carry,
    restore,
)
from sdfgad.frontend.containers.counted import lists_of, run_counted
from sdfgad.frontend.containers.numbered import with_numbers
from sdfgad.frontend.elements.caught import NUMBER
from sdfgad.frontend.elements.elementwise import BOOL, as_array
from sdfgad.frontend.functions.arithmetic import known_truth, truth_value
from sdfgad.frontend.loops.exits import breaks_over, guarded, leave_flag, loop_else, run_else
from sdfgad.frontend.loops.loop_forms import (
    LoopForm,
    changing_form,
    emit,
    exchanging_form,
    first_iteration,
    first_that_works,
)
from sdfgad.frontend.merging.exchanges import PASSED_OVER
from sdfgad.frontend.state.attempts import UNROLL_TRIPS
from sdfgad.frontend.state.context import BREAK, CONTINUE, RETURN, Context
from sdfgad.frontend.state.values import ListValue, Rows, Value
from sdfgad.frontend.static.settled import GrowingRefusal
from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.index import ix
from sdfgad.ir.program import While


def run_while(ctx: Context, stmt: ast.While) -> None:
    """A `while` statement."""
    back = ctx.mark()
    decided = known_truth(ctx, ctx.evaluate(ctx, stmt.test))
    back()
    if decided is False:
        if stmt.orelse:
            ctx.execute(ctx, stmt.orelse)
        return
    if (decided is None or ctx.frame.quiet) and _fills_lists(ctx, stmt):
        return
    unrolled = LoopForm(lambda: _unrolled_while(ctx, stmt), ("refusal",))
    exchanging = exchanging_form(ctx, stmt, lambda: _conditional(ctx, stmt))
    returning = LoopForm(lambda: _conditional(ctx, stmt, returning=True), ("sharing",))
    forms = [LoopForm(lambda: _conditional(ctx, stmt)), returning, exchanging]
    if decided:
        forms.append(changing_form(ctx, lambda: _peeled_while(ctx, stmt)))
    forms.append(changing_form(ctx, lambda: _conditional(ctx, stmt, blanks=True)))
    try:
        with_numbers(ctx, lambda: first_that_works(ctx, stmt, [*forms, unrolled]))
        return
    except UnsupportedError as found:
        if not isinstance(found, GrowingRefusal) and not lists_of(ctx, stmt):
            raise
        refusal = found
    back()
    run_counted(ctx, stmt, Rows(ix("trips"), lambda _: None), refusal, lambda rows: _filling(ctx, stmt, rows))


def _fills_lists(ctx: Context, stmt: ast.While) -> bool:
    """Run a loop that surely makes lists longer, as one where data decide how often, and lists are still empty, or one
    of sdfgad's own: forms for lists that stay as long would translate all of the body in vain. False where it is none.
    """
    lists, back = lists_of(ctx, stmt), ctx.mark()
    if not lists or any(not isinstance(v, ListValue) or v.items and not ctx.frame.quiet for v in lists):
        return False
    try:
        run_counted(ctx, stmt, Rows(ix("trips"), lambda _: None), ctx.refuse("a list that grows in a loop"),
                    lambda rows: _filling(ctx, stmt, rows))
        return True
    except UnsupportedError:
        back()
        return False


def _filling(ctx: Context, stmt: ast.While, rows: Rows) -> None:
    """A loop that makes lists longer."""
    first_that_works(ctx, stmt, [LoopForm(lambda: _conditional(ctx, stmt, rows=rows)), exchanging_form(
        ctx, stmt, lambda: _conditional(ctx, stmt, rows=rows))])


def _peeled_while(ctx: Context, stmt: ast.While) -> None:
    """The first iteration, which is sure, on its own, as in `_peeled`."""
    first_iteration(ctx, stmt)
    guarded(ctx, lambda: _conditional(ctx, stmt), ctx.frame.liveness.at_loop[stmt], (BREAK, RETURN))
    breaks_over(ctx, stmt)


def _unrolled_while(ctx: Context, stmt: ast.While) -> None:
    live = ctx.frame.liveness.at_loop[stmt]

    def rest(trip: int) -> None:
        with ctx.at(stmt.test):
            decided = known_truth(ctx, ctx.evaluate(ctx, stmt.test))
            if decided is None or trip >= UNROLL_TRIPS:
                raise ctx.refuse("a while loop that cannot be unrolled", code=PASSED_OVER)
        if decided:
            ctx.execute(ctx, stmt.body)
            ctx.frame.names[CONTINUE] = False
            guarded(ctx, lambda: rest(trip + 1), live, (BREAK, RETURN))
        elif stmt.orelse:
            run_else(ctx, stmt, live)

    rest(0)
    breaks_over(ctx, stmt)


def _conditional(ctx: Context, stmt: ast.While, blanks: bool = False, rows: Rows | None = None,
                 returning: bool = False) -> None:
    source = ctx.builder.source

    def once(carry: Carry) -> None:
        builder = ctx.builder
        open_carry(ctx, stmt, carry)
        flag = builder.declare((), BOOL, "running")
        _set(ctx, flag.name, _test(ctx, stmt))
        with builder.region(loop=True) as block:
            if rows is not None:
                rows.item(ix(0))
            ctx.execute(ctx, stmt.body)
            until = leave_flag(ctx)
            after = close_carry(ctx, stmt, carry)
            restore(ctx, carry)
            with perhaps(builder, until is not None):
                _set(ctx, flag.name, _test(ctx, stmt), until)
        restore(ctx, carry)
        builder.source = source
        trips = emit(ctx, block, until, after, lambda body, _, count: While(
            flag.name, body, count, source, f"while at line {source.line if source else 0}"), always=True)
        endless = isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)  # left from inside: the body has run
        after_loop(ctx, carry, after, {}, endless, kept_count(ctx, stmt, carry, after, trips))
        ended.append(until)

    ended: list[str | None] = []
    fixpoint(ctx, stmt, ctx.frame.liveness.at_loop[stmt], once, Trial(returning, True, blanks=blanks))
    loop_else(ctx, stmt, ended[-1])


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
    for watch in (w for w in ctx.watches if w.raised):  # an exception ends the loop
        e = call("and", e, call("eq", Load(watch.raised, (), NUMBER), const(0, NUMBER), dtype=BOOL), dtype=BOOL)
    ctx.builder.store(flag, (), e)
