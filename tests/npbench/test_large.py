"""What pays only for long arrays: at benchmark sizes, forward against reverse mode, and one thread against all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import Kernel, load
from tests.npbench.calls import DIFFERENTIABLE, WIDER, active, direction, factors, paired, run

pytestmark = pytest.mark.slow

# With the benchmark's data rounding decides every digit of these gradients: bodies that meet, points that stay inside
# for ever, waves that cancel before they grow, a matrix that is nearly singular. These data are as large, and tame.
TAME: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = MappingProxyType({
    "nbody": lambda made: {"softening": 1.0},
    "mandelbrot1": lambda made: {"maxiter": 10},
    "mandelbrot2": lambda made: {"itermax": 10},
    "adi": lambda made: {"u": np.random.default_rng(3).uniform(0.0, 1.0, made["u"].shape)},
    "durbin": lambda made: {"r": 0.4 * 0.9 ** np.arange(float(made["r"].size))},
})


def arguments(kernel: Kernel, preset: str) -> dict[str, Any]:
    made = kernel.initialize(**kernel.sizes(preset))
    if kernel.name in TAME:
        made = made | TAME[kernel.name](made)
    return {name: value.astype(WIDER.get(value.dtype, value.dtype)) if isinstance(value, np.ndarray) else value
            for name, value in made.items()}


def close(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float) -> None:
    for name, value in one.items():
        scale = max(1e-300, float(np.max(np.abs(value), initial=0.0)))
        np.testing.assert_allclose(other[name], value, rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize("preset", ["S", "M"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_forward_and_reverse_mode_agree(name: str, preset: str) -> None:
    kernel = load(name)
    values = arguments(kernel, preset)
    outputs, _ = run(kernel, values)
    weights, along = factors(outputs), direction(kernel, values, 13)
    several = isinstance(kernel.output, tuple)
    found, pullback = sdfgad.vjp(kernel.program, *values.values(), wrt=active(kernel), output=kernel.output)
    gradient = pullback(tuple(weights) if several else weights[0])
    _, tangents = sdfgad.jvp(kernel.program, list(values.values()), along, output=kernel.output)
    reverse = paired([gradient[one] for one in along], list(along.values()))
    forward = paired(weights, list(tangents) if several else [tangents])
    terms = np.concatenate([np.ravel((np.conj(gradient[one]) * along[one]).real) for one in along])
    assert abs(forward - reverse) <= 1e-8 * max(float(np.linalg.norm(terms)), 1e-300)
    for ours, numpys in zip(found if several else [found], outputs, strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=1e-7, atol=1e-9 * float(np.max(np.abs(numpys), initial=0.0)))


@pytest.mark.parametrize("preset", ["S", "M"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_gradient_alone_with_its_value_and_on_one_thread(name: str, preset: str) -> None:
    kernel = load(name)
    values = arguments(kernel, preset)
    request: dict[str, Any] = {"wrt": active(kernel), "output": kernel.output, "reduce": "sum"}
    alone = sdfgad.grad(kernel.program, **request)(*values.values())
    _, together = sdfgad.value_and_grad(kernel.program, **request)(*values.values())
    with sdfgad.config(num_threads=1):
        single = sdfgad.grad(kernel.program, **request)(*values.values())
    close(alone, together, 1e-9)
    close(alone, single, 1e-12)
