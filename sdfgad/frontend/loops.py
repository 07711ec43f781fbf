"""Loops: counted and conditional ones in the program, and the forms to fall back to."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sdfgad import names
from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arithmetic import items_of, known_truth, truth_value
from sdfgad.frontend.carried import (
    Carry,
    ExchangedNames,
    Trial,
    after_loop,
    close_carry,
    fixpoint,
    kept_count,
    open_carry,
    restore,
)
from sdfgad.frontend.context import BREAK, CONTINUE, RETURN, Context
from sdfgad.frontend.elementwise import BOOL, INT, as_array, describe, int_value
from sdfgad.frontend.exchanges import PASSED_OVER, run_exchanging
from sdfgad.frontend.exits import flags_down, guarded, leave_flag, loop_else
from sdfgad.frontend.growing import appended, may_grow, run_growing
from sdfgad.frontend.liveness import assigned, has_exit
from sdfgad.frontend.rhythms import blocks, part, pieces, rhythm_of
from sdfgad.frontend.sharing import SharingRefusal
from sdfgad.frontend.tables import rows_from_table
from sdfgad.frontend.values import (
    Entries,
    IntValue,
    ListValue,
    Record,
    Rows,
    Value,
)
from sdfgad.frontend.views import named_int
from sdfgad.frontend.walks import rows_of
from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Loop, Range, Stmt, While

PERIODS = (2, 3, 4)
UNROLL_TRIPS = 64
UNROLL_STATEMENTS = 4096

Bind = Callable[[Value], None]


@dataclass(frozen=True)
class LoopForm:
    """One way to run a loop, and after what it is worth a try: at once, "exchange", "sharing" or any "refusal"."""

    run: Callable[[], None]
    after: tuple[str, ...] = ("",)


def run_for(ctx: Context, stmt: ast.For, bind: Callable[[ast.expr, Value], None]) -> None:
    """A `for` statement."""
    iterable = ctx.evaluate(ctx, stmt.iter)
    if isinstance(iterable, (ListValue, tuple, list, str, dict, Record, Entries)):
        _run_items(ctx, stmt, iterable, lambda item: bind(stmt.target, item))
        return
    rows = rows_of(ctx, iterable)
    if rows is None:
        raise ctx.refuse(f"a loop over {describe(iterable)}", "loop over a range, an array, a tuple or a list", "SG102")

    _run_lists(ctx, stmt, rows, lambda item: bind(stmt.target, item))


def _run_items(ctx: Context, stmt: ast.For, iterable: Value, bind: Bind) -> None:
    """A loop over a sequence known now: written out, but for a long one of numbers."""
    known = items_of(ctx, iterable)
    items: Iterable[Value] = iterable if isinstance(iterable, Entries) else known
    rows = rows_from_table(ctx, stmt, items) if isinstance(items, list) else None
    if rows is None:
        _unroll(ctx, stmt, items, bind)
    else:
        _run_rows(ctx, stmt, rows, bind, LoopForm(lambda: _unroll(ctx, stmt, items, bind), ("refusal",)))


def _run_lists(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind) -> None:
    """A loop over rows, in pieces where it appends to lists now and then."""
    grows = may_grow(ctx, _lists(stmt), rows, UNROLL_TRIPS)
    rhythm = rhythm_of(ctx, stmt) if grows else None
    cut = pieces(rows, rhythm) if rhythm is not None else None
    if not grows or cut is None or rhythm is None:
        _grown(ctx, stmt, rows, bind, UNROLL_TRIPS)
        return

    def one(k: Ix) -> None:
        bind(rows.item(k))
        ctx.execute(ctx, stmt.body)
        ctx.frame.names[CONTINUE] = False

    for first, last, whole in cut:
        if whole:
            _grown(ctx, stmt, *blocks(rows, first, last, rhythm, one, lambda r: _grown(ctx, stmt, r, bind),
                                      lambda k: bind(rows.item(k))))
        else:
            _grown(ctx, stmt, part(rows, first, last), bind)


def _lists(stmt: ast.For) -> list[str]:
    """The lists that every iteration may make longer: none where one of them may be the last."""
    return [] if has_exit(stmt.body, (ast.Break, ast.Return)) else appended(stmt.body)


def _grown(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, least: int = 0) -> None:
    if not run_growing(ctx, _lists(stmt), rows, least, lambda r: _run_rows(ctx, stmt, r, bind)):
        _run_rows(ctx, stmt, rows, bind)


def _run_rows(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, written_out: LoopForm | None = None) -> None:
    """A loop over rows in the first form that is not refused."""
    count = rows.count.const
    unrolled = written_out or LoopForm(lambda: _unroll(ctx, stmt, _items(rows), bind), ("refusal",))
    if count is not None and count <= 1:
        unrolled.run()
        return
    forms = [LoopForm(lambda: _counted(ctx, stmt, rows, bind))]
    if count is not None and not has_exit(stmt.body) and _renames(stmt.body):
        forms += [_periodic(ctx, stmt, rows, bind, p) for p in PERIODS if p <= count]
    forms.append(LoopForm(lambda: _counted(ctx, stmt, rows, bind, exchange=True), ("exchange",)))
    if count is not None:
        forms.append(LoopForm(lambda: _peeled(ctx, stmt, rows, bind), ("sharing",)))
    forms.append(_exchanging(ctx, stmt, lambda: _counted(ctx, stmt, rows, bind, exchange=True)))
    if written_out is not None or count is not None and count <= UNROLL_TRIPS:
        forms.append(unrolled)
    first_that_works(ctx, stmt, forms)


def _renames(body: Sequence[ast.stmt]) -> bool:
    """Whether a block may give an array another name."""
    assignments = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Assign)]
    return any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) for a in assignments
               for n in (a.value.elts if isinstance(a.value, ast.Tuple) else [a.value]))


def _items(rows: Rows) -> Iterator[Value]:
    """The items of a loop whose length is known."""
    return (rows.item(ix(k)) for k in range(rows.count.const or 0))


def _periodic(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, copies: int) -> LoopForm:
    return LoopForm(lambda: _counted(ctx, stmt, rows, bind, copies), ("exchange", "sharing"))


def _exchanging(ctx: Context, stmt: ast.For | ast.While, run: Callable[[], None]) -> LoopForm:
    return LoopForm(lambda: run_exchanging(ctx, stmt, run), ("sharing",))


def first_that_works(ctx: Context, stmt: ast.stmt, forms: Sequence[LoopForm]) -> None:
    """Try forms of a loop until one is not refused; what a trial has emitted is taken back.

    The form that worked the last time, in a trial of an outer loop, comes first.
    """
    back, frames = ctx.mark(), len(ctx.frames)
    refusal: UnsupportedError | None = None
    reasons = {""}
    key = ("form", stmt, frames)
    known = ctx.hints.get(key, 0)
    hinted = 0 < known < len(forms)
    for k in [known, *range(len(forms))] if hinted else range(len(forms)):
        form = forms[k]
        if not hinted and reasons.isdisjoint(form.after):
            continue
        try:
            form.run()
            ctx.hints[key] = k
            return
        except ExchangedNames:
            reasons = (reasons | {"exchange"}) - {""}
        except UnsupportedError as error:
            # A later form gets past the first refusal, unless the loop is too long to be unrolled.
            refusal = refusal if refusal is not None and error.code == PASSED_OVER else error
            found = {"refusal", "sharing"} if isinstance(error, SharingRefusal) else {"refusal"}
            reasons = (reasons | found) - {""}
        back()
        if hinted:
            hinted, reasons = False, {""}
    raise refusal if refusal is not None else ctx.refuse("names that exchange their arrays in this loop",
                                                         "copy the data with name[:] = other", "SG107")


def _peeled(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind) -> None:
    """The first iteration on its own: names bound anew in the body own their arrays from then on."""
    span = None if rows.span is None else (rows.span[0] + rows.span[2], *rows.span[1:])
    rest = Rows(rows.count - 1, lambda k: rows.item(k + 1), span)
    bind(rows.item(ix(0)))
    ctx.execute(ctx, stmt.body)
    ctx.frame.names[CONTINUE] = False
    guarded(ctx, lambda: _counted(ctx, stmt, rest, bind, exchange=True), ctx.frame.liveness.at_loop[stmt],
            (BREAK, RETURN))
    ctx.frame.names[BREAK] = False


# unrolled

def _unroll(ctx: Context, stmt: ast.For, items: Iterable[Value], bind: Bind) -> None:
    """Run the body once per item, in a row."""
    pending = iter(items)
    live = ctx.frame.liveness.at_loop[stmt]

    def rest() -> None:
        for item in pending:
            if ctx.builder.statements > UNROLL_STATEMENTS:
                raise ctx.refuse("a loop that unrolls to too many statements", "use arrays instead of lists",
                                 PASSED_OVER)
            bind(item)
            ctx.execute(ctx, stmt.body)
            ctx.frame.names[CONTINUE] = False
            guarded(ctx, rest, live, (BREAK, RETURN))
            return
        if stmt.orelse:
            guarded(ctx, lambda: ctx.execute(ctx, stmt.orelse), live, (BREAK, RETURN))

    rest()
    ctx.frame.names[BREAK] = False


# loops of the program

def _counted(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, copies: int = 1,
             exchange: bool = False) -> None:
    """A loop of the program; `copies` iterations in one, those that remain after it."""
    start, stop, step = _span(ctx, rows, copies)
    label = next((n.id for n in ast.walk(stmt.target) if isinstance(n, ast.Name)), "i")
    source = ctx.builder.source

    def once(carry: Carry) -> None:
        builder = ctx.builder
        span = Range(builder.symbol(names.loop_variable(label)), start, stop, step)
        open_carry(ctx, carry)
        noted = len(builder.accesses)
        with builder.region() as block:
            builder.scope.ranges.append(span)
            for k in range(copies):
                bind(int_value(ix(span.var)) if rows.span and copies == 1 else rows.item(ix(span.var) * copies + k))
                ctx.execute(ctx, stmt.body)
                if k < copies - 1:
                    ctx.frame.names[CONTINUE] = False
            until = leave_flag(ctx)
            after = close_carry(ctx, stmt, carry)
        if until:  # data decide which iterations there are
            del builder.accesses[noted:]
        builder.source = source
        sure = (span.trips or 0) > 0 or builder.scope.nonnegative(rows.count - copies)
        last = stop - 1 if step == 1 else start + (rows.count - 1) * step
        trips = _emit(ctx, block, until, after, lambda body, flag, count: Loop(span, body, source, flag, count, label))
        kept_trips = kept_count(ctx, stmt, carry, after, trips)
        if kept_trips:
            last = start + (elem(kept_trips, ()) - 1) * step
        after_loop(ctx, carry, after, {span.var: None if until and not kept_trips else last}, sure, kept_trips)
        loop_else(ctx, stmt, until)

    body_live = ctx.frame.liveness.at_body[stmt]
    if rows.count.const is None and not ctx.builder.scope.nonnegative(rows.count - 1):
        body_live = body_live | ctx.frame.liveness.at_loop[stmt]
    fixpoint(ctx, stmt, body_live - frozenset(assigned([ast.Expr(stmt.target)])), once, Trial(copies > 1, exchange))
    if copies > 1:
        for k in range((rows.count.const or 0) // copies * copies, rows.count.const or 0):
            bind(rows.item(ix(k)))
            ctx.execute(ctx, stmt.body)
            ctx.frame.names[CONTINUE] = False


def _span(ctx: Context, rows: Rows, copies: int) -> tuple[Ix, Ix, int]:
    if copies > 1:
        return ix(0), rows.count // copies, 1
    if rows.span is not None:
        return _steady(ctx, rows.span[0]), _steady(ctx, rows.span[1]), rows.span[2]
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
    unrolled = LoopForm(lambda: _unrolled_while(ctx, stmt), ("refusal",))
    exchanging = _exchanging(ctx, stmt, lambda: _conditional(ctx, stmt))
    first_that_works(ctx, stmt, [LoopForm(lambda: _conditional(ctx, stmt)), exchanging, unrolled])


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
            guarded(ctx, lambda: ctx.execute(ctx, stmt.orelse), live, (BREAK, RETURN))

    rest(0)
    ctx.frame.names[BREAK] = False


def _conditional(ctx: Context, stmt: ast.While) -> None:
    source = ctx.builder.source

    def once(carry: Carry) -> None:
        builder = ctx.builder
        open_carry(ctx, carry)
        flag = builder.declare((), BOOL, "running")
        _set(ctx, flag.name, _test(ctx, stmt))
        with builder.region() as block:
            ctx.execute(ctx, stmt.body)
            until = leave_flag(ctx)
            after = close_carry(ctx, stmt, carry)
            restore(ctx, carry)
            _set(ctx, flag.name, _test(ctx, stmt), until)
        restore(ctx, carry)
        builder.source = source
        trips = _emit(ctx, block, until, after, lambda body, _, count: While(
            flag.name, body, count, source, f"while at line {source.line if source else 0}"), always=True)
        endless = isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)  # left from inside: the body has run
        after_loop(ctx, carry, after, {}, endless, kept_count(ctx, stmt, carry, after, trips))
        loop_else(ctx, stmt, until)

    fixpoint(ctx, stmt, ctx.frame.liveness.at_loop[stmt], once, Trial(False, True))


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


def _emit(ctx: Context, block: list[Stmt], until: str | None, names: dict[str, Value], make: Callable[..., Stmt],
          always: bool = False) -> str | None:
    """The loop itself, with a count of its trips, which is returned, when they are not known beforehand."""
    builder = ctx.builder
    if until is None and not always:
        builder.emit(make(tuple(block), None, None))
        return None
    trips = builder.declare((), INT, "trips").name
    flags_down(ctx, names, until)
    builder.store(trips, (), const(0, INT))
    with builder.region(settle=False) as counted:
        builder.store(trips, (), call("add", Load(trips, (), INT), const(1, INT)))
    builder.emit(make((*counted, *block), until, trips))
    return trips
