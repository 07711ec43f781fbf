"""What a loop looks at item by item, in Python when it comes to the item: it is not to change ahead of the loop."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sdfgad.frontend.merging.merge import same
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Entries,
    Grown,
    IntValue,
    Iterated,
    Lazy,
    ListValue,
    Record,
    Value,
    ViewValue,
    contained,
)
from sdfgad.frontend.static.picked import CHANGED, LIST_OF_IT, Picked, check_versions
from sdfgad.frontend.syntax.liveness import load_names

AHEAD, PLACES = "a loop over a list that changes on the way, ahead of it", "take items by their places: x = items[k]"


def arrays_of(walked: Value) -> list[Value]:
    """The arrays that a loop looks at till its end, whatever becomes of their names (`for v in y: y = f(y)`)."""
    return [v for v in contained(walked) if isinstance(v, ViewValue) and not v.scalar]


def written_out(node: ast.expr) -> list[ast.expr]:
    """What a loop looks at item by item, as its text shows: what is written behind `in`, or in iterators there."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("enumerate", "zip"):
        return [found for a in node.args for found in written_out(a)]
    return [node]


def unchanged_items(ctx: Context, iterable: Value) -> Callable[[int], None]:
    """What refuses at an item's place, if a list, a dictionary, or the numbers of an array, have changed where the loop
    still looks at them."""
    owner = iterable.owner if isinstance(iterable, Entries) else iterable
    lists = [v for v in (owner, *getattr(owner, "lists", ())) if isinstance(v, ListValue)]
    keys, before = list(owner.items) if isinstance(owner, Record) else [], [list(v.items) for v in lists]

    def check(k: int) -> None:
        if isinstance(owner, Record) and list(owner.items) != keys:
            raise ctx.refuse("a loop over a dictionary that gets other keys on the way", "loop over list(d)", "SG102")
        for now, old in zip(lists, before, strict=True):
            if len(now.items) != len(old) or not all(map(same, now.items[k:], old[k:])):
                raise ctx.refuse(AHEAD, PLACES, "SG102")
        if isinstance(owner, Picked) and k < len(owner):
            check_versions(ctx, owner.versions)

    return check


def picked(ctx: Context, items: Callable[[], Iterable[Value]], found_in: Sequence[Value]) -> Picked:
    """Items that an iterator finds one by one in what it is given."""
    versions = _versions(ctx, [v for i in found_in for v in (contained(i) if isinstance(i, Iterated) else (i,))], 1)
    made = Picked(items())
    made.versions = {**versions, **{a: n for i in found_in for a, n in getattr(i, "versions", {}).items()}}
    made.lists = tuple(v for i in found_in for v in (i, *getattr(i, "lists", ())) if isinstance(v, ListValue))
    return made


def _versions(ctx: Context, values: Iterable[Value], ndim: int | None = None) -> dict[str, int]:
    """The stored arrays among the values, as they are now."""
    stored = [v.stored if isinstance(v, Lazy) else v for v in values]
    return {v.view.array: ctx.builder.versions.get(v.view.array, 0) for v in stored
            if isinstance(v, ViewValue) and not v.scalar and ndim in (None, v.ndim)}


def unchanged_behind(ctx: Context, node: ast.expr, given: Value, iterable: Value) -> Callable[[], None]:
    """What refuses behind a loop over a generator expression, or `map`, if it has changed what these look at: their
    items are made ahead of the loop, and in Python one by one."""
    if not isinstance(given, Iterated) or not isinstance(iterable, (ListValue, Grown)):
        return lambda: None
    frame = ctx.frame
    names = {n: frame.names[n] for n in _delayed(node) if n in frame.names}
    seen = [p for v in (*names.values(), given) for p in contained(v)]
    versions = _versions(ctx, seen)
    inside = [(p, dict(enumerate(p.items)) if isinstance(p, ListValue) else dict(p.items)) for p in seen
              if isinstance(p, (ListValue, Record))]
    if isinstance(iterable, ListValue) and all(_shows(v, seen, versions) for v in iterable.items):
        return lambda: None

    def check() -> None:
        changed = [n for n, v in names.items() if not same(frame.names.get(n), v)]
        if changed:
            raise ctx.refuse(f"an iterator that looks at {changed[0]!r}, which changes before it is used up",
                             LIST_OF_IT, "SG102")
        if not all(_holds(p, items) for p, items in inside):
            raise ctx.refuse(CHANGED, LIST_OF_IT, "SG102")
        check_versions(ctx, versions)

    return check


def _delayed(node: ast.expr) -> set[str]:
    """The names that the functions and generator expressions in it look at when they are asked."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Lambda):
            found |= {*load_names(inner.body)}
        elif isinstance(inner, ast.GeneratorExp):
            found |= {*load_names(inner)} - {*load_names(inner.generators[0].iter)}
            found |= {n for part in (inner.elt, *inner.generators[0].ifs) for n in load_names(part)}
            found -= {n.id for g in inner.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    return found


def _shows(item: Value, seen: Sequence[Value], arrays: Mapping[str, int]) -> bool:
    """Whether an item shows what becomes of what it is found in."""
    if isinstance(item, tuple):
        return all(_shows(v, seen, arrays) for v in item)
    if isinstance(item, (ListValue, Record)):
        return any(item is v for v in seen)
    return not isinstance(item, (ArrayValue, IntValue)) or (
        isinstance(item, ViewValue) and not item.scalar and item.view.array in arrays)


def _holds(part: ListValue | Record, before: Mapping[Any, Value]) -> bool:
    """Whether a list or an object has the items that it had."""
    now = dict(enumerate(part.items)) if isinstance(part, ListValue) else part.items
    return now.keys() == before.keys() and all(same(now[k], v) for k, v in before.items())
