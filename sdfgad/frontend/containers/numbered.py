"""Lists and dicts of which long loops set items at places that they count: item k is a row of arrays.

hs = {-1: h}                            rows = np.empty((n + 1, m)); there = np.zeros(n + 1, bool)
for t in range(n):                ->    rows[0] = h; there[0] = True
    hs[t] = f(hs[t - 1])                for t in range(n):
                                            if not there[t]: raise KeyError
                                            rows[t + 1] = f(rows[t]); there[t + 1] = True
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arrays.grown import check_fresh_rows, one_item
from sdfgad.frontend.arrays.grown import item_at as part_of_list
from sdfgad.frontend.arrays.indexing import subscript, write
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.branches.branches import choose
from sdfgad.frontend.branches.raising import opposite
from sdfgad.frontend.containers.growing import label_of, rebind, room_for
from sdfgad.frontend.containers.rows import fix, kind_of_rows, put_rows, store_row, taken_apart
from sdfgad.frontend.elements.elementwise import as_array, describe, int_ix, int_value
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.functions.arithmetic import items_of, kept, membership
from sdfgad.frontend.functions.places import number_of, place
from sdfgad.frontend.merging.merge import Kind, join, same
from sdfgad.frontend.state.attempts import UNROLL_TRIPS
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered
from sdfgad.frontend.state.values import (
    Applied,
    Grown,
    IntValue,
    LengthNow,
    ListValue,
    NoneOr,
    Record,
    SliceValue,
    Value,
    ViewValue,
    contained,
    is_int,
    is_number,
    like,
)
from sdfgad.frontend.static.settled import Box, Renumber, changing
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Failure

_TRIALS = 12
MOST_PLACES = 1 << 22
"""Places between the least and the largest key of a dict."""
MOST_GIVEN = 256
"""Items that a list or dict has before the loop; equal numbers next to each other count once."""
_BY_KEYS = "loop over range(...), and take items by their keys"


@dataclass
class _Plan:
    """What is known of the items of a list or dict."""

    given: ListValue | Record
    kinds: list[Kind] | None = None
    form: Value = None
    box: Box = ()

    def learn(self, ctx: Context, found: Renumber) -> None:
        if found.kinds is not None:
            self.kinds, self.form = found.kinds, found.form
        self.box = _around(self.box, found.box)


def _around(*boxes: Box) -> Box:
    """The least box around others."""
    first, *others = [b for b in boxes if b] or [()]
    for other in others:
        first = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(first, other, strict=True))
    return first


# loops

def with_numbers(ctx: Context, run: Callable[[], None]) -> None:
    """Run a loop, again with lists and dicts of the region around it as rows where it counts the places of items."""
    depth, plans, back = len(ctx.builder.regions), dict[int, _Plan](), ctx.mark()
    for _ in range(_TRIALS):
        made = [_made(ctx, plan) for plan in plans.values()]
        ctx.numbering.append(depth)
        try:
            run()
            for one in made:
                one.settled = True
            return
        except Renumber as found:
            for one in made:
                rebind(ctx, one, one.given)
            if found.depth != depth:
                raise
            plans.setdefault(id(found.given), _Plan(found.given)).learn(ctx, found)
        finally:
            ctx.numbering.pop()
        back()
    raise ctx.refuse("a list or dictionary that gets items of other kinds again and again", "use an array", "SG102")


def _made(ctx: Context, plan: _Plan) -> Numbered:
    """A list or dict as rows, in its place."""
    given, depth = plan.given, len(ctx.builder.regions)
    old: dict[tuple[int, ...], Value]
    box: Box
    if isinstance(given, ListValue):
        old, box = {(k,): v for k, v in enumerate(given.items)}, ((0, len(given.items) - 1),)
        for key in [k for k, v in old.items() if _is_blank(plan, v)]:
            del old[key]
        full = len(old) == len(given.items)
    else:
        old, full = {parts_of(ctx, k): v for k, v in given.items.items()}, False
        if any(not all(map(is_int, k)) for k in old) or len({len(k) for k in (*old, *filter(None, [plan.box]))}) > 1:
            raise ctx.refuse("a dictionary with keys of several kinds, some of which a loop counts",
                             "use a dictionary for each kind", "SG102")
        box = _around(plan.box, *(tuple((n, n) for n in k) for k in old))
    counts = tuple(last - first + 1 for first, last in box)
    if math.prod(counts) > MOST_PLACES:
        raise ctx.refuse("a dictionary whose keys are far apart", "use an array", "SG102")
    for item in old.values():
        learn_item(ctx, plan, item)
    size = ix(math.prod(counts))
    rows = tuple(room_for(ctx, k, size, label_of(ctx, given)) for k in plan.kinds or ())
    there = None if full else ctx.builder.fresh_copy(
        as_array(ctx, ctx.invoke(ctx, np.zeros, [size.const, bool], {})), "there")
    made = Numbered(rows, plan.form, given, tuple(first for first, _ in box), counts, there, depth)
    if not rebind(ctx, given, made):
        raise ctx.refuse("a list or dictionary inside of another, of which a loop counts the items", "give it a name",
                         "SG102")
    _fill(ctx, made, old)
    return made


def _is_blank(plan: _Plan, item: Value) -> bool:
    """Whether an item of a list keeps a place for others: None, or a number in a list of arrays."""
    numbers = plan.kinds is None or len(plan.kinds) == 1 and plan.form == 0 and not plan.kinds[0].shape
    return item is None or is_number(item) and not numbers


def learn_item(ctx: Context, plan: _Plan | Renumber, item: Value) -> None:
    """Make the kinds those of one more item, too."""
    found, form = taken_apart(ctx, item)
    if plan.kinds is None:
        plan.kinds, plan.form = found, form
        return
    joined = [join(ctx, a, b) for a, b in zip(plan.kinds, found, strict=True)] if form == plan.form else [None]
    if None in joined:
        raise ctx.refuse(f"{describe(item)} in a list or dictionary whose other items are of another kind",
                         "use items of one shape and type", "SG104")
    plan.kinds = joined


def _fill(ctx: Context, made: Numbered, items: dict[tuple[int, ...], Value]) -> None:
    """Store what there is before the loop: equal numbers next to each other at once."""
    runs: list[list[Any]] = []
    for row, item in sorted(((_row(made, k), v) for k, v in items.items()), key=lambda p: p[0]):
        if runs and is_number(item) and runs[-1][1] == row and same(runs[-1][2], item):
            runs[-1][1] = row + 1
        else:
            runs.append([row, row + 1, item])
    if len(runs) > MOST_GIVEN:
        raise ctx.refuse(f"a list of {len(items)} items, of which a loop counts the places", "use an array", "SG105")
    for first, last, item in runs:
        if last > first + 1:
            put_rows(ctx, made.rows[0], slice(first, last), item)
        else:
            store_row(ctx, made, ix(first), item)
        if made.there is not None:
            write(ctx, made.there, slice(first, last), True)


def _row(owner: Numbered, key: Sequence[Any]) -> Any:
    """The row of a key, whose parts are numbers of any kind."""
    row: Any = 0
    for part, first, count in zip(key, owner.first, owner.counts, strict=True):
        row = row * count + (part - first)
    return row


# items

def item_at(ctx: Context, owner: Numbered, key: Value) -> Value:
    """`owner[key]`."""
    if isinstance(key, (slice, SliceValue)):
        return part_of_list(ctx, as_list(ctx, owner), key)
    row = _place(ctx, owner, key)
    if row is None:
        raise ctx.raises(KeyError, f"the key {key!r}, which is not in the dictionary", code="SG105")
    if owner.there is not None:
        _check(ctx, _is_there(ctx, owner, row), _missing(owner))
    return _item(ctx, owner, row)


def or_none(ctx: Context, owner: Numbered, key: Value) -> Value:
    """`owner[key]` of a list whose items are None at first, where somebody asks whether it still is."""
    row = None if owner.there is None or isinstance(key, (slice, SliceValue)) else _place(ctx, owner, key)
    if row is None or not owner.rows:
        return item_at(ctx, owner, key)
    return NoneOr(_is_there(ctx, owner, row), _item(ctx, owner, row))


def get(ctx: Context, owner: Numbered, key: Value, default: Value = None) -> Value:
    """`owner.get(key, default)` of a dict."""
    row = _place(ctx, owner, key)
    if row is None:
        return default
    found = NoneOr(_is_there(ctx, owner, row), _item(ctx, owner, row))
    if default is None:
        return found
    return choose(ctx, as_array(ctx, found.there), lambda: found.value, lambda: default)


def getter(ctx: Context, owner: Numbered, name: str) -> Value:
    """`owner.get` of a dict."""
    if name != "get" or owner.is_list:
        kind = "list" if owner.is_list else "dictionary"
        raise ctx.refuse(f"the method {name!r} of a {kind} of which loops count the items", _BY_KEYS, "SG102")
    return Applied(get, (owner,), {})


def _missing(owner: Numbered) -> Failure:
    if owner.is_list:
        return Failure(TypeError, ("an item of a list that has not been set",))
    return Failure(KeyError, ("a key that is not in the dictionary",))


def _item(ctx: Context, owner: Numbered, row: Ix) -> Value:
    """What a row holds; numbers stay what they are when others come in their place."""
    if not owner.rows:
        raise changing(ctx.refuse("an item of a list or dictionary that has none yet", "set one before the loop",
                                  "SG102"))
    check_fresh_rows(ctx, owner)
    return one_item(ctx, owner, row)


def put_item(ctx: Context, owner: Numbered, key: Value, value: Value) -> None:
    """`owner[key] = value`."""
    item, row = kept(ctx, value), _place(ctx, owner, key)
    if row is None:
        raise _renumbered(ctx, owner, "a key that is none of those counted before", box=_box(ctx, key) or ())
    plan = _Plan(owner.given, [kind_of_rows(r) for r in owner.rows] or None, owner.form)
    learn_item(ctx, plan, item)
    if plan.kinds != [kind_of_rows(r) for r in owner.rows]:
        raise _renumbered(ctx, owner, f"{describe(item)} in a list or dictionary of others", plan.kinds, plan.form)
    _check_names(ctx, owner, row)
    store_row(ctx, owner, row, item)
    fix(item)
    if owner.there is not None:
        write(ctx, owner.there, int_value(row), True)


def _check_names(ctx: Context, owner: Numbered, row: Ix) -> None:
    """Whether no name stands for what is in a row that is about to hold something else: looked at in the run."""
    arrays = {r.view.array for r in owner.rows}
    for part in [p for _, _, v in ctx.values() for p in contained(v)]:
        views = part.rows if isinstance(part, Grown) else (part,) if isinstance(part, ViewValue) else ()
        seen = [v for v in views if v.view.array in arrays and all(v is not r for r in owner.rows)]
        if any(not (v.view.index[0] - row).const for v in seen):
            if owner.there is None or isinstance(part, Grown):
                raise ctx.refuse("an item of a list replaced while a name stands for it or another one",
                                 "give the name a copy: x = items[k].copy()", "SG102")
            fresh = ctx.invoke(ctx, np.logical_not, [_is_there(ctx, owner, row)], {})
            _check(ctx, fresh, Failure(RuntimeError, (
                "an item is replaced while a name may stand for it: give the name a copy, x = items[k].copy()",)))
            return


def _is_there(ctx: Context, owner: Numbered, row: Ix) -> Value:
    assert owner.there is not None
    return ctx.builder.fresh_copy(subscript(ctx, owner.there, int_value(row)), "there")


def _check(ctx: Context, holds: Value, failure: Failure) -> None:
    ctx.builder.check_quiet()
    ctx.builder.flush()
    raise_if(ctx, opposite(as_array(ctx, holds).at(())), lambda: fail(ctx, failure))


def has(ctx: Context, owner: Numbered, key: Value) -> Value:
    """`key in owner` of a dict."""
    if owner.is_list:
        return membership(ctx, key, items_of(ctx, as_list(ctx, owner)))
    row = _place(ctx, owner, key)
    return False if row is None else _is_there(ctx, owner, row)


def length(ctx: Context, owner: Numbered) -> Value:
    """`len(owner)`."""
    return math.prod(owner.counts) if owner.is_list else number_of(ctx, owner.there)


def as_list(ctx: Context, value: Value) -> Value:
    """A list whose items loops have set, as one that loops have made longer: every item has to be there. Anything else
    as it is."""
    if not isinstance(value, Numbered):
        return value
    if not value.is_list:
        raise ctx.refuse("a dictionary whose keys a loop counts, as a whole", _BY_KEYS, "SG102")
    if value.there is not None:
        _check(ctx, ctx.invoke(ctx, np.all, [value.there], {}), _missing(value))
    if not value.rows:
        raise ctx.refuse("a list whose items have not been set", code="SG102")
    return Grown(value.rows, value.form, LengthNow(value.rows[0].shape[0], value.depth))


def as_lists(ctx: Context, value: Value) -> Value:
    """A result, with lists in place of those whose items loops have set."""
    if isinstance(value, (ListValue, Record)):
        for key, item in list(value.items.items() if isinstance(value, Record) else enumerate(value.items)):
            value.items[key] = as_lists(ctx, item)
        return value
    return like(value, [as_lists(ctx, v) for v in value]) if isinstance(value, tuple) else as_list(ctx, value)


# places

def _place(ctx: Context, owner: Numbered, key: Value) -> Ix | None:
    """The row of a key; None for one that has none."""
    if owner.is_list:
        return place(ctx, ix(owner.counts[0]), to_int(ctx, key))
    box = _box(ctx, key)
    if box is None:
        raise ctx.refuse("a key of a dictionary that only the run knows", _BY_KEYS, "SG105")
    inside = len(box) == len(owner.first) and all(
        first <= low and high < first + count for (low, high), first, count in zip(
            box, owner.first, owner.counts, strict=True))
    if inside:
        return ix(_row(owner, [int_ix(to_int(ctx, k)) for k in parts_of(ctx, key)]))
    if len(box) == len(owner.first) and all(low == high for low, high in box):
        return None
    raise _renumbered(ctx, owner, "a key that may be none of those counted before", box=box)


def parts_of(ctx: Context, key: Value) -> tuple[Value, ...]:
    """The integers that a key is made of. A text among them is its number, with a part more: no other key has as many.
    """
    texts = ctx.hints.setdefault("texts in keys", {})
    parts: list[Value] = []
    for part in key if isinstance(key, tuple) else (key,):
        parts += (texts.setdefault(part, len(texts)), 0) if isinstance(part, str) else (part,)
    return tuple(parts)


def _box(ctx: Context, key: Value) -> Box | None:
    """The least and largest value of each part of a key that is made of integers."""
    if not all(is_int(k) for k in parts_of(ctx, key)):
        return None
    found = [ctx.builder.scope.bounds(int_ix(k)) for k in parts_of(ctx, key)]
    return None if any(None in b for b in found) else tuple(found)  # type: ignore[arg-type]


def _renumbered(ctx: Context, owner: Numbered, what: str, kinds: list[Kind] | None = None, form: Value = None,
                box: Box = ()) -> Exception:
    """What to raise where a list or dict has to have other rows: the loop that counts its places begins again."""
    if owner.settled or owner.depth not in ctx.numbering or box and len(box) != len(owner.first):
        return ctx.refuse(what, "use an array", "SG102")
    return Renumber(owner.given, owner.depth, box, kinds, form)


def counted_item(ctx: Context, given: ListValue | Record, key: Value, *new: Value) -> None:
    """Raise `Renumber` where a long loop counts the places of a list or dict: in item `key`, which may be set. Returns
    where that is not so."""
    box = _box(ctx, key) if isinstance(given, Record) else ()
    depth = given.depth - sum(any(r is given for r in fields.records) for fields in ctx.changing)
    counted = any(isinstance(k, IntValue) for k in parts_of(ctx, key))
    if not counted or depth not in ctx.numbering or box is None or _is_short(ctx, key):
        return
    found = Renumber(given, depth, box)
    items = given.items.values() if isinstance(given, Record) else given.items
    try:
        for item in [*(v for v in items if v is not None and not is_number(v)), *new] or list(items):
            if item is not None:
                learn_item(ctx, found, kept(ctx, item))
    except UnsupportedError:
        return
    raise found


def _is_short(ctx: Context, key: Value) -> bool:
    """Whether loops count a place that are written out where they have to be."""
    symbols = {s for k in parts_of(ctx, key) if isinstance(k, IntValue) for s in k.ix.symbols}
    trips = [r.trips for r in ctx.builder.scope.ranges if r.var in symbols]
    return bool(trips) and all(n is None or n <= UNROLL_TRIPS for n in trips)
