"""A JAX port's gradient: jitted, in 64-bit mode, inputs on the device beforehand, results waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from npbench_suite.harness.case import kernel_of, preset_arguments, widened
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.objective import save_gradients, sensitivity, weights
from npbench_suite.harness.stopwatch import first_call, repeated


def measure(job: Job) -> Iterator[Run]:
    """Gradient time of the port that the competitor names; its gradients are saved when the job asks for them."""
    jax.config.update("jax_enable_x64", True)
    kernel = kernel_of(job)
    port = getattr(kernel, job.competitor.partition(":")[2])
    arguments = preset_arguments(job, kernel)
    active, passive, fixed = split(arguments, kernel.wrt)
    call = jax.jit(jax.grad(objective(port, fixed)))
    seconds, plain = first_call(lambda: jax.block_until_ready(call(active, passive)))
    run = Run.of(job).with_times("gradient", seconds, [])
    yield run
    del plain
    if job.gradients:
        precise = widened(arguments)
        outputs, gradients = checked_gradients(port, precise, kernel.wrt)
        save_gradients(job.gradients, gradients)
        run = replace(run, gradients=job.gradients, sensitivity=sensitivity(precise, outputs, gradients.values()))
        del outputs, gradients, precise
        yield run
    times = repeated(lambda: jax.block_until_ready(call(active, passive)), job.repeat, job.budget)
    yield run.with_times("gradient", seconds, times)


def checked_gradients(
    port: Callable[..., tuple[Any, ...]], arguments: Mapping[str, Any], wrt: tuple[str, ...],
) -> tuple[list[np.ndarray], dict[str, dict[str, np.ndarray]]]:
    """The outputs, and the gradients of both objectives."""
    active, passive, fixed = split(arguments, wrt)
    outputs = [np.asarray(out) for out in jax.jit(lambda a, p: port(**{**a, **p, **fixed}))(active, passive)]
    # The weights are an argument: as constants of the program they would slow its compilation.
    gradient = jax.jit(jax.grad(objective(port, fixed)))
    seeds = {"sum": [np.ones_like(out) for out in outputs], "weighted": weights(outputs)}
    return outputs, {name: steepest(gradient(active, passive, factors)) for name, factors in seeds.items()}


def split(arguments: Mapping[str, Any], wrt: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Arrays to differentiate, other arrays (both on the device), and the numbers that the port sees as constants."""
    arrays = {name: jnp.asarray(value) for name, value in arguments.items() if isinstance(value, np.ndarray)}
    fixed = {name: value for name, value in arguments.items() if name not in arrays}
    passive = {name: value for name, value in arrays.items() if name not in wrt}
    return {name: arrays[name] for name in wrt}, passive, fixed


def objective(port: Callable[..., tuple[Any, ...]], fixed: Mapping[str, Any]) -> Callable[..., Any]:
    """The sum of the port's outputs, or their sum with weights, as a function of the arrays."""
    def value(active: dict[str, Any], passive: dict[str, Any], factors: list[Any] | None = None) -> Any:
        outputs = port(**{**active, **passive, **fixed})
        if factors is None:
            return sum(jnp.sum(jnp.real(output)) for output in outputs)
        return sum(jnp.sum(jnp.real(jnp.conj(w) * output)) for w, output in zip(factors, outputs, strict=True))

    return value


def steepest(gradient: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """JAX's complex gradient is the conjugate of the direction of steepest ascent."""
    return {name: np.conj(np.asarray(array)) for name, array in gradient.items()}
