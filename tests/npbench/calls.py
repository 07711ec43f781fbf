"""Calling the programs of the suite: fresh arguments, outputs, directions and central differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from npbench_suite.kernel import Kernel, load, names

Arguments = dict[str, Any]
SIZES = (0, 1, 2)
STEP, SMALLEST_STEP = 1e-4, 2e-6
KINK = 1e-4
"""Relative: slopes over a step and over half of it that differ by more are taken on different branches."""
WIDER = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
DIFFERENTIABLE = tuple(name for name in names() if load(name).gradient != "none")


def sample(kernel: Kernel, size: int, *, wide: bool = False) -> Arguments:
    """The kernel's sample of a size, on request in double precision: the same at every call."""
    arguments = kernel.sample(np.random.default_rng(100 + size), size)
    return {name: _wide(value) for name, value in arguments.items()} if wide else arguments


def _wide(value: Any) -> Any:
    return value.astype(WIDER.get(value.dtype, value.dtype)) if isinstance(value, np.ndarray) else value


def run(kernel: Kernel, arguments: Mapping[str, Any]) -> tuple[list[np.ndarray], Arguments]:
    """The differentiated outputs, and the arguments as the program left them."""
    own = deepcopy(dict(arguments))
    returned = kernel.program(*own.values())
    return [np.array(output) for output in kernel.outputs(returned, own)], own


def active(kernel: Kernel) -> tuple[str, ...]:
    """All that the program can be differentiated with respect to."""
    return kernel.wrt + kernel.scalars


def direction(kernel: Kernel, arguments: Mapping[str, Any], seed: int = 7) -> Arguments:
    """A random change of every active argument, in proportion to its entries."""
    generator = np.random.default_rng(seed)
    return {name: _change(generator, arguments[name]) for name in active(kernel)}


def _change(generator: np.random.Generator, value: Any) -> Any:
    change = generator.uniform(-1.0, 1.0, np.shape(value)) * np.maximum(np.abs(value), 1e-2)
    if np.iscomplexobj(value):
        change = change * np.exp(2j * np.pi * generator.random(np.shape(value)))
    return change if isinstance(value, np.ndarray) else float(change)


def factors(outputs: Sequence[np.ndarray], seed: int = 11) -> list[np.ndarray]:
    """Weights of the outputs, of their dtype."""
    generator = np.random.default_rng(seed)
    return [_factor(generator, output) for output in outputs]


def _factor(generator: np.random.Generator, output: np.ndarray) -> np.ndarray:
    values = np.asarray(generator.uniform(0.5, 1.5, output.shape))
    if np.iscomplexobj(output):
        values = values + 1j * generator.uniform(0.5, 1.5, output.shape)
    return np.asarray(values, dtype=output.dtype)


def paired(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Re sum conj(l) r."""
    return float(sum(np.sum((np.conj(a) * b).real) for a, b in zip(left, right, strict=True)))


@dataclass(frozen=True)
class Slope:
    """The derivative of sum(weights * outputs) along a direction, and the size errors of it are measured by."""

    value: float
    scale: float

    def error(self, gradient: Mapping[str, Any], along: Mapping[str, Any]) -> float:
        """The relative error of a gradient's slope; terms that cancel count with their norm."""
        terms = np.concatenate([np.ravel((np.conj(gradient[name]) * along[name]).real) for name in along])
        size = max(abs(self.value), float(np.linalg.norm(terms)), self.scale)
        return abs(float(terms.sum()) - self.value) / size if size else 0.0


def slopes(kernel: Kernel, arguments: Mapping[str, Any], along: Mapping[str, Any],
           weights: Sequence[Sequence[np.ndarray]]) -> list[Slope]:
    """Central differences of the NumPy program, to fourth order in the step, for several `weights` of its outputs. The
    program runs once for all of them."""
    @cache
    def outputs(step: float) -> list[np.ndarray]:
        moved = {name: old + step * along[name] if step and name in along else old for name, old in arguments.items()}
        return run(kernel, moved)[0]

    # Rounding of large outputs that cancel in the sum: a slope this far below them is noise.
    scale = 1e-5 * sum(float(np.sum(np.abs(output))) for output in outputs(0.0))
    return [Slope(richardson(lambda step, w=one: paired(w, outputs(step)), STEP, scale), scale) for one in weights]


def slope(kernel: Kernel, arguments: Mapping[str, Any], along: Mapping[str, Any],
          weights: Sequence[np.ndarray]) -> Slope:
    return slopes(kernel, arguments, along, [weights])[0]


def richardson(value: Callable[[float], float], step: float, scale: float) -> float:
    """The slope of `value` at 0; with a smaller step when the first one reaches beyond a kink. scale: see `Slope`."""
    def central(h: float) -> float:
        return (value(h) - value(-h)) / (2 * h)

    wide, narrow = central(step), central(step / 2)
    if abs(wide - narrow) > KINK * max(abs(wide), abs(narrow), scale) and step > SMALLEST_STEP:
        return richardson(value, step / 10, scale)
    return (4 * narrow - wide) / 3
