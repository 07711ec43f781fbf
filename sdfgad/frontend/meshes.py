"""`np.ix_` of places that are found in the run: rows and columns of a matrix."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import as_array, describe
from sdfgad.frontend.indexing import subscript
from sdfgad.frontend.masking import is_mask, lasting, side
from sdfgad.frontend.submatrices import write_block
from sdfgad.frontend.values import ArrayValue, Block, MaskPlaces, Opaque, Value, ViewValue


@dataclass(frozen=True, eq=False)
class Mesh(Opaque):
    """`np.ix_(rows, columns)`: masks, of which there is one at least, and known places."""

    rows: Value
    columns: Value


def mesh(ctx: Context, parts: Sequence[Value]) -> Mesh | None:
    """`np.ix_(*parts)`, where masks whose elements are not known are among them."""
    found = [_mask(ctx, p) for p in parts]
    if all(m is None for m in found):
        return None
    if len(found) != 2:
        raise ctx.refuse("np.ix_ of masks for other than two dimensions", "select one dimension at a time", "SG105")
    return Mesh(*(ctx.builder.fresh_copy(as_array(ctx, p), "places") if m is None else m
                  for p, m in zip(parts, found, strict=True)))


def _mask(ctx: Context, part: Value) -> ArrayValue | None:
    mask = part.mask if isinstance(part, MaskPlaces) else part
    return lasting(ctx, mask) if is_mask(mask) and mask.ndim == 1 else None


def part_of_mesh(ctx: Context, base: ArrayValue, chosen: Mesh, any_order: bool = False) -> Value:
    """`base[np.ix_(rows, columns)]`."""
    if base.ndim != 2:
        raise ctx.refuse(f"np.ix_ of two masks for {describe(base)}", code="SG105")
    if not is_mask(chosen.columns):
        return subscript(ctx, as_array(ctx, subscript(ctx, base, (slice(None), chosen.columns))), chosen.rows)
    if not is_mask(chosen.rows):
        rows = as_array(ctx, subscript(ctx, base, chosen.rows))
        return subscript(ctx, rows, (slice(None), chosen.columns), any_order)
    return Block(base, side(ctx, chosen.rows, base.shape[0]), side(ctx, chosen.columns, base.shape[1]))


def write_mesh(ctx: Context, base: ViewValue, chosen: Mesh, value: Value) -> None:
    """`base[np.ix_(rows, columns)] = value`."""
    write_block(ctx, base, part_of_mesh(ctx, base, chosen), value)
