"""A JAX port's gradient: jitted, in 64-bit mode, inputs on the device beforehand, results waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from npbench_suite.harness.case import is_single, kernel_of, nudged, preset_arguments, wanted, widened
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.objective import SINGLE, save_gradients, sensitivity, weights
from npbench_suite.harness.resident import with_gradient_times
from npbench_suite.harness.stopwatch import first_call, is_far, repeated


def measure(job: Job) -> Iterator[Run]:
    """Times of the port that the competitor names; its gradients are saved when the job asks for them."""
    jax.config.update("jax_enable_x64", True)
    kernel = kernel_of(job)
    port = getattr(kernel, job.competitor.partition(":")[2])
    arguments = preset_arguments(job, kernel)
    active, passive, fixed = split(arguments, wanted(kernel))
    call = compiled(jax.grad(objective(port, fixed)), active, passive)
    seconds, plain = first_call(call)
    run = Run.of(job).with_times("gradient", seconds, [])
    yield run
    if job.gradients:
        run = saved(run, job, port, arguments, wanted(kernel), plain)
        yield run
    del plain
    run = with_gradient_times(run, call, job)
    yield run
    if is_far(run.times["gradient"], job.rival):
        return
    both = compiled(jax.value_and_grad(objective(port, fixed)), active, passive)
    seconds, _ = first_call(both)
    run = run.with_times("value_and_gradient", seconds, repeated(both, job.repeat, job.budget / 2))
    yield run
    weighted = compiled(jax.grad(objective(port, fixed)), active, passive, factors_of(port, active, passive, fixed))
    seconds, _ = first_call(weighted)
    yield run.with_times("weighted", seconds, repeated(weighted, job.repeat, job.budget / 2))


def factors_of(port: Callable[..., tuple[Any, ...]], *arguments: Mapping[str, Any]) -> list[Any]:
    """The weights of the port's outputs, on the device; nothing is computed."""
    shapes = jax.eval_shape(lambda: port(**{name: value for part in arguments for name, value in part.items()}))
    like = [np.broadcast_to(np.zeros((), shape.dtype), shape.shape) for shape in shapes]
    return [jnp.asarray(factor) for factor in weights(like)]


def compiled(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """The jitted function at its arguments; a call waits for the result."""
    call = jax.jit(function)
    return lambda: jax.block_until_ready(call(*arguments))


def saved(run: Run, job: Job, port: Callable[..., tuple[Any, ...]], arguments: Mapping[str, Any],
          wrt: tuple[str, ...], plain: Mapping[str, Any]) -> Run:
    """The run with its gradients in the job's file: as they came, or as a reference for others."""
    if not job.reference:
        save_gradients(job.gradients, {SINGLE if is_single(arguments) else "sum": steepest(plain)})
        return replace(run, gradients=job.gradients)
    precise = nudged(widened(arguments), wrt) if job.nudged else widened(arguments)
    outputs, gradients = checked_gradients(port, precise, wrt)
    save_gradients(job.gradients, gradients)
    return replace(run, gradients=job.gradients, sensitivity=sensitivity(precise, outputs, gradients.values()))


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
    """What to differentiate, other arrays (both on the device), and the numbers that the port sees as constants."""
    arrays = {name: jnp.asarray(value) for name, value in arguments.items()
              if isinstance(value, np.ndarray) or name in wrt}
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
