"""Gradients of distributed programs: as a caller says, or along the axis that costs least."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log2
from typing import Any

from sdfgad.analysis.cost import seconds_of
from sdfgad.calls.arguments import Bound
from sdfgad.calls.distributing import DistributeOption, connected
from sdfgad.checkpoint.roofline import MESSAGE_SECONDS, Machine
from sdfgad.errors import UnsupportedError
from sdfgad.plans.request import Request
from sdfgad.transform.cutting.blocks import Distribution
from sdfgad.verbs.pipeline import Derivative, derive

NOMINAL = Machine(1e10, 2e9, 1, False)
"""One core, for every rank the same, as all have to choose alike."""


def derived_together(fn: Callable[..., Any], bound: Bound, request: Request, source: str,
                     option: DistributeOption | None) -> Derivative:
    """The derivative of a call, or this rank's part of it."""
    if option is None:
        return derive(fn, bound, request, source)

    def derived(wanted: Distribution) -> Derivative:
        return derive(fn, bound, replace(request, distribution=wanted), source)

    candidates = option.candidates(bound) if option.automatic else [option.of(bound)]
    if not candidates:
        raise option.nothing_to_cut(bound)
    wanted = _cheapest(candidates, bound, derived) if option.automatic else candidates[0]
    return connected(derived(wanted), option)


def _cheapest(candidates: list[Distribution], bound: Bound,
              derived: Callable[[Distribution], Derivative]) -> Distribution:
    """The distribution whose largest part takes the least time; UnsupportedError where none is possible."""
    found: list[tuple[float, int, Distribution]] = []
    refused: list[UnsupportedError] = []
    for k, wanted in enumerate(candidates):
        for one in dict.fromkeys((tuple(wanted.axes), _of_most_axes(wanted))):
            part = replace(wanted, axes={n: wanted.axes[n] for n in one})
            largest = part.largest({n: bound.leaves[n].shape for n in one})
            try:
                found.append((_seconds(derived(replace(part, rank=largest))), k, part))
                break
            except UnsupportedError as error:
                refused.append(error)
    if not found:
        raise refused[0]
    return min(found, key=lambda one: one[:2])[2]


def _of_most_axes(wanted: Distribution) -> tuple[str, ...]:
    """What is cut, but for tables beside grids: they may have the same extent by chance."""
    most = max(map(len, wanted.axes.values()))
    return tuple(n for n, axes in wanted.axes.items() if len(axes) == most)


def _seconds(made: Derivative) -> float:
    """What a call takes: the work of the largest part and its messages one after the other, sums in rounds."""
    traffic = made.plan.about.traffic
    assert traffic is not None
    rounds = traffic.sums * (log2(max(traffic.ranks, 2)) - 1)
    return seconds_of(made.program.body, made.program.arrays, NOMINAL.seconds) + MESSAGE_SECONDS * rounds
