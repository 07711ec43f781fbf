"""Ingredients of initial data and of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Array = np.ndarray
T = TypeVar("T")


def field(formula: Callable[..., Array], *shape: int) -> Array:
    """The float64 array with value formula(i, j, ...) at index (i, j, ...)."""
    return np.asarray(np.fromfunction(formula, shape, dtype=np.float64))


def seeded() -> np.random.Generator:
    """The generator of NPBench's random initial data."""
    return np.random.default_rng(42)


def uniform32(rng: np.random.Generator, *shape: int) -> Array:
    """Single precision draws from [0, 1)."""
    return rng.random(shape, dtype=np.float32)


def complex_uniform(rng: np.random.Generator, *shape: int) -> Array:
    """Complex draws: all real parts first, then all imaginary parts."""
    return rng.random(shape) + 1j * rng.random(shape)


def spd_initial(n: int) -> Array:
    """The positive definite matrix from which cholesky, lu and ludcmp start."""
    lower = np.tril(field(lambda i, j: 1.0 + np.mod(-j, n) / n, n, n), -1) + np.eye(n)
    return np.asarray(lower @ lower.T)


def spd_sample(rng: np.random.Generator, n: int) -> Array:
    """A random well-conditioned positive definite matrix."""
    root = rng.standard_normal((n, n))
    return np.asarray(root @ root.T + n * np.eye(n))


def pick(choices: Sequence[T], size: int) -> T:
    """The sample size with number `size`; numbers beyond the list start over."""
    return choices[size % len(choices)]


def normal(rng: np.random.Generator, *shape: int) -> Array:
    """Normal draws of a shape."""
    return rng.standard_normal(shape)


