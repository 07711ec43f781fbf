"""The JAX ports against the NumPy programs: values, and slopes against central differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from npbench_suite.kernel import Kernel, load, names
from tests.npbench.calls import SIZES, direction, factors, run, sample, slope

jax = pytest.importorskip("jax")
FORMS = ("literal", "idiomatic", "matrix")
PORTS = [(name, form) for name in names() for form in FORMS if getattr(load(name), form) is not None]
every_port = pytest.mark.parametrize(("name", "form"), PORTS)


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def on_device(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: jax.numpy.asarray(value) if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()}


# Benchmarks compare the gradients of all ports with ours; what they are slow to show is looked for in a few of them.
@pytest.mark.parametrize(("name", "form"), [
    pytest.param(name, form, marks=pytest.mark.slow if form == "literal" or k % 3 else ())
    for k, (name, form) in enumerate(PORTS)])
def test_values(name: str, form: str) -> None:
    check_values(load(name), form, 1)


@every_port
@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 2])
def test_values_at_other_sizes(name: str, form: str, size: int) -> None:
    check_values(load(name), form, size)


def check_values(kernel: Kernel, form: str, size: int) -> None:
    arguments = sample(kernel, size, wide=True)
    expected, _ = run(kernel, arguments)
    found = getattr(kernel, form)(**on_device(arguments))
    assert isinstance(found, tuple)
    assert len(found) == len(expected)
    # One scale for all: a velocity that stays near 0 carries the rounding of the pressure that drives it.
    scale = max(float(np.max(np.abs(wanted), initial=0.0)) for wanted in expected)
    for output, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(output), wanted, rtol=0.0, atol=1e-11 * scale)


@pytest.mark.parametrize(("name", "form"), [port for port in PORTS if load(port[0]).gradient != "none"])
@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_gradients(name: str, form: str, size: int) -> None:
    kernel = load(name)
    arguments = sample(kernel, size, wide=True)
    # A port takes its scalars for constants, as long as there are arrays.
    chosen = kernel.wrt or kernel.scalars
    along = {name: change for name, change in direction(kernel, arguments).items() if name in chosen}
    weights = factors(run(kernel, arguments)[0])
    port = getattr(kernel, form)
    rest = on_device(arguments)

    def objective(moving: Mapping[str, Any]) -> Any:
        outputs = port(**{name: moving.get(name, value) for name, value in rest.items()})
        return sum(jax.numpy.sum((np.conj(w) * out).real) for w, out in zip(weights, outputs, strict=True))

    found = jax.jit(jax.grad(objective))({name: arguments[name] for name in chosen})
    # JAX's complex gradient is the conjugate of the direction of steepest ascent.
    gradient = {name: np.conj(np.asarray(value)) for name, value in found.items()}
    assert slope(kernel, arguments, along, weights).error(gradient, along) < 1e-6
