"""Limits of device memory: what the runtime of the tests counts is what a plan says, and no more than was allowed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.harness.burgers import burgers
from npbench_suite.kernel import load
from tests.npbench.calls import sample
from tests.support.on_cpu import running_here

LEVELS = 5
KERNELS = ("adi", "cavity_flow", "cholesky2", "contour_integral", "covariance", "deriche", "fdtd_2d", "gemm",
           "gemver", "gramschmidt", "hdiff", "heat_3d", "jacobi_1d", "jacobi_2d", "lu", "mlp", "nbody", "seidel_2d",
           "softmax", "vadv")


def keeps_its_limits(function: Callable[..., Any], arguments: tuple[Any, ...], levels: int, **options: Any) -> int:
    """Gradients under limits from the least to what everything stored takes, compared with each other. Gives the
    number of programs with other bytes."""
    def again() -> list[Any]:
        return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]

    with running_here():
        free = sdfgad.grad(function, **options)
        usual = free.plan(*again())
        whole, least = usual.predicted.peak_bytes, usual.outlook.floor_bytes
        expected, seen = free(*again()), set[int]()
        for limit in sorted({least + (whole - least) * k // (levels - 1) for k in range(levels)}):
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
    return list(found.values()) if hasattr(found, "values") else [found]


def test_less_memory_is_another_program() -> None:
    rng = np.random.default_rng(0)
    data = (rng.random((9, 9)), rng.random((9, 9)), 30)
    assert keeps_its_limits(burgers, data, 2, wrt=("u", "v")) == 2


def test_a_long_loop_in_little_memory() -> None:
    """Everything stored takes 4.2 GB."""
    field = sdfgad.spec((512, 512))
    plan = sdfgad.grad(burgers, wrt=("u", "v"), device="gpu", memory_limit="256MB").plan(field, field, 1000)
    assert 100e6 < plan.predicted.peak_bytes <= 256e6


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_limits_are_kept(name: str) -> None:
    kernel = load(name)
    arguments = tuple(sample(kernel, 2, wide=True).values())
    options = {"wrt": kernel.wrt, "output": kernel.output, "reduce": "sum"}
    print(f"{name}: {keeps_its_limits(kernel.program, arguments, LEVELS, **options)} programs")
