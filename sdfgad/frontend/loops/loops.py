"""`for` loops: counted loops of the program, and the forms to fall back to."""
from __future__ import annotations

import ast
from collections.abc import Callable
from enum import EnumMeta

from sdfgad import names
from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arrays.tables import rows_from_table
from sdfgad.frontend.arrays.views import check_fresh, named_int
from sdfgad.frontend.branches.carried import (
    Carry,
    Trial,
    after_loop,
    close_carry,
    fixpoint,
    kept_count,
    open_carry,
)
from sdfgad.frontend.containers.classes import iterated
from sdfgad.frontend.containers.counted import lists_of, run_counted
from sdfgad.frontend.containers.growing import least_to_grow, may_grow, run_growing
from sdfgad.frontend.containers.numbered import as_list, with_numbers
from sdfgad.frontend.elements.elementwise import as_array, describe, int_value
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.walks import rows_of
from sdfgad.frontend.loops.exits import breaks_over, guarded, leave_flag, loop_else, run_else
from sdfgad.frontend.loops.loop_forms import (
    LoopForm,
    changing_form,
    comparing_form,
    emit,
    exchanging_form,
    first_iteration,
    first_that_works,
)
from sdfgad.frontend.loops.resizing import run_resizing
from sdfgad.frontend.loops.rhythms import Rhythm, blocks, part, pieces, rhythm_of
from sdfgad.frontend.merging.ahead import AHEAD, PLACES, arrays_of, unchanged_behind, unchanged_items, written_out
from sdfgad.frontend.merging.exchanges import PASSED_OVER
from sdfgad.frontend.merging.generators import Yielding, run_generator
from sdfgad.frontend.state.attempts import UNROLL_TRIPS
from sdfgad.frontend.state.context import BREAK, CONTINUE, RETURN, Context, held
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.sharing import SharingRefusal
from sdfgad.frontend.state.values import (
    ArrayValue,
    Entries,
    Grown,
    IntValue,
    Iterated,
    ListValue,
    Record,
    Rows,
    Value,
    is_int,
    is_number,
)
from sdfgad.frontend.static.settled import ChangingRefusal, Endless, GrowingRefusal, taken
from sdfgad.frontend.syntax.liveness import assigned, has_exit
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Loop, Range

PERIODS = (2, 3, 4)
MOST_PEELED = 12
UNROLL_STATEMENTS = 4096

Bind = Callable[[Value], None]


def run_for(ctx: Context, stmt: ast.For, bind: Callable[[ast.expr, Value], None]) -> None:
    """A `for` statement."""
    given = as_list(ctx, iterated(ctx, ctx.evaluate(ctx, stmt.iter)))
    iterable = taken(ctx, given)
    check = unchanged_behind(ctx, stmt.iter, given, iterable)
    _run_over(ctx, stmt, iterable, bind)
    check()
    if isinstance(given, Iterated) and not _may_end(stmt):
        given.items.clear()


def _run_over(ctx: Context, stmt: ast.For, iterable: Value, bind: Callable[[ast.expr, Value], None]) -> None:
    if isinstance(iterable, Yielding):
        run_generator(ctx, stmt, iterable)
        return
    if isinstance(iterable, EnumMeta):
        iterable = tuple(iterable)
    if isinstance(iterable, (ListValue, SetValue, tuple, list, str, dict, Record, Entries)):
        with held(ctx, *arrays_of(iterable)):
            _run_items(ctx, stmt, iterable, lambda item: bind(stmt.target, item))
        return
    if is_int(iterable) or is_number(iterable) or isinstance(iterable, ArrayValue) and not iterable.shape:
        raise ctx.raises(TypeError, "a loop over a number", "loop over range(n)", "SG102", ahead=True)
    rows = rows_of(ctx, iterable)
    if isinstance(iterable, Endless):
        raise ctx.refuse("a loop over an iterator without an end", "loop over range(n), or zip(range(n), ...)", "SG102")
    if rows is None:
        raise ctx.refuse(f"a loop over {describe(iterable)}", "loop over a range, an array, a tuple or a list", "SG102")
    seen = [ctx.frame.names.get(n.id) for n in written_out(stmt.iter) if isinstance(n, ast.Name)]
    if any(isinstance(v, Grown) and any(v is w for w in seen) for v in lists_of(ctx, stmt)):
        raise ctx.refuse(AHEAD, PLACES, "SG102")
    lists = [(v, v.length) for v in rows.held if isinstance(v, Grown)]

    def each(item: Value) -> None:
        check_fresh(ctx, rows)
        bind(stmt.target, item)

    with held(ctx, *arrays_of(rows)):
        with_numbers(ctx, lambda: _run_lists(ctx, stmt, rows, each))
    if any(v.length != before for v, before in lists):
        raise ctx.refuse(AHEAD, PLACES, "SG102")


