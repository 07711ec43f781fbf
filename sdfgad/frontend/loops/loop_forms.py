"""What `for` and `while` have in common: forms to run a loop in, the first one that works, and how it is emitted."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.branches.carried import ExchangedNames
from sdfgad.frontend.elements.elementwise import INT
from sdfgad.frontend.loops.exits import flags_down
from sdfgad.frontend.merging.exchanges import PASSED_OVER, run_exchanging
from sdfgad.frontend.state.context import CONTINUE, Context
from sdfgad.frontend.state.sharing import SharingRefusal
from sdfgad.frontend.state.values import Value
from sdfgad.frontend.static.settled import ChangingRefusal, ChoiceRefusal, ItemRefusal
from sdfgad.frontend.syntax.liveness import assigned
from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.program import Stmt

_REASONS = MappingProxyType({SharingRefusal: "sharing", ChangingRefusal: "changing", ChoiceRefusal: "changing",
                             ItemRefusal: "item"})


@dataclass(frozen=True)
class LoopForm:
    """One way to run a loop, and after what it is worth a try: at once, "exchange", "sharing", "changing", "item" or
    any "refusal"."""

    run: Callable[[], None]
    after: tuple[str, ...] = ("",)


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
            reasons = (reasons | {"refusal", _REASONS.get(type(error), "refusal")}) - {""}
        back()
        if hinted:
            hinted, reasons = False, {""}
    raise refusal if refusal is not None else ctx.refuse("names that exchange their arrays in this loop",
                                                         "copy the data with name[:] = other", "SG107")


def changing_form(ctx: Context, run: Callable[[], None]) -> LoopForm:
    """A form for names of another kind in the first iterations; where it is refused, the refusal before it says more.
    """

    def tried() -> None:
        try:
            run()
        except UnsupportedError as error:
            raise ctx.refuse("a loop whose first iterations are of another kind", code=PASSED_OVER) from error

    return LoopForm(tried, ("changing",))


def comparing_form(ctx: Context, run: Callable[[], None]) -> LoopForm:
    """A form of a short loop that cannot be written out: items of lists are chosen by comparing places in the run."""

    def tried() -> None:
        before, ctx.comparing = ctx.comparing, True
        try:
            run()
        except UnsupportedError as error:
            raise ctx.refuse("a loop that chooses items of lists", code=PASSED_OVER) from error
        finally:
            ctx.comparing = before

    return LoopForm(tried, ("item",))


def exchanging_form(ctx: Context, stmt: ast.For | ast.While, run: Callable[[], None]) -> LoopForm:
    return LoopForm(lambda: run_exchanging(ctx, stmt, run), ("sharing",))


def first_iteration(ctx: Context, stmt: ast.For | ast.While) -> None:
    """An iteration on its own; what it leaves in names that the next one binds anew, nobody looks at."""
    ctx.execute(ctx, stmt.body)
    liveness = ctx.frame.liveness
    for name in assigned(stmt.body):
        if name not in liveness.at_loop[stmt] | liveness.captured:
            ctx.frame.names.pop(name, None)
    ctx.frame.names[CONTINUE] = False


def emit(ctx: Context, block: list[Stmt], until: str | None, names: dict[str, Value], make: Callable[..., Stmt],
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
