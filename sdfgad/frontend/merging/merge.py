"""One value for a name that has several, depending on the path taken or the iteration: a container all paths write."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.arrays.layout import like_order
from sdfgad.frontend.elements.elementwise import INT, as_array, expand, to_ix
from sdfgad.frontend.merging.structures import is_tree, mapped
from sdfgad.frontend.state.chosen_texts import ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.frames import CallFrame
from sdfgad.frontend.state.references import refers
from sdfgad.frontend.state.sharing import READ_ONLY
from sdfgad.frontend.state.values import (
    ArrayValue,
    IntValue,
    Lazy,
    Masked,
    NoneOr,
    Reading,
    Shape,
    Value,
    ViewValue,
    is_number,
)
from sdfgad.ir.index import Elem, Ix, elem, ix
from sdfgad.ir.program import Array

_SAMPLES: Mapping[str, complex] = MappingProxyType({"b": False, "i": 0, "f": 0.0, "c": 0j})


@dataclass(frozen=True)
class Kind:
    """What a container has to hold."""

    shape: Shape
    dtype: np.dtype
    weak: bool


def kind_of(value: Value) -> Kind | None:
    """The kind of a number or array; None for anything a container cannot hold."""
    if is_number(value):
        strong = isinstance(value, np.generic)
        return Kind((), value.dtype if strong else np.asarray(value).dtype, not strong)
    if isinstance(value, IntValue):
        return Kind((), value.dtype or INT, value.dtype is None)
    if isinstance(value, ArrayValue):
        if not value.shape and not value.scalar:
            return None  # an array without dimensions can be updated in place, a number cannot
        return Kind(value.shape, value.dtype, value.weak)
    return None


def join(ctx: Context, a: Kind | None, b: Kind | None) -> Kind | None:
    """The kind that holds values of both, None when there is none."""
    if a is None or b is None or a.shape != b.shape:
        return None
    ctx.mixed |= a.weak != b.weak
    if a.weak and b.weak:
        return Kind(a.shape, np.result_type(a.dtype, b.dtype), True)
    parts = [_SAMPLES[k.dtype.kind] if k.weak else k.dtype for k in (a, b)]
    return Kind(a.shape, np.result_type(*parts), False)


def same(a: Value, b: Value) -> bool:
    """Whether two values are surely the same data."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, IntValue):
        return a.ix == b.ix and a.dtype == b.dtype
    if isinstance(a, ViewValue):
        return (a.view, a.scalar, a.weak, a.readonly) == (b.view, b.scalar, b.weak, b.readonly)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Masked):
        return same(a.mask, b.mask) and same(a.values, b.values)
    if isinstance(a, NoneOr):
        return same(a.there, b.there) and same(a.value, b.value)
    if isinstance(a, ChosenText):
        return same(a.number, b.number)
    if isinstance(a, Reading):
        return True
    if is_number(a):
        return bool(a == b and np.signbit(complex(a).real) == np.signbit(complex(b).real)) or (a != a and b != b)
    return isinstance(a, (str, slice, range)) and a == b


def holder(ctx: Context, value: Value) -> str | None:
    """The transient container that `value` shows whole, if there is one."""
    if isinstance(value, IntValue):
        elems = value.ix.elems
        if len(elems) == 1 and elems[0].parts == () and value.ix == elem(elems[0].array, ()):
            return elems[0].array if ctx.builder.arrays[elems[0].array].role == "transient" else None
        return None
    if not isinstance(value, ViewValue) or not value.whole:
        return None
    array = ctx.builder.arrays[value.view.array]
    fits = value.view.shape == tuple(ix(n) for n in array.shape)
    return array.name if fits and array.role == "transient" else None


