"""Updates of `z.real` and `z.imag`, which NumPy shows as arrays of their own: what changes is z."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.frontend.arrays.indexing import expand_items, write
from sdfgad.frontend.arrays.views import as_view, basic, check_writable
from sdfgad.frontend.containers.attributes import attribute
from sdfgad.frontend.elements.elementwise import as_array, lift
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Lazy, Masked, MaskPlaces, Value, ViewValue
from sdfgad.ir.expr import call

_BY_DATA = (ArrayValue, Masked, MaskPlaces)


def is_half(value: Value) -> bool:
    """Whether a value is one half of an array of complex numbers, seen where it is."""
    return isinstance(value, Lazy) and value.half is not None


def now(ctx: Context, value: Value) -> Value:
    """The half as it is by now; any other value itself."""
    if not isinstance(value, Lazy) or value.half is None:
        return value
    name, whole = value.half
    return attribute(ctx, whole, name)


def write_half(ctx: Context, value: Lazy, items: Value, new: Value) -> None:
    """z.real[items] = new   ->   part = copy of z.real[items]; part[...] = new; z[items] = complex(part, z[items].imag)

    Where data choose the items, all of z takes the place of z[items].
    """
    assert value.half is not None
    name, whole = value.half
    check_writable(ctx, whole)
    parts = expand_items(ctx, whole, items)
    by_data = any(isinstance(p, _BY_DATA) for p in parts)
    zone = whole if by_data else as_view(basic(ctx, whole, parts))
    halves = {n: as_array(ctx, attribute(ctx, zone, n)) for n in ("real", "imag")}
    changed = replace(ctx.builder.fresh_copy(halves[name], name), scalar=False)
    write(ctx, changed, items if by_data else ..., new)
    _join(ctx, zone, halves | {name: changed})


def _join(ctx: Context, zone: ViewValue, halves: dict[str, ArrayValue]) -> None:
    made = lift(ctx, tuple(halves.values()), zone.dtype, lambda a, b: call("complex", a, b, dtype=zone.dtype))
    ctx.builder.assign(zone, made)
