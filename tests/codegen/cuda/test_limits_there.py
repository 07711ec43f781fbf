"""Limits of device memory: what the runtime of the tests counts is what a plan says, and no more than was allowed."""
from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.harness.burgers import burgers
from npbench_suite.kernel import load
from tests.codegen.cuda.time_loops import COMPLEX, SHAPES, conducting
from tests.npbench.calls import sample
from tests.support.on_cpu import running_here

LEVELS = 5


def keeps_its_limits(function: Callable[..., Any], arguments: tuple[Any, ...], levels: int, **options: Any) -> int:
    """Gradients under limits from the least to what everything stored takes, each one a peak of the front of plans,
    compared with each other. Gives the number of programs with other bytes."""
    def again() -> list[Any]:
        return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]

    with running_here():
        free = sdfgad.grad(function, **options)
        front = sorted({p.predicted.peak_bytes for p in free.pareto(*again(), points=2 * levels)})
        limits = {front[round(k * (len(front) - 1) / (levels - 1))] for k in range(levels)}
        expected, seen = free(*again()), set[int]()
        for limit in sorted(limits):
            limited = sdfgad.grad(function, memory_limit=limit, **options)
            plan = limited.plan(*again())
            assert plan.predicted.peak_bytes <= limit
            if plan.predicted.peak_bytes not in seen:
                seen.add(plan.predicted.peak_bytes)
                measured = limited.measure(*again()).measured
                assert measured.device_bytes == plan.predicted.peak_bytes
                for one, other in zip(_arrays(limited(*again())), _arrays(expected), strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.max(np.abs(other), initial=0.0))
    return len(seen)


def _arrays(found: Any) -> list[np.ndarray]:
    return list(found.values()) if hasattr(found, "values") else [found] if isinstance(found, np.ndarray) else found


def test_less_memory_is_another_program() -> None:
    rng = np.random.default_rng(0)
    data = (rng.random((9, 9)), rng.random((9, 9)), 30)
    assert keeps_its_limits(burgers, data, 2, wrt=("u", "v")) == 2


FLOORS = (("gramschmidt", "gpu"), ("contour_integral", "gpu"), ("contour_integral", "cpu"), ("channel_flow", "gpu"))


@pytest.mark.parametrize("name, device", FLOORS)
def test_the_floor_is_that_of_the_plan_whoever_asks(name: str, device: str) -> None:
    """The least that there is, also where nobody speaks of a device any more: limits below it are refused with it.
    Plans that take more by the model were a few bytes smaller; records on tapes hid what takes less beside them."""
    kernel = load(name)
    arguments = tuple(sample(kernel, 2).values())
    options: dict[str, Any] = {"wrt": kernel.wrt, "output": kernel.output, "reduce": "sum", "device": device}
    least = sdfgad.grad(kernel.program, **options).plan(*arguments).outlook.floor_bytes
    assert sdfgad.grad(kernel.program, memory_limit=least, **options).plan(*arguments).predicted.peak_bytes == least
    for less in (1, 64):
        with pytest.raises(sdfgad.MemoryLimitError) as refused:
            sdfgad.grad(kernel.program, memory_limit=least - less, **options).plan(*arguments)
        assert refused.value.minimum_bytes == least


def test_a_long_loop_in_little_memory() -> None:
    """Everything stored takes 4.2 GB."""
    field = sdfgad.spec((512, 512))
    plan = sdfgad.grad(burgers, wrt=("u", "v"), device="gpu", memory_limit="256MB").plan(field, field, 1000)
    assert 100e6 < plan.predicted.peak_bytes <= 256e6


@pytest.mark.slow
@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_limits_are_kept(function: Callable[..., Any]) -> None:
    """Five programs, from the smallest one to the one that stores everything."""
    rng = np.random.default_rng(0)
    arguments = tuple(0.25 + 0.5 * rng.random(shape) for shape in SHAPES[function])
    if function in COMPLEX:
        arguments = tuple(a + 0.5j for a in arguments)
    names, steps = tuple(signature(function).parameters)[:-1], 40 if function is conducting else 30
    assert keeps_its_limits(function, (*arguments, steps), LEVELS, wrt=names) == LEVELS
