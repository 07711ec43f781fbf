"""The check without JAX: central differences of the NumPy program at a tiny size, along random directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.harness.case import copies, kernel_of, wanted, widened
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.measure_sdfgad import checked_gradients, refused
from npbench_suite.harness.objective import magnitude, total, weighted_sum, weights

Arguments = dict[str, Any]
STEP = 1e-3
# Differences of a value near 1 leave about this much of a slope that is zero.
NOISE = 1e-9


def measure(job: Job) -> Iterator[Run]:
    """The larger error of the two objectives at the kernel's first sample."""
    kernel = kernel_of(job)
    arguments = widened(kernel.sample(np.random.default_rng(2027), 0))
    run = Run.of(job)
    try:
        gradients = checked_gradients(kernel, arguments)
    except sdfgad.SdfgadError as error:
        yield refused(run, error)
        return
    yield replace(run, directional_error=max(_errors(kernel, arguments, gradients)))


def _errors(kernel: Any, arguments: Arguments, gradients: Mapping[str, Mapping[str, np.ndarray]]) -> Iterator[float]:
    generator = np.random.default_rng(7)
    direction = {name: _direction(generator, arguments[name]) for name in wanted(kernel)}
    slopes = [(richardson(_along(kernel, arguments, direction, name), STEP), terms_of(gradient, direction))
              for name, gradient in gradients.items()]
    own = copies(arguments)
    outputs = kernel.outputs(kernel.program(*own.values()), own)
    largest = max(1e-3 * magnitude(outputs), *(_size(slope, terms) for slope, terms in slopes))
    for slope, terms in slopes:
        yield directional_error(slope, terms, largest)


def terms_of(gradient: Mapping[str, np.ndarray], direction: Mapping[str, np.ndarray]) -> np.ndarray:
    """What each entry of the arguments adds to the slope."""
    return np.concatenate([np.ravel((np.conj(gradient[name]) * direction[name]).real) for name in direction])


def directional_error(slope: float, terms: np.ndarray, largest: float = 0.0) -> float:
    """Their difference over the slope, or over the size of the terms where they cancel.

    ``largest`` is a size from the other objective or the outputs: next to it, a slope of rounding noise counts as zero.
    """
    size = _size(slope, terms)
    scale = size if size > NOISE * largest else largest
    error = abs(float(terms.sum()) - slope)
    return error / scale if scale > 0 else error


def _size(slope: float, terms: np.ndarray) -> float:
    return max(abs(slope), float(np.linalg.norm(terms)))


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


def _direction(generator: np.random.Generator, value: Any) -> Any:
    """Relative steps: an entry moves in proportion to its size, so that domains such as x > 0 are not left."""
    change = generator.uniform(-1, 1, np.shape(value)) * np.maximum(np.abs(value), 1e-2)
    if np.iscomplexobj(value):
        return change * np.exp(2j * np.pi * generator.random(np.shape(value)))
    return change
