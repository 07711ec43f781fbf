"""Timing of repeated calls."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any


def first_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result of a call that may compile."""
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def repeated(
    call: Callable[..., Any], repeat: int, budget: float, fresh: Callable[[], tuple[Any, ...]] = tuple,
) -> list[float]:
    """Seconds of up to ``repeat`` calls, after one call to warm up that counts only when it uses up the budget.

    ``fresh`` makes the arguments of each call outside the measured time.
    """
    times: list[float] = []
    gc.collect()
    gc.disable()
    try:
        warm_up = _seconds(call, fresh())
        if warm_up > budget:
            return [warm_up]
        spent = warm_up
        while len(times) < repeat and spent < budget:
            times.append(_seconds(call, fresh()))
            spent += times[-1]
    finally:
        gc.enable()
    return times


def _seconds(call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    start = perf_counter()
    call(*arguments)
    return perf_counter() - start
