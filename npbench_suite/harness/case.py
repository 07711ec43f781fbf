"""A job's kernel and its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from npbench_suite.harness.job import Job

WIDER: Mapping[np.dtype[Any], np.dtype[Any]] = MappingProxyType({
    np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128),
})


def kernel_of(job: Job) -> Any:
    """The record of the job's kernel (`npbench_suite.kernel.Kernel`)."""
    return import_module(job.suite).load(job.kernel)


def wanted(kernel: Any) -> tuple[str, ...]:
    """What is differentiated: arrays, or the float scalars of a program without any."""
    return tuple(kernel.wrt or kernel.scalars)


def preset_arguments(job: Job, kernel: Any) -> dict[str, Any]:
    """The program's arguments at the job's preset, by name and in the program's order."""
    return dict(kernel.initialize(**kernel.sizes(job.preset)))


def copies(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with arrays of their own, for programs that update them in place."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def nudged(arguments: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The arguments with these moved to the next number above or below, at random."""
    generator = np.random.default_rng(3)
    return {**arguments, **{name: _next(arguments[name], generator) for name in names}}


def _next(value: Any, generator: np.random.Generator) -> Any:
    if np.iscomplexobj(value):
        return _next(value.real, generator) + 1j * _next(value.imag, generator)
    towards = np.where(generator.random(np.shape(value)) < 0.5, -np.inf, np.inf)
    return np.nextafter(value, towards)


def is_single(arguments: Mapping[str, Any]) -> bool:
    """Whether an array is in single precision."""
    return any(isinstance(value, np.ndarray) and value.dtype in WIDER for value in arguments.values())


def widened(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in double precision: rounding in single precision would hide a wrong digit of a gradient."""
    return {name: value.astype(WIDER.get(value.dtype, value.dtype)) if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()}
