"""Storing into and updating elements of arrays, items of lists and dicts, and attributes."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from sdfgad.frontend.arrays.indexing import expand_items, for_flag, is_at_selected, subscript, write
from sdfgad.frontend.arrays.masking import CHOSEN, check_cast, is_stored, write_masked
from sdfgad.frontend.arrays.views import as_view, check_writable, remap, to_int
from sdfgad.frontend.branches.fields import check_list
from sdfgad.frontend.containers import numbered
from sdfgad.frontend.containers.attributes import attribute
from sdfgad.frontend.containers.chosen_items import item_chosen, put_chosen
from sdfgad.frontend.containers.classes import by_rule, has_rule, operated, own_class
from sdfgad.frontend.containers.growing import as_list
from sdfgad.frontend.containers.records import is_guarded, item, put_attribute, put_item
from sdfgad.frontend.containers.stacks import put_row, row_at
from sdfgad.frontend.elements.elementwise import as_array, describe, expand
from sdfgad.frontend.elements.in_place import ask_for_arrays
from sdfgad.frontend.functions import arithmetic
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.functions.meshes import Mesh, part_of_mesh, put_at_places, write_mesh
from sdfgad.frontend.halves import is_half, now, write_half
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    Grown,
    IntValue,
    ListValue,
    Masked,
    MaskPlaces,
    Method,
    Record,
    SelectedColumns,
    Value,
    ViewValue,
    is_number,
)
from sdfgad.ir.index import ix
from sdfgad.ir.program import axis


def store_item(ctx: Context, base: Value, items: Value, value: Value) -> None:
    """`base[items] = value`."""
    if has_rule(base, "__setitem__"):
        by_rule(ctx, base, "__setitem__", items, kept(ctx, value))
        return
    if isinstance(base, Record):
        put_item(ctx, base, items, value)
        return
    if isinstance(base, Numbered):
        numbered.put_item(ctx, base, items, value)
        return
    if isinstance(base, dict):
        raise ctx.refuse("an item of a dictionary from outside set", "pass the dictionary as an argument", "SG102")
    if isinstance(base, Grown) and base.counter is not None and not isinstance(items, slice):
        put_row(ctx, base, items, value)
        return
    if isinstance(base, Grown):
        base = as_list(ctx, base)
    if isinstance(base, ListValue) and isinstance(items, slice):
        check_list(ctx, base, "use an array")
        base.items[items] = arithmetic.items_of(ctx, kept(ctx, value))
        return
    if isinstance(base, ListValue):
        _put(ctx, base, items, kept(ctx, value))
        return
    if isinstance(base, Masked) and is_stored(base) and items in (slice(None), Ellipsis):
        write_masked(ctx, as_view(base.values), base, value)
        return
    if isinstance(items, Mesh) and isinstance(base, ViewValue):
        write_mesh(ctx, base, items, value)
        return
    if isinstance(base, ViewValue) and put_at_places(ctx, base, items, value):
        return
    if isinstance(base, ViewValue) and base.ndim == 2 and _is_diagonal(items) and base.shape[0] == base.shape[1]:
        base, items = as_view(remap(ctx, base, base.shape[:1], (ix(axis(0)),) * 2)), items[0]
    _write(ctx, base, items, value)


def _is_diagonal(items: Value) -> bool:
    """Whether both indices of a matrix are the same found places."""
    return isinstance(items, tuple) and len(items) == 2 and all(
        isinstance(p, MaskPlaces) and p.mask.ndim == 1 and p.table is items[0].table for p in items)


def _write(ctx: Context, base: Value, items: Value, value: Value, any_order: bool = False) -> None:
    if is_half(base):
        write_half(ctx, base, items, value)
    else:
        write(ctx, base, items, value, any_order)


def _put(ctx: Context, base: ListValue, items: Value, value: Value) -> None:
    k = to_int(ctx, items)
    if isinstance(k, IntValue):
        put_chosen(ctx, base, k, value)
        return
    check_list(ctx, base, "use an array")
    if not -len(base.items) <= k < len(base.items):
        raise ctx.refuse(f"item {describe(k)} of a list of {len(base.items)}", code="SG105")
    base.items[int(k)] = value


def settled(ctx: Context, items: Value) -> Value:
    """Index expressions evaluated once although they are used twice."""
    parts = [kept(ctx, i, "index") for i in (items if isinstance(items, tuple) else (items,))]
    return tuple(parts) if isinstance(items, tuple) else parts[0]


def update_items(ctx: Context, base: Value, items: Value, ufunc: np.ufunc, value: Callable[[Value], Value]) -> None:
    """`base[items] op= value`; the value is evaluated after the item has been read, which it is told."""
    if isinstance(base, ArrayValue):
        before = _versions(ctx, base)
        new = value(base)
        if _versions(ctx, base) != before and not isinstance(items, slice):
            raise ctx.refuse("an item updated by a value that updates its array", "compute the value before", "SG107")
        _update_elements(ctx, now(ctx, base), items, ufunc, new)
        return
    if has_rule(base, "__getitem__"):
        old = by_rule(ctx, base, "__getitem__", items)
    elif isinstance(base, Record):
        old = item(ctx, base, items)
    elif isinstance(base, Numbered):
        old = numbered.item_at(ctx, base, items)
    elif isinstance(base, Grown) and base.counter is not None:
        old = row_at(ctx, base, items)
    elif isinstance(base, (ListValue, Grown)):
        base = as_list(ctx, base) if isinstance(base, Grown) else base
        old = _list_item(ctx, base, items)
    else:
        raise ctx.refuse(f"an update of {describe(base)}", code="SG105")
    if not _in_place(ctx, old, ufunc, value):
        store_item(ctx, base, items, operated(ctx, ufunc, old, value(old), update=True))


def _versions(ctx: Context, base: ArrayValue) -> list[int]:
    """How often the arrays of a value have been updated."""
    return [ctx.builder.versions.get(a, 0) for a in sorted(base.reads)]


def _list_item(ctx: Context, base: ListValue, items: Value) -> Value:
    k = None if isinstance(items, slice) else to_int(ctx, items)
    if isinstance(k, IntValue):
        return item_chosen(ctx, base, k)
    if k is None or not -len(base.items) <= k < len(base.items):
        raise ctx.refuse(f"item {describe(items)} of a list of {len(base.items)}", code="SG105")
    return base.items[int(k)]


def store_attribute(ctx: Context, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`."""
    if is_half(half := _half(ctx, owner, name)):
        write_half(ctx, half, ..., value)
    else:
        put_attribute(ctx, owner, name, value)


