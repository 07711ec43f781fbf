"""Items of lists in order: by what is known of them while translating, or by data."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.bodies import order as orders
from sdfgad.frontend.containers.chosen_items import item_chosen
from sdfgad.frontend.containers.records import compares_fields, fields_of
from sdfgad.frontend.elements.elementwise import as_array
from sdfgad.frontend.functions.arithmetic import items_of, kept
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Record, Value, is_number

_MOST_CHOSEN = 16
"""Items that are chosen one by one: each of them is compared with all places."""


def in_order(ctx: Context, items: list[Value], key: Value = None, reverse: Value = False) -> list[Value]:
    """The items sorted by themselves, or by their keys."""
    items = [kept(ctx, v) for v in items]
    keys = items if key is None else [kept(ctx, ctx.invoke(ctx, key, [v], {})) for v in items]
    keys = [fields_of(k) if isinstance(k, Record) and compares_fields(k.form, "__lt__") else k for k in keys]
    known = _known_start(keys)
    if known is None:
        return _by_data(ctx, items, keys, bool(reverse))
    try:
        return [items[k] for k in sorted(range(len(items)), key=lambda k: known[k], reverse=bool(reverse))]
    except TypeError as error:
        raise ctx.refuse(f"a list operation that fails: {error}", code="SG102") from error


def _known_start(keys: Sequence[Value]) -> list[Value] | None:
    """As much of the keys as is known while translating, where that is all that their order depends on: all of them, or
    the first parts of tuples, no two of which are the same. ("b", x), ("a", y)   ->   ("b",), ("a",)"""
    if all(map(_is_known, keys)):
        return list(keys)
    if not all(isinstance(k, tuple) for k in keys):
        return None
    count = min(len(list(takewhile(_is_known, k))) for k in keys)
    starts = [k[:count] for k in keys]
    return starts if len(set(starts)) == len(starts) else None


def _is_known(value: Value) -> bool:
    return is_number(value) or isinstance(value, str) or isinstance(value, tuple) and all(map(_is_known, value))


def _by_data(ctx: Context, items: list[Value], keys: list[Value], reverse: bool) -> list[Value]:
    """[a, b], [p, q]   ->   order = np.lexsort([np.array([p, q])]); np.array([a, b])[order]

    Items that are no numbers, nor tuples of such, are chosen one by one: items[order[0]], items[order[1]].
    """
    columns = _columns(items) if (apart := _are_numbers(ctx, items)) else _columns(list(range(len(items))))
    if not _are_numbers(ctx, keys) or not apart and len(items) > _MOST_CHOSEN:
        raise ctx.refuse("sorted of what is only known at run time, and no numbers of one class, or tuples of those",
                         "use np.argsort", "SG102")
    found = ctx.invoke(ctx, orders.ordered, [columns, _columns(keys), reverse], {})
    if not apart:
        order = items_of(ctx, items_of(ctx, found)[0])
        return [kept(ctx, item_chosen(ctx, tuple(items), to_int(ctx, k))) for k in order]
    rows = zip(*(items_of(ctx, column) for column in items_of(ctx, found)), strict=True)
    return [row if isinstance(item, tuple) else row[0] for row, item in zip(rows, items, strict=True)]


def _rows(items: Sequence[Value]) -> list[tuple[Value, ...]]:
    return [v if isinstance(v, tuple) else (v,) for v in items]


def _are_numbers(ctx: Context, items: list[Value]) -> bool:
    """Whether items are numbers, or tuples of numbers, those in each place of one class."""
    rows = _rows(items)
    alike = len({(isinstance(v, tuple), len(row)) for v, row in zip(items, rows, strict=True)}) == 1
    return alike and all(_one_class(ctx, column) for column in zip(*rows, strict=True))


def _columns(items: list[Value]) -> ListValue:
    """What stands in the first place of all items, in the second, ..."""
    return ListValue([ListValue(list(column), 0) for column in zip(*_rows(items), strict=True)], 0)


def _one_class(ctx: Context, column: Sequence[Value]) -> bool:
    if not all(is_number(v) or isinstance(v, (ArrayValue, IntValue)) for v in column):
        return False
    made = [as_array(ctx, v) for v in column]
    return len({v.dtype for v in made}) == 1 and made[0].dtype.kind in "biuf" and not any(v.shape for v in made)
