"""Gradients of the programs against central differences, and forward against reverse mode."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import Kernel, load
from tests.npbench.calls import DIFFERENTIABLE, SIZES, active, direction, factors, paired, run, sample, slope

every_kernel = pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name != "mandelbrot2"])
every_size = pytest.mark.parametrize("size", [pytest.param(size, marks=pytest.mark.slow if size else ())
                                              for size in SIZES])


def by_name(kernel: Kernel, gradients: Any) -> dict[str, Any]:
    wanted = active(kernel)
    return {name: gradients[name] for name in wanted}


def gradient_of_sum(kernel: Kernel, arguments: Mapping[str, Any]) -> dict[str, Any]:
    gradient = sdfgad.grad(kernel.program, wrt=active(kernel), output=kernel.output, reduce="sum")
    return by_name(kernel, gradient(*arguments.values()))


def test_arrays_that_shrink_with_the_data_are_refused() -> None:
    kernel = load("mandelbrot2")
    with pytest.raises(sdfgad.UnsupportedError, match="length depends on the data"):
        sdfgad.grad(kernel.program, wrt=kernel.scalars, output=kernel.output, reduce="sum")(
            *sample(kernel, 0, wide=True).values())


@every_kernel
@every_size
def test_gradient_against_differences(name: str, size: int) -> None:
    kernel = load(name)
    arguments = sample(kernel, size, wide=True)
    along = direction(kernel, arguments)
    gradient = gradient_of_sum(kernel, arguments)
    assert slope(kernel, arguments, along).error(gradient, along) < 1e-6


@every_kernel
@pytest.mark.slow
def test_weighted_gradient_against_differences(name: str) -> None:
    """The plain sum cannot see all errors: the outputs of a softmax always add up to the number of rows."""
    kernel = load(name)
    arguments = sample(kernel, 1, wide=True)
    along = direction(kernel, arguments)
    weights = factors(run(kernel, arguments)[0])
    _, pullback = sdfgad.vjp(kernel.program, *arguments.values(), wrt=active(kernel), output=kernel.output)
    gradient = by_name(kernel, pullback(tuple(weights) if isinstance(kernel.output, tuple) else weights[0]))
    assert slope(kernel, arguments, along, weights).error(gradient, along) < 1e-6


@every_kernel
@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_forward_and_reverse_mode_agree(name: str, size: int, tmp_path: Path) -> None:
    kernel = load(name)
    arguments = sample(kernel, size, wide=True)
    along = direction(kernel, arguments)
    gradient = gradient_of_sum(kernel, arguments)
    outputs, tangents = sdfgad.jvp(returning(kernel, list(arguments), tmp_path), list(arguments.values()), along)
    forward = float(sum(np.sum(np.real(tangent)) for tangent in tangents))
    reverse = paired([gradient[one] for one in along], list(along.values()))
    terms = np.concatenate([np.ravel((np.conj(gradient[one]) * along[one]).real) for one in along])
    scale = max(float(np.linalg.norm(terms)), 1e-5 * float(sum(np.sum(np.abs(output)) for output in outputs)))
    assert abs(forward - reverse) <= 1e-10 * scale


def returning(kernel: Kernel, parameters: list[str], folder: Path) -> Callable[..., Any]:
    """The program, returning the tuple of its differentiated outputs: `jvp` gives tangents of returned values."""
    wanted = kernel.output if isinstance(kernel.output, tuple) else (kernel.output,)
    results = [one if isinstance(one, str) else "returned" if one is None else f"returned[{one}]" for one in wanted]
    listed = ", ".join(parameters)
    call = "" if all(isinstance(one, str) for one in wanted) else "returned = "
    file = folder / f"returning_{kernel.name}.py"
    file.write_text(f"from {kernel.program.__module__} import {kernel.program.__name__} as program\n\n\n"
                    f"def returning({listed}):\n    {call}program({listed})\n    return ({', '.join(results)},)\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.returning