def _run_items(ctx: Context, stmt: ast.For, iterable: Value, bind: Bind) -> None:
    """A loop over a sequence known now: written out, but for a long one of numbers."""
    known, unchanged = items_of(ctx, iterable), unchanged_items(ctx, iterable)
    rows = rows_from_table(ctx, stmt, known) if not isinstance(iterable, Entries) else None
    item = iterable.at if isinstance(iterable, Entries) else known.__getitem__
    if rows is None:
        _unroll(ctx, stmt, len(known), item, bind, unchanged)
        return
    _run_rows(ctx, stmt, rows, bind, LoopForm(
        lambda: _unroll(ctx, stmt, len(known), item, bind, unchanged), ("refusal",)))
    unchanged(1)


def _run_lists(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind) -> None:
    """A loop over rows, in pieces where it appends to lists now and then."""
    least = least_to_grow(ctx, rows)
    if may_grow(ctx, _lists(ctx, stmt), rows, least) and _in_rhythm(ctx, stmt, rows, bind, rhythm_of(ctx, stmt)):
        return
    back = ctx.mark()
    try:
        _grown(ctx, stmt, rows, bind, least)
        return
    except GrowingRefusal as found:
        refusal = found
    back()
    try:
        done = not _may_end(stmt) and _in_rhythm(ctx, stmt, rows, bind, rhythm_of(ctx, stmt, called=True))
    except UnsupportedError:
        done = False
    if not done:
        back()
        run_counted(ctx, stmt, rows, refusal, lambda r: _run_rows(ctx, stmt, r, bind))


def _in_rhythm(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, rhythm: Rhythm | None) -> bool:
    """Run a loop in the pieces of a rhythm; whether there are some."""
    cut = pieces(rows, rhythm) if rhythm is not None else None
    if cut is None or rhythm is None:
        return False

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
    return True


def _lists(ctx: Context, stmt: ast.For) -> list[ListValue | Grown]:
    """The lists that every iteration may make longer: none where one of them may be the last."""
    return [] if _may_end(stmt) else lists_of(ctx, stmt)


def _may_end(stmt: ast.For) -> bool:
    return has_exit(stmt.body, (ast.Break, ast.Return))


def _grown(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, least: int = 0) -> None:
    """A loop that may make lists longer: all along, or until they are full."""
    if rows.count.const is not None and rows.count.const <= 1:
        _run_rows(ctx, stmt, rows, bind)
        return
    back = ctx.mark()
    try:
        _lengthened(ctx, stmt, rows, least, lambda r: _run_rows(ctx, stmt, r, bind))
        return
    except UnsupportedError as found:
        refusal = found
        listed = isinstance(found, GrowingRefusal) or _lists(ctx, stmt)
        if not listed or (rows.count.const or 0) <= max(least, 1):
            raise
    back()
    try:
        _peeled(ctx, stmt, rows, bind, MOST_PEELED, lists=True)
    except UnsupportedError:
        raise refusal from None


def _lengthened(ctx: Context, stmt: ast.For, rows: Rows, least: int, run: Callable[[Rows], None]) -> None:
    """Run a loop with the lists that it makes longer: those that its text shows, and what turns up."""
    lists, first = _lists(ctx, stmt), None
    back = ctx.mark()
    while True:
        try:
            if not run_growing(ctx, lists, rows, least, run):
                run(rows)
            return
        except GrowingRefusal as found:
            first, more = first or found, found.changed
            if more is None or any(v is more for v in lists) or _may_end(stmt):
                raise first from None
        except UnsupportedError:
            if first is None:
                raise
            raise first from None
        back()
        if not may_grow(ctx, [more], rows, least):
            raise first
        lists.append(more)


def _run_rows(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, written_out: LoopForm | None = None) -> None:
    """A loop over rows in the first form that is not refused."""
    count = rows.count.const
    unrolled = written_out or LoopForm(
        lambda: _unroll(ctx, stmt, count or 0, lambda k: rows.item(ix(k)), bind), ("refusal",))
    if count is not None and count <= 1:
        unrolled.run()
        return
    forms = [LoopForm(lambda: _counted(ctx, stmt, rows, bind)),
             LoopForm(lambda: _counted(ctx, stmt, rows, bind, returning=True), ("sharing",))]
    if count is not None and not has_exit(stmt.body):
        forms += [_periodic(ctx, stmt, rows, bind, p) for p in PERIODS if p <= count]
    forms.append(LoopForm(lambda: _counted(ctx, stmt, rows, bind, exchange=True), ("exchange",)))
    short = written_out is not None or count is not None and count <= UNROLL_TRIPS
    if count is not None:
        forms.append(LoopForm(lambda: _peeled(ctx, stmt, rows, bind), ("sharing",)))
    many = written_out is None and (count or 0) > ctx.builder.assumed.list_trips
    if many:
        forms.append(changing_form(ctx, lambda: run_resizing(ctx, stmt, rows, bind, _exchanged)))
    if count is not None and (many or not short):
        forms.append(changing_form(ctx, lambda: _peeled(ctx, stmt, rows, bind, MOST_PEELED)))
    if many or not short:
        forms.append(changing_form(ctx, lambda: _counted(ctx, stmt, rows, bind, exchange=True, blanks=True)))
    forms.append(exchanging_form(ctx, stmt, lambda: _counted(ctx, stmt, rows, bind, exchange=True)))
    if short:
        forms += [unrolled, comparing_form(ctx, lambda: _counted(ctx, stmt, rows, bind))]
    first_that_works(ctx, stmt, forms)


