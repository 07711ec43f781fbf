"""The check without JAX: central differences of the NumPy program at a tiny size, along random directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.harness.case import copies, kernel_of
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.measure_sdfgad import named, refused, weighted_gradient
from npbench_suite.harness.objective import total, weighted_sum, weights

Arguments = dict[str, Any]
STEP = 1e-3


def measure(job: Job) -> Iterator[Run]:
    """The larger error of the two objectives at the kernel's first sample."""
    kernel = kernel_of(job)
    arguments = kernel.sample(np.random.default_rng(2027), 0)
    run = Run.of(job)
    try:
        gradients = {"sum": plain_gradient(kernel, arguments), "weighted": weighted_gradient(kernel, arguments)}
    except sdfgad.SdfgadError as error:
        yield refused(run, error)
        return
    yield replace(run, directional_error=max(_errors(kernel, arguments, gradients)))


def plain_gradient(kernel: Any, arguments: Arguments) -> dict[str, np.ndarray]:
    gradient = sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum")
    return named(gradient(**arguments), kernel.wrt)


def _errors(kernel: Any, arguments: Arguments, gradients: Mapping[str, Mapping[str, np.ndarray]]) -> Iterator[float]:
    precise = {name: _widened(value) for name, value in arguments.items()}
    generator = np.random.default_rng(7)
    direction = {name: _direction(generator, precise[name]) for name in kernel.wrt}
    for name, gradient in gradients.items():
        yield directional_error(_along(kernel, precise, direction, name), gradient, direction)


def directional_error(
    along: Callable[[float], float], gradient: Mapping[str, np.ndarray], direction: Mapping[str, np.ndarray],
) -> float:
    """|<gradient, direction> - slope| over the slope, or over the size of its terms where they cancel."""
    terms = np.concatenate([np.ravel((np.conj(gradient[name]) * direction[name]).real) for name in direction])
    slope = richardson(along, STEP)
    scale = max(abs(slope), float(np.linalg.norm(terms)))
    error = abs(float(terms.sum()) - slope)
    return error / scale if scale > 0 else error


def richardson(along: Callable[[float], float], step: float) -> float:
    """The slope at 0 to fourth order in ``step``."""
    def central(h: float) -> float:
        return (along(h) - along(-h)) / (2 * h)

    return (4 * central(step / 2) - central(step)) / 3


def _along(kernel: Any, arguments: Arguments, direction: Arguments, objective: str) -> Callable[[float], float]:
    def value(step: float) -> float:
        own = copies(arguments)
        for name, change in direction.items():
            own[name] = own[name] + step * change
        outputs = kernel.outputs(kernel.program(*own.values()), own)
        return total(outputs) if objective == "sum" else weighted_sum(outputs, weights(outputs))

    return value


def _widened(value: Any) -> Any:
    """Single precision leaves no digits for a difference."""
    wide = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
    return value.astype(wide.get(value.dtype, value.dtype)) if isinstance(value, np.ndarray) else value


def _direction(generator: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Relative steps: an entry moves in proportion to its size, so that domains such as x > 0 are not left."""
    change = generator.uniform(-1, 1, array.shape) * np.maximum(np.abs(array), 1e-2)
    if np.iscomplexobj(array):
        return change * np.exp(2j * np.pi * generator.random(array.shape))
    return change
