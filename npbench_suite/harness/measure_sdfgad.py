"""sdfgad's gradient of the unchanged NumPy program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.harness.case import is_single, kernel_of, preset_arguments, wanted, widened
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.objective import SINGLE, save_gradients, weights
from npbench_suite.harness.resident import with_gradient_times
from npbench_suite.harness.stopwatch import first_call, repeated


def measure(job: Job) -> Iterator[Run]:
    """Gradients for the check first, then predicted peak, then times; a refusal ends it with its code and line."""
    run = Run.of(job)
    try:
        for run in _stages(job):
            yield run
    except sdfgad.SdfgadError as error:
        yield refused(run, error)


def _stages(job: Job) -> Iterator[Run]:
    kernel = kernel_of(job)
    arguments = preset_arguments(job, kernel)
    options = {"wrt": wanted(kernel), "output": kernel.output, "reduce": "sum", "memory_limit": job.memory_limit}
    gradient = sdfgad.grad(kernel.program, **options)
    seconds, plain = first_call(lambda: gradient(**arguments))
    run = Run.of(job).with_times("gradient", seconds, [])
    yield run
    if job.gradients:
        save_gradients(job.gradients, to_check(kernel, arguments, named(plain, wanted(kernel))))
        run = replace(run, gradients=job.gradients)
        yield run
    del plain
    run = replace(run, predicted_peak_bytes=int(gradient.plan(**arguments).predicted.peak_bytes))
    yield run
    run = with_gradient_times(run, lambda: gradient(**arguments), job)
    yield run
    both = sdfgad.value_and_grad(kernel.program, **options)
    seconds, (value, _) = first_call(lambda: both(**arguments))
    run = replace(run, objective=scalar(value))
    run = _timed(run, "value_and_gradient", seconds, lambda: both(**arguments), job)
    yield run
    forward = sdfgad.forward(kernel.program, output=kernel.output)
    seconds, _ = first_call(lambda: forward(*arguments.values()))
    run = _timed(run, "forward", seconds, lambda: forward(*arguments.values()), job)
    yield run
    yield _weighted(run, kernel, arguments, job)


def _weighted(run: Run, kernel: Any, arguments: Mapping[str, Any], job: Job) -> Run:
    """Times of the gradient of the weighted objective: a pullback runs the forward sweep as well."""
    outputs, pullback = sdfgad.vjp(kernel.program, *arguments.values(), wrt=wanted(kernel), output=kernel.output)
    several = isinstance(outputs, tuple | list)
    seeds = weights(list(outputs) if several else [outputs])
    seed = tuple(seeds) if several else seeds[0]
    seconds, _ = first_call(lambda: pullback(seed))
    return _timed(run, "weighted", seconds, lambda: pullback(seed), job)


def _timed(run: Run, name: str, first: float, call: Callable[[], Any], job: Job) -> Run:
    return run.with_times(name, first, repeated(call, job.repeat, job.budget / 2))


def to_check(kernel: Any, arguments: Mapping[str, Any], plain: dict[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Gradients by objective; a program in single precision is checked in double precision as well."""
    if is_single(arguments):
        return checked_gradients(kernel, widened(arguments)) | {SINGLE: plain}
    return checked_gradients(kernel, arguments) | {"sum": plain}


def checked_gradients(kernel: Any, arguments: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    """The gradients of both objectives, through ``vjp`` and a pullback that is called twice."""
    outputs, pullback = sdfgad.vjp(kernel.program, *arguments.values(), wrt=wanted(kernel), output=kernel.output)
    several = isinstance(outputs, tuple | list)
    flat = list(outputs) if several else [outputs]
    seeds = {"sum": [np.ones_like(output) for output in flat], "weighted": weights(flat)}
    return {name: named(pullback(tuple(seed) if several else seed[0]), wanted(kernel)) for name, seed in seeds.items()}


def named(gradient: Any, wrt: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The gradient by argument; with one argument it may come as the bare array."""
    if len(wrt) == 1 and isinstance(gradient, np.ndarray | np.generic | float | complex):
        return {wrt[0]: np.asarray(gradient)}
    return {name: np.asarray(gradient[name]) for name in wrt}


def scalar(value: Any) -> float | None:
    """The real number behind a 0-d value; None for anything bigger."""
    return float(np.real(value)) if np.ndim(value) == 0 else None


def refused(run: Run, error: sdfgad.SdfgadError) -> Run:
    """The run with the error's family as its status and its code, place and first line as its message."""
    if isinstance(error, sdfgad.UnsupportedError):
        place = f"{Path(error.file).name}:{error.line}: " if error.file else ""
        return replace(run, status="unsupported", code=error.code, message=f"{place}{error.what}")
    status = "over limit" if isinstance(error, sdfgad.MemoryLimitError) else "error"
    return replace(run, status=status, code=error.code, message=error.message.partition("\n")[0])
