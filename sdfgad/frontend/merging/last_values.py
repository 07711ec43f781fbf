"""What the last iteration of a loop leaves, seen from behind it."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.frontend.elements.elementwise import int_value
from sdfgad.frontend.merging.structures import form_of, is_tree, leaves_of, rebuilt
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import IntValue, Maybe, Value, ViewValue, contained
from sdfgad.ir.index import Ix
from sdfgad.ir.program import View


def last_value(ctx: Context, value: Value, last: dict[str, Ix | None]) -> Value:
    """A value of the last iteration seen from behind the loop."""
    found = {s for part in _parts(value) for s in part.symbols}
    used = [v for v in last if v in found]
    if not used:
        return value
    if any(last[v] is None for v in used):
        return Maybe(None)
    if is_tree(value):
        found_in = [last_value(ctx, v, last) for _, v in leaves_of(value)]
        whole = not any(isinstance(v, Maybe) for v in found_in)
        return rebuilt(form_of(value), iter(found_in), -1) if whole else Maybe(None)
    mapping = {v: last[v] for v in used}
    if isinstance(value, IntValue):
        return int_value(value.ix.subs(mapping), value.dtype)  # type: ignore[arg-type]
    if isinstance(value, ViewValue):
        view = value.view
        moved = View(view.array, tuple(n.subs(mapping) for n in view.shape),  # type: ignore[arg-type]
                     tuple(i.subs(mapping) for i in view.index), view.dtype)  # type: ignore[arg-type]
        if not any(i is not None and i.elems for i in mapping.values()):
            return replace(value, view=moved)
        if value.scalar:  # a number: it stays what it is
            return ctx.builder.fresh_copy(ViewValue(moved, True, value.weak), "last")
    return Maybe(None)


def _parts(value: Value) -> list[Ix]:
    """The indices in a value, and in what it holds."""
    found: list[Ix] = []
    for part in contained(value):
        if isinstance(part, IntValue):
            found.append(part.ix)
        elif isinstance(part, ViewValue):
            found += [*part.view.shape, *part.view.index]
    return found