def _half(ctx: Context, owner: Value, name: str) -> Value:
    return attribute(ctx, owner, name) if isinstance(owner, ArrayValue) and name in ("real", "imag") else None


def update_attribute(ctx: Context, owner: Value, name: str, ufunc: np.ufunc, value: Callable[[Value], Value]) -> None:
    """`owner.name op= value`."""
    if is_half(half := _half(ctx, owner, name)):
        new = value(half)
        store_attribute(ctx, owner, name, arithmetic.binary(ctx, ufunc, now(ctx, half), new))
        return
    old = attribute(ctx, owner, name) if isinstance(owner, Record) else None
    frozen = isinstance(owner, Record) and is_guarded(owner.form)
    if isinstance(old, (ListValue, Grown)) and ufunc is np.add and not frozen:
        if makes_array(new := value(old)):
            raise ctx.refuse("an array added to a list, which becomes an array", "use extend, or np.array", "SG102")
        ctx.invoke(ctx, Method(old, "extend"), [new], {})
        return
    if frozen or not _in_place(ctx, old, ufunc, value):
        put_attribute(ctx, owner, name, None if old is None else operated(ctx, ufunc, old, value(old), update=True))


def _in_place(ctx: Context, old: Value, ufunc: np.ufunc, value: Callable[[Value], Value]) -> bool:
    """An array stays where it is and changes; whether `old` is one."""
    if isinstance(old, ListValue) or isinstance(old, Record) and own_class(old) is None:
        raise ctx.refuse(f"an update of {describe(old)} inside of another", "give it a name", "SG102")
    ask_for_arrays(ctx, old)
    if not changes_in_place(old):
        return False
    update(ctx, old, ufunc, value(old))
    return True


