"""Comprehensions: written out item by item, or loops that fill a list where they are long."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.containers import records
from sdfgad.frontend.containers.classes import iterated
from sdfgad.frontend.containers.growing import append, least_to_grow, run_growing
from sdfgad.frontend.containers.numbered import as_list
from sdfgad.frontend.elements.chosen_ranges import ChosenRange
from sdfgad.frontend.functions.arithmetic import items_of, kept, known_truth
from sdfgad.frontend.functions.walks import rows_of
from sdfgad.frontend.merging.generators import Yielding, added_up, comprehended
from sdfgad.frontend.state.context import Context, held
from sdfgad.frontend.state.values import (
    ArrayValue,
    Grown,
    IntValue,
    Iterated,
    ListValue,
    RangeValue,
    Rows,
    Value,
    contained,
)
from sdfgad.frontend.static import sets
from sdfgad.frontend.static.settled import taken
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Range

_FILLED = "list being made"  # no name of the user's


def dict_comprehension(ctx: Context, node: ast.DictComp) -> Value:
    """`{key: value for ...}`."""
    items = _written_out(ctx, node.generators, ctx.evaluate(ctx, node.generators[0].iter), (node.key, node.value),
                         lambda: (ctx.evaluate(ctx, node.key), ctx.evaluate(ctx, node.value)))
    return records.make_dict(ctx, items)


def set_comprehension(ctx: Context, node: ast.SetComp) -> Value:
    """`{item for ...}`."""
    return sets.made(ctx, _written_out(ctx, node.generators, ctx.evaluate(ctx, node.generators[0].iter),
                                       (node.elt,), lambda: ctx.evaluate(ctx, node.elt)))


def generator(ctx: Context, node: ast.GeneratorExp) -> Value:
    """`(item for ...)`: nothing but the first iterable is looked at before somebody asks for the items."""
    frame, first = ctx.frame, ctx.evaluate(ctx, node.generators[0].iter)

    def seen(make: Callable[[], Value]) -> Value:
        ctx.frames.append(frame)
        try:
            return make()
        finally:
            ctx.frames.pop()

    endless = isinstance(first, RangeValue) and len(node.generators) == 1
    return Iterated([lambda: seen(lambda: comprehension(ctx, node, first))], len(ctx.builder.regions), (first,), frame,
                    (lambda start: seen(lambda: added_up(ctx, node, first, start))) if endless else None)


def comprehension(ctx: Context, node: ast.ListComp | ast.GeneratorExp, given: Value = None) -> Value:
    """`[item for ...]`; given: what the first iterable is, where that is known."""
    names = [n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
    if names and isinstance(node, ast.GeneratorExp) and _read_elsewhere(ctx, node, names):
        raise ctx.refuse("a name bound in a generator expression, which is not always asked for all items",
                         "write a loop", "SG102")
    first = as_list(ctx, iterated(ctx, ctx.evaluate(ctx, node.generators[0].iter) if given is None else given))
    first = taken(ctx, first, isinstance(node, ast.ListComp))
    first = rows_of(ctx, first) if isinstance(first, ChosenRange) else first
    if isinstance(first, Yielding) or names and len(node.generators) == 1:
        return comprehended(ctx, node, first)
    rows = _long(ctx, node, first)
    if rows is not None and not _is_constant(ctx, node, rows):
        back = ctx.mark()
        try:
            return _looped(ctx, node, rows)
        except UnsupportedError:
            back()
    back = ctx.mark()
    try:
        items = _written_out(ctx, node.generators, first, (node.elt,), lambda: ctx.evaluate(ctx, node.elt))
        return ListValue(items, len(ctx.builder.regions))
    except UnsupportedError as found:
        counted = isinstance(first, RangeValue) or isinstance(first, Grown) and first.counter is not None or \
            isinstance(first, Rows) and first.count.const is None
        if len(node.generators) > 1 or not (node.generators[0].ifs or counted):
            raise
        refusal = found
    back()
    try:
        return comprehended(ctx, node, first)
    except UnsupportedError:
        raise refusal from None


def _read_elsewhere(ctx: Context, node: ast.GeneratorExp, names: Sequence[str]) -> bool:
    """Whether one of the names is looked at outside of the expression that binds it."""
    inside = {id(n) for n in ast.walk(node)}
    return any(isinstance(n, ast.Name) and n.id in names and id(n) not in inside
               for s in ctx.frame.code.body for n in ast.walk(s))


def _long(ctx: Context, node: ast.ListComp | ast.GeneratorExp, first: Value) -> Rows | None:
    """What a comprehension of one loop without conditions walks over, when that is long."""
    if len(node.generators) > 1 or node.generators[0].ifs:
        return None
    if not isinstance(first, (range, RangeValue, Rows, ArrayValue, Grown)):
        return None
    rows = rows_of(ctx, first)
    return rows if rows is not None and (rows.count.const or 0) > least_to_grow(ctx, rows) else None


def _is_constant(ctx: Context, node: ast.ListComp | ast.GeneratorExp, rows: Rows) -> bool:
    """Whether the first item is known while translating: sizes and indices that a list holds stay what they are."""
    back = ctx.mark()
    try:
        bind_target(ctx, node.generators[0].target, rows.item(ix(0)))
        item = kept(ctx, ctx.evaluate(ctx, node.elt))
        return not any(isinstance(part, (ArrayValue, IntValue)) for part in contained(item))
    finally:
        back()


def _looped(ctx: Context, node: ast.ListComp | ast.GeneratorExp, rows: Rows) -> Value:
    """A loop whose iterations share nothing but the list they fill."""
    if _FILLED in ctx.frame.names:
        raise ctx.refuse("a long comprehension inside of another", "use a loop", "SG102")
    made = ctx.frame.names[_FILLED] = ListValue([], len(ctx.builder.regions))
    run_growing(ctx, [made], rows, 0, lambda r: _fill(ctx, node, r))
    return ctx.frame.names.pop(_FILLED)


def _fill(ctx: Context, node: ast.ListComp | ast.GeneratorExp, rows: Rows) -> None:
    builder, source, before = ctx.builder, ctx.builder.source, dict(ctx.frame.names)
    span = Range(builder.symbol("k"), ix(0), rows.count)
    builder.flush()
    stale = builder.shared.stale
    with builder.region() as block:
        builder.scope.ranges.append(span)
        bind_target(ctx, node.generators[0].target, rows.item(ix(span.var)))
        append(ctx, ctx.frame.names[_FILLED], kept(ctx, ctx.evaluate(ctx, node.elt)))
    if not builder.shared.stale <= stale:
        raise ctx.refuse("a comprehension that updates arrays which have other names, too", "use a loop", "SG107")
    builder.source = source
    builder.emit(Loop(span, tuple(block), source, None, None, "k"))
    ctx.frame.names = {**before, _FILLED: ctx.frame.names[_FILLED]}


def _written_out(ctx: Context, loops: Sequence[ast.comprehension], first: Value, elements: Sequence[ast.expr],
                 element: Callable[[], Any]) -> list[Any]:
    """The elements of a comprehension: its iterables have to be known now."""
    found: list[Any] = []
    before = dict(ctx.frame.names)

    def walk(generators: Sequence[ast.comprehension], iterable: Value) -> None:
        generator, rest = generators[0], generators[1:]
        for item in items_of(ctx, iterable):
            bind_target(ctx, generator.target, item)
            holds = [known_truth(ctx, ctx.evaluate(ctx, c)) for c in generator.ifs]
            if None in holds:
                raise ctx.refuse("a condition of a comprehension that depends on data", "use a loop", "SG102")
            if all(holds) and rest:
                walk(rest, ctx.evaluate(ctx, rest[0].iter))
            elif all(holds):
                found.append(element())

    with held(ctx, found):
        walk(loops, first)
    own = {n.id for g in loops for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    for name in own & ctx.frame.names.keys():
        del ctx.frame.names[name]
    ctx.frame.names.update({n: v for n, v in before.items() if n in own})
    return found


def bind_target(ctx: Context, target: ast.expr, item: Value) -> None:
    """Bind the variable of a comprehension."""
    if isinstance(target, ast.Name):
        ctx.frame.names[target.id] = kept(ctx, item)
        return
    if isinstance(target, (ast.Tuple, ast.List)):
        items = with_rest(ctx, target, list(items_of(ctx, item)))
        if len(items) == len(target.elts):
            for part, value in zip(target.elts, items, strict=True):
                bind_target(ctx, part.value if isinstance(part, ast.Starred) else part, value)
            return
    raise ctx.refuse("this target of a comprehension", code="SG102")


def with_rest(ctx: Context, target: ast.Tuple | ast.List, items: list[Value]) -> list[Value]:
    """The items with those that a starred target takes in one list."""
    place = next((k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
    count = len(items) - len(target.elts) + 1
    if place is None:
        return items
    if count < 0:
        with ctx.at(target):
            raise ctx.refuse(f"{len(items)} values for {len(target.elts) - 1} names and more", code="SG102")
    rest = ListValue([kept(ctx, v) for v in items[place:place + count]], len(ctx.builder.regions))
    return [*items[:place], rest, *items[place + count:]]
