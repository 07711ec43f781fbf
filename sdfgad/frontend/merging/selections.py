"""What masks select, where ways meet: arrays that are whole on one of them, and masks that several names share.

z = z[z < 2.0]     # in a loop: an array before it, of which a mask selects less and less
w = w[...]         # by the same mask, which is carried once
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from sdfgad.frontend.arrays.masking import same_mask
from sdfgad.frontend.elements.elementwise import BOOL, INT
from sdfgad.frontend.merging.merge import same
from sdfgad.frontend.state.values import ArrayValue, Lazy, Masked, MaskPlaces, Maybe, Value
from sdfgad.ir.expr import Index, const

EVERYWHERE = "everywhere"
"""The key of masks that select everything, with their shape."""


def dimensions_of_mask(values: Sequence[Value]) -> int | None:
    """How many the masks have, where some ways leave arrays and others what masks select; None if they do not."""
    masks = [v.mask for v in values if isinstance(v, Masked) or isinstance(v, MaskPlaces) and v.part is not None]
    arrays = [v for v in values if isinstance(v, ArrayValue) and v.shape]
    alike = all(isinstance(v, Masked) for v in values)
    if not masks or alike or len(masks) + len(arrays) < len(values) or any(v.ndim < masks[0].ndim for v in arrays):
        return None
    return masks[0].ndim


def as_selected(value: Value, dimensions: int) -> Value:
    """An array as that of which a mask of so many dimensions selects everything; places as numbers."""
    if isinstance(value, MaskPlaces) and value.part is not None:
        part = value.part
        numbers = Lazy(value.mask.shape, INT, lambda at: Index(at[part], INT), frozenset())
        return Masked(numbers, value.mask, object())  # type: ignore[arg-type]
    if not isinstance(value, ArrayValue):
        return value
    shape = value.shape[:dimensions]
    everywhere = Lazy(shape, BOOL, lambda _: const(True, BOOL), frozenset())
    return Masked(value, everywhere, (EVERYWHERE, shape), own=True)  # type: ignore[arg-type]


def merging(merge: Callable[[str, Value, Value], Value]) -> Callable[[str, Value, Value], Value]:
    """`merge` of names one after the other, with one mask for those that share theirs on both ways."""
    chosen: list[tuple[Masked, Masked, Value]] = []

    def one(name: str, first: Value, second: Value) -> Value:
        dimensions = dimensions_of_mask((first, second))
        if dimensions is not None:
            first, second = as_selected(first, dimensions), as_selected(second, dimensions)
        if not isinstance(first, Masked) or not isinstance(second, Masked):
            return merge(name, first, second)
        mask = next((m for a, b, m in chosen if same_mask(a, first) and same_mask(b, second)), None)
        if mask is None:
            mask = first.mask if same(first.mask, second.mask) else merge(f"{name}_mask", first.mask, second.mask)
        values = first.values if same(first.values, second.values) else merge(name, first.values, second.values)
        if isinstance(values, Maybe) or isinstance(mask, Maybe):
            return values if isinstance(values, Maybe) else mask
        chosen.append((first, second, mask))
        return Masked(values, mask, object(), own=True)

    return one