def private(ctx: Context, frame: CallFrame, name: str, others: Iterable[Mapping[str, Value]] = ()) -> str | None:
    """The container of `name` when nothing else refers to it, so that it may be overwritten with a new value."""
    container = holder(ctx, frame.names.get(name))
    if container is None or container in ctx.builder.frozen or container in ctx.builder.mail.awaited:
        return None
    if any(e.array == container for r in ctx.builder.scope.ranges for i in (r.start, r.stop) for e in i.elems):
        return None
    for where, other, value in ctx.values():
        if refers(value, container) and (where is not frame or other != name):
            return None
    for names in others:
        if any(refers(value, container) and other != name for other, value in names.items()):
            return None
    return container


def container_value(ctx: Context, array: Array, kind: Kind) -> Value:
    """The value of a name whose data is in `array`."""
    if not kind.shape and kind.dtype.kind in "iu":
        ctx.builder.managed.add(array.name)
        return IntValue(elem(array.name, ()), None if kind.weak else kind.dtype)
    return ctx.builder.view(array, kind.shape, kind.weak, scalar=not kind.shape)


def declare(ctx: Context, kind: Kind, label: str) -> Array:
    """A container for values of a kind."""
    return ctx.builder.declare(kind.shape, kind.dtype, label.split(".")[0])


def fill(ctx: Context, array: str, kind: Kind, value: Value) -> None:
    """Store `value` in the container."""
    builder = ctx.builder
    if kind.weak and isinstance(value, IntValue) and grows(ctx, value.ix):
        builder.growing.setdefault(array, None)
    target = builder.view(builder.arrays[array], kind.shape)
    builder.assign(target, expand(ctx, as_array(ctx, value), kind.shape))


def grows(ctx: Context, i: Ix) -> bool:
    """Whether an integer is several times one that is stored, or made of one that grows."""
    weight = sum(abs(factor) * len(atoms) for atoms, factor in i.terms if any(isinstance(a, Elem) for a in atoms))
    return weight > 1 or any(e.array in ctx.builder.growing for e in i.elems)


def fill_copy(ctx: Context, array: str, kind: Kind, name: str, value: Value, names: Mapping[str, Value]) -> None:
    """Store the value that `name` has on the path where `names` are bound; note what the copy could be told from."""
    builder = ctx.builder
    origins: set[str] = set()
    stale = False
    if isinstance(value, Lazy) and value.stored is None:
        origins = set(value.origins)
    if isinstance(value, ViewValue) and value.shape and not value.copied:
        base = value.view.array
        origins = set(builder.shared.relatives(base))
        stale = base in builder.shared.stale
        if builder.arrays[base].role != "transient" or _seen(ctx, base, name, names):
            origins.add(base)
        origins |= builder.shared.listed(base)
    builder.shared = builder.shared.copied(array, (), stale=False)
    if not _seen(ctx, array, name, names):
        builder.shared = builder.shared.rebound(array)
    if isinstance(value, ArrayValue) and like_order(ctx, value):
        builder.any_order.add(array)
    fill(ctx, array, kind, value)
    if isinstance(value, ArrayValue) and value.readonly:
        origins.add(READ_ONLY)
    builder.shared = builder.shared.copied(array, origins, stale)


def _seen(ctx: Context, container: str, name: str, names: Mapping[str, Value]) -> bool:
    """Whether anything but `name` refers to the container."""
    if any(refers(v, container) and n != name for n, v in names.items()):
        return True
    return any(frame is not ctx.frame and refers(v, container) for frame, _, v in ctx.values())


def in_container(ctx: Context, value: Value, label: str) -> Value:
    """Run-time integers, also those in containers, copied out of the loop variables they are made of."""
    if is_tree(value):
        return mapped(value, lambda v: in_container(ctx, v, label), len(ctx.builder.regions))
    if not isinstance(value, IntValue):
        return value
    kind = kind_of(value)
    if kind is None:
        return value
    array = declare(ctx, kind, label)
    fill(ctx, array.name, kind, value)
    return container_value(ctx, array, kind)


__all__ = ("Kind", "kind_of", "join", "same", "holder", "private", "container_value", "declare", "fill", "fill_copy",
           "in_container", "to_ix")
