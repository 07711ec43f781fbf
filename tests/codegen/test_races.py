"""Neighbouring products in parallel: each gradient entry is a sum of two terms that different threads could add."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.verbs.pipeline import Request, derive

POINTS, CALLS, THREADS = 200_000, 100, (1, 2, 4, 8)


def slices(x):
    return np.sum(x[1:] * x[:-1])


def loop(x):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += x[i] * x[i - 1]
    return total


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(5).standard_normal(POINTS)


@pytest.mark.parametrize("function", [slices, loop])
def test_every_call_gives_the_same_at_every_number_of_threads(function, x: np.ndarray) -> None:
    made = derive(function, bind(function, (x,), {}), Request(("x",)))
    assert "#pragma omp parallel" in source(lower(made.program, made.keep))
    expected = np.zeros(POINTS)
    expected[1:] += x[:-1]
    expected[:-1] += x[1:]
    gradient = sdfgad.grad(function)
    for threads in THREADS:
        with sdfgad.config(num_threads=threads):
            for _ in range(CALLS):
                assert np.max(np.abs(gradient(x) - expected)) <= 1e-12