def changes_in_place(value: Value) -> bool:
    """Whether `value op= ...` is seen under other names of the value."""
    value = value.rows if isinstance(value, SelectedColumns) else value
    if isinstance(value, Block):
        return value.stored
    return is_stored(value) if isinstance(value, Masked) else isinstance(value, ViewValue) and not value.scalar


def update(ctx: Context, target: Value, ufunc: np.ufunc, value: Value) -> None:
    """`target op= value` for an array, or for data selected by a mask: in place, in the target's dtype."""
    if isinstance(target, CHOSEN):
        changed, found = (v.rows if isinstance(v, SelectedColumns) else v for v in (
            target, arithmetic.on_masked(ctx, ufunc, target, value)))
        if isinstance(changed, Block) != isinstance(found, Block):
            raise ctx.refuse(f"an update of {describe(target)} that makes a matrix of it", code="SG103")
        _check_update(ctx, found.values, changed.values)
        if isinstance(found, Masked) and isinstance(changed, Masked):
            write_masked(ctx, as_view(changed.values), changed, found)
        else:
            ctx.builder.assign(as_view(changed.values), found.values)
        return
    check_writable(ctx, target)
    result = as_array(ctx, arithmetic.binary(ctx, ufunc, target, value))
    _check_update(ctx, result, target)
    ctx.builder.assign(target, expand(ctx, result, target.shape))
    ctx.builder.consume(result)


def makes_array(value: Value) -> bool:
    """Whether `items += value` makes an array of a list: Python asks both for a sum before it makes the list longer."""
    return isinstance(value, np.generic) or isinstance(value, ArrayValue) and not (value.scalar and value.weak)


def update_list(ctx: Context, owner: ListValue, ufunc: np.ufunc, value: Value) -> bool:
    """`items += others`, and `items *= count`: the list stays the one that it is, under all its names. Whether it has
    been done: NumPy makes an array of a list and an array that are added."""
    if ufunc is np.add and makes_array(value):
        return False
    if ufunc is np.add:
        ctx.invoke(ctx, Method(owner, "extend"), [value], {})
        return True
    if ufunc is not np.multiply or not isinstance(value, (int, np.integer)):
        return False
    check_list(ctx, owner)
    made = arithmetic.kept(ctx, owner).items * int(value)
    owner.items[:] = made if owner.kind is list else deque(made, owner.kind.most)  # type: ignore[attr-defined]
    return True


def _check_update(ctx: Context, result: ArrayValue, target: ArrayValue) -> None:
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise ctx.refuse(f"an update that stores {result.dtype} in an array of dtype {target.dtype}",
                         "NumPy refuses this cast too", "SG104")
    check_cast(ctx, result, target)


def _update_elements(ctx: Context, base: ArrayValue, items: Value, ufunc: np.ufunc, value: Value) -> None:
    if isinstance(items, Mesh) and isinstance(base, ViewValue):
        write_mesh(ctx, base, items, arithmetic.binary(ctx, ufunc, part_of_mesh(ctx, base, items), value))
        return
    base, items = for_flag(ctx, base, items)
    old = subscript(ctx, base, items, any_order=is_number(value))
    if isinstance(old, ViewValue) and not old.scalar:
        update(ctx, old, ufunc, value)
        return
    chosen = is_at_selected(base, items)
    parts = () if chosen else expand_items(ctx, base, items)
    result = arithmetic.binary(ctx, ufunc, old, value)
    data = result.rows if isinstance(result, SelectedColumns) else result
    data = data.values if isinstance(data, Masked) else data
    if not is_number(data) and not isinstance(data, IntValue) and (
            chosen or any(isinstance(p, ArrayValue) for p in parts)):
        _check_update(ctx, data, base)
    _write(ctx, base, items, result, any_order=is_number(value))
