"""Ranges that data choose, and those with steps that data choose: as many steps, from where, how far each.

order = range(n) if mu > 0 else range(n - 1, -1, -1)    ->   first, step = (0, 1) if mu > 0 else (n - 1, -1)
for i in order: ...                                     ->   for k in range(n): i = first + k * step; ...
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Compound, IntValue, Opaque, RangeValue, Value, like
from sdfgad.ir.index import Ix, ix


@dataclass(frozen=True, eq=False)
class ChosenRange(Compound, Opaque):
    """`count` integers from `start` on, `step` apart."""

    start: Value
    step: Value
    count: Value
    described = "a range that data choose"

    @property
    def items(self) -> Mapping[str, Value]:
        return {"start": self.start, "step": self.step, "count": self.count}

    @property
    def held(self) -> tuple[Value, ...]:
        return (self.start, self.step, self.count)

    def _refuse(self, *_: Value) -> NoReturn:
        raise UnsupportedError(f"{self.described}, where it has to be known", help="loop over it, or use it in the "
                               "branches that choose it", code="SG102")

    __eq__ = __bool__ = __hash__ = __len__ = __iter__ = __contains__ = _refuse


def with_ranges(ctx: Context, value: Value) -> Value:
    """A value with ranges, also those in tuples, in the form that they share whichever of them data choose."""
    if isinstance(value, tuple):
        return like(value, [with_ranges(ctx, v) for v in value])
    if not isinstance(value, (range, RangeValue)):
        return value
    gap, far = (ix(value.stop) - ix(value.start)) * (1 if value.step > 0 else -1), abs(value.step)
    count = ctx.builder.scope.greatest((gap + (far - 1)) // far, ix(0))
    return ChosenRange(_integer(ix(value.start)), value.step, _integer(count))


def _integer(i: Ix) -> Value:
    return IntValue(i) if i.const is None else i.const


def stepped(ctx: Context, start: Value, stop: Value, step: Value) -> ChosenRange:
    """`range(start, stop, step)` with a step that the run knows."""
    return ChosenRange(start, step, ctx.invoke(ctx, choosing.number_of_steps, [start, stop, step], {}))