def _periodic(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, copies: int) -> LoopForm:
    return LoopForm(lambda: _counted(ctx, stmt, rows, bind, copies), ("exchange", "sharing"))


def _peeled(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, most: int = 2, lists: bool = False) -> None:
    """The first iteration on its own, or as many as `most`: from then on, names bound anew in the body own their data,
    and are of the kind that the body makes them. lists: lists begin to grow, or have become windows, behind them."""
    span = None if rows.span is None else (rows.span[0] + rows.span[2], *rows.span[1:])
    rest = Rows(rows.count - 1, lambda k: rows.item(k + 1), span)
    bind(rows.item(ix(0)))
    first_iteration(ctx, stmt)

    def counted() -> None:
        back = ctx.mark()
        try:
            (_behind if lists else _exchanged)(ctx, stmt, rest, bind)
        except (ChangingRefusal, GrowingRefusal):
            if most < 2 or (rest.count.const or 0) < 2:
                raise
            back()
            _peeled(ctx, stmt, rest, bind, most - 1, lists)

    guarded(ctx, counted, ctx.frame.liveness.at_loop[stmt], (BREAK, RETURN))
    breaks_over(ctx, stmt)


def _behind(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind) -> None:
    """The iterations behind those on their own: their lists grow, or are windows by now."""
    back, grows = ctx.mark(), _lists(ctx, stmt)
    try:
        _lengthened(ctx, stmt, rows, 0, lambda r: _exchanged(ctx, stmt, r, bind))
        return
    except UnsupportedError:
        if not grows:
            raise
    back()
    _exchanged(ctx, stmt, rows, bind)


def _exchanged(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind) -> None:
    back = ctx.mark()
    try:
        _counted(ctx, stmt, rows, bind, exchange=True)
    except SharingRefusal:
        back()
        _counted(ctx, stmt, rows, bind, exchange=True, returning=True)


# unrolled

def _unroll(ctx: Context, stmt: ast.For, count: int, item: Callable[[int], Value], bind: Bind,
            unchanged: Callable[[int], None] = lambda _: None) -> None:
    """Run the body once per item, in a row.

    Items are asked for by their places: behind an exit, branches run what follows again where their first try fails.
    """
    live = ctx.frame.liveness.at_loop[stmt]

    def rest(k: int) -> None:
        unchanged(k)
        if k < count:
            if ctx.builder.statements > UNROLL_STATEMENTS:
                raise ctx.refuse("a loop that unrolls to too many statements", "use arrays instead of lists",
                                 PASSED_OVER)
            bind(item(k))
            ctx.execute(ctx, stmt.body)
            ctx.frame.names[CONTINUE] = False
            guarded(ctx, lambda: rest(k + 1), live, (BREAK, RETURN))
        elif stmt.orelse:
            run_else(ctx, stmt, live)

    rest(0)
    breaks_over(ctx, stmt)


# loops of the program

def _counted(ctx: Context, stmt: ast.For, rows: Rows, bind: Bind, copies: int = 1,
             exchange: bool = False, blanks: bool = False, returning: bool = False) -> None:
    """A loop of the program; `copies` iterations in one, those that remain after it. blanks, returning: as in `Trial`.
    """
    start, stop, step = _span(ctx, rows, copies)
    label = next((n.id for n in ast.walk(stmt.target) if isinstance(n, ast.Name)), "i")
    source = ctx.builder.source

    def once(carry: Carry) -> None:
        builder = ctx.builder
        span = Range(builder.symbol(names.loop_variable(label)), start, stop, step)
        open_carry(ctx, stmt, carry)
        noted = len(builder.accesses)
        with builder.region(loop=True) as block:
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
        trips = emit(ctx, block, until, after, lambda body, flag, count: Loop(span, body, source, flag, count, label))
        kept_trips = kept_count(ctx, stmt, carry, after, trips)
        if kept_trips:
            last = start + (elem(kept_trips, ()) - 1) * step
        after_loop(ctx, carry, after, {span.var: None if until and not kept_trips else last}, sure, kept_trips)
        ended.append(until)

    ended: list[str | None] = []
    body_live = ctx.frame.liveness.at_body[stmt]
    if rows.count.const is None and not ctx.builder.scope.nonnegative(rows.count - 1):
        body_live = body_live | ctx.frame.liveness.at_loop[stmt]
    short = rows.count.const is not None and rows.count.const <= UNROLL_TRIPS  # written out, lists are free to change
    fixpoint(ctx, stmt, body_live - frozenset(assigned([ast.Expr(stmt.target)])), once,
             Trial(returning or copies > 1, exchange, not short, blanks))
    if copies > 1:
        for k in range((rows.count.const or 0) // copies * copies, rows.count.const or 0):
            bind(rows.item(ix(k)))
            ctx.execute(ctx, stmt.body)
            ctx.frame.names[CONTINUE] = False
    loop_else(ctx, stmt, ended[-1])


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
