"""The programs of the suite: signatures, sizes, what they leave alone, and results against explicit loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npbench_suite.kernel import Kernel, load, names, presets
from tests.npbench import loops
from tests.npbench.calls import SIZES, active, run, sample

GRADIENTS = ("yes", "a.e.", "as float", "none")
# Work arrays that a program overwrites though they are no result.
SCRATCH = {"correlation": {"data"}, "covariance": {"data"}, "nbody": {"pos", "vel"}}
every_kernel = pytest.mark.parametrize("name", names())
every_size = pytest.mark.parametrize("size", SIZES)
LOOPS: dict[str, Callable[..., Any]] = {name: getattr(loops, name) for name in names() if hasattr(loops, name)}


def results(kernel: Kernel) -> tuple[Any, ...]:
    return kernel.output if isinstance(kernel.output, tuple) else (kernel.output,)


def test_there_are_54_programs() -> None:
    assert len(names()) == 54


def test_an_unknown_name_is_told_apart() -> None:
    with pytest.raises(KeyError, match="jacobi_2d"):
        load("jacobi")


@every_kernel
def test_arguments_come_in_the_order_of_the_program(name: str) -> None:
    kernel = load(name)
    parameters = list(inspect.signature(kernel.program).parameters)
    given = list(sample(kernel, 0))
    assert given == parameters[:len(given)]
    assert set(active(kernel)) <= set(given)


@every_kernel
@pytest.mark.parametrize("preset", ["S", "M", "L", "paper"])
def test_the_initialiser_takes_the_sizes_of_every_preset(name: str, preset: str) -> None:
    kernel = load(name)
    inspect.signature(kernel.initialize).bind(**kernel.sizes(preset))


@every_kernel
def test_the_record_is_consistent(name: str) -> None:
    kernel = load(name)
    assert kernel.name == name
    assert kernel.gradient in GRADIENTS
    assert kernel.gradient == "none" or active(kernel)
    assert {wanted for wanted in results(kernel) if isinstance(wanted, str)} <= set(sample(kernel, 0))
    assert presets()[name]["presets"].keys() == {"S", "M", "L", "paper"}


@every_kernel
@every_size
def test_only_results_and_work_arrays_change(name: str, size: int) -> None:
    kernel = load(name)
    before = sample(kernel, size)
    _, after = run(kernel, before)
    may_change = {wanted for wanted in results(kernel) if isinstance(wanted, str)} | SCRATCH.get(name, set())
    for argument in before.keys() - may_change:
        np.testing.assert_array_equal(after[argument], before[argument])


@every_kernel
@every_size
def test_results_of_samples_are_finite_and_moderate(name: str, size: int) -> None:
    kernel = load(name)
    outputs, _ = run(kernel, sample(kernel, size))
    assert all(np.all(np.isfinite(output)) and np.max(np.abs(output), initial=0.0) < 1e9 for output in outputs)


@pytest.mark.parametrize("name", sorted(LOOPS))
@every_size
def test_results_are_those_of_explicit_loops(name: str, size: int) -> None:
    kernel = load(name)
    arguments = sample(kernel, size, wide=True)
    outputs, _ = run(kernel, arguments)
    expected = LOOPS[name](**arguments)
    assert len(outputs) == len(expected)
    for output, wanted in zip(outputs, expected, strict=True):
        scale = max(float(np.max(np.abs(wanted))), 1e-300)
        np.testing.assert_allclose(output, wanted, rtol=0.0, atol=1e-12 * scale)
