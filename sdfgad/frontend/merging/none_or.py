"""What is None on some ways: made where ways meet, told where a test says which it is, and asked for where it is used.

best = None
for x in w:
    if best is None or x < best: best = x      # a flag, and a value that counts where the flag is up
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sdfgad.frontend.merging.merge import Kind, kind_of, same
from sdfgad.frontend.merging.selections import as_selected, dimensions_of_mask
from sdfgad.frontend.merging.structures import Form, form_of, leaves_of, rebuilt
from sdfgad.frontend.state.chosen_texts import ChosenText, are_chosen, numbered_text, with_numbers
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Lazy, Masked, NoneOr, Unbound, Value
from sdfgad.ir.expr import const

NOWHERE = Unbound(False, None)
"""What a name stands for that is not bound at all."""


@dataclass(frozen=True)
class Blank:
    """What stands in place of a value where there is none: zeros of its kinds. made: for None, a name not bound, or
    what is never missing: a text of which data choose one, and data selected by a mask of so many `dimensions`."""

    form: Form | None
    kinds: tuple[Kind, ...]
    made: Callable[..., Value] = NoneOr
    dimensions: int = 0


def blank_of(*values: Value) -> Blank | None:
    """The blank for ways of which some leave None, or a name not bound, and others a value; None if they do not."""
    if are_chosen(values):
        return Blank(None, (), ChosenText)
    if (dimensions := dimensions_of_mask(values)) is not None:
        return Blank(None, (), Masked, dimensions)
    inner = [with_numbers(v.value if isinstance(v, NoneOr) else v) for v in values]
    some = [v for v in inner if v is not None]
    absent = {type(v) if isinstance(v, NoneOr) else NoneOr for v in values if v is None or isinstance(v, NoneOr)}
    if not some or len(absent) != 1:
        return None
    kinds = tuple(kind_of(v) for _, v in leaves_of(some[0]))
    if None in kinds or any(form_of(v) != form_of(some[0]) for v in some):
        return None
    return Blank(form_of(some[0]), kinds, absent.pop())  # type: ignore[arg-type]


def filled(blank: Blank, value: Value) -> Value:
    """A value, or none, as what may be either."""
    if blank.made is ChosenText:
        return numbered_text(value)
    if blank.made is Masked:
        return as_selected(value, blank.dimensions)
    if value is None or value is NOWHERE:
        return blank.made(False, rebuilt(blank.form, map(_zero, blank.kinds), -1))
    return value if isinstance(value, NoneOr) else blank.made(True, with_numbers(value))


def _zero(kind: Kind) -> Value:
    zero = kind.dtype.type(0).item()
    return Lazy(kind.shape, kind.dtype, lambda _: const(zero, kind.dtype), frozenset()) if kind.shape else zero


# told by tests

def told_by(test: ast.expr, holds: bool) -> Iterator[tuple[str, bool]]:
    """The names of which a test that holds, or does not, says whether they are something or None."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from told_by(test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:
        for part in test.values:
            yield from told_by(part, holds)
    elif isinstance(test, ast.Name) and holds:
        yield test.id, True
    elif isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1 and (
            isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
            and isinstance(test.ops[0], (ast.Is, ast.IsNot))):
        yield test.left.id, isinstance(test.ops[0], ast.IsNot) == holds


def tell(ctx: Context, test: ast.expr, holds: bool) -> None:
    """From here on a test is known to hold, or not to."""
    names = ctx.frame.names
    for name, something in told_by(test, holds):
        if isinstance(names.get(name), NoneOr):
            names[name] = replace(names[name], told=something)


@contextmanager
def telling(ctx: Context, test: ast.expr, holds: bool) -> Iterator[None]:
    """A part of an expression that is evaluated where a test holds, or does not."""
    names, before = ctx.frame.names, dict(ctx.frame.names)
    tell(ctx, test, holds)
    told = [n for n, v in names.items() if v is not before[n]]
    try:
        yield
    finally:
        names.update({n: before[n] for n in told})


def told_way(ctx: Context, test: ast.expr, holds: bool, way: Callable[[], Value]) -> Callable[[], Value]:
    """A way of an expression that knows of the test before it."""

    def run() -> Value:
        with telling(ctx, test, holds):
            return way()

    return run


def untold(value: NoneOr, before: Value) -> Value:
    """A value behind the ways where tests have told: what was known before them is known still."""
    return before if before is not None and same(before, value) else replace(value, told=None)


def asked(value: Value) -> Value:
    """A value as far as it has been told what it is."""
    if not isinstance(value, NoneOr) or value.told is None:
        return value
    return value.value if value.told else None
