"""Timing of repeated calls."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any


def first_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result of a call that may compile."""
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


# A call that takes this many times as long as a rival's is timed a few times only, unless all of it is short anyway.
FAR, FEW = 5.0, 3
SHORT_SECONDS = 0.2
# Short calls are repeated until they add up to that, but no more than this many times as often as asked.
MORE = 3


def repeated(
    call: Callable[..., Any], repeat: int, budget: float, fresh: Callable[[], tuple[Any, ...]] = tuple,
    rival: float = 0.0,
) -> list[float]:
    """Seconds of ``repeat`` calls, after one call to warm up that counts only when it uses up the budget.

    The budget ends long calls early, short ones are repeated more often. ``fresh`` makes the arguments of each call
    outside the measured time. ``rival`` is the time of a competitor.
    """
    times: list[float] = []
    gc.collect()
    gc.disable()
    try:
        warm_up = _seconds(call, fresh())
        if warm_up > budget:
            return [warm_up]
        if is_far([warm_up], rival) and repeat * warm_up > SHORT_SECONDS:
            repeat = min(repeat, FEW)
        spent = warm_up
        while spent < budget and (len(times) < repeat or (spent < SHORT_SECONDS and len(times) < MORE * repeat)):
            times.append(_seconds(call, fresh()))
            spent += times[-1]
    finally:
        gc.enable()
    return times


def is_far(times: Sequence[float], rival: float) -> bool:
    """Whether these take many times as long as the rival, when there is one."""
    return 0.0 < FAR * rival < min(times)


def _seconds(call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    start = perf_counter()
    call(*arguments)
    return perf_counter() - start
